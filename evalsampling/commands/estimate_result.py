"""The result of `estimate`: every number that a workspace's labels tell, and what to know of it."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from evalsampling.commands.findings import (
    MissingLabels,
    MostlyRejected,
    findings_of,
    missing_labels,
    mostly_rejected,
)
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis, Measures
from evalsampling.evaluation.cautions import reason_to_stop
from evalsampling.evaluation.certificate import Certificate
from evalsampling.evaluation.gates import EXIT_CODES, Gates
from evalsampling.evaluation.label_error import LabelError, label_error, label_warnings
from evalsampling.evaluation.people import PeopleAgreement
from evalsampling.inference.precision_curve import Bounded, Guarantee
from evalsampling.inference.predictive import LabelModel
from evalsampling.inference.results import Estimate, brief, no_width_because, rested_on, widest_half
from evalsampling.labels.tally import Awaited
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_joints
from evalsampling.receivers.registry import Receipt
from evalsampling.report.numbers import Number
from evalsampling.spec import LabelsSpec
from evalsampling.spec.budget import Budget
from evalsampling.spec.gates import GatesSpec
from evalsampling.stats.poisson import PoissonSize
from evalsampling.workspace.snapshot import Snapshot

_OF_REGION = ("centre", "covariance", "radius", "low", "high")


@dataclasses.dataclass(frozen=True)
class ReportedHidden:
    """Quantiles of hidden positives of a class divided by the others, before and after labels."""

    label: str
    prior: Mapping[str, float]
    posterior: Mapping[str, float]


@dataclasses.dataclass(frozen=True)
class Bounds:
    """A number with bounds that hold together with those of all others; None where undefined."""

    value: float
    low: float
    high: float

    @classmethod
    def at(cls, measure: Bounded, place: int) -> "Bounds":
        """Return the bounds of one group."""
        ends = float(measure.low[place]), float(measure.high[place])
        return cls(float(measure.value[place]), *ends)


@dataclasses.dataclass(frozen=True)
class RankPoint:
    """Measures by name if rows up to a rank, of scores from a threshold on, are called positive."""

    rank: int
    threshold: float
    measures: Mapping[str, Bounds]


@dataclasses.dataclass(frozen=True)
class RankCurve:
    """The points of a ranked list from the first rank down, and its average precision."""

    average_precision: Bounds
    points: tuple[RankPoint, ...]


@dataclasses.dataclass(frozen=True)
class EstimateResult(Result):
    """Estimates from all labels so far: docs/cli.md tells the keys of the JSON."""

    only_if_any = (
        "certificates", "gates", "reports", "doubts", "curve", "label_likelihood_of", "people",
    )  # fmt: skip
    for_text = ("messages",)

    round: int
    labels: int
    open: int
    rejects: int
    warnings: tuple[str, ...]
    done: bool
    measures: tuple[Number, ...]
    regions: tuple[Mapping[str, Any], ...]  # of each `joint` of the spec: `_region`
    half_width: float | None
    awaited: Awaited = Awaited()
    assumes: Mapping[str, str] = dataclasses.field(default_factory=dict)
    hidden: tuple[ReportedHidden, ...] = ()
    missing: MissingLabels | None = None
    label_error: LabelError | None = None
    guarantee: Guarantee | None = None
    sample_size: PoissonSize | None = None
    half_width_reason: str | None = None
    cost: float | None = None
    label_likelihood: float | None = None
    notes: tuple[str, ...] = ()
    label_likelihood_of: Mapping[str, float] = dataclasses.field(default_factory=dict)
    mostly_rejected: tuple[MostlyRejected, ...] = ()
    doubts: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    people: PeopleAgreement | None = None
    gates: Gates | None = None
    reports: tuple[Receipt, ...] = ()
    certificates: tuple[Certificate, ...] = ()
    curve: RankCurve | None = None

    @property
    def exit_code(self) -> int:
        """1 if a receiver has failed, else the code of the gates and certificates."""
        if any(receipt.problem for receipt in self.reports):
            return 1
        proved = None if any(not each.holds for each in self.certificates) else True
        gated = True if self.gates is None else self.gates.reached
        return EXIT_CODES[False if gated is False else gated and proved]


def result_of(
    snapshot: Snapshot,
    measures: Measures | None = None,
    intervals: Sequence[str] = (),
    gates: GatesSpec | None = None,
) -> EstimateResult:
    """Return the estimates from the labels of a workspace, with all that is said of them."""
    spec, history, awaited = snapshot.pool.spec, snapshot.history, snapshot.awaited
    found = findings_of(snapshot, measures, intervals)
    analysis, estimates, curve = found.analysis, found.estimates, found.analysis.curve
    likelihoods = analysis.label_likelihoods
    wrong = label_error(analysis, snapshot.gold, estimates)
    return EstimateResult(
        round=len(history.rounds),
        labels=len(history.labelled),
        open=awaited.total,
        awaited=awaited,
        rejects=snapshot.rejects,
        warnings=found.warnings(awaited, label_warnings(wrong)),
        done=_is_done(analysis, spec.budget, estimates, awaited.total),
        measures=tuple(Number.of(estimate) for estimate in estimates),
        regions=tuple(_region(parts, analysis) for parts in build_joints(analysis.reading)),
        half_width=widest_half(estimates),
        half_width_reason=no_width_because(estimates),
        assumes=rested_on(each for estimate in estimates for each in estimate.intervals),
        hidden=_hidden(snapshot.analysis.label_model, analysis.reading.labels, analysis.confidence),
        missing=missing_labels(snapshot, found.bounds),
        label_error=wrong,
        guarantee=None if curve is None else curve.guarantee,
        sample_size=analysis.sample_size,
        cost=None if spec.pool.cost is None else history.money,
        label_likelihood=analysis.label_likelihood,
        label_likelihood_of={str(key): value for key, value in likelihoods.items() if key},
        notes=tuple(brief(estimates, attrgetter("notes"))),
        mostly_rejected=tuple(mostly_rejected(snapshot)),
        doubts=found.doubts,
        people=found.people,
        gates=found.judge(gates) if gates else None,
    )


def _is_done(
    analysis: Analysis, limits: Budget, estimates: Sequence[Estimate], still_open: int
) -> bool:
    """Return whether nothing is left to ask, or estimates are as the spec's `stop` wants them."""
    history, labels = analysis.history, len(analysis.history.labelled)
    # A Poisson sample whose expected size is the budget may come out smaller: it is all there is.
    if analysis.spent(labels) >= limits.labels and (labels >= limits.labels or not still_open):
        return True
    if still_open:
        return False
    no_money = limits.money is not None and not analysis.affords(limits.money - history.money)
    return no_money or analysis.exhausted or reason_to_stop(analysis.stop, estimates) is not None


def _hidden(
    model: LabelModel | None, labels: LabelsSpec, confidence: float
) -> tuple[ReportedHidden, ...]:
    """Return the prior and the posterior of hidden positives, where there is a model."""
    if model is None or not model.curves:
        return ()
    low, high = (1 - confidence) / 2, (1 + confidence) / 2
    levels = {f"{level:.3g}": level for level in (low, 0.5, high)}
    quantiles = functools.partial(np.quantile, q=[*levels.values()])
    classes = labels.classes[-len(model.curves) :]
    return tuple(
        ReportedHidden(
            str(label),
            prior={name: draws.prior_ratio(level) for name, level in levels.items()},
            posterior=dict(zip(levels, quantiles(draws.hidden_ratio).tolist(), strict=True)),
        )
        for label, draws in zip(classes, model.curves, strict=True)
    )


def _region(parts: Sequence[Measure], analysis: Analysis) -> dict[str, Any]:
    """Return the joint region of measures listed together, or why there is none.

    Its centre, covariance, low and high ends are those of their numbers, in order.
    """
    systems = analysis.reading.pool.systems
    measures = [
        {"measure": component.name, "system": systems[component.system].name}
        for part in parts
        for component in part.components
    ]
    told: dict[str, Any] = {"measures": measures, "confidence": analysis.confidence}
    told |= dict.fromkeys((*_OF_REGION, "reason"))
    try:
        region = analysis.region_of(parts)
    except InputError as error:
        return told | {"reason": str(error)}
    return told | {name: np.asarray(getattr(region, name)).tolist() for name in _OF_REGION}


def curve_of(snapshot: Snapshot, at: Sequence[int]) -> RankCurve | None:
    """Return the curve of a sampler that queries ranks; None of others, and without labels."""
    curve = snapshot.analysis.curve
    if curve is None:
        if at:
            raise InputError(
                f"{snapshot.pool.workspace.path}: no curve: that takes the sampler adastrat or "
                f"logstrat (here: {snapshot.pool.spec.sampler.name}), and labels of its first round"
            )
        return None
    measures = curve.measures
    places = dict.fromkeys(curve.ranked.at_rank(rank) for rank in at or curve.ranked.rank.tolist())
    return RankCurve(
        average_precision=Bounds.at(curve.average_precision(), 0),
        points=tuple(
            RankPoint(
                rank=int(curve.ranked.rank[place]),
                threshold=float(curve.ranked.threshold[place]),
                measures={name: Bounds.at(measure, place) for name, measure in measures.items()},
            )
            for place in places
        ),
    )
