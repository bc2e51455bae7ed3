"""What missing and wrong labels may do to the estimates of a workspace."""

import collections
import dataclasses
from collections.abc import Sequence

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.missing_labels import MissingBounds, missing_bounds
from evalsampling.inference.domains import Domain
from evalsampling.inference.label_error import correct
from evalsampling.inference.model_based import KIND
from evalsampling.inference.results import Estimate
from evalsampling.labels.tally import State
from evalsampling.measures import Joint
from evalsampling.measures.calibrated import measure_of
from evalsampling.measures.extremes import Extreme
from evalsampling.report.numbers import title
from evalsampling.workspace.snapshot import Snapshot


@dataclasses.dataclass(frozen=True)
class MissingLabels:
    """Rows drawn that have no label, and what that may do to the estimates.

    Attributes:
        open: no answer yet, in a round that is open.
        closed: no answer, in a round that is closed.
        disputed: annotators do not agree, or contradict themselves.
        skipped: declined.
        unsure: the annotators could not tell.
        late: rows whose first answer came after a later round had been drawn; they have one.
        bounds: of each number on the whole pool, were all missing labels of one class.
    """

    open: int
    closed: int
    disputed: int
    skipped: int
    unsure: int
    late: int
    bounds: tuple[MissingBounds, ...]


@dataclasses.dataclass(frozen=True)
class CorrectedEstimate:
    """A number corrected for wrong labels, with its band.

    Attributes:
        measure: name of the number.
        system: that it is about, if systems have names.
        value: corrected, None if it is undefined or the labels tell too little.
        low: lower end of the band.
        high: upper end.
        sampling_error: standard error that the sample leaves in it.
        label_error: what wrong labels do.
        dominates: whether that is more.
        against: the system that this one is compared with, if any.
    """

    measure: str
    system: str | None
    value: float | None
    low: float | None
    high: float | None
    sampling_error: float | None
    label_error: float | None
    dominates: bool
    against: str | None = None


@dataclasses.dataclass(frozen=True)
class LabelError:
    """What wrong labels do to the estimates, by the gold rows.

    Attributes:
        gold: gold rows that are decided, by their class and by their label.
        measures: those of one number, on the whole pool.
        reason: why there are none, else None.
    """

    gold: Sequence[Sequence[int]]
    measures: tuple[CorrectedEstimate, ...]
    reason: str | None


def missing_labels(snapshot: Snapshot, analysis: Analysis) -> MissingLabels | None:
    """Return which rows drawn have no label and what that may do, None if there are none.

    Args:
        snapshot: of the workspace.
        analysis: of its labels, with the measures that are reported.
    """
    counts = collections.Counter(snapshot.states)
    if counts[State.DECIDED] == len(snapshot.states) and not snapshot.late:
        return None
    closed = snapshot.never_answered
    return MissingLabels(
        open=counts[State.OPEN] - closed,
        closed=closed,
        disputed=counts[State.DISPUTED],
        skipped=counts[State.SKIPPED],
        unsure=counts[State.UNSURE],
        late=snapshot.late,
        bounds=tuple(missing_bounds(analysis)),
    )


def label_error(
    snapshot: Snapshot, analysis: Analysis, estimates: Sequence[Estimate]
) -> LabelError | None:
    """Return what wrong labels do to the measures, None without gold rows.

    Args:
        snapshot: of the workspace.
        analysis: of its labels, with the measures that are reported.
        estimates: of them; where an interval is by the model of the labels, so is the band.
    """
    spec, gold = snapshot.pool.spec, snapshot.gold
    if not gold.any():
        return None
    table = gold.tolist()
    none = [name for name, row in zip(spec.labels.codes, table, strict=True) if not sum(row)]
    if none or not snapshot.answers:
        reason = f"no gold row of class {none[0]!r} has a label yet" if none else "no labels"
        return LabelError(table, (), reason)
    inputs = analysis.sampler.inputs(analysis.table, analysis.history, spec.confidence)
    by_target = {estimate.target: estimate for estimate in estimates}
    corrected = []
    for requested in analysis.measures:
        measure = measure_of(requested)
        if isinstance(measure, Joint | Extreme) or not analysis.sampler.can_estimate(
            analysis.table, measure
        ):
            continue
        target = analysis.scope.targets(requested, Domain())[0]
        estimate = by_target[target]
        model = analysis.label_model if estimate.intervals[0].kind == KIND else None
        band = correct(measure, inputs, gold, spec.seed, estimate, model)
        if band is not None:
            told = {**vars(band), "dominates": band.dominates, "against": target.against}
            corrected.append(CorrectedEstimate(measure.components[0].name, target.system, **told))
    return LabelError(table, tuple(corrected), None)


def label_warnings(error: LabelError | None) -> list[str]:
    """Return warnings where wrong labels matter more than sampling."""
    lines = []
    for wrong in error.measures if error else ():
        name = title(wrong.measure, wrong.system)
        if wrong.dominates and wrong.value is None:
            lines.append(f"{name}: not known, so many labels are wrong by the gold rows")
        elif wrong.dominates:
            lines.append(
                f"{name}: label error, not sampling, dominates: by the gold rows it is "
                f"{wrong.value:.4f}, {wrong.low:.4f} to {wrong.high:.4f}; "
                "better labels or more gold rows help, more labels do not"
            )
    return lines
