"""Entries of specs that ask for averages over classes or labels."""

from typing import Any

MACRO_F1: dict[str, Any] = {"name": "f1", "average": "macro"}
MICRO_F1: dict[str, Any] = {"name": "f1", "average": "micro"}
EACH_F1: dict[str, Any] = {"name": "f1", "average": "each"}
