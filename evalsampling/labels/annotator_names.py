"""Names of annotators as people write them: what looks alike is one person."""

import unicodedata
from collections.abc import Iterable

_INVISIBLE = {"Cc", "Cf", "Co", "Cn", "Zl", "Zp"}
"""Categories of characters that are not seen, nor take room."""

_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and marks that are not seen though their categories say otherwise."""


def folded(name: str) -> str:
    """Return what is the same for all spellings of a name that look alike but for their case.

    Case, blanks around it, how many are between its words, and what is invisible make no
    difference; nor do two ways to spell one letter. Empty if nothing is to be seen.

    Args:
        name: as an annotator wrote it.
    """
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    seen = (letter for letter in text if letter.isspace() or not _is_invisible(letter))
    return unicodedata.normalize("NFC", " ".join("".join(seen).split()))


class People:
    """The spelling that stands for each annotator: the one that came first.

    Attributes:
        spelling: by what `folded` makes of it.
    """

    def __init__(self, names: Iterable[str]) -> None:
        """Take the names of those who have answered before."""
        self.spelling = {folded(name): name for name in names}

    def spelled(self, name: str | None) -> str | None:
        """Return a name as it was spelled first, None if there is none to be seen."""
        if name is None or not (seen := folded(name)):
            return None
        first = "".join(letter for letter in name if letter.isspace() or not _is_invisible(letter))
        return self.spelling.setdefault(seen, " ".join(first.split()))


def _is_invisible(letter: str) -> bool:
    selects = "\ufe00" <= letter <= "\ufe0f" or "\U000e0100" <= letter <= "\U000e01ef"
    return selects or letter in _BLANK_LETTERS or unicodedata.category(letter) in _INVISIBLE
