"""What a reader must know before trusting estimates, as that labels are missing; when to stop."""

from collections.abc import Iterator, Mapping, Sequence

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.missing_labels import missing_beside_labels
from evalsampling.inference.evidence import doubts_about_clusters
from evalsampling.inference.label_likelihood import doubts
from evalsampling.inference.results import Estimate, brief, is_narrow, is_significant
from evalsampling.label_spaces.base import LabelSpace
from evalsampling.label_spaces.spellings import YES_CLASS, plain
from evalsampling.labels.tally import Awaited
from evalsampling.measures.agreement import POWERS
from evalsampling.measures.base import Measure
from evalsampling.report.numbers import compared
from evalsampling.spec import ReadingPlan
from evalsampling.spec.rounds import StopSpec
from evalsampling.stats.counted import counted


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
