"""Runs the command line: ``python -m evalsampling``."""

from evalsampling.cli import main

main()
