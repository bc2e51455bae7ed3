"""Leaves that columns of a pool name: one column, or a hierarchy of several, coarse to fine.

A leaf is a *path*: a value of each column. The leaves found are states that merge exactly, so they
do not depend on how a pool was cut.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from evalsampling.stats.arrays import IntArray

Path = tuple[str, ...]
"""A value of each column, coarse to fine."""

Coded = tuple[list[str], npt.NDArray[np.integer]]
"""A column: its distinct values, and the place among them of each row's, shape (n,)."""


@dataclasses.dataclass(frozen=True)
class Paths:
    """The paths of a pool, of which there may be more than wanted: a mergeable state."""

    most: int  # leaves that are possible, at least 1
    # the first paths in their order, ascending, at most one more than ``most``
    first: tuple[Path, ...] = ()

    @classmethod
    def from_rows(cls, columns: Sequence[Coded], most: int) -> "Paths":
        """Return the paths of rows."""
        paths, _ = _distinct(columns)
        return cls(most, tuple(sorted(paths, key=_order)[: most + 1]))

    def __add__(self, other: "Paths") -> "Paths":
        """Return the paths of both parts of the pool."""
        both = sorted({*self.first, *other.first}, key=_order)
        return Paths(self.most, tuple(both[: self.most + 1]))

    @property
    def are_too_many(self) -> bool:
        """Whether there are more than ``most``."""
        return len(self.first) > self.most


@dataclasses.dataclass(frozen=True)
class Partition:
    """Leaves of given paths."""

    paths: tuple[Path, ...]

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return len(self.paths)

    @property
    def parting(self) -> IntArray:
        """Level of the hierarchy at which each two neighbouring leaves part, from 1."""
        levels = [
            next(level for level, pair in enumerate(zip(*both, strict=True), 1) if len({*pair}) > 1)
            for both in zip(self.paths, self.paths[1:], strict=False)
        ]
        return np.array(levels, dtype=np.int64)

    def find(self, columns: Sequence[Coded]) -> IntArray:
        """Return the leaf of each row, shape (n,)."""
        paths, place = _distinct(columns)
        for path in paths:
            if path not in self._leaf:
                raise ValueError(f"a row of no leaf: {', '.join(path)}")
        leaf = np.array([self._leaf[path] for path in paths], dtype=np.int64)
        return leaf[place]

    @functools.cached_property
    def _leaf(self) -> Mapping[Path, int]:
        return {path: leaf for leaf, path in enumerate(self.paths)}


def _distinct(columns: Sequence[Coded]) -> tuple[list[Path], IntArray]:
    """Return the distinct paths of rows, and the place among them of each row's, shape (n,)."""
    paths: list[Path] = [()]
    place = np.zeros(len(columns[0][1]), dtype=np.int64)
    for values, code in columns:
        pairs, place = np.unique(place * len(values) + code, return_inverse=True)
        split = (divmod(pair, len(values)) for pair in pairs.tolist())
        paths = [(*paths[above], values[value]) for above, value in split]
    return paths, place


def _order(path: Path) -> list[tuple[bool, int, str]]:
    """Return what paths are ordered by: whole numbers come first, by their size."""
    return [(not _is_whole(text), int(text) if _is_whole(text) else 0, text) for text in path]


def _is_whole(text: str) -> bool:
    return text.removeprefix("-").isdecimal() and len(text) < 20
