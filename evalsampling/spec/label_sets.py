"""Sets of labels as classes: in a multi-label pool a row's class is its set of labels."""

import json
from collections.abc import Iterable, Sequence

MOST_LABELS = 8
"""Most labels of a multi-label pool: their sets are the classes, 2^8 of them."""

EMPTY = "none"
"""Text of the empty set of labels."""

JOINT = "+"
"""Separator of the labels in the text of a set."""


def set_text(labels: Iterable[str], known: Sequence[str]) -> str:
    """Return the text of a set of labels, in the order of all labels.

    Args:
        labels: labels of the set, in any order; unknown ones come last.
        known: all labels.
    """
    given = set(labels)
    ordered = [label for label in known if label in given]
    return JOINT.join([*ordered, *sorted(given - set(known))]) or EMPTY


def set_classes(known: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of all sets; the code of a set has a bit for each label, the first lowest.

    Args:
        known: all labels.
    """
    return tuple(
        set_text((label for place, label in enumerate(known) if code >> place & 1), known)
        for code in range(1 << len(known))
    )


def labels_of_text(text: str) -> tuple[str, ...]:
    """Return the labels in a text: the text of a set (`set_text`), or a list in JSON."""
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list) and all(isinstance(label, str) for label in listed):
            return tuple(listed)
    return () if text == EMPTY else tuple(text.split(JOINT))
