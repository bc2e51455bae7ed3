"""Estimates from draws with replacement, row by row, with the labels that annotators gave.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, theorem
    4.2 and equations 3.31 and 3.14.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.answers import Answers
from evalsampling.evaluation.sampled_rows import SampledRows
from evalsampling.evaluation.statement import statement
from evalsampling.inference.domains import is_reported_for_slices
from evalsampling.inference.extremes import extreme_of, levels
from evalsampling.inference.importance_weights import estimate_from_draws
from evalsampling.inference.results import Estimate, Target, undefined
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_driver
from evalsampling.measures.comparisons import is_aimed_at
from evalsampling.measures.extremes import Extreme
from evalsampling.pool.columns import read_slices
from evalsampling.pool.frames import Frame
from evalsampling.preparation.row_laws import Design
from evalsampling.preparation.with_replacement import WEIGHT
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.history import NO_LABEL


@dataclasses.dataclass(frozen=True)
class _Part:
    """A part of the pool.

    Attributes:
        title: ``column=value``, None for the whole pool.
        inside: shape (draws,): whether the row of each draw is in it.
    """

    title: str | None
    inside: BoolArray


@dataclasses.dataclass(frozen=True)
class DrawnRows:
    """The draws of all rounds of an evaluation without a workspace.

    A deterministic oracle is asked once about a row, however often it is drawn, a stochastic one at
    every draw. What it is asked is a *question*.

    Attributes:
        sampled: the draws, in order.
        round: shape (draws,): round of each draw, from 1.
        weight: shape (draws,): w = 1 / (M q) of each draw.
    """

    sampled: SampledRows
    round: IntArray
    weight: FloatArray

    @classmethod
    def read(cls, spec: EvaluationSpec, rounds: Sequence[Frame]) -> "DrawnRows":
        """Return the draws of some rounds: tables as `preparation.with_replacement` makes them.

        Raises:
            InputError: naming the round, and the column or row that is wrong.
        """
        Design.of(spec)
        if not rounds:
            raise InputError("no round was drawn")
        tables = [_checked(spec, rows, number) for number, rows in enumerate(rounds, start=1)]
        every = pa.concat_tables(tables, promote_options="permissive")
        sampled = SampledRows.read(spec, every, WEIGHT)
        number = np.repeat(np.arange(1, len(tables) + 1), [len(table) for table in tables])
        return cls(sampled, number, sampled.numbers)

    @property
    def spec(self) -> EvaluationSpec:
        """The spec of the evaluation."""
        return self.sampled.spec

    @functools.cached_property
    def ids(self) -> Sequence[Any]:
        """Id of the row of each draw."""
        return list(self.sampled.batch.ids(self.spec.pool.id).to_pylist())

    @property
    def stochastic(self) -> bool:
        """Whether answers about the same row may differ."""
        return self.spec.labels.oracle == "stochastic"

    @functools.cached_property
    def question(self) -> IntArray:
        """The question of each draw, numbered in the order they were asked, shape (draws,)."""
        return np.arange(len(self.ids)) if self.stochastic else _numbered(self.ids)

    @functools.cached_property
    def first(self) -> IntArray:
        """The draw that asked each question, shape (questions,)."""
        return np.unique(self.question, return_index=True)[1]

    @property
    def asked(self) -> Sequence[Any]:
        """Id of the row of each question."""
        return [self.ids[draw] for draw in self.first.tolist()]

    def codes(self, answers: Answers) -> dict[int, int]:
        """Return the class code of each answered question.

        Raises:
            InputError: for an id that was not drawn, or a label that cannot be.
        """
        space, none = self.spec.labels.space, [NO_LABEL] * len(self.first)
        return answers.by_question(self.asked, none, space, self.stochastic, False)

    def estimates(
        self, codes: Mapping[int, int], missing_at_random: bool = False
    ) -> list[Estimate]:
        """Return the estimates of the spec's measures, on the pool and on each slice that was met.

        Args:
            codes: class code of each answered question.
            missing_at_random: whether questions may lack an answer. Their draws are left out.

        Raises:
            InputError: if there is no label, or one is missing; or for what draws cannot tell.
        """
        answered = np.array(sorted(codes), dtype=np.int64)
        missing = np.setdiff1d(np.arange(len(self.first)), answered)
        if not len(answered):
            raise InputError("no row has a label")
        if len(missing) and not missing_at_random:
            raise InputError(self._words_of(missing))
        code = np.full(len(self.first), NO_LABEL)
        code[answered] = [codes[question] for question in answered.tolist()]
        estimates = [
            estimate
            for measure in self.sampled.measures()
            for part in (self._parts if is_reported_for_slices(measure) else self._parts[:1])
            for estimate in self._on(part, measure, code, self.spec.confidence)
        ]
        note = (
            f"{len(missing)} of {len(self.first)} rows drawn have no label, which are taken to be "
            "missing at random"
        )
        added = (note,) if len(missing) else ()
        return [
            dataclasses.replace(
                estimate, notes=(*estimate.notes, *added), statement=statement(estimate)
            )
            for estimate in estimates
        ]

    @functools.cached_property
    def _parts(self) -> list[_Part]:
        """The whole pool, then each value of each slice column that was met."""
        parts = [_Part(None, np.ones(len(self.ids), dtype=np.bool_))]
        for name, column in read_slices(self.sampled.batch, self.spec).items():
            texts = np.array(column.to_pylist())
            parts += [_Part(f"{name}={value}", texts == value) for value in np.unique(texts)]
        return parts

    def _on(
        self, part: _Part, measure: Measure, code: IntArray, confidence: float
    ) -> list[Estimate]:
        """Return the estimates of a measure on a part of the pool.

        The draws of a slice are draws of its rows, each with its chance, so their weights are
        divided by their sum: how many rows it has is not known. ``code`` has the class code of each
        question, `NO_LABEL` of those without.
        """
        targets, design = self.sampled.targets(measure, part.title), Design.of(self.spec)
        if isinstance(measure, Extreme):
            return [self._extreme(part, measure, targets[0], code)]
        aimed_at = is_aimed_at(measure, self._driver) and part.title is None
        if not (aimed_at or design.covers_pool):
            return self._refused(measure, targets)
        answered = np.unique(self.question[part.inside & (code != NO_LABEL)[self.question]])
        if not len(answered):
            reason = f"no labelled row where {part.title}"
            return [undefined(target, confidence, "no labels", reason) for target in targets]
        counts = np.isin(self.question, answered)
        return estimate_from_draws(
            measure,
            self.sampled.outputs.take(self.first[answered]),
            code[answered],
            np.searchsorted(answered, self.question[counts]),
            self.weight[counts],
            confidence,
            design.self_normalised or part.title is not None,
            self._rows[answered],
            aimed_at=aimed_at or part.title is not None,
            targets=targets,
        )

    def _extreme(self, part: _Part, measure: Extreme, target: Target, code: IntArray) -> Estimate:
        """Return the estimate of the least or greatest of slices: `inference.extremes`."""
        slices, confidence = measure.parts, self.spec.confidence
        near, far = (
            [estimate for each in slices for estimate in self._on(part, each, code, level)]
            for level in levels(confidence, len(slices))
        )
        return extreme_of(measure, target, near, far, confidence)

    @functools.cached_property
    def _driver(self) -> Measure:
        """The measure that rows are drawn for."""
        return build_driver(self.spec, [None] * len(self.spec.pool.systems))

    @functools.cached_property
    def _rows(self) -> IntArray:
        """A number that identifies the row of each question, shape (questions,)."""
        return _numbered(self.asked)

    def _words_of(self, missing: IntArray) -> str:
        draw = int(self.first[missing[0]])
        return (
            f"id {self.ids[draw]!r} was drawn in round {self.round[draw]} and has no label, as "
            f"{len(missing)} of {len(self.first)} rows. Label them, leave out rounds that are "
            "not labelled yet, or take them as missing at random"
        )

    def _refused(self, measure: Measure, targets: Sequence[Target]) -> list[Estimate]:
        where = "" if targets[0].slice is None else f" where {targets[0].slice}"
        reason = (
            f"{measure.name}{where} cannot be estimated from rows drawn for {self._driver.name}: "
            "rows that add to it may have had no chance; sampler.delta above 0 gives every row one"
        )
        return [
            undefined(target, self.spec.confidence, "no support", reason, warn=True)
            for target in targets
        ]


def estimate_drawn_rows(
    spec: EvaluationSpec,
    rounds: Frame | Sequence[Frame],
    id: Any,
    label: Any = None,
    missing_at_random: bool = False,
) -> list[Estimate]:
    """Return the estimates of a spec's measures from draws with replacement, and their labels.

    Every draw counts, also of a row that was drawn before; its label is asked for once. Weights are
    divided by their sum ([AE] eq. 3.31), for the samplers ``importance`` and ``passive`` by the
    number of draws.

    Args:
        spec: of the evaluation, as it was when the rows were drawn.
        rounds: what was drawn (`preparation.with_replacement`, on any engine): a table of any kind,
            or a list of tables, one for each round.
        id: ids of the rows that have labels, or a table of ids and labels: see `Evaluation.label`.
        label: labels of these rows, in the order of the ids.
        missing_at_random: whether rows may lack a label. Their draws are left out, which is right
            if labels are missing at random, and the estimates say how many there are.

    Raises:
        InputError: naming the column and row, the id or the key of the spec that is wrong; for an
            id that was not drawn, a row without a label, a weight that is not above 0.
    """
    drawn = DrawnRows.read(spec, [*rounds] if isinstance(rounds, list | tuple) else [rounds])
    answers = Answers.read(id, label, spec.labels, spec.pool.id)
    return drawn.estimates(drawn.codes(answers), missing_at_random)


def _numbered(ids: Sequence[Any]) -> IntArray:
    """Return a number for each id, shape (n,), from 0 in the order in which they first occur."""
    number: dict[Any, int] = {}
    return np.array([number.setdefault(id, len(number)) for id in ids], dtype=np.int64)


def _checked(spec: EvaluationSpec, rows: Frame, number: int) -> pa.Table:
    """Return the columns of a round that estimates are made from."""
    try:
        sampled = SampledRows.read(spec, rows, WEIGHT)
        weight = sampled.numbers
        sampled.refuse(~((weight > 0) & np.isfinite(weight)), "a weight is above 0 and finite")
    except InputError as error:
        raise InputError(f"round {number}: {error}") from error
    return pa.Table.from_batches([sampled.batch.rows])
