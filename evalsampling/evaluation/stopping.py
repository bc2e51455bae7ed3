"""When an evaluation may end before its budget is spent."""

from collections.abc import Sequence

from evalsampling.inference.results import Estimate, is_narrow, is_significant
from evalsampling.samplers.base import Sampler
from evalsampling.spec import EvaluationSpec


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
