"""Labels that are sets: a row has any number of some labels."""

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import (
    EVEN,
    FLAG,
    LABEL,
    Codes,
    Columns,
    Field,
    InSpec,
    Keys,
    LabelSpace,
    Named,
    Scores,
    System,
)
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray

MOST_LABELS = 8
"""Most labels whose sets are classes, 2^8 of them; of more, cells know about each label."""

EMPTY = "none"
"""Text of the empty set of labels."""

JOINT = "+"
"""Separator of the labels in the text of a set."""


@dataclasses.dataclass(frozen=True)
class Sets(LabelSpace):
    """The sets of some labels. The code of a set has a bit for each label, the first lowest."""

    kind: ClassVar[str] = "sets"
    in_spec: ClassVar[InSpec] = InSpec(
        noun="labels",
        refusal="is about rows of one class; with labels.multilabel there are f1, precision and "
        "recall with average: micro, macro or each, and accuracy of whole sets",
    )
    needs_columns: ClassVar[bool] = True
    labels: tuple[str, ...]

    @classmethod
    def read(cls, labels: Keys) -> Self:
        labels.refuse(
            ("classes", "positive"), "with labels.multilabel, sets of labels are the classes"
        )
        listed = labels.get("multilabel")
        check_labels(listed)
        return cls(tuple(listed))

    def to_mapping(self) -> dict[str, Any]:
        return {"multilabel": list(self.labels)}

    @property
    def names(self) -> tuple[int | str, ...]:
        return self.labels

    @functools.cached_property
    def outcomes(self) -> tuple[int | str, ...]:
        """The texts of all sets, by their codes."""
        texts = []
        for code in range(1 << len(self.labels)):
            held = [label for bit, label in enumerate(self.labels) if code >> bit & 1]
            texts.append(set_text(held, self.labels))
        return tuple(texts)

    @property
    def positive(self) -> int:  # type: ignore[override]
        """Code of the set of all labels."""
        return (1 << len(self.labels)) - 1

    def measure_fields(self) -> dict[str, Any]:
        return super().measure_fields() | {"sets": True}

    # --- codes and texts

    def problem(self, text: str) -> str:
        return f"label {text!r} is no set of: {', '.join(self.labels)}"

    def texts(self, values: Sequence[Any]) -> list[str | None]:
        """Return sets as texts: texts as they are, of lists those of their labels."""
        texts = [
            value if value is None or isinstance(value, str) else set_text(value, self.labels)
            for value in values
        ]
        meant = self.meant({text for text in texts if text is not None})
        return [None if text is None else meant.get(text, text) for text in texts]

    def spelled(self, text: str) -> str:
        """Return the text of a set with its labels in their order, each once."""
        return set_text(labels_of_text(text), self.labels)

    def of_choices(self, chosen: Sequence[str]) -> tuple[str | None, str]:
        return set_text(chosen, self.labels), ""

    @property
    def flags(self) -> tuple[str, ...]:
        """The labels, each of which may have a column of 0 and 1."""
        return self.labels

    def goes_on(self, text: str) -> bool:
        """Tell whether a set lacks labels, so that it may be the beginning of a larger one."""
        return {*labels_of_text(text)} != {*self.labels}

    # --- annotators

    @property
    def field(self) -> Field:
        words = (
            "those of these that hold, exactly as they\nstand here, with `+` between them and no "
            "spaces; or `none` if none of them holds"
        )
        return Field(words, self.labels, several=True)

    @property
    def rates(self) -> Mapping[str, Sequence[int]]:
        """Each label, with the codes of the sets that have it."""
        codes = range(len(self.outcomes))
        return {
            name: [code for code in codes if code >> place & 1]
            for place, name in enumerate(self.labels)
        }

    # --- columns of a pool

    def predictions(self, rows: Columns, system: System, score: Scores) -> Codes:
        """Return sets from a column of lists or texts, or from one of 0 and 1 for each label."""
        return self.encode(self.predicted(rows, system))

    def predicted(self, rows: Columns, system: System) -> BoolArray:
        """Return which labels a system predicts, shape (n, labels)."""
        if system.prediction is not None:
            return rows.tags(system.prediction, self.labels)
        return _side_by_side(rows, list(system.by_label.values()))

    def probabilities(self, rows: Columns, named: Named, rule: str, score: Scores) -> FloatArray:
        """Return the probability of each set from those of the labels, taken as independent."""
        if rule == EVEN:
            return np.full((len(rows), len(self.outcomes)), 1 / len(self.outcomes))
        assert isinstance(named, Mapping)
        return probabilities_of_sets(probabilities_of_labels(rows, named))

    def true_codes(self, rows: Columns) -> IntArray:
        """Return sets from the column `LABEL`, or from one of 0 and 1 for each label."""
        if LABEL in rows:
            return self.encode(rows.tags(LABEL, self.labels))
        return self.encode(_side_by_side(rows, [FLAG + label for label in self.labels]))

    def encode(self, held: BoolArray) -> IntArray:
        """Return the codes of sets, shape (n,), from which labels each has, shape (n, labels)."""
        return held @ (1 << np.arange(len(self.labels)))


def set_text(labels: Iterable[str], all_labels: Sequence[str]) -> str:
    """Return the text of a set of labels, in the order of all labels."""
    given = set(labels)
    ordered = [label for label in all_labels if label in given]
    return JOINT.join([*ordered, *sorted(given - set(all_labels))]) or EMPTY


def labels_of_text(text: str) -> tuple[str, ...]:
    """Return the labels in a text: the text of a set (`set_text`), or a list in JSON."""
    if text.startswith("["):
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = None
        if isinstance(listed, list) and all(isinstance(label, str) for label in listed):
            return tuple(listed)
    return () if text == EMPTY else tuple(label.strip() for label in text.split(JOINT))


def probabilities_of_sets(single: FloatArray) -> FloatArray:
    """Return the probability of each set, shape (n, 2^labels), labels being independent.

    (Yilmaz and others, *Sample Efficient Model Evaluation*, 2021, eq. 92.)

    Args:
        single: shape (n, labels): probability of each label.
    """
    sets = np.ones((len(single), 1))
    for p in single.T:
        sets = np.concatenate([sets * (1 - p)[:, None], sets * p[:, None]], axis=1)
    return sets


def _side_by_side(rows: Columns, columns: Sequence[str]) -> BoolArray:
    """Return columns of 0 and 1 side by side, shape (n, columns)."""
    return np.stack([rows.flags(column) != 0 for column in columns], axis=1)


def probabilities_of_labels(rows: Columns, named: Mapping[str, str]) -> FloatArray:
    """Return the probability of each label, shape (n, labels), from a column for each."""
    return np.stack([rows.shares(column) for column in named.values()], axis=1)


def shortened(labels: Sequence[str]) -> str:
    """Return labels in words, of many only their number."""
    return str([*labels]) if len(labels) <= MOST_LABELS else f"the {len(labels)} labels"


def check_labels(labels: Any) -> None:
    """Check the labels that a spec lists."""
    if not isinstance(labels, list) or len(labels) < 2:
        raise InputError(f"labels.multilabel: must list at least 2 labels, got {labels!r}")
    for label in labels:
        if not isinstance(label, str) or not label or label != label.strip():
            raise InputError(f"labels.multilabel: labels are text, got {label!r}")
        if JOINT in label or label == EMPTY or label.startswith("["):
            raise InputError(
                f"labels.multilabel: {label!r}: no label is {EMPTY!r}, has a {JOINT!r} in it or "
                "begins with a bracket"
            )
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise InputError(f"labels.multilabel: {twice!r} is there twice")
