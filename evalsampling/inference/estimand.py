"""A measure on a part of the pool, with the statistics that its intervals are computed from."""

import dataclasses
import functools
import math
from collections.abc import Sequence

import numpy as np

from evalsampling.inference.anticipation import MOST_COMPONENTS, anticipated_error
from evalsampling.inference.domains import Domain
from evalsampling.inference.evidence import Evidence, SharesSeen, UnseenSide, find_missing_weight
from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.linearisation import Linearisation
from evalsampling.inference.own_chances import unseen_side
from evalsampling.inference.predictive import Predictive
from evalsampling.inference.ratio_bias import Bias, biases, less_bias
from evalsampling.inference.results import TIE
from evalsampling.inference.unsearched import Unsearched
from evalsampling.measures.base import PREDICTION, Measure
from evalsampling.measures.comparisons import Comparison
from evalsampling.measures.on_cells import (
    cells_adding_to,
    model_risk,
    numbers_of_rows,
    rows_of_cells,
)
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.history import ELSEWHERE


@dataclasses.dataclass(frozen=True)
class Estimand:
    """A measure of m components on a part of the pool, and the data it is estimated from."""

    measure: Measure
    inputs: EstimationInput
    domain: Domain = Domain()  # the part of the pool, or the whole pool
    aimed_at: bool = True  # whether the rows were drawn for this measure

    @property
    def is_pool(self) -> bool:
        """Whether the domain is the whole pool."""
        return self.domain.count is None

    @functools.cached_property
    def linearisation(self) -> Linearisation:
        """The measure on the domain as a function of weighted sums over the labelled rows."""
        return Linearisation(self.measure, self.inputs, self.domain)

    @property
    def inside(self) -> BoolArray:
        """Whether each labelled row is in the domain, shape (n,)."""
        return self.linearisation.inside

    @functools.cached_property
    def biases(self) -> Sequence[Bias | None]:
        """The bias of each component; None where it is not known, as beside a model."""
        measure, inputs = self.measure, self.inputs
        if inputs.response is not None:
            return [None] * len(measure.components)
        normalised = (not self.is_pool or inputs.self_normalised) and inputs.covers_pool
        return biases(measure, inputs.outputs, inputs.votes, inputs.sample, self.inside, normalised)

    @functools.cached_property
    def linearised(self) -> tuple[FloatArray, FloatArray]:
        """The estimated values, shape (m,), and the influences of labelled rows, shape (n, m)."""
        value, influence = self.linearisation.estimate()
        return (less_bias(value, self.biases) if self.inputs.correct_bias else value), influence

    @functools.cached_property
    def evidence(self) -> list[Evidence]:
        """The evidence for each component: gaps in the labels, expected error and bias."""
        measure, inputs = self.measure, self.inputs
        gaps = self.shares.gaps()
        if inputs.covers_pool and self.is_pool and not self.aimed_at:
            cells = cells_adding_to(measure, inputs.table)
            share = float(inputs.table.count[cells].sum() / inputs.table.rows)
            may_add = cells[inputs.history.cell[inputs.sample.question]]
            missing = find_missing_weight(inputs.sample, may_add, share)
            gaps = [gap or missing for gap in gaps]
        expected: Sequence[float | None] = [None] * len(gaps)
        if self._can_anticipate:
            expected = self._anticipated_error(inputs.prior(measure.system)).tolist()
        hopeless = self._hopeless.tolist()
        return [
            Evidence(measure.undefined_without, *of_component, self._unseen_side)
            for of_component in zip(gaps, expected, self.biases, hopeless, strict=True)
        ]

    @property
    def _hopeless(self) -> BoolArray:
        """Whether each component is undefined whatever the labels of the domain, shape (m,)."""
        missing = ~np.isfinite(self.linearised[0])
        if not (missing.any() and self._has_classes):
            return np.zeros(len(missing), dtype=np.bool_)
        return missing & np.isnan(self._with_odds(np.ones(len(self.inputs.table))))

    @property
    def by_definition(self) -> float | None:
        """The value if no label can change it: recall is 1 if every row is predicted positive.

        None of several components, and where cells do not tell what a measure of predictions needs.
        """
        measure, table = self.measure, self.inputs.table
        is_plain = measure.looks_at <= PREDICTION and len(measure.components) == 1
        if not (is_plain and self._has_classes) or table.kinds.mixed.any():
            return None
        first = self._with_odds(np.ones(len(table)))[0]
        other = self._with_odds(np.sqrt(np.arange(2, len(table) + 2)))[0]
        return round(float(first), 12) if abs(first - other) <= TIE else None

    @property
    def _unseen_side(self) -> UnseenSide | None:
        """The rows that a system of several alone predicts, if labels hardly tell of them.

        F1 and recall of one system do without: they are as uncertain by positives of all rows.
        """
        measure, table = self.measure, self.inputs.table
        drawn_elsewhere = any(one.origin == ELSEWHERE for one in self.inputs.history.rounds)
        if not drawn_elsewhere or table.kinds.prediction.shape[1] < 2:
            return None
        if not (isinstance(measure, Comparison) or measure.is_of_known_rows):
            return None
        if not (measure.looks_at == PREDICTION and self._has_classes and table.classes == 2):
            return None
        if not self.is_pool or len(measure.components) > 1:
            return None
        slope = measure.jacobian(self.linearisation.terms.risk)
        error = float(np.sqrt(self.inputs.sample.variance(self.linearised[1])[0]))
        return unseen_side(measure, self.inputs, self.unlabelled, slope, error)

    @property
    def _has_classes(self) -> bool:
        is_plain = "classes" in self.measure.label_kinds and self.inputs.table.kinds.tags is None
        return is_plain and self.inputs.table.covers(self.inputs.label)

    def _with_odds(self, odds: FloatArray) -> FloatArray:
        """Return the measure if rows of each cell had classes at some odds, shape (m,).

        By class the odds rise with square roots, so that no numbers cancel; by cell as given.
        """
        table = self.inputs.table
        rate = np.sqrt(np.arange(1, table.classes + 1)) * np.ones((len(table), 1))
        rate[:, 1:] *= odds[:, None]
        rows = self.domain.rows(table)
        mass = rows[:, None] * rate / rate.sum(axis=1, keepdims=True)
        return self.measure.value(model_risk(self.measure, table, mass / max(int(rows.sum()), 1)))

    def expected_error(self, rate: FloatArray) -> FloatArray:
        """Return the standard error that rates of the classes predict, shape (m,).

        Where weights alone stand for unlabelled rows whose chance is known, these count too: rows
        with next to no chance are hardly ever in a sample.
        """
        of_labelled = self.linearisation.expected_error(rate)
        if self.inputs.response is not None or not self._can_anticipate:
            return of_labelled
        return np.maximum(of_labelled, self._anticipated_error(rate))

    def _anticipated_error(self, rate: FloatArray) -> FloatArray:
        """Return the standard error that rates predict for draws of unlabelled rows, (m,)."""
        measure, inputs = self.measure, self.inputs
        assert inputs.chance is not None
        risk = self.linearisation.risk(inputs.sample.weight)
        return anticipated_error(
            measure, inputs.table, risk, inputs.chance, rate, self.unlabelled, inputs.sample.draws
        )

    @property
    def _can_anticipate(self) -> bool:
        """Whether the standard error can be predicted from the cells."""
        return (
            self.inputs.chance is not None
            and self.inputs.sample.draws > 0
            and not self.inputs.stochastic
            and "grades" not in self.measure.looks_at
            and self.is_pool
            and len(self.measure.components) <= MOST_COMPONENTS
        )

    def fewest_rows(self, predictive: Predictive) -> IntArray:
        """Return the number of labelled rows of each component's scarcest share, shape (m,)."""
        chosen = self.unlabelled > 0
        expected = numbers_of_rows(self.measure, predictive.table, chosen, predictive.expected)
        return self.shares.fewest_rows(expected)

    @functools.cached_property
    def unsearched(self) -> Unsearched | None:
        """The measure with all positives that labels allow below those met, if there are any."""
        inputs, measure, table = self.inputs, self.measure, self.inputs.table
        is_plain = "classes" in measure.label_kinds and len(measure.components) == 1
        if not is_plain or inputs.unsearched is None:
            return None
        below, most = inputs.unsearched
        more = model_risk(measure, table, np.stack([-most, most], axis=1) / table.rows)
        value = float(measure.value(self.linearisation.terms.risk + more)[0])
        if math.floor(most.sum()) == 0 or not math.isfinite(value):
            return None
        low, high = measure.components[0].bounds
        return Unsearched(
            met=int(np.sum(inputs.history.label == 1)),
            rows=int(table.count[below].sum()),
            labelled=int((table.count - self.unlabelled)[below].sum()),
            positives=math.floor(most.sum()),
            value=min(max(value, low), high),
        )

    @functools.cached_property
    def unlabelled(self) -> IntArray:
        """The unlabelled rows of the domain in each cell; all rows if answers about a row vary."""
        rows = self.domain.rows(self.inputs.table)
        if self.inputs.stochastic:
            return rows
        cell = self.inputs.history.cell[self.inputs.sample.question[self.inside]]
        return rows - np.bincount(cell, minlength=len(rows))

    @functools.cached_property
    def shares(self) -> SharesSeen:
        """The shares that the measure depends on, among answers about rows that chance drew."""
        measure, inputs = self.measure, self.inputs
        drawn = self.inside & ~inputs.history.picked[inputs.sample.question]
        answers = np.flatnonzero(drawn[inputs.votes.row])
        row = inputs.unit[inputs.votes.row[answers]]
        return SharesSeen(
            len(measure.components),
            measure.shares(inputs.outputs.take(answers), inputs.label[answers]),
            measure.shares(*rows_of_cells(measure, inputs.table, self.unlabelled > 0)),
            np.unique(row, return_inverse=True)[1].ravel(),
            inputs.sample.cluster is not None,
        )
