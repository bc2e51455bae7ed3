"""What wrong labels do to estimates, by gold rows."""

import dataclasses
from collections.abc import Sequence

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.domains import Domain
from evalsampling.inference.intervals import MODEL_BASED
from evalsampling.inference.label_error import CorrectedEstimate, correct
from evalsampling.inference.results import Estimate
from evalsampling.measures import Joint
from evalsampling.measures.extremes import Extreme
from evalsampling.report.numbers import title
from evalsampling.stats.arrays import IntArray


@dataclasses.dataclass(frozen=True)
class LabelError:
    """Gold rows by class and by label, and the numbers corrected by them or why there are none."""

    gold: Sequence[Sequence[int]]
    measures: tuple[CorrectedEstimate, ...]
    reason: str | None


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
