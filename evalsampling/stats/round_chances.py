"""Chances of a round: how likely it takes a row of each cell, whichever rows there are.

A row is in the round if its permanent random number is between two bounds of its cell. So a row
alone says whether it is drawn, on any worker, in any order, and rows that come later have the
chances that rows had before.

References:
    K. R. W. Brewer, L. J. Early and S. F. Joyce, *Selecting several samples from a single
    population*, Australian Journal of Statistics 14, 1972 (permanent random numbers).
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.permanent import share_beyond


@dataclasses.dataclass(frozen=True)
class RoundChances:
    """The facts of a round besides its rows."""

    code: IntArray  # (cells,), ascending: codes of the cells of the pool it was designed for
    # (cells,), in [0, 1]: chance of a row of each cell that no earlier round had drawn; of rounds
    # with replacement, that of one draw
    chance: FloatArray
    elsewhere: float  # chance of a row of any other cell, in [0, 1]
    wanted: int | None = None  # number of new rows asked for; None if it is not known
    # (leaves, classes): model behind the round, if there is one
    posterior: FloatArray | None = None
    # (cells,), in [0, 1]: all rows that earlier rounds drew have numbers below this, where rounds
    # of a fixed size decided which they were; None if their chances did
    begin: FloatArray | None = None
    # identity of the workspace it was designed in; None where nobody asks for it
    workspace: str | None = None
    together: float | None = None  # that of `history.Round`, of whole clusters

    @classmethod
    def of_pool(
        cls,
        code: IntArray,
        count: IntArray,
        chance: FloatArray,
        wanted: int | None = None,
        posterior: FloatArray | None = None,
        begin: FloatArray | None = None,
    ) -> "RoundChances":
        """Return the chances of a round of a pool; rows of other cells get the mean chance."""
        mean = float(count @ chance) / max(int(count.sum()), 1)
        return cls(code, chance, min(mean, 1.0), wanted, posterior, begin)

    def of_cells(self, code: IntArray) -> FloatArray:
        """Return the chance of a row of each of some cells, shape (n,)."""
        return self._of_cells(code, self.chance, self.elsewhere)

    def beginnings(self, code: IntArray) -> FloatArray | None:
        """Return `begin` of each of some cells, shape (n,), 0 of cells it was not designed for."""
        return None if self.begin is None else self._of_cells(code, self.begin, 0.0)

    def _of_cells(self, code: IntArray, values: FloatArray, elsewhere: float) -> FloatArray:
        if not len(self.code):
            return np.full(len(code), elsewhere)
        place = np.minimum(np.searchsorted(self.code, code), len(self.code) - 1)
        return np.where(self.code[place] == code, values[place], elsewhere)

    def to_mapping(self) -> dict[str, Any]:
        """Return the chances as plain values, for JSON."""
        return {
            "cells": self.code.tolist(),
            "chance": self.chance.tolist(),
            "elsewhere": self.elsewhere,
            "wanted": self.wanted,
            "posterior": None if self.posterior is None else self.posterior.tolist(),
            "begin": None if self.begin is None else self.begin.tolist(),
            "workspace": self.workspace,
            "together": self.together,
        }

    @classmethod
    def from_mapping(cls, content: dict[str, Any]) -> "RoundChances":
        """Return the chances that `to_mapping` made plain values of."""
        code = np.array(content["cells"], dtype=np.int64)
        begin, posterior, wanted = (content[key] for key in ("begin", "posterior", "wanted"))
        if np.any(code[1:] <= code[:-1]):
            raise ValueError("cells do not ascend")
        if wanted is not None and (not isinstance(wanted, int) or wanted < 0):
            raise ValueError(f"wanted is {wanted!r}, no number of rows")
        return cls(
            code,
            _shares("chance", content["chance"], (len(code),)),
            float(_shares("elsewhere", content["elsewhere"], ())),
            wanted,
            None if posterior is None else _shares("posterior", posterior, (-1, -1)),
            None if begin is None else _shares("begin", begin, (len(code),)),
            content["workspace"],
            content["together"],
        )


def _shares(name: str, values: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return values as an array, each in [0, 1]; -1 in its shape is any number."""
    array = np.array(values, dtype=np.float64)
    fits = [wanted in (-1, size) for wanted, size in zip(shape, array.shape, strict=False)]
    if array.ndim != len(shape) or not all(fits):
        raise ValueError(f"{name} has an array of shape {array.shape}, which does not fit")
    if not np.all((array >= 0) & (array <= 1)):
        raise ValueError(f"{name} has a number that is not in [0, 1]")
    return array


def taken_by_last(
    rounds: Sequence[RoundChances], code: IntArray, number: FloatArray
) -> tuple[BoolArray, FloatArray]:
    """Return which rows the last of some rounds takes, and the chance that it had, shape (n,) each.

    Rows have the code of their cell and a permanent random number; rounds are without replacement.
    """
    below, chance = np.zeros(len(code)), np.zeros(len(code))
    for past in rounds:
        begin = past.beginnings(code)
        below = below + (1 - below) * chance if begin is None else begin
        chance = past.of_cells(code)
    return (number >= below) & (share_beyond(number, below) < chance), chance
