"""How rounds are drawn: by which sampler, of which size, and when no further one is."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from evalsampling.errors import InputError
from evalsampling.spec.hidden import MOST_CLASSES
from evalsampling.spec.labels import LabelsSpec
from evalsampling.spec.parameters import name_and_parameters
from evalsampling.spec.pool import PoolSpec
from evalsampling.spec.sections import Section
from evalsampling.spec.strata import StrataSpec
from evalsampling.spec.values import Count, Fraction, Positive

LARGEST_ROUND = 10**9
"""Size at which a growing round stops growing."""


class RoundSize(msgspec.Struct, frozen=True):
    """New rows of each round: first, first x growth, first x growth^2, ..."""

    first: Count = 100  # size of the first round, at least 1
    # factor from one round to the next, at least 1
    growth: Annotated[float, Meta(ge=1, le=100, description="between 1 and 100")] = 1.0

    @classmethod
    def read(cls, top: Section) -> "RoundSize":
        """Return the key ``round_size``, checked: a size, or a section."""
        if not isinstance(top.get("round_size"), Mapping):
            return cls(top.value("round_size", Count, cls().first))
        return top.section("round_size").read(cls)

    def after(self, rounds: int) -> int:
        """Return the size of the round that follows ``rounds`` rounds."""
        return math.floor(min(self.first * self.growth ** min(rounds, 100), LARGEST_ROUND))


class StopSpec(msgspec.Struct, frozen=True):
    """When no further round is drawn, though the budget is not spent."""

    # no further round is drawn once half the width of every interval is at most this; None to spend
    # the budget
    half_width: Positive | None = None
    # no further round is drawn once the p-values of the comparisons of the first measure are at
    # most this; None for no such stop
    significance: Fraction | None = None
    # which p-values: ``anytime``, which may be looked at often, or ``fixed``
    test: Literal["anytime", "fixed"] = "anytime"


@dataclasses.dataclass(frozen=True)
class SamplerSpec:
    """The spec's ``sampler``; `samplers.build` makes a sampler of it."""

    name: str  # name in `samplers.BY_NAME`, or ``module:class``
    # parameters given with the name
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)


CURVES = ("calibrated", "clusters")
"""Samplers whose estimates rest on a curve of the scores' ranks."""


def read_sampler(
    top: Section, pool: PoolSpec, labels: LabelsSpec, strata: StrataSpec, measure: Any
) -> SamplerSpec:
    """Return the sampler, by default the calibrated design if it has a model of the labels.

    For a difference of systems that predict numbers it is active comparison.
    """
    given = top.get("sampler")
    if given is not None:
        chosen = SamplerSpec(*name_and_parameters("sampler", given))
        many = len(labels.classes) > MOST_CLASSES and labels.space.has_classes
        if chosen.name in CURVES and many:
            raise InputError(
                f"sampler: {chosen.name} has a model of at most {MOST_CLASSES} classes, labels "
                f"have {len(labels.classes)}: ais takes them"
            )
        return chosen
    of_scores = pool.score is not None or pool.probability is not None
    has_prior = (of_scores or strata.by_predictions) and labels.oracle == "deterministic"
    usual = "calibrated" if has_prior and len(labels.classes) <= MOST_CLASSES else "ais"
    if not labels.space.has_score and isinstance(measure, Mapping) and "difference" in measure:
        return SamplerSpec("compare")
    return SamplerSpec(labels.space.in_spec.sampler or usual)
