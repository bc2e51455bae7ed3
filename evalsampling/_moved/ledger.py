"""Moved: see commands."""

from evalsampling.commands.ledger import Ledger as Ledger
