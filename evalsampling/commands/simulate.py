"""Repeating an evaluation on a pool whose truth is known."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

from evalsampling import samplers
from evalsampling.commands.options import SpecOptions, listed, numbers, option, positive, some_text
from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.evaluation.specs import load_pinned
from evalsampling.measures.build import build_measures
from evalsampling.parts.records import read_record
from evalsampling.pool.source import unchanged
from evalsampling.preparation.plan import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan
from evalsampling.simulation.simulate import simulate as repeat_evaluations
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec.promise import Promise
from evalsampling.telemetry import progress


@dataclasses.dataclass(frozen=True)
class SimulateOptions(SpecOptions):
    """What a call of `simulate` asks for."""

    truth: str = option(
        "true labels, or rates: the id column and 'label'", required=True, metavar="FILE"
    )
    sampler: tuple[str, ...] = listed(
        "samplers to try (default: the spec's)", "NAME", choices=samplers.BY_NAME
    )
    budgets: tuple[int, ...] | None = numbers("labels at which to estimate; money if the budget is")
    certify: str | None = option(
        "a promise to try, as 'precision >= 0.95' (default: the spec's)",
        metavar="PROMISE",
        type=some_text,
    )
    repeats: int = option("evaluations a sampler", default=100, type=positive, metavar="N")


@dataclasses.dataclass(frozen=True)
class IntervalSummary:
    """How often the intervals of a method hold the truth, and their widths; None without any."""

    coverage: float | None
    median_width: float | None
    interval_score: float | None


@dataclasses.dataclass(frozen=True)
class SimulatedError:
    """How a sampler did on a measure at a budget, over all repeats: docs/cli.md tells the keys."""

    sampler: str
    measure: str
    budget: int | float
    rmse: float | None
    bias: float | None
    coverage: float | None
    median_width: float | None
    interval_score: float | None
    undefined: int
    defined: int
    draws: float
    labels: float
    cost: float
    seconds: float
    wald: IntervalSummary
    intervals: Mapping[str, IntervalSummary]
    divergence: float | None
    claims: float | None
    coverage_of_claims: float | None
    selection_error: float | None = None
    regret: float | None = None


@dataclasses.dataclass(frozen=True)
class SimulatedPromise:
    """The shares of repeats in which a sampler proved a promise with a budget, and broke it.

    ``rows`` is the mean number above the threshold, as a share of those above the best one; None if
    no threshold keeps the promise.
    """

    sampler: str
    budget: int | float
    proved: float
    broken: float
    rows: float | None


@dataclasses.dataclass(frozen=True)
class SimulateResult(Result):
    """True values, lists where a measure has several components, and errors in their order."""

    only_if_any = ("promise", "promises")

    truth: Mapping[str, float | Sequence[float]]
    results: tuple[SimulatedError, ...]
    by_cost: bool = False
    promise: str | None = None
    promises: tuple[SimulatedPromise, ...] = ()


def simulate(options: SimulateOptions) -> SimulateResult:
    """Return how samplers would have done on a pool whose truth is known."""
    spec = load_pinned(options.spec)
    promise = spec.analysis.promise if options.certify is None else Promise.read(options.certify)
    if promise is not None and promise.each is not None:
        raise InputError("certify: in each: simulated rows have no slices")
    plan = Plan(
        budgets=options.budgets or (spec.budget.money or spec.budget.labels,),
        round_size=spec.round_size,
        repeats=options.repeats,
        seed=spec.seed,
        confidence=spec.confidence,
        hidden=spec.analysis.label_prior,
        by_cost=spec.budget.money is not None,
        votes=spec.labels.votes if spec.labels.oracle == "stochastic" else 1,
        promise=promise,
    )
    with unchanged(spec.pool):
        stratification = stratify_pool(spec.reading)
        truth = KnownPool.read(stratification, Path(options.truth))
    names = options.sampler or [spec.sampler.name]
    asked = stratification.decided(spec.analysis)
    tried = [build_sampler(asked, name) for name in names]
    measures = build_measures(asked.reading)
    with progress.watch("simulate", "repeats", len(tried) * plan.repeats):
        content = repeat_evaluations(truth, tried, measures, plan, report=progress.advance)
    content |= {"by_cost": plan.by_cost, "promise": None if promise is None else str(promise)}
    return read_record(SimulateResult, content)
