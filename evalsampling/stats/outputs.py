"""Outputs of systems for rows, with costs of labels and weights: all but the labels."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.magnitudes import COST, WEIGHT
from evalsampling.stats.slices import SliceCodes, UnknownSliceError, Where, joined


@dataclasses.dataclass(frozen=True)
class Outputs:
    """Outputs of every system for n rows, of the pool or representative of cells."""

    prediction: IntArray  # shape (n, systems): class codes predicted
    score: FloatArray  # shape (n, systems): scores; finite
    probability: FloatArray  # shape (n, systems, classes): probability of each class, in [0, 1]
    # shape (n, systems, depth): grade of the item that each system has at each rank of a query, -1
    # after the last; None if rows are no queries, or not graded
    grades: IntArray | None = None
    # shape (n,) each: what rows differ in, by name: the cost of a label, which no loss looks at,
    # and the weight of a row, both above 0
    magnitudes: Mapping[str, FloatArray] = dataclasses.field(default_factory=dict)
    # which of the slices that the spec names each row is in; None if it names none
    slices: SliceCodes | None = None
    # shape (n, systems, labels): which labels each system predicts, where rows have any number of
    # many; of cells the share of the rows. Probabilities have no columns then.
    tags: npt.NDArray[Any] | None = None
    # shape (n,): a number, the same for rows of one cluster; None if the spec names no clusters,
    # and of cells
    cluster: IntArray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.prediction)

    @property
    def cost(self) -> FloatArray | None:
        """The cost of a label of each row, shape (n,); None if all cost the same."""
        return self.magnitudes.get(COST)

    @property
    def weight(self) -> FloatArray | None:
        """How much each row counts, shape (n,); None if all count the same."""
        return self.magnitudes.get(WEIGHT)

    @property
    def columns(self) -> list[npt.NDArray[Any]]:
        """All that the systems say of each row, columns of shape (n,), in a fixed order."""
        columns: list[npt.NDArray[Any]] = []

        def gather(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
            columns.extend(values.reshape(len(values), math.prod(values.shape[1:])).T)
            return values

        self._each(gather)
        return columns

    def of_columns(self, columns: FloatArray) -> tuple["Outputs", int]:
        """Return outputs like these from their `columns`, and how many columns these are."""
        taken = 0

        def cut(like: npt.NDArray[Any]) -> npt.NDArray[Any]:
            nonlocal taken
            first, taken = taken, taken + math.prod(like.shape[1:])
            own = columns[:, first:taken].reshape(len(columns), *like.shape[1:])
            return own.astype(like.dtype)

        return self._each(cut), taken

    def take(self, index: npt.ArrayLike) -> "Outputs":
        """Return the outputs of rows given by index or mask."""
        index = np.asarray(index)
        return self._each(lambda values: values[index])

    def _each(self, made: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> "Outputs":
        """Return outputs with what a function makes of each array, in the order of `columns`."""

        def of(values: npt.NDArray[Any] | None) -> Any:
            return None if values is None else made(values)

        return Outputs(
            prediction=made(self.prediction),
            score=made(self.score),
            probability=made(self.probability),
            grades=of(self.grades),
            tags=of(self.tags),
            magnitudes={name: made(values) for name, values in self.magnitudes.items()},
            cluster=of(self.cluster),
            slices=self.slices and SliceCodes(self.slices.named, made(self.slices.code)),
        )

    @property
    def no_rows(self) -> "Outputs":
        """Outputs of the same systems for no rows."""
        return self.take(np.zeros(0, dtype=np.int64))

    def within(self, where: Where) -> BoolArray:
        """Return which rows are in a slice, (n,): those with a value of each column."""
        if self.slices is not None:
            return self.slices.within(where)
        if len(self):
            raise UnknownSliceError(where)
        return np.zeros(0, dtype=bool)

    @classmethod
    def none(cls, systems: int, classes: int) -> "Outputs":
        """Return the outputs for no rows."""
        return cls(
            np.zeros((0, systems), dtype=np.int64),
            np.zeros((0, systems)),
            np.zeros((0, systems, classes)),
        )

    @classmethod
    def concatenate(cls, parts: Sequence["Outputs"]) -> "Outputs":
        """Return the rows of all parts, at least one, in order."""
        grades = _joined_grades(parts)
        parts = [part for part in parts if len(part)] or parts[:1]
        tags = [part.tags for part in parts if part.tags is not None]
        known = [part.magnitudes for part in parts if len(part)]
        shared = [name for name in parts[0].magnitudes if all(name in each for each in known)]
        return cls(
            np.concatenate([part.prediction for part in parts]),
            np.concatenate([part.score for part in parts]),
            np.concatenate([part.probability for part in parts]),
            grades,
            {name: np.concatenate([each[name] for each in known]) for name in shared if known},
            joined([part.slices for part in parts if len(part)]),
            np.concatenate(tags) if tags else None,
            _joined([part.cluster for part in parts if len(part)]),
        )


def _joined(parts: Sequence[npt.NDArray[Any] | None]) -> npt.NDArray[Any] | None:
    """Return the values of all parts, None if a part has none."""
    given = [part for part in parts if part is not None]
    return np.concatenate(given) if given and len(given) == len(parts) else None


def _joined_grades(parts: Sequence[Outputs]) -> IntArray | None:
    """Return the grades of all parts, -1 where a part has none; None if no part has any."""
    shape = next((part.grades.shape[1:] for part in parts if part.grades is not None), None)
    if shape is None:
        return None
    return np.concatenate(
        [
            np.full((len(part), *shape), -1, dtype=np.int64) if part.grades is None else part.grades
            for part in parts
        ]
    )
