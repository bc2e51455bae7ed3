"""What a reader must know before trusting estimates, and when an evaluation may end."""

from collections.abc import Sequence

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.missing_labels import missing_beside_labels
from evalsampling.inference.evidence import doubts_about_clusters
from evalsampling.inference.label_likelihood import doubts
from evalsampling.inference.results import Estimate, brief, is_narrow, is_significant
from evalsampling.labels.tally import Awaited
from evalsampling.samplers.base import Sampler
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.counted import counted


def cautions(
    analysis: Analysis,
    estimates: Sequence[Estimate],
    awaited: Awaited | None = None,
    about_labels: Sequence[str] = (),
) -> list[str]:
    """Return warnings about estimates, each a sentence."""
    warnings = [*analysis.sampler.remarks(analysis.table), *brief(estimates)]
    drawn, labels = len(analysis.history), len(analysis.history.labelled)
    if drawn > labels:
        waiting = "" if awaited is None else f" ({awaited.words})"
        have = "has" if drawn - labels == 1 else "have"
        warnings.append(
            f"{drawn - labels} of {counted(drawn, 'row')} drawn {have} no label{waiting}"
            + "; others of their round stand for them, as if missing at random"
            * bool(len(missing_beside_labels(analysis.history)))
        )
    warnings += about_labels
    if analysis.history.outputs.cluster is not None and labels:
        sample = analysis.sampler.weigh(analysis.table, analysis.history)
        clusters = sample.clustered(analysis.history.outputs.cluster, analysis.history.together)
        warnings += doubts_about_clusters(clusters, estimates)
    if awaited is not None and awaited.advice:
        warnings.append(awaited.advice)
    if analysis.spec is not None and not (awaited and awaited.total):
        rounds = len(analysis.history.rounds)
        looks = caution_about_looks(analysis.spec, estimates, analysis.sampler, rounds)
        warnings += [looks] if looks else []
    if analysis.sampler.trusts_prior:
        warnings += doubts(analysis.label_likelihood, "that the labels show")
    curve = analysis.curve
    of_curve = () if curve is None else curve.guarantee.warnings
    return [*warnings, *(warning for warning in of_curve if warning not in warnings)]


def reason_to_stop(spec: EvaluationSpec, estimates: Sequence[Estimate]) -> str | None:
    """Return the condition of the spec's ``stop`` that the estimates meet, None if none."""
    if is_narrow(estimates, spec.stop.half_width):
        return "half-width"
    if is_significant(estimates, spec.stop.significance, spec.stop.test == "anytime"):
        return "significance"
    return None


def caution_about_looks(
    spec: EvaluationSpec, estimates: Sequence[Estimate], sampler: Sampler, rounds: int
) -> str | None:
    """Return a warning if default intervals end the evaluation after several looks, else None."""
    if rounds <= 1 or sampler.bears_looks or reason_to_stop(spec, estimates) != "half-width":
        return None
    return (
        f"stop.half_width: these are the first narrow intervals in {rounds} rounds, and such ones "
        "hold the truth less often than they say"
    )
