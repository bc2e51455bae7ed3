"""Sets of labels as classes: a row of a multi-label pool is of the class of its set."""

import json
from collections.abc import Iterable, Sequence

MOST_LABELS = 8
"""Labels a row may have at most: their sets are classes, 2^8 of them."""

EMPTY = "none"
"""Text of the set of no label."""

JOINT = "+"
"""What stands between the labels of a set in its text."""


def set_text(labels: Iterable[str], known: Sequence[str]) -> str:
    """Return the text of a set of labels, in the order in which they are known.

    Args:
        labels: of the set, in any order; what is not known comes last.
        known: all labels.
    """
    given = set(labels)
    inside = [one for one in known if one in given]
    return JOINT.join([*inside, *sorted(given - set(known))]) or EMPTY


def set_classes(known: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of all sets; the code of a set has a bit for each label, the first lowest.

    Args:
        known: all labels.
    """
    return tuple(
        set_text((one for place, one in enumerate(known) if code >> place & 1), known)
        for code in range(1 << len(known))
    )


def labels_of_text(text: str) -> tuple[str, ...]:
    """Return the labels that a text names: that of a set (`set_text`), or a list in JSON."""
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list) and all(isinstance(one, str) for one in listed):
            return tuple(listed)
    return () if text == EMPTY else tuple(text.split(JOINT))
