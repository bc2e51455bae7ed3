"""Counts of labelled rows that are alike: all that an estimate needs of labels, as a sum.

Rows of one cell with the same outputs, drawn by the same rounds, are alike in all that estimates
and samplers look at. So how many there are of each kind, by label, says everything: label counts by
leaf and cell, weighted sums, and what the model of the labels is fitted to. Counts are whole
numbers, so their sums depend on no order and no division of the labels.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evalsampling.stats.arrays import FloatArray, IntArray, distinct_rows, numbered_within
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.round_chances import RoundChances

_PLACES = 3
"""Columns before those of the outputs: round, cell, label."""


@dataclasses.dataclass(frozen=True)
class LabelledCounts:
    """How many rows of each kind rounds have drawn: a mergeable state."""

    # (kinds, columns), distinct rows: the round that drew it first, from 0; the code of its cell;
    # its label, `NO_LABEL` without one; `Outputs.columns`; codes of slices; `History.drawn_in`, or
    # the number of its question where the order of draws counts. Of pools without a row yet it has
    # no columns
    facts: FloatArray
    count: IntArray  # (kinds,), int64: rows of each kind

    @classmethod
    def none(cls) -> "LabelledCounts":
        """Return the counts of no rows."""
        return cls(np.zeros((0, 0)), np.zeros(0, dtype=np.int64))

    @classmethod
    def of_rows(
        cls,
        round: IntArray,
        code: IntArray,
        label: IntArray,
        outputs: Outputs,
        slice: IntArray,
        drawn_in: FloatArray,
    ) -> "LabelledCounts":
        """Return the counts of n rows, with `History.drawn_in` or questions, (n, 1)."""
        columns = [round, code, label, *outputs.columns, *slice.T, *drawn_in.T]
        facts = np.stack(columns, axis=1).astype(np.float64)
        return cls._merged(facts, np.ones(len(facts), dtype=np.int64))

    @classmethod
    def of_history(cls, history: History, table: CellTable) -> "LabelledCounts":
        """Return the counts of the rows of a history, each of which has one label at most."""
        return cls.of_rows(
            history.met,
            table.code[history.cell],
            history.label,
            history.outputs,
            history.slice,
            history.drawn_in,
        )

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.count.sum())

    def __add__(self, other: "LabelledCounts") -> "LabelledCounts":
        """Return the counts of the rows of both."""
        return self.sum([self, other])

    @classmethod
    def sum(cls, parts: Sequence["LabelledCounts"]) -> "LabelledCounts":
        """Return the counts of the rows of all parts, merged once."""
        parts = [part for part in parts if len(part.count)]
        if not parts:
            return cls.none()
        facts = np.concatenate([part.facts for part in parts])
        return cls._merged(facts, np.concatenate([part.count for part in parts]))

    @classmethod
    def _merged(cls, facts: FloatArray, count: IntArray) -> "LabelledCounts":
        # As bits, so that a probability that is not known equals itself.
        first, place = distinct_rows(np.ascontiguousarray(facts).view(np.int64))
        return cls(facts[first], np.bincount(place, count).astype(np.int64))

    @functools.cached_property
    def labelled(self) -> int:
        """Number of rows with a label."""
        return int(self.count[self.facts[:, 2] >= 0].sum()) if len(self.count) else 0

    def labels_of(self, drawn: History) -> History:
        """Return a history with the labels of rows that have the numbers of their questions."""
        label = np.full(len(drawn), NO_LABEL)
        if len(self.count):
            label[self.facts[:, -1].astype(np.int64)] = self.facts[:, 2]
        return drawn.with_labels(label)

    def history(self, table: CellTable, rounds: Sequence[RoundChances], empty: History) -> History:
        """Return the history of the rows, as `History.ordered` has it, with any ranks."""
        if not len(self.count):
            rows = np.zeros((0, _PLACES + len(empty.outputs.columns) + empty.slice.shape[1]))
        else:
            rows = np.repeat(self.facts, self.count, axis=0)
        met, code, label = (rows[:, place].astype(np.int64) for place in range(_PLACES))
        cell = np.minimum(np.searchsorted(table.code, code), len(table) - 1)
        gone = np.bincount(cell, minlength=len(table)) > table.count
        if np.any(table.code[cell] != code) or gone.any():
            problem = "the pool has fewer rows of a cell than were drawn"
            raise ValueError(f"{problem}: these must stay in it, with the scores that they had")
        if len(met) and met.max() >= len(rounds):
            raise ValueError(f"a row is of round {met.max() + 1}, {len(rounds)} are given")
        outputs, end = empty.outputs.of_columns(rows[:, _PLACES:])
        end += _PLACES
        slices = empty.slice.shape[1]
        history = dataclasses.replace(
            empty,
            cell=cell,
            rank=numbered_within(cell),
            label=label,
            outputs=outputs,
            slice=rows[:, end : end + slices].astype(np.int64),
            rounds=tuple(
                _round(number, met, rows[:, end + slices :], chances, table, cell)
                for number, chances in enumerate(rounds)
            ),
        )
        return history.ordered


def _round(
    number: int,
    met: IntArray,
    drawn_in: FloatArray,
    chances: RoundChances,
    table: CellTable,
    cell: IntArray,
) -> Round:
    """Return one round of a history, its draws ordered by question, those that ask first."""
    chance = chances.of_cells(table.code)
    question = np.flatnonzero(met == number)
    probability, times = chance[cell[question]], np.ones(len(question), dtype=np.int64)
    if drawn_in.shape[1]:
        half = drawn_in.shape[1] // 2
        question = np.flatnonzero(drawn_in[:, number])
        times = drawn_in[question, number].astype(np.int64)
        probability = drawn_in[question, half + number]
    draws = np.repeat(question, times)
    new = np.diff(draws, prepend=-1) > 0
    return Round(
        question=draws,
        probability=np.repeat(probability, times),
        new=new & (met[draws] == number),
        posterior=chances.posterior,
        cell_probability=chance,
        wanted=chances.wanted,
        together=chances.together,
    )


@dataclasses.dataclass(frozen=True)
class Latest:
    """States by name, each with a version that grows whenever it does: a mergeable state.

    Of two states of a name the greater version counts, so one that is told again is counted once.
    """

    states: Mapping[Any, tuple[int, Any]]

    @classmethod
    def of(cls, name: Any, version: int, state: Any) -> "Latest":
        """Return a single state."""
        return cls({name: (version, state)})

    def __add__(self, other: "Latest") -> "Latest":
        """Return the states of both."""
        states = dict(self.states)
        for name, held in other.states.items():
            if name not in states or states[name][0] < held[0]:
                states[name] = held
        return Latest(states)

    @property
    def version(self) -> int:
        """Sum of the versions: it grows whenever a state does."""
        return sum(version for version, _ in self.states.values())

    def named(self, kind: Any) -> list[Any]:
        """Return the states whose name is (kind, key), in the order of their keys."""
        keys = sorted(key for of_kind, key in self.states if of_kind == kind)
        return [self.states[kind, key][1] for key in keys]
