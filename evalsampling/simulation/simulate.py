"""Simulation: errors and coverage of evaluations of a pool of known truth, drawn from urns."""

import concurrent.futures
import dataclasses
import functools
import itertools
import math
import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import threadpool_limits

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.interval_methods import BY_NAME
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import Comparison
from evalsampling.samplers.base import Sampler
from evalsampling.samplers.diagnosis import divergence
from evalsampling.simulation.summary import (
    Point,
    candidates_of,
    mean_selection,
    promise_outcome,
    promise_summary,
    select,
    summary,
)
from evalsampling.simulation.truth import KnownPool, Urns
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.spec.promise import Promise
from evalsampling.stats.draws import DRAWS_PER_NEW_ROW
from evalsampling.stats.history import NO_LABEL, History

Run = TypeVar("Run")

MOST_INTERVALS = 96
"""Most components of a measure for which a simulation makes intervals."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """Which repeats to simulate, and what to estimate in them."""

    # distinct labels, or money if `by_cost`, at which estimates are taken, increasing
    budgets: tuple[float, ...]
    round_size: RoundSize
    repeats: int
    seed: int
    confidence: float
    divergence: bool = True  # whether proposals are compared with the best one
    # whether curves of any number of points get intervals and simultaneous bands
    bands: bool = False
    # prior of positives that scores do not reveal; None for no model-based intervals, which take a
    # tenth of a second each time
    hidden: HiddenPrior | None = None
    by_cost: bool = False
    votes: int = 1  # answers to each question of a stochastic oracle
    promise: Promise | None = None  # what is to be proved at each budget; None for nothing


def simulate(
    known: KnownPool,
    samplers: Sequence[Sampler],
    measures: Sequence[Measure],
    plan: Plan,
    workers: int | None = None,
    report: Callable[[int], None] = lambda repeats: None,
) -> dict[str, Any]:
    """Return the object that `simulate --json` prints: summaries of repeated evaluations."""
    for sampler in samplers:
        if "cluster" in sampler.needs:
            raise InputError(
                "sampler: clusters: simulated rounds are of rows by themselves; take calibrated, "
                "and `plan` for what whole clusters cost"
            )
    truth = [known.value(measure) for measure in measures]
    for measure, value in zip(measures, truth, strict=True):
        if not np.any(np.isfinite(value)):
            raise InputError(
                f"{measure.name} of this pool is undefined (0/0): nothing to compare with"
            )
    run = functools.partial(run_repeat, known, measures=measures, plan=plan)
    all_runs = repeat_all(run, samplers, plan.repeats, workers, report)
    titles = [title(measure, known.systems) for measure in measures]
    candidates = candidates_of(measures)
    results = [
        {
            "sampler": sampler.name,
            "measure": titles[m],
            "budget": budget,
            **summary([run[b][m] for run in runs], truth[m], plan.confidence),
            **mean_selection([select(candidates[m], run[b], truth) for run in runs]),
        }
        for sampler, runs in zip(samplers, all_runs, strict=True)
        for m in range(len(measures))
        for b, budget in enumerate(plan.budgets)
    ]
    promised = [
        {
            "sampler": sampler.name,
            "budget": budget,
            **promise_summary([each for run in runs if (each := run[b][0].outcome) is not None]),
        }
        for sampler, runs in zip(samplers, all_runs, strict=True)
        for b, budget in enumerate(plan.budgets if plan.promise is not None else ())
    ]
    values = {
        name: value.tolist() if len(value) > 1 else float(value[0])
        for name, value in zip(titles, truth, strict=True)
    }
    return {"truth": values, "results": results, "promises": promised}


def title(measure: Measure, systems: Sequence[str | None]) -> str:
    """Return the name of a measure in results, with its system's if there are several."""
    if len(systems) == 1:
        return measure.name
    name = measure.components[0].name if isinstance(measure, Comparison) else measure.name
    others = [f" against {systems[place]}" for place in measure.systems[1:]]
    return f"{name} of {systems[measure.system]}{''.join(others)}"


def run_repeat(
    pool: KnownPool, sampler: Sampler, measures: Sequence[Measure], plan: Plan, repeat: int
) -> list[list[Point]]:
    """Return the points of one simulated evaluation: for each budget, one for each measure."""
    seeds = np.random.SeedSequence([plan.seed, repeat]).generate_state(2, np.uint64)
    systems = pool.outputs.prediction.shape[1]
    empty = pool.table.kinds.no_rows
    history = dataclasses.replace(History.start(systems, pool.table.classes), outputs=empty)
    analysis = Analysis(
        table=pool.table,
        sampler=sampler,
        measures=measures,
        seed=int(seeds[0]),
        confidence=plan.confidence,
        history=history,
        scope=ReportedDomains(
            systems=pool.systems,
            bands_seed=int(seeds[0]) if plan.bands else None,
            methods=tuple(BY_NAME),
        ),
        hidden=plan.hidden,
        reading=pool.reading,
    )
    oracle = Urns(pool, int(seeds[1]), plan.votes)
    started, stuck, points = time.process_time(), 0, []
    for budget in plan.budgets:
        while (left := _left(budget, analysis, plan.by_cost)) > 0:
            rounds = len(analysis.history.rounds)
            size = plan.round_size.after(rounds)
            if analysis.exhausted or stuck > DRAWS_PER_NEW_ROW * size:
                break
            if plan.by_cost:
                drawn = analysis.with_round(size, money=left)
            else:
                drawn = analysis.with_round(size, budget=int(left))
            if drawn is analysis:  # the rest of the budget buys no label
                break
            is_stuck = len(drawn.history) == len(analysis.history)
            analysis = analysis.with_history(oracle.answer(drawn.history))
            stuck = stuck + len(analysis.history.rounds[-1].question) if is_stuck else 0
        seconds = time.process_time() - started
        points.append(_points(analysis, pool, seconds, plan))
    assert NO_LABEL not in analysis.history.label
    return points


def _left(budget: float, analysis: Analysis, by_cost: bool) -> float:
    """Return how much of a budget is left if every question has an answer."""
    if by_cost:
        return budget - analysis.history.money
    return budget - analysis.spent(len(analysis.history))


def _points(analysis: Analysis, pool: KnownPool, seconds: float, plan: Plan) -> list[Point]:
    """Return the current estimates of every measure."""
    history = analysis.history
    most = math.inf if plan.bands else MOST_INTERVALS
    many = [len(measure.components) > most for measure in analysis.measures]
    few = [m for m, is_many in zip(analysis.measures, many, strict=True) if not is_many]
    of_few = dataclasses.replace(analysis, measures=few) if any(many) else analysis
    estimates = iter(of_few.estimate() if few else [])
    divergence = _divergence(analysis, pool) if plan.divergence else None
    outcome = None
    if plan.promise is not None:
        outcome = promise_outcome(pool, analysis, plan.promise, int(plan.budgets[-1]))
    points = []
    for measure, is_many in zip(analysis.measures, many, strict=True):
        own = () if is_many else tuple(itertools.islice(estimates, len(measure.components)))
        value = np.array([np.nan if part.value is None else part.value for part in own])
        if is_many:
            value = analysis.sampler.value(analysis.table, history, measure, analysis.confidence)
        effort = len(history.question), len(history), history.money
        points.append(Point(value, own, *effort, seconds, divergence, outcome))
    return points


def _divergence(analysis: Analysis, pool: KnownPool) -> float | None:
    sampler = analysis.sampler
    if pool.outputs.grades is not None or sampler.stochastic:  # no best one is known of these
        return None
    proposal = sampler.proposal(analysis.table, analysis.history)
    if proposal is None or not analysis.table.covers(pool.label):
        return None
    return divergence(sampler.measure, analysis.table, pool.labels, analysis.history, proposal)


def repeat_all(
    run: Callable[..., Run],
    samplers: Sequence[Sampler],
    repeats: int,
    workers: int | None,
    report: Callable[[int], None],
) -> list[list[Run]]:
    """Return ``run(sampler=..., repeat=...)`` by sampler and repeat, run in processes."""
    others = set(multiprocessing.active_children())
    with concurrent.futures.ProcessPoolExecutor(workers or os.cpu_count(), None, _begin) as pool:
        try:
            jobs = [
                [pool.submit(run, sampler=sampler, repeat=repeat) for repeat in range(repeats)]
                for sampler in samplers
            ]
            for _ in concurrent.futures.as_completed(itertools.chain.from_iterable(jobs)):
                report(1)
        except BaseException:
            # Results of running repeats are not needed, and one may take a minute.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
    return [[job.result() for job in sampler_jobs] for sampler_jobs in jobs]


def _begin() -> None:
    """Prepare a worker process, of which there is one for each core.

    Ctrl-C reaches all processes of a terminal and is left to the parent. Linear algebra uses one
    thread: several for each core would wait for each other.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpool_limits(1)
