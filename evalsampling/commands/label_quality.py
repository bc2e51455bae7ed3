"""What missing and wrong labels may do to the estimates of a workspace."""

import dataclasses
from collections.abc import Sequence

from evalsampling.evaluation.analysis import Analysis, Measures
from evalsampling.evaluation.findings import Findings
from evalsampling.evaluation.labels_at_hand import FILE
from evalsampling.evaluation.missing_labels import MORE_THAN_A_FEW, MissingBounds, more_than_a_few
from evalsampling.evaluation.odd_answers import AnswerGroup
from evalsampling.inference.domains import Domain
from evalsampling.inference.intervals import MODEL_BASED
from evalsampling.inference.label_error import CorrectedEstimate, correct
from evalsampling.inference.results import Estimate
from evalsampling.labels.register import answers_of
from evalsampling.labels.tally import Answer
from evalsampling.measures import Joint
from evalsampling.measures.extremes import Extreme
from evalsampling.report.numbers import title
from evalsampling.stats.arrays import IntArray
from evalsampling.workspace.deliveries import Delivery, commonest_reason
from evalsampling.workspace.snapshot import NEVER, REJECTED, Snapshot


@dataclasses.dataclass(frozen=True)
class MissingLabels:
    """Rows drawn without a label, by why, and what they may do to each number of the whole pool.

    Rows that are ``late`` have one: it came after a later round had been drawn.
    """

    open: int
    closed: int
    disputed: int
    skipped: int
    unsure: int
    late: int
    bounds: tuple[MissingBounds, ...]
    rejected: int = 0


@dataclasses.dataclass(frozen=True)
class LabelError:
    """Gold rows by class and by label, and the numbers corrected by them or why there are none."""

    gold: Sequence[Sequence[int]]
    measures: tuple[CorrectedEstimate, ...]
    reason: str | None


@dataclasses.dataclass(frozen=True)
class MostlyRejected:
    """A delivery with more rejects, for which no later one made up, than answers that count."""

    file: str
    rejected: int
    taken: int


def mostly_rejected(snapshot: Snapshot) -> list[MostlyRejected]:
    """Return the deliveries of which most answers are rejected, in the order they came in."""
    return [
        MostlyRejected(delivery.file or delivery.name, delivery.rejects, len(delivery.votes))
        for delivery, count in snapshot.rejections
        if _are_most(delivery, count)
    ]


def _are_most(delivery: Delivery, count: int) -> bool:
    """Tell whether rejects that rows still want for are most answers, and not the last few."""
    return count > len(delivery.votes) and count >= min(delivery.rejects, MORE_THAN_A_FEW)


def missing_labels(snapshot: Snapshot, bounds: Sequence[MissingBounds]) -> MissingLabels | None:
    """Return the rows without a label, with bounds of numbers; None if all have one."""
    counts = {why: len(questions) for why, questions in snapshot.undecided.items()}
    if not any(counts.values()) and not snapshot.late:
        return None
    return MissingLabels(
        open=counts["open"],
        closed=counts[NEVER],
        disputed=counts["disputed"],
        skipped=counts["skipped"],
        unsure=counts["unsure"],
        late=snapshot.late,
        bounds=tuple(bounds),
        rejected=counts[REJECTED],
    )


def rejection(snapshot: Snapshot, delivery: Delivery, rejected: int) -> str:
    """Return that answers of a delivery were rejected, and why; empty if they are few."""
    file, taken = delivery.file or delivery.name, len(delivery.votes)
    reason, alike = "", 0
    if delivery.file is not None:
        reason, alike = commonest_reason(snapshot.pool.workspace, delivery)
    alike = min(alike, rejected)
    why = f"{reason}." if alike == rejected else f"{alike} as: {reason}."
    why = why[:1].upper() + why[1:] if alike else ""
    if _are_most(delivery, rejected):
        mend = (
            "Mend them before you trust any number: their reasons are in the folder labels of the "
            "workspace"
        )
        counts = f"{delivery.rejects} of {delivery.rejects + taken}"
        told = f"most answers of {file} were rejected: {counts}."
        return " ".join(filter(None, [told, why, mend]))
    if not more_than_a_few(alike or rejected, rejected + taken):
        return ""
    return f"{rejected} of {rejected + taken} answers of {file} were rejected. {why}".rstrip()


def findings_of(
    snapshot: Snapshot, measures: Measures | None = None, intervals: Sequence[str] = ()
) -> Findings:
    """Return what the labels of a workspace tell of measures, by default those of its spec."""
    return Findings.of(
        snapshot.pool,
        snapshot.analysis,
        measures,
        intervals,
        silent=snapshot.silent,
        groups=_groups(snapshot),
        answers=snapshot.tally.answers,
        rejections=[text for each in snapshot.rejections if (text := rejection(snapshot, *each))],
        mostly_rejected=bool(mostly_rejected(snapshot)),
    )


def _groups(snapshot: Snapshot) -> list[AnswerGroup]:
    """Return the answers of each delivery, then of each annotator, but for those replaced since."""
    codes, at_hand = snapshot.pool.spec.labels.codes, snapshot.pool.spec.labels.at_hand
    groups: list[AnswerGroup] = []
    by_name: dict[str, list[Answer]] = {}
    replaced: set[int] = set()
    for delivery in reversed(snapshot.deliveries):
        answers = [
            answer
            for answer in answers_of(delivery.votes, snapshot.subject_of_task, codes)
            if answer.subject < len(snapshot.tasks) and answer.code >= 0
        ]
        stands = [answer for answer in answers if answer.subject not in replaced]
        name = delivery.file or delivery.name
        if at_hand is not None and name == FILE:
            name = f"column {at_hand.column}"
        groups.insert(0, _group(f"of {name}", stands))
        for answer in stands:
            if answer.annotator is not None:
                by_name.setdefault(answer.annotator, []).append(answer)
        # What a correction confirms is of the correction too: the rest would be a choice.
        replaced |= {answer.subject for answer in answers if delivery.replace}
    # Warnings go where names are not to go; reports call annotators by the same numbers.
    names = {name for answers in snapshot.tally.answers.values() for name in answers}
    place = {name: number for number, name in enumerate(sorted(names - {None}, key=str), start=1)}
    return groups + [
        _group(f"of annotator {place[name]}, in the order of names,", answers)
        for name, answers in by_name.items()
        if len(place) > 1
    ]


def _group(whose: str, answers: Sequence[Answer]) -> AnswerGroup:
    return AnswerGroup.of_codes(whose, ((answer.subject, answer.code) for answer in answers))


def label_error(
    analysis: Analysis, gold: IntArray, estimates: Sequence[Estimate]
) -> LabelError | None:
    """Return the measures corrected for wrong labels; None without gold rows."""
    if not gold.any():
        return None
    table, codes = gold.tolist(), analysis.reading.labels.codes
    none = [name for name, row in zip(codes, table, strict=True) if not sum(row)]
    if none or not len(analysis.history.labelled):
        reason = f"no gold row of class {none[0]!r} has a label yet" if none else "no labels"
        return LabelError(table, (), reason)
    inputs = analysis.sampler.inputs(analysis.table, analysis.history, analysis.confidence)
    by_target = {estimate.target: estimate for estimate in estimates}
    corrected = []
    for measure in analysis.measures:
        if isinstance(measure, Joint | Extreme) or not analysis.sampler.can_estimate(
            analysis.table, measure
        ):
            continue
        estimate = by_target[analysis.scope.targets(measure, Domain())[0]]
        model = analysis.label_model if estimate.intervals[0].kind == MODEL_BASED else None
        corrected.append(correct(measure, inputs, gold, analysis.seed, estimate, model))
    return LabelError(table, tuple(each for each in corrected if each is not None), None)


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
