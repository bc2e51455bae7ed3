"""Sets of labels as classes: in a multi-label pool a row's class is its set of labels."""

import json
from collections.abc import Iterable, Sequence

MOST_LABELS = 8
"""Most labels of a multi-label pool: their sets are the classes, 2^8 of them."""

EMPTY = "none"
"""Text of the empty set of labels."""

JOINT = "+"
"""Separator of the labels in the text of a set."""


def set_text(labels: Iterable[str], all_labels: Sequence[str]) -> str:
    """Return the text of a set of labels, in the order of all labels.

    Args:
        labels: labels of the set, in any order; others than `all_labels` come last.
        all_labels: the labels of the pool.
    """
    given = set(labels)
    ordered = [label for label in all_labels if label in given]
    return JOINT.join([*ordered, *sorted(given - set(all_labels))]) or EMPTY


def set_classes(all_labels: Sequence[str]) -> tuple[str, ...]:
    """Return the texts of all sets; the code of a set has a bit for each label, the first lowest.

    Args:
        all_labels: the labels of the pool.
    """
    return tuple(
        set_text((label for bit, label in enumerate(all_labels) if code >> bit & 1), all_labels)
        for code in range(1 << len(all_labels))
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
