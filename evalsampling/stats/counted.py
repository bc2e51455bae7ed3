"""Counts with their nouns, in all that people read."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: ``1 round``, ``1,200 rows``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
