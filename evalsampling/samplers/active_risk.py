"""Active risk estimation: rows are drawn where a label is expected to move the measure most.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, chapter 4;
    C. Sawade, N. Landwehr, S. Bickel and T. Scheffer, *Active risk estimation*, ICML 2010;
    C. Sawade, N. Landwehr and T. Scheffer, *Active estimation of F-measures*, NIPS 2010.
"""

import dataclasses
import math
from typing import Any, Literal

import numpy as np

from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.score_calibration import Calibration, check_calibration, recalibrated
from evalsampling.measures.deviation import Deviation
from evalsampling.measures.joint import parts_of
from evalsampling.measures.on_cells import predictive
from evalsampling.samplers.base import CellSampler
from evalsampling.spec.values import is_number
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.inclusion import mix_evenly


class DeviationSampler(CellSampler):
    """Draws rows with replacement by how far their label is expected to move the measure."""

    trusts_prior = True

    def adapted(self, inputs: EstimationInput) -> EstimationInput:
        """Return the input with self-normalised weights: [AE] eq. 3.31, [Y] eq. 4."""
        return dataclasses.replace(inputs, self_normalised=True)


@dataclasses.dataclass(frozen=True)
class ActiveRisk(DeviationSampler):
    """Draws with replacement from q* in proportion to sqrt(h), weights self-normalised.

    h(x) = sum_y pi(y|x) w(x, y)^2 (l(x, y) - G)^2 ([AE] theorem 4.1), where G is the value of the
    measure on the pool that is expected under pi (eq. 4.21). For the zero-one loss h is
    (1 - 2 R) e + R^2, e being the probability of an error (eq. 4.14); for F_eta see eq. 4.18. For a
    measure that is no weighted mean of losses, ||Dg (l - R)||^2 takes the place of w^2 (l - G)^2.

    pi, the model of the labels, is one of three (section 4.2.2):

    - ``scores``: the system's predictive distribution; of several systems its mean (eq. 5.11);
    - ``uniform``: every class equally likely, so that rows are drawn evenly for the zero-one loss;
    - ``prior``: the shares of the classes in the pool, so that only a row's prediction counts.

    The estimate is consistent for any pi. Without a calibration q* is the same for every round.

    Attributes:
        model: which pi is used.
        class_prior: for the model ``prior``, the share of each class, in the order of the spec's
            classes, summing to 1; None for the shares that are expected from the scores.
        calibration: ``logistic`` or ``isotonic`` regression of the labels so far on the scores,
            before each round ([AE] section 4.5); None for the scores as they are.
        classes: number of classes.
    """

    model: Literal["scores", "uniform", "prior"] = "scores"
    class_prior: tuple[float, ...] | None = None
    calibration: Calibration = None
    classes: int = 2
    name = "active_risk"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_calibration(self.calibration)
        if self.calibration is not None and self.model != "scores":
            raise ValueError(f"calibration is of scores, which model {self.model} does not look at")
        if self.class_prior is None:
            return
        if self.model != "prior":
            raise ValueError(f"class_prior is for model prior, not for {self.model}")
        object.__setattr__(self, "class_prior", _shares(self.class_prior, self.classes))

    @property
    def models_classes(self) -> bool:
        """Whether it calibrates scores, or has a model of their shares."""
        return self.calibration is not None or self.model != "scores"

    def labels(self, table: CellTable, history: History) -> FloatArray:
        """Return pi(y|x) of the rows of each cell, shape (cells, classes)."""
        if self.model == "uniform":
            return np.full((len(table), table.classes), 1 / table.classes)
        systems = sorted({system for part in parts_of(self.measure) for system in part.systems})
        own = table.kinds.by_cell(predictive(table, systems).mean(axis=1))
        if self.model == "prior":
            share = table.count @ own / table.rows
            return np.tile(share if self.class_prior is None else self.class_prior, (len(table), 1))
        as_prior = dataclasses.replace(table, prior=own)
        return recalibrated(as_prior, history, self.calibration, systems[0])

    def probability(self, table: CellTable, history: History) -> FloatArray:
        labels = self.labels(table, history)
        size = Deviation.from_cells(self.measure, table, labels).of_cells(table, labels)
        return mix_evenly(size, table.count, 0.0)


def _shares(given: Any, classes: int) -> tuple[float, ...]:
    """Return the shares of the classes that a spec gives, as a tuple of floats."""
    listed = list(given) if isinstance(given, list | tuple) else []
    if len(listed) != classes or not all(map(is_number, listed)):
        raise ValueError(
            f"class_prior must be a number for each of the {classes} classes, in their order, "
            f"got {given!r}"
        )
    if min(listed) < 0 or not math.isclose(sum(listed), 1, abs_tol=1e-6):
        raise ValueError(f"class_prior must be at least 0 each and 1 in all, got {given!r}")
    return tuple(map(float, listed))
