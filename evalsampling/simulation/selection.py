"""Model selection: how often the system that looks best is not, and what that loses.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012, section
    5.4.1: the model selection error.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import Difference
from evalsampling.stats.arrays import FloatArray

ALIKE = 1e-12
"""Values that are no further apart than this are taken to be the same, as rounding leaves them."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """The choice of the best of some systems by the estimates of one evaluation.

    Attributes:
        error: chance that the system chosen is not the best, in [0, 1]: above 0 and below 1 only
            where several look best, and each is as likely to be chosen.
        regret: how much worse the system chosen is than the best, in units of the measure, at
            least 0.
    """

    error: float
    regret: float


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Systems that one measure compares, the first with each of the others.

    Attributes:
        differences: places of the differences of the first system from each other one, in a list
            of measures.
        sign: 1 where a greater value of the measure is better, -1 where a smaller one is.
    """

    differences: tuple[int, ...]
    sign: int

    def select(self, estimated: Sequence[FloatArray], true: Sequence[FloatArray]) -> Selection:
        """Return the choice by the estimates of all measures of the list."""
        both = np.array(
            [[values[place][0] for place in self.differences] for values in (estimated, true)]
        )
        return self.choose(*both)

    def choose(self, estimated: FloatArray, true: FloatArray) -> Selection:
        """Return the choice by estimated differences.

        If a difference is undefined, nothing is known, and all systems look alike.
        """
        deviations = estimated if np.isfinite(estimated).all() else np.zeros_like(estimated)
        looks, standing = self._standing(deviations), self._standing(true)
        chosen = looks >= looks.max() - ALIKE
        loss = standing.max() - standing[chosen]
        return Selection(float(np.mean(loss > ALIKE)), float(np.mean(loss)))

    def _standing(self, differences: FloatArray) -> FloatArray:
        """Return how each system stands, the first at 0, shape (systems,); greater is better."""
        return -self.sign * np.append(0.0, differences)


def candidates_of(measures: Sequence[Measure]) -> list[Candidates | None]:
    """Return the systems that each measure helps to choose from; None unless it is a difference.

    Differences of the same measure and the same first system belong together. Of measures with
    several components, such as curves, none is chosen by.
    """
    places: dict[tuple[str, int], list[int]] = {}
    for place, measure in enumerate(measures):
        if (
            isinstance(measure, Difference)
            and len(measure.components) == 1
            and measure.first.greater_is_better is not None
        ):
            places.setdefault((measure.name, measure.first.system), []).append(place)
    candidates: list[Candidates | None] = [None] * len(measures)
    for together in places.values():
        measure = measures[together[0]]
        assert isinstance(measure, Difference)
        of_all = Candidates(tuple(together), 1 if measure.first.greater_is_better else -1)
        for place in together:
            candidates[place] = of_all
    return candidates


def mean_selection(selections: Sequence[Selection]) -> dict[str, float | None]:
    """Return the mean error and regret of the repeats; None for measures that choose nothing."""
    if not selections:
        return {"selection_error": None, "regret": None}
    return {
        "selection_error": float(np.mean([selection.error for selection in selections])),
        "regret": float(np.mean([selection.regret for selection in selections])),
    }
