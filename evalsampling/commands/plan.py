"""Predicting errors of an evaluation before any label."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from evalsampling import samplers
from evalsampling.commands.options import SpecOptions, listed, numbers, option, positive
from evalsampling.commands.result import Result
from evalsampling.errors import InputError, UsageError
from evalsampling.evaluation.specs import load_pinned
from evalsampling.inference.label_likelihood import doubts, expected_likelihood
from evalsampling.measures.build import build_measures
from evalsampling.measures.comparisons import Comparison
from evalsampling.pool.source import unchanged
from evalsampling.preparation.plan import read_table_and_clusters, stratify_pool
from evalsampling.samplers import ReplacementSampler, Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.imagined import is_believed
from evalsampling.simulation.plan import plan as predict_errors
from evalsampling.simulation.plan import usable_samplers
from evalsampling.spec import AnalysisPlan, ReadingPlan
from evalsampling.stats.cells import CellTable, expected_of_verdicts
from evalsampling.stats.clusters import CORRELATION, SharedClusters
from evalsampling.telemetry import progress
from evalsampling.telemetry.logs import LOG


@dataclasses.dataclass(frozen=True)
class PlanOptions(SpecOptions):
    """What a call of `plan` asks for."""

    sampler: tuple[str, ...] = listed(
        "samplers to plan for (default: the spec's, and passive beside it)",
        "NAME",
        choices=samplers.BY_NAME,
    )
    budgets: tuple[int, ...] | None = numbers(
        "labels to plan for, money if the budget is (default: doubling)"
    )
    half_width: float | None = option(
        "find the budget for this half-width too", type=float, metavar="W"
    )
    power: float | None = option(
        "find the labels for this power of a comparison too", type=float, metavar="P"
    )
    effect: float | None = option(
        "true difference the power is for (default: what the scores make expect)",
        type=float,
        metavar="D",
    )
    repeats: int = option("evaluations imagined a sampler", default=50, type=positive, metavar="N")


@dataclasses.dataclass(frozen=True)
class PlannedError:
    """What to expect of a sampler and a measure at a budget: docs/cli.md tells the keys."""

    sampler: str
    measure: str
    budget: float | None
    standard_error: float | None
    half_width: float | None
    power: float | None = None
    draws: float | None = None
    labels: float | None = None
    cost: float | None = None
    saving: float | None = None
    label_likelihood: float | None = None
    half_width_low: float | None = None
    half_width_high: float | None = None
    selection_error: float | None = None
    regret: float | None = None
    price: float | None = None
    no_claim: float | None = None


@dataclasses.dataclass(frozen=True)
class PlanResult(Result):
    """What to expect of every sampler, measure and budget, in this order, and what that rests on.

    Where probabilities are not ``believed``, labels were imagined from curves of the ranks.
    ``assumed`` follows an if; ``clusters`` and ``scores`` are sentences.
    """

    errors: tuple[PlannedError, ...]
    by_cost: bool = False
    warnings: tuple[str, ...] = ()
    believed: bool = True
    scores: str | None = None
    assumed: str = "the scores' probabilities are right"
    votes: int = 1
    clusters: str | None = None

    def to_json(self) -> Any:
        """Return the list that `plan --json` prints."""
        return super().to_json()["errors"]


def _without_power(planned: Sequence[Sampler]) -> tuple[str, ...]:
    """Return a warning about samplers for which no number of labels has a power, if any."""
    names = [each.name for each in planned if not isinstance(each, ReplacementSampler)]
    if not names:
        return ()
    return (
        f"--power: no number of labels is found for it, nor for an effect, by {' and '.join(names)}"
        ", as rows are drawn without replacement; the table has the power of each budget",
    )


def _compares(plan: ReadingPlan) -> bool:
    """Tell whether a measure of a plan, or one that comes by itself, compares two systems."""
    measures = build_measures(plan)
    return any(isinstance(measure, Comparison) for measure in measures)


def _of_clusters(
    clusters: SharedClusters, errors: Sequence[PlannedError], asked: AnalysisPlan, table: CellTable
) -> str:
    """Return a sentence on the worth of labels where rows share clusters, at the largest budget."""
    labels = max(row.budget or 0 for row in errors)
    if asked.budget.money is not None and table.cost is not None:
        labels /= float(table.count @ table.cost) / table.rows
    whole = asked.reading.by_cluster
    together = clusters.rows_together if whole else clusters.drawn_together(labels)
    effect = clusters.design_effect(labels, whole)
    drawn = "in whole clusters" if whole else "drawn evenly"
    return (
        f"Of {labels:,.0f} rows {drawn}, {round(together, 1 if together < 10 else 0):,g} are "
        "expected in the cluster of each. "
        f"With a correlation of {CORRELATION:g} of labels in a cluster, variances are "
        f"{effect:.2f} times those of rows by themselves."
    )


def plan(options: PlanOptions) -> PlanResult:
    """Return the errors to expect if the scores' probabilities are right."""
    if options.half_width is not None and not options.half_width > 0:
        raise UsageError(f"--half-width must be above 0, got {options.half_width:g}")
    if options.effect is not None and (options.power is None or not options.effect):
        raise UsageError("--effect must not be 0, and goes with --power")
    spec = load_pinned(options.spec)
    if options.power is not None and not 1 - spec.confidence < options.power < 1:
        raise UsageError(
            f"--power must be between {1 - spec.confidence:.3g}, the level of the test, and 1, "
            f"got {options.power:g}"
        )
    if options.power is not None and spec.pool.cluster is not None:
        raise InputError(
            f"{options.spec}: --power is that of rows by themselves: leave pool.cluster out"
        )
    if options.power is not None and not _compares(spec.reading):
        raise InputError(
            f"{options.spec}: --power is that of a comparison, and no measure compares systems: "
            "name two systems or more in pool.systems"
        )
    with unchanged(spec.pool):
        stratification = stratify_pool(spec.reading)
        table, clusters = read_table_and_clusters(stratification)
    asked = stratification.decided(spec.analysis)
    decided = asked.reading
    believed = is_believed(decided, table)
    names = options.sampler
    if not names:  # The spec's own and `passive`; if its own cannot be planned, all that can.
        usable, own = usable_samplers(asked), spec.sampler.name
        names = tuple(n for n in usable if own not in usable or n in (own, "passive"))
    with progress.watch("plan", "repeats"):
        entries = predict_errors(
            asked, table, names, budgets=options.budgets, repeats=options.repeats,
            half_width=options.half_width, power=options.power, effect=options.effect,
            report=progress.advance, expect=progress.expect, clusters=clusters,
        )  # fmt: skip
    has_scores = decided.has_classes and not table.leaves.exchangeable
    likelihood = expected_likelihood(table) if believed and has_scores else None
    planned = [build_sampler(asked, name) for name in names]
    trusts = any(sampler.trusts_prior for sampler in planned)
    doubted = doubts(likelihood, "to expect of the scores") if trusts else []
    of_scores = stratification.about_scores(table)
    warnings = (*of_scores, *stratification.about_features(), *doubted)
    warnings += _without_power(planned) if options.power is not None else ()
    for warning in warnings:
        LOG.warning(warning)
    errors = tuple(PlannedError(**entry, label_likelihood=likelihood) for entry in entries)
    assumed = expected_of_verdicts() if stratification.expects_guesses else PlanResult.assumed
    if decided.labels.space.field.ends is not None:
        assumed = "the predictive variances are right"
    return PlanResult(
        errors,
        spec.budget.money is not None,
        warnings,
        believed,
        scores=stratification.said_of_scores(table),
        assumed=assumed,
        votes=spec.labels.votes,
        clusters=None if clusters is None else _of_clusters(clusters, errors, spec.analysis, table),
    )
