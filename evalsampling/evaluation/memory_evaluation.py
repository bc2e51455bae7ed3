"""An evaluation of a pool in memory: rows are drawn and labelled by their ids."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from evalsampling.errors import InputError
from evalsampling.evaluation.answers import Answers
from evalsampling.evaluation.evaluation import Evaluation
from evalsampling.evaluation.graded import take_grades
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.pool.frames import Column, Frame, Ids
from evalsampling.pool.lists import list_names


@dataclasses.dataclass(repr=False)
class MemoryEvaluation(Evaluation):
    """Cell table, sampler, measures and history of one evaluation, and the rows of its pool.

    Attributes:
        pool: the rows behind the cells; None where they are elsewhere.
    """

    pool: MemoryPool | None = None

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        id: str | None = None,
        score: str | None = None,
        prediction: Any = None,
        probability: Any = None,
        **spec: Any,
    ) -> Self:
        """Return a new evaluation of a pool held in a table.

        Args:
            frame: a DataFrame of pandas, polars or another library, an Arrow table, or a mapping
                from names to columns. Only columns that are named are read.
            id: column that names the rows; by default the index of a DataFrame that has one, else
                the rows' numbers.
            score: column that drives the strata; by default ``score``.
            prediction: column of the classes predicted, or ``{"threshold": x}``; by default
                ``prediction``.
            probability: column of the prior probability of the positive class, or a column for
                each class.
            **spec: other keys of the spec file: see `from_arrays`.

        Returns:
            An evaluation whose rows `sample` and `label` know by their ids.

        Raises:
            InputError: naming the argument, or the column and row, that is wrong.

        >>> from evalsampling import Evaluation
        >>> pool = {"name": ["a", "b", "c"], "score": [0.1, 0.4, 0.8], "guess": [0, 0, 1]}
        >>> evaluation = Evaluation.from_frame(pool, id="name", prediction="guess")
        >>> sorted(evaluation.sample(3).tolist())
        ['a', 'b', 'c']
        """
        named = {"id": id, "score": score, "prediction": prediction, "probability": probability}
        return cls._in_memory(MemoryPool.from_frame(frame, named, spec))

    @classmethod
    def from_arrays(
        cls,
        score: Column | None,
        prediction: Column | None,
        *,
        id: Column | None = None,
        probability: Column | None = None,
        columns: Frame | None = None,
        **spec: Any,
    ) -> Self:
        """Return a new evaluation of a pool held in memory.

        A column is an array of NumPy or Arrow, a list, or a Series of any library. Several with an
        index must have the same.

        Args:
            score: shape (n,), finite: drives the strata. None if ``columns`` hold what the spec's
                ``pool`` names.
            prediction: shape (n,): classes predicted, or with ``labels.multilabel`` lists of labels
                or shape (n, labels), 0 and 1; None likewise.
            id: shape (n,), integers or strings, no two alike; if not given, the index of a Series
                that has one, else row numbers.
            probability: shape (n,): prior probability of the positive class, or (n, classes);
                by default the score if all scores lie in [0, 1], else expit(score). The columns of
                a table are found by the names of the classes, if it has them.
            columns: other columns of the pool, for systems, slices, features: a mapping, or a
                table of any library.
            **spec: keys of the spec file: ``measure``, ``sampler``, ``labels``, ``strata``,
                ``seed``, ``confidence``; of ``pool`` those that name columns.

        Returns:
            An evaluation whose rows `sample` and `label` know by their ids.

        Raises:
            InputError: naming the argument, or the column and row, that is wrong.

        >>> import numpy as np
        >>> from evalsampling import Evaluation
        >>> score = np.linspace(-4, 4, 1000)
        >>> evaluation = Evaluation.from_arrays(score, (score > 1).astype(int), seed=1)
        >>> ids = evaluation.sample(50)
        >>> evaluation.label(ids, (score[ids] > 1.2).astype(int))
        >>> estimate, = evaluation.estimate()
        >>> estimate.measure, 0.8 < estimate.value < 1
        ('f1', True)
        """
        return cls._in_memory(
            MemoryPool.from_arrays(score, prediction, id, probability, columns, spec)
        )

    @classmethod
    def _in_memory(cls, pool: MemoryPool) -> Self:
        evaluation = cls.from_spec(pool.spec, pool.table, pool.stratification, pool.slices)
        evaluation.pool, evaluation.numbers = pool, pool.numbers
        return evaluation

    def sample(self, new_rows: int) -> "Ids":
        """Draw one round from a pool in memory and return the ids of its new rows.

        A stochastic oracle is to answer for each entry, also for a row that is there again.
        Threads take turns, and a call that is interrupted leaves no round behind.
        """
        pool, before, drawn = self._memory(), self.history, None
        try:
            with self._turns.lock:
                before = self.history
                drawn = self._with_round(new_rows)
                drawn = drawn.with_rows(*pool.describe(drawn))
                new = slice(len(before), None)
                ids = pool.ids(drawn.cell[new], drawn.rank[new])
                self.history = drawn
                return ids
        except BaseException:  # An interrupt too: nobody was given the rows.
            if self.history is drawn:
                self.history = before
            raise

    def label(
        self, id: Column | Frame, label: Column | None = None, *, replace: bool = False
    ) -> None:
        """Take the labels of rows that were drawn from a pool in memory.

        Labels of pandas are taken by their index, in any order: it holds the ids, or is that of
        the ``id`` that is given beside it. Others are in the order of the ids.

        Args:
            id: shape (n,): ids that `sample` returned. Or all at once: a table with the id column
                and ``label``, a Series of labels whose index are the ids, or a mapping from ids to
                labels.
            label: shape (n,): classes, of any type; with ``labels.multilabel`` lists of labels, or
                shape (n, labels), 0 and 1; of queries a list of the grades of all their `items`.
            replace: whether these take the place of other labels that rows have already.

        Raises:
            InputError: for an id that was not drawn, a label that is no class or missing, an index
                that does not hold the ids, or, of a deterministic oracle, two labels for one id;
                then no label is taken.
        """
        with self._turns.lock:
            asked, spec = self._asked(), self.spec
            assert spec is not None
            if spec.pool.lists is not None:
                self._take_grades(asked, id, label)
                return
            known, stochastic = self.history.label.tolist(), self.sampler.stochastic
            answers = Answers.read(id, label, spec.labels, spec.pool.id)
            self._take(
                answers.by_question(asked, known, spec.labels.codes, stochastic, replace), replace
            )

    def items(self, id: Column) -> list[list[Any]]:
        """Return the items to be graded of queries that were drawn from a pool in memory.

        Args:
            id: shape (n,): ids that `sample` returned.

        Raises:
            InputError: if rows are no queries, or one was not drawn.
        """
        pool, history = self._memory(), self.history
        if pool.spec.pool.lists is None:
            raise InputError("rows of this evaluation have no items: the spec has no pool.lists")
        questions = self._drawn_questions(np.asarray(id).tolist(), self._asked())
        stored = pool.stored(history.cell[questions], history.rank[questions])
        items: list[list[Any]] = stored[list_names(0)[0]].to_pylist()
        return items

    def _drawn_questions(self, id: list[Any], asked: list[Any]) -> list[int]:
        """Return the questions about some rows."""
        drawn = {one: question for question, one in enumerate(asked)}
        missing = [one for one in id if one not in drawn]
        if missing:
            raise InputError(f"id {missing[0]!r} was not drawn")
        return [drawn[one] for one in id]

    def _take_grades(self, asked: list[Any], id: Any, grades: Any) -> None:
        """Take the grades of all items of some queries."""
        if grades is not None and len(grades) != len(id):
            raise InputError(f"{len(grades)} labels for {len(id)} ids")
        given = id if grades is None else dict(zip(np.asarray(id).tolist(), grades, strict=True))
        if not isinstance(given, Mapping) or len(given) != len(id):
            raise InputError("grades of queries are one list for each id, or a mapping from ids")
        pool, history = self._memory(), self.history
        questions = self._drawn_questions(list(given), asked)
        told = [(q, one, given[one]) for q, one in zip(questions, given, strict=True)]
        rows = pool.stored(history.cell, history.rank)
        self.history = take_grades(rows, history, told, pool.spec, pool.table)

    def _asked(self) -> list[Any]:
        """Return the id of the row of each question."""
        return list(self._memory().ids(self.history.cell, self.history.rank).tolist())

    def _take(self, found: Mapping[int, int], replace: bool) -> None:
        """Take checked labels, the class code of each question that has one."""
        labels = self.history.label.copy()
        labels[list(found)] = list(found.values())
        self.history = self.history.with_corrections(labels)

    def _memory(self) -> MemoryPool:
        if self.pool is None:
            raise InputError("the rows of this evaluation are not in memory: use its workspace")
        return self.pool
