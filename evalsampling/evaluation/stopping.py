"""When an evaluation may end before its budget is spent."""

from collections.abc import Sequence

from evalsampling.inference.results import Estimate, is_narrow, is_significant
from evalsampling.spec import EvaluationSpec


def reason_to_stop(spec: EvaluationSpec, estimates: Sequence[Estimate]) -> str | None:
    """Return the condition of the spec's ``stop`` that the estimates meet, None if none."""
    kind = None if spec.stop_interval == "default" else spec.stop_interval
    if is_narrow(estimates, spec.stop_half_width, kind):
        return "half-width"
    if is_significant(estimates, spec.stop_significance, spec.stop_test == "anytime"):
        return "significance"
    return None
