"""What a reader must know before trusting estimates, as that labels are missing; when to stop."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.domains import Domain
from evalsampling.inference.evidence import doubts_about_clusters
from evalsampling.inference.label_likelihood import doubts
from evalsampling.inference.nonresponse import WELL_ANSWERED, share_answered
from evalsampling.inference.results import Estimate, Target, brief, is_narrow, is_significant
from evalsampling.label_spaces.base import LabelSpace
from evalsampling.label_spaces.spellings import YES_CLASS, plain
from evalsampling.labels.tally import Awaited
from evalsampling.measures.agreement import POWERS
from evalsampling.measures.base import Measure
from evalsampling.report.numbers import compared, decimals, shown_range, title
from evalsampling.spec import ReadingPlan
from evalsampling.spec.rounds import StopSpec
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.counted import counted
from evalsampling.stats.history import NO_LABEL, History

MORE_THAN_A_FEW = 3
"""Fewest rows or answers that are mentioned, however few there are in all."""

_SHARE = 0.02
"""Share of all rows or answers from which they are mentioned."""

_MOST_CLASSES = 16
"""Most classes that are all tried; with more, only those of labels and predictions are."""

_MOST_NUMBERS = 3
"""Numbers whose bounds are said."""


def more_than_a_few(count: int, of: int) -> bool:
    """Tell whether a count of rows or answers is mentioned before any number."""
    return count >= max(MORE_THAN_A_FEW, _SHARE * of)


@dataclasses.dataclass(frozen=True)
class MissingBounds:
    """Least and greatest estimate of a number, over what missing labels may be.

    Either is None if the number is undefined for some labels. The interval goes from the least
    lower to the greatest upper end.
    """

    measure: str
    system: str | None
    threshold: float | None
    low: float | None
    high: float | None
    interval_low: float
    interval_high: float
    against: str | None = None


@dataclasses.dataclass(frozen=True)
class Doubts:
    """Texts on doubtful labels, told before any number, and the bounds that claims must hold in."""

    texts: tuple[str, ...] = ()  # the worst first
    are_odd: bool = False  # whether labels may not be what they seem, so that they decide nothing
    bounds: Sequence[MissingBounds] = ()  # of each number, where more than a few rows lack a label

    def for_gates(self, analysis: Analysis) -> "Doubts":
        """Return the doubts with bounds: positives may be answered last, so open rows count."""
        missing = missing_beside_labels(analysis.history)
        few = not more_than_a_few(len(missing), len(analysis.history))
        return self if few else dataclasses.replace(self, bounds=missing_bounds(analysis, missing))

    def interval(self, target: Target) -> tuple[float, float] | None:
        """Return the interval of a number over all missing labels; None if `bounds` lack it."""
        wanted = target.measure, target.system, target.threshold, target.against
        for one in self.bounds:
            named = one.measure, one.system, one.threshold, one.against
            if named == wanted and target.slice is None:
                return one.interval_low, one.interval_high
        return None


def missing_beside_labels(history: History) -> IntArray:
    """Return the questions without a label of rounds in which others have one."""
    answered = share_answered(history)[history.met] > 0
    return np.flatnonzero((history.label == NO_LABEL) & answered)


def missing_bounds(analysis: Analysis, questions: IntArray) -> list[MissingBounds]:
    """Return bounds for each number on the whole pool, over the missing labels of questions.

    They are over labels that are all one class, all as a system predicts, or all other than it
    predicts: for two classes the least and the greatest that any labels give. The list is empty if
    no label is missing, or labels are no classes of rows. Rounds without any label are left out, as
    they are from the estimates.
    """
    history = analysis.history
    missing = np.intersect1d(missing_beside_labels(history), questions)
    bounds = [*analysis.bounds_over.get(missing.tobytes(), ())]
    if bounds or not len(missing) or not analysis.reading.has_classes:
        return bounds
    whole = dataclasses.replace(analysis.scope, domains=(Domain(),), bands_seed=None)
    filled = []
    for codes in _fillings(history, analysis.table.classes, missing):
        label = history.label.copy()
        label[missing] = codes
        filled.append(analysis.with_history(history.with_labels(label)).estimate(scope=whole))
    for estimates in zip(*filled, strict=True):
        target = estimates[0].target
        values = [estimate.value for estimate in estimates if estimate.value is not None]
        is_defined = len(values) == len(estimates)
        bounds.append(
            MissingBounds(
                target.measure,
                target.system,
                target.threshold,
                min(values) if is_defined else None,
                max(values) if is_defined else None,
                min(estimate.intervals[0].low for estimate in estimates),
                max(estimate.intervals[0].high for estimate in estimates),
                target.against,
            )
        )
    analysis.bounds_over[missing.tobytes()] = bounds
    return bounds


def _fillings(history: History, classes: int, missing: IntArray) -> list[IntArray]:
    """Return the labels that the questions without one may have: shape (missing,), no two alike."""
    prediction = history.outputs.prediction[missing]
    codes: Any = range(classes)
    if classes > _MOST_CLASSES:
        codes = np.unique([*history.label[history.labelled], *prediction.flat])
    candidates: list[Any] = [np.full(len(missing), code) for code in codes]
    for predicted in np.clip(prediction.T.astype(np.int64), 0, classes - 1):
        candidates += [predicted, (predicted + 1) % classes]
    return [np.array(each) for each in dict.fromkeys(tuple(row.tolist()) for row in candidates)]


def silent_rows(history: History) -> IntArray:
    """Return the questions without a label in rounds of which most rows have one.

    Where labels come in by calls nobody says why a row has none, so a round that is well answered
    is taken to be done.
    """
    well = share_answered(history)[history.met] >= WELL_ANSWERED
    return np.flatnonzero((history.label == NO_LABEL) & well)


def seldom_at_random(counts: Mapping[str, int], drawn: int, bounds: Sequence[MissingBounds]) -> str:
    """Return a text on rows without a label, with bounds of numbers; empty for few rows."""
    total = sum(counts.values())
    if not more_than_a_few(total, drawn):
        return ""
    listed = ", ".join(f"{count} {why}" for why, count in counts.items() if count and why)
    why = f" ({listed})" if listed else ""
    parts = []
    for bound in [bound for bound in bounds if bound.threshold is None][:_MOST_NUMBERS]:
        ends = bound.interval_low, bound.interval_high
        name = title(compared(bound.measure), bound.system, bound.against)
        parts.append(f"{name} {shown_range(*ends, decimals(*ends))}")
    least = f" Whatever they are: {', '.join(parts)}." if parts else ""
    return f"{total} of {drawn} rows drawn have no label{why}, which is seldom at random.{least}"


def cautions(
    analysis: Analysis,
    estimates: Sequence[Estimate],
    awaited: Awaited | None = None,
    about_labels: Sequence[str] = (),
) -> list[str]:
    """Return warnings about estimates, each a sentence."""
    reading, history = analysis.reading, analysis.history
    warnings = [
        *analysis.sampler.remarks(analysis.table),
        *_about_one_class(reading.labels.space, analysis.of_one_class),
        *_about_order(reading.labels.space, analysis.measures),
        *_about_scores(reading, analysis.measures), *brief(estimates),
    ]  # fmt: skip
    drawn, labels = len(history), len(history.labelled)
    if drawn > labels:
        waiting = "" if awaited is None else f" ({awaited.words})"
        have = "has" if drawn - labels == 1 else "have"
        unlabelled = f"{drawn - labels} of {counted(drawn, 'row')} drawn {have} no label{waiting}"
        if len(missing_beside_labels(history)):
            unlabelled += "; others of their round stand for them, as if missing at random"
        warnings.append(unlabelled)
    warnings += about_labels
    if history.outputs.cluster is not None and labels:
        sample = analysis.sampler.weigh(analysis.table, history)
        clusters = sample.clustered(history.outputs.cluster, history.together)
        warnings += doubts_about_clusters(clusters, estimates)
    if awaited is not None and awaited.advice:
        warnings.append(awaited.advice)
    bears_looks = "looks" in analysis.sampler.takes
    if not (bears_looks or (awaited and awaited.total)):
        warnings += _about_looks(len(history.rounds), reason_to_stop(analysis.stop, estimates))
    if analysis.sampler.trusts_prior:
        warnings += doubts(analysis.label_likelihood, "that the labels show")
    curve = analysis.curve
    of_curve = () if curve is None else curve.guarantee.warnings
    return [*warnings, *(warning for warning in of_curve if warning not in warnings)]


def reason_to_stop(stop: StopSpec, estimates: Sequence[Estimate]) -> str | None:
    """Return the condition of the spec's ``stop`` that the estimates meet, None if none."""
    if is_narrow(estimates, stop.half_width):
        return "half-width"
    if is_significant(estimates, stop.significance, stop.test == "anytime"):
        return "significance"
    return None


def _about_one_class(space: LabelSpace, of_one: Mapping[int, Sequence[str]]) -> Iterator[str]:
    """Yield warnings which class measures are about, where nobody may have thought of it.

    That is one of several, or the last of two classes of which a spec calls neither positive.
    """
    for code, measures in of_one.items() if space.has_classes else ():
        name, is_positive = space.text(code), code == space.positive
        about = ", ".join(map(compared, measures)) + (" is" if len(measures) == 1 else " are")
        if not (space.is_binary and is_positive):
            one = "the positive one" if is_positive else "one"
            macro = "{f1: {average: macro}} is about all"
            yield f"{about} about {name}, {one} of {len(space.names)} classes; {macro}"
        elif not (space.chosen or plain(name) in YES_CLASS):
            other = f"labels.positive: {space.text(1 - code)} asks about the other"
            yield f"{about} about {name}, the last of labels.classes; {other}"


def _about_order(space: LabelSpace, measures: Sequence[Measure]) -> Iterator[str]:
    """Yield a warning if grades whose distance counts are words in the order of the alphabet."""
    names = list(map(str, space.names))
    named = [one.name for one in measures]
    weighted = [name for name in named if any(f"weights={power}" in name for power in POWERS)]
    if weighted and len(names) > 2 and names == sorted(names) and not names[0].isdecimal():
        yield (
            f"{weighted[0]}: labels.classes go from {names[0]} to {names[-1]}, in the order of the "
            "alphabet; if that is not the order of the grades, list them in theirs"
        )


def _about_scores(reading: ReadingPlan, measures: Sequence[Measure]) -> Iterator[str]:
    """Yield a warning of each measure that ranks by a score, where there are several classes."""
    space, systems = reading.labels.space, reading.pool.systems
    for one in measures if space.has_classes and not space.is_binary else ():
        if one.looks_at == {"score"}:
            name = space.text(getattr(one, "positive", space.positive))
            yield (
                f"{compared(one.name)} ranks rows by {systems[one.system].score!r}: is a higher "
                f"one a likelier {name}? A confidence in whatever class is predicted is none"
            )


def _about_looks(rounds: int, reason: str | None) -> list[str]:
    """Return a warning if intervals that bear no looks end the evaluation after several rounds."""
    if rounds <= 1 or reason != "half-width":
        return []
    return [
        f"stop.half_width: these are the first narrow intervals in {rounds} rounds, and such ones "
        "hold the truth less often than they say"
    ]
