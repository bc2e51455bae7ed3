"""Rounds and labels in memory, of a pool that is wholly in memory."""

import dataclasses
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.answers import questions_of, shown_ids
from evalsampling.evaluation.cautions import cautions
from evalsampling.evaluation.gates import check_gates, judge
from evalsampling.evaluation.graded import read_grades, take_grades
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.evaluation.missing_labels import (
    missing_bounds,
    more_than_a_few,
    seldom_at_random,
    silent_rows,
)
from evalsampling.evaluation.odd_answers import groups_of_calls, odd_answers
from evalsampling.notebook.saving import save
from evalsampling.notebook.turns import Turns
from evalsampling.pool.frames import Ids
from evalsampling.pool.lists import list_names
from evalsampling.pool.stored_columns import ID
from evalsampling.receivers.run import Run
from evalsampling.report.numbers import Number
from evalsampling.spec.gates import GatesSpec


@dataclasses.dataclass(eq=False, repr=False)
class MemoryState:
    """Rounds and labels of a pool in memory.

    Attributes:
        pool: all rows, and their cells.
        analysis: the evaluation as it is now; replaced by one assignment as rounds and labels
            come in, so that an interrupt finds all of them or none.
        turns: of the threads that share it.
    """

    pool: MemoryPool
    analysis: Analysis
    turns: Turns = dataclasses.field(default_factory=Turns, init=False)

    @classmethod
    def start(cls, pool: MemoryPool) -> "MemoryState":
        """Return the state of a pool before the first round."""
        return cls(pool, pool.analysis)

    def ids(self) -> list[Any]:
        """Return the id of the row of each question."""
        history = self.analysis.history
        return list(self.pool.ids(history.cell, history.rank).tolist())

    def sample(self, new_rows: int) -> Ids:
        """Draw one round and return the ids of its rows; an interrupted call draws none."""
        before = drawn = self.analysis
        try:
            with self.turns.lock:
                before = self.analysis
                drawn = self._with_round(new_rows)
                new = slice(len(before.history), None)
                rows = self.pool.stored(drawn.history.cell[new], drawn.history.rank[new])
                ids = shown_ids(rows[ID], self.pool.spec.pool.id)
                self.analysis = drawn
                return ids
        except BaseException:  # An interrupt too: nobody was given the rows.
            if self.analysis is drawn:
                self.analysis = before
            raise

    def draw(self, new_rows: int, budget: int | None, money: float | None) -> npt.NDArray[np.int64]:
        """Draw one round and return the indices of its new questions."""
        with self.turns.lock:
            before = len(self.analysis.history)
            self.analysis = self._with_round(new_rows, budget, money)
            return np.arange(before, len(self.analysis.history))

    def _with_round(
        self, new_rows: int, budget: int | None = None, money: float | None = None
    ) -> Analysis:
        """Return the analysis with one round more, with the outputs of its rows."""
        drawn = self.analysis.with_round(new_rows, budget, money)
        if drawn is self.analysis:
            return drawn
        return drawn.with_history(drawn.history.with_rows(*self.pool.describe(drawn.history)))

    def label(self, codes: Mapping[int, int], replace: bool) -> None:
        """Add checked labels to the history; they may replace others.

        Raises:
            InputError: if rows are to have several votes, which are not labels.
        """
        votes = self.pool.spec.labels.votes
        if votes > 1:
            raise InputError(
                f"labels.votes: a row is to have {votes} votes of annotators, and labels of a "
                "notebook are no votes; save the evaluation, and deliver votes to the workspace"
            )
        history = self.analysis.history
        label = history.label.copy()
        label[list(codes)] = list(codes.values())
        self.analysis = self.analysis.with_history(history.with_corrections(label))

    def grade(self, id: Any, grades: Any) -> None:
        """Add the grades of all items of queries to the history."""
        pool, history = self.pool, self.analysis.history
        given = read_grades(self.ids(), id, grades)
        rows = pool.stored(history.cell, history.rank)
        graded = take_grades(rows, history, given, pool.spec, pool.table)
        self.analysis = self.analysis.with_history(graded)

    def items(self, id: Any) -> list[list[Any]]:
        """Return the items to be graded of queries that were drawn."""
        pool, history = self.pool, self.analysis.history
        if pool.spec.pool.lists is None:
            raise InputError("rows of this evaluation have no items: the spec has no pool.lists")
        questions = questions_of(np.asarray(id).tolist(), self.ids())
        stored = pool.stored(history.cell[questions], history.rank[questions])
        items: list[list[Any]] = stored[list_names(0)[0]].to_pylist()
        return items

    def doubts(self, analysis: Analysis) -> list[str]:
        """Return what is to be said of the labels of an analysis before any number."""
        silent = silent_rows(analysis)
        few = not more_than_a_few(len(silent), len(analysis.history))
        bounds = [] if few else missing_bounds(analysis, silent)
        text = seldom_at_random({"": len(silent)}, len(analysis.history), bounds)
        return [*([text] if text else []), *odd_answers(analysis, groups_of_calls(analysis))]

    def run(self, gates: GatesSpec) -> Run:
        """Return the estimates as receivers get them."""
        started, analysis = datetime.datetime.now(datetime.UTC), self.analysis
        estimates, labels = analysis.estimate(), len(analysis.history.labelled)
        rows, judged = analysis.table.rows, None
        if gates:
            check_gates(gates, analysis.scope.all_targets(analysis.measures))
            judged = judge(gates, estimates, labels, analysis.rows_to_label)
        return Run(
            name="evaluation",
            workspace=None,
            spec=self.pool.spec,
            pool=(),
            rows=rows,
            started=started,
            time=datetime.datetime.now(datetime.UTC),
            round=len(analysis.history.rounds),
            labels=labels,
            open=len(analysis.history) - labels,
            warnings=(*self.doubts(analysis), *cautions(analysis, estimates)),
            numbers=tuple(map(Number.of, estimates)),
            gates=judged,
        )

    def save(self, path: str | Path) -> None:
        """Write the evaluation to a workspace, or the part that the workspace lacks."""
        with self.turns.lock:
            save(self.analysis, self.pool, path)
