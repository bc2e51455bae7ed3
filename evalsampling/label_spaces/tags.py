"""Sets of any number of labels: what cells know is about each label, not about each set."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import (
    EVEN,
    Codes,
    Columns,
    InSpec,
    Keys,
    Named,
    Scores,
    System,
    UnlistedCodes,
)
from evalsampling.label_spaces.sets import (
    MOST_LABELS,
    Sets,
    check_labels,
    labels_of_text,
    probabilities_of_labels,
    set_text,
)
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.hashing import hash_integers
from evalsampling.stats.packed_bits import packed, unpacked

FIRST = 1 << 62
"""Least code of a set: codes below are those of labels, which name columns of probabilities."""

_KNOWN: dict[tuple[str, ...], dict[int, bytes]] = {}
"""The sets of each tuple of labels that were given a code in this process, as `Tags.known`."""


@dataclasses.dataclass(frozen=True)
class Tags(Sets):
    """The sets of many labels.

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
        listed = labels.get("multilabel")
        check_labels(listed)
        for key in ("gold", "repeats"):
            if labels.get(key):
                raise InputError(
                    f"labels.{key}: answers are compared with others there, and of more than "
                    f"{MOST_LABELS} labels few are the same in all of them"
                )
        if labels.get("oracle", "deterministic") != "deterministic":
            raise InputError(
                f"labels.oracle: with more than {MOST_LABELS} labels it is deterministic: a row "
                "has the same labels whenever it is asked about"
            )
        return cls(tuple(listed))

    @property
    def outcomes(self) -> tuple[int | str, ...]:
        return self.labels

    def signatures(self, systems: int) -> tuple[int, ...]:
        """Return 1 for each system: nearly every row has a set of its own."""
        return (1,) * systems

    def signed(self, predictions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return zeros: cells know nothing of the sets predicted."""
        return np.zeros_like(predictions)

    def measure_fields(self) -> dict[str, Any]:
        return super().measure_fields() | {"tags": self}

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
        """Return the codes of sets, shape (n,), and remember the sets: see `Sets.encode`."""
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
        """Return which labels the sets of codes have, shape (n, labels)."""
        return unpacked(map(self.known.__getitem__, codes.tolist()), len(self.labels))

    @functools.cached_property
    def _place(self) -> Mapping[str, int]:
        return {label: place for place, label in enumerate(self.labels)}

    @functools.cached_property
    def _numbers(self) -> npt.NDArray[np.uint64]:
        """A random number for each label."""
        return hash_integers(np.arange(1, len(self.labels) + 1), 0)

    # --- annotators

    @property
    def rates(self) -> Mapping[str, Sequence[int]]:
        """No rates: codes are of sets, which are too many."""
        return {}

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
