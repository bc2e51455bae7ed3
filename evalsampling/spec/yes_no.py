"""Two classes that are a yes and a no, and the words by which people and programs say either."""

from collections.abc import Collection

YES = frozenset({"yes", "y", "true", "t"})
NO = frozenset({"no", "n", "false", "f"})
"""Words for either, case-folded."""

_YES_CLASS, _NO_CLASS = YES | {"1"}, NO | {"0"}
"""Names of classes that are either. A number is only the class that has its name: elsewhere it may
be anything, as the number of an annotator in a column that was shifted."""


def yes_and_no(classes: Collection[str]) -> dict[str, str]:
    """Return the class of each word of `YES` and `NO`; none if the classes are no yes and no.

    Args:
        classes: texts of the classes, in any case, with or without blanks around them.
    """
    by_word = {plain(name): name for name in classes}
    yes, no = by_word.keys() & _YES_CLASS, by_word.keys() & _NO_CLASS
    if len(classes) != 2 or len(yes) != 1 or len(no) != 1:
        return {}
    return dict.fromkeys(YES, by_word[yes.pop()]) | dict.fromkeys(NO, by_word[no.pop()])


def plain(text: str) -> str:
    """Return a text case-folded and without blanks around it, to compare it with others."""
    return text.strip().casefold()
