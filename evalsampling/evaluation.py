"""One evaluation in memory: cell table, sampler and history, with no input or output.

Every entry point (command line, Beam pipelines, notebooks, simulation) goes through this class.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.measures.base import Measure
from evalsampling.memory import MemoryPool
from evalsampling.samplers.base import Sampler
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable
from evalsampling.stats.estimation import Estimate
from evalsampling.stats.history import NO_LABEL, History


@dataclasses.dataclass
class Evaluation:
    """An evaluation at one moment.

    Attributes:
        table: the cells of the pool.
        sampler: how rows are chosen and estimates made.
        measures: what is reported.
        seed: of the draws; a round's generator is seeded by it and by the round's number.
        confidence: level of the intervals, in (0, 1).
        history: rounds, draws and labels so far; replaced, never changed, as they come in.
        pool: the rows behind the cells, when they are in memory.
    """

    table: CellTable
    sampler: Sampler
    measures: Sequence[Measure]
    seed: int
    confidence: float
    history: History = dataclasses.field(default_factory=History)
    pool: MemoryPool | None = None

    def draw(self, new_rows: int, budget: int | None = None) -> npt.NDArray[np.int64]:
        """Draw one round.

        Args:
            new_rows: rows wanted that were never drawn before, at least 1; a sampler with a
                fixed number of draws does not heed it.
            budget: most such rows in any case.

        Returns:
            Indices of the new rows in ``history``; empty if the draws met labelled rows only.

        Raises:
            InputError: if ``new_rows`` is no such number, or the measure is undefined.
        """
        if isinstance(new_rows, bool) or not isinstance(new_rows, int | np.integer) or new_rows < 1:
            raise InputError(f"new rows must be a whole number of at least 1, got {new_rows!r}")
        before = len(self.history.cell)
        rng = np.random.Generator(np.random.PCG64([self.seed, len(self.history.rounds)]))
        self.history = self.sampler.design(self.table, self.history, new_rows, rng, budget)
        return np.arange(before, len(self.history.cell))

    @property
    def exhausted(self) -> bool:
        """Whether every row that can be drawn has been."""
        return self.sampler.exhausted(self.table, self.history)

    def estimate(self, measures: Sequence[Measure] | None = None) -> list[Estimate]:
        """Estimate measures, the evaluation's own if none are given, from the labels so far."""
        return self.sampler.estimate(
            self.table, self.history, measures or self.measures, self.confidence
        )

    @classmethod
    def from_spec(
        cls, spec: EvaluationSpec, table: CellTable, sampler: str | None = None
    ) -> "Evaluation":
        """Start an evaluation of a pool whose cells are known.

        Args:
            spec: names measures, sampler, seed and confidence.
            table: the cells.
            sampler: name of another sampler to use.
        """
        return cls(
            table=table,
            sampler=spec.build_sampler(sampler),
            measures=spec.build_measures(),
            seed=spec.seed,
            confidence=spec.confidence,
        )

    @classmethod
    def from_arrays(
        cls,
        score: npt.NDArray[np.floating],
        prediction: npt.NDArray[Any],
        *,
        id: npt.NDArray[Any] | None = None,
        probability: npt.NDArray[np.floating] | None = None,
        **spec: Any,
    ) -> "Evaluation":
        """Prepare a pool held in memory.

        Args:
            score: shape (n,), finite: drives the strata.
            prediction: shape (n,): classes predicted.
            id: shape (n,), integers or strings, no two alike; row numbers if not given.
            probability: shape (n,): prior probability of the positive class, or (n, classes);
                by default the score if all scores lie in [0, 1], else expit(score).
            **spec: keys of the spec file but for the pool: ``measure``, ``sampler``, ``labels``,
                ``strata``, ``seed``, ``confidence``.

        Returns:
            An evaluation whose rows `sample` and `label` know by their ids.

        Raises:
            InputError: naming the argument, or the column and row, that is wrong.

        >>> import numpy as np
        >>> score = np.linspace(-4, 4, 1000)
        >>> evaluation = Evaluation.from_arrays(score, (score > 1).astype(int), seed=1)
        >>> ids = evaluation.sample(50)
        >>> evaluation.label(ids, (score[ids] > 1.2).astype(int))
        >>> estimate, = evaluation.estimate()
        >>> estimate.measure, 0.8 < estimate.value < 1
        ('f1', True)
        """
        pool = MemoryPool.from_arrays(score, prediction, id, probability, spec)
        evaluation = cls.from_spec(pool.spec, pool.table)
        evaluation.pool = pool
        return evaluation

    def sample(self, new_rows: int) -> npt.NDArray[Any]:
        """Draw one round from a pool in memory and return the ids of its new rows."""
        rows = self.draw(new_rows)
        return self._memory().ids(self.history.cell[rows], self.history.rank[rows])

    def label(self, id: npt.NDArray[Any], label: npt.NDArray[Any]) -> None:
        """Take the labels of rows that were drawn from a pool in memory.

        Args:
            id: shape (n,): ids that `sample` returned.
            label: shape (n,): classes.

        Raises:
            InputError: for an id that was not drawn, a label that is no class, or two labels for
                one id; then no label is taken.
        """
        pool = self._memory()
        drawn = pool.ids(self.history.cell, self.history.rank).tolist()
        codes = pool.spec.labels.codes
        index = {value: row for row, value in enumerate(drawn)}
        labels = self.history.label.copy()
        if len(id) != len(label):
            raise InputError(f"{len(label)} labels for {len(id)} ids")
        answers: dict[Any, Any] = {}
        for value, given in zip(np.asarray(id).tolist(), np.asarray(label).tolist(), strict=True):
            if answers.setdefault(value, given) != given:
                raise InputError(f"id {value!r} has two labels, {answers[value]!r} and {given!r}")
            if value not in index:
                raise InputError(f"id {value!r} was not drawn")
            code = codes.get(str(given), NO_LABEL)
            if code == NO_LABEL:
                raise InputError(f"label {given!r} of id {value!r} is not one of {[*codes]}")
            labels[index[value]] = code
        self.history = self.history.with_labels(labels)

    def _memory(self) -> MemoryPool:
        if self.pool is None:
            raise InputError("the rows of this evaluation are not in memory: use its workspace")
        return self.pool
