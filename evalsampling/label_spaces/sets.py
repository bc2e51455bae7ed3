"""Labels that are sets: a row has any number of some labels, few (`Sets`) or many (`Tags`)."""

import dataclasses
import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

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
    UnlistedCodes,
    refuse_controls,
)
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.hashing import hash_integers

MOST_LABELS = 8
"""Most labels whose sets are classes, 2^8 of them; of more, cells know about each label."""

EMPTY = "none"
"""Text of the empty set of labels."""

JOINT = "+"
"""Separator of the labels in the text of a set."""

FIRST = 1 << 62
"""Least code of a set: codes below are those of labels, which name columns of probabilities."""

_KNOWN: dict[tuple[str, ...], dict[int, bytes]] = {}
"""The sets of each tuple of labels that were given a code in this process, as `Tags.known`."""


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
        return cls(_checked(labels.get("multilabel")))

    def to_mapping(self) -> dict[str, Any]:
        return {"multilabel": list(self.labels)}

    @property
    def names(self) -> tuple[int | str, ...]:
        return self.labels

    @functools.cached_property
    def outcomes(self) -> tuple[int | str, ...]:
        texts = []
        for code in range(1 << len(self.labels)):
            held = [label for bit, label in enumerate(self.labels) if code >> bit & 1]
            texts.append(set_text(held, self.labels))
        return tuple(texts)

    @property
    def positive(self) -> int:  # type: ignore[override]
        """Code of the set of all labels."""
        return (1 << len(self.labels)) - 1

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
        codes = range(len(self.outcomes))
        return {
            name: [code for code in codes if code >> place & 1]
            for place, name in enumerate(self.labels)
        }

    # --- columns of a pool

    def predictions(self, rows: Columns, system: System, score: Scores) -> Codes:
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
        if LABEL in rows:
            return self.encode(rows.tags(LABEL, self.labels))
        return self.encode(_side_by_side(rows, [FLAG + label for label in self.labels]))

    def encode(self, held: BoolArray) -> IntArray:
        """Return the codes of sets, shape (n,), from which labels each has, shape (n, labels)."""
        return held @ (1 << np.arange(len(self.labels)))

    def holds(self, codes: IntArray) -> BoolArray:
        """Return which labels the sets of codes have, shape (n, labels)."""
        return (codes[:, None] >> np.arange(len(self.labels)) & 1).astype(np.bool_)


@dataclasses.dataclass(frozen=True)
class Tags(Sets):
    """The sets of many labels, of which cells know one by one, not set by set.

    The code of a set is a hash of it, the sum of a random number for each of its labels; two of a
    million sets share a code with a chance of 10^-7, which is an error. Sets are remembered by
    their codes, so that losses are exact. Probabilities are of the labels, one by one.

    Attributes:
        labels: of which a row may have several, more than `MOST_LABELS`.
        known: the flags of each set that was given a code, packed into bytes: one mapping for all
            spaces of the same labels in a process, and sent with a space to another.
    """

    kind: ClassVar[str] = "tags"
    in_spec: ClassVar[InSpec] = InSpec(
        measure={"name": "f1", "average": "micro"},
        sampler="poisson",
        noun="labels",
        are="rows have any number of labels",
        refusal=f"is not about single labels; with more than {MOST_LABELS} in labels.multilabel "
        "there are f1, precision and recall with average: micro, macro or each",
    )
    has_classes: ClassVar[bool] = False
    tagged: ClassVar[bool] = True
    positive: ClassVar[int] = 0  # type: ignore[misc]
    known: dict[int, bytes] = dataclasses.field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Share what is known of the same labels."""
        object.__setattr__(self, "known", _KNOWN.setdefault(self.labels, {}))

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what makes the space again in another process, with the sets that are known."""
        return _with_known, (type(self), self.labels, dict(self.known))

    @classmethod
    def read(cls, labels: Keys) -> Self:
        listed = _checked(labels.get("multilabel"))
        refuse_controls(
            labels,
            f"answers are compared with others there, and of more than {MOST_LABELS} labels few "
            "are the same in all of them",
        )
        if labels.get("oracle", "deterministic") != "deterministic":
            raise InputError(
                f"labels.oracle: with more than {MOST_LABELS} labels it is deterministic: a row "
                "has the same labels whenever it is asked about"
            )
        return cls(listed)

    @property
    def outcomes(self) -> tuple[int | str, ...]:
        return self.labels

    def signatures(self, systems: int) -> tuple[int, ...]:
        return (1,) * systems

    def signed(self, predictions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.zeros_like(predictions)

    # --- codes and texts

    @functools.cached_property
    def codes(self) -> Mapping[str, int]:
        return UnlistedCodes(self._code)

    def _code(self, text: str) -> int | None:
        labels = labels_of_text(text)
        if not {*labels} <= self._place.keys():
            return None
        held = np.zeros((1, len(self.labels)), dtype=np.bool_)
        held[0, [self._place[label] for label in labels]] = True
        return int(self.encode(held)[0])

    def text(self, code: int) -> str:
        held = self.holds(np.array([code]))[0]
        return set_text((self.labels[place] for place in np.flatnonzero(held)), self.labels)

    @property
    def words(self) -> str:
        return f"the sets of {len(self.labels)} labels"

    def problem(self, text: str) -> str:
        strange = next((label for label in labels_of_text(text) if label not in self._place), text)
        labels = f"the {len(self.labels)} labels"
        return f"label {text!r} is no set of {labels}: {strange!r} is none of them"

    def encode(self, held: BoolArray) -> IntArray:
        """Return the codes of sets, shape (n,), and remember the sets."""
        codes = self.hashes(held)
        data = packed(held)
        first = np.unique(codes, return_index=True)[1]
        for code, row in zip(codes[first].tolist(), data[first], strict=True):
            if self.known.setdefault(code, row.tobytes()) != row.tobytes():
                raise ArithmeticError(f"two sets of labels have the code {code}")
        return codes

    def hashes(self, held: BoolArray) -> IntArray:
        """Return the codes of sets, shape (n,), without remembering the sets."""
        sums = held.astype(np.uint64) @ self._numbers
        return (sums >> np.uint64(2)).astype(np.int64) | FIRST

    def holds(self, codes: IntArray) -> BoolArray:
        return unpacked(map(self.known.__getitem__, codes.tolist()), len(self.labels))

    @functools.cached_property
    def _place(self) -> Mapping[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    @functools.cached_property
    def _numbers(self) -> npt.NDArray[np.uint64]:
        """A random number for each label."""
        return hash_integers(np.arange(1, len(self.labels) + 1), 0)

    # --- columns of a pool

    def tags(self, rows: Columns, system: System) -> BoolArray:
        return self.predicted(rows, system)

    def predictions(self, rows: Columns, system: System, score: Scores) -> Codes:
        """Return the codes of the sets predicted, which need not be remembered."""
        return self.hashes(self.predicted(rows, system))

    def probabilities(self, rows: Columns, named: Named, rule: str, score: Scores) -> FloatArray:
        """Return the probability of each label, shape (n, labels); rows do not add to 1."""
        if rule == EVEN:
            return np.full((len(rows), len(self.labels)), 0.5)
        assert isinstance(named, Mapping)
        return probabilities_of_labels(rows, named)


def _with_known(space: type[Tags], labels: tuple[str, ...], known: dict[int, bytes]) -> Tags:
    """Return a space of labels that knows some sets."""
    made = space(labels)
    made.known.update(known)
    return made


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
    """Return the probability of each set, (n, 2^labels), from those of independent labels.

    (Yilmaz and others, *Sample Efficient Model Evaluation*, 2021, eq. 92.)
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


def _checked(labels: Any) -> tuple[str, ...]:
    """Return the labels that a spec lists, checked."""
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
    return tuple(labels)


def packed(held: BoolArray) -> npt.NDArray[np.uint8]:
    """Return rows of truth values as bytes, shape (n, bytes): of each the first is the highest."""
    return np.packbits(held, axis=1)


def unpacked(rows: Iterable[bytes], labels: int) -> BoolArray:
    """Return the rows that `packed` made bytes of, shape (n, labels)."""
    data = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, (labels + 7) // 8)
    return np.unpackbits(data, axis=1, count=labels).astype(np.bool_)
