"""Simulation: how a sampler would have done on a pool whose truth is known.

Rows of a cell are exchangeable, so the rows that a random order would bring are drawn from the
cell's urn of kinds as they are asked for. A repeat costs the same whatever the size of the pool.
"""

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
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.evaluation.evaluation import Evaluation
from evalsampling.inference.assumption_light import METHOD
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.intervals import Interval, interval_score
from evalsampling.inference.results import Estimate
from evalsampling.measures.calibrated import Requested, measure_of
from evalsampling.measures.comparisons import Comparison, systems_of
from evalsampling.samplers.base import Sampler
from evalsampling.samplers.diagnosis import divergence
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.spec.numbers import hold_numbers
from evalsampling.stats.draws import DRAWS_PER_NEW_ROW
from evalsampling.stats.history import NO_LABEL, History

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

Run = TypeVar("Run")

_ROUNDING = 1e-9
"""Rounding error allowed between an interval of no width and the truth."""

MOST_INTERVALS = 64
"""Most components of a measure for which a simulation makes intervals."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to simulate.

    Attributes:
        budgets: numbers of distinct labels at which estimates are taken, increasing; amounts of
            money if `by_cost`.
        round_size: new rows of each round.
        repeats: how often.
        seed: of the draws and labels.
        confidence: level of the intervals.
        divergence: whether proposals are compared with the best one.
        bands: whether curves get intervals too, however many points they have, and their
            simultaneous bands; that takes time.
        hidden: prior of the positives that scores do not tell; None for no model-assisted
            intervals, which take a tenth of a second each time.
        assumption_light: whether assumption-light intervals are made, which takes time too.
        by_cost: whether budgets are of money.
    """

    budgets: tuple[float, ...]
    round_size: RoundSize
    repeats: int
    seed: int
    confidence: float
    divergence: bool = True
    bands: bool = False
    hidden: HiddenPrior | None = None
    assumption_light: bool = True
    by_cost: bool = False


def simulate(
    known: KnownPool,
    samplers: Sequence[Sampler],
    measures: Sequence[Requested],
    plan: Plan,
    workers: int | None = None,
    report: Callable[[int], None] = lambda repeats: None,
) -> dict[str, Any]:
    """Repeat evaluations of a pool whose truth is known.

    Args:
        known: the pool.
        samplers: to try, each with its own measure to drive it.
        measures: to estimate.
        plan: what to do.
        workers: processes; one a core by default. The result does not depend on it.
        report: called with the number of repeats that were just finished.

    Returns:
        The object `simulate --json` prints.

    Raises:
        InputError: if the truth of a measure is undefined, or the oracle stochastic: of that a file
            with one label a row is not the truth.
    """
    if any(sampler.stochastic for sampler in samplers):
        raise InputError("labels.oracle: only a deterministic oracle can be simulated from labels")
    truth = [known.value(measure_of(requested)) for requested in measures]
    for measure, value in zip(measures, truth, strict=True):
        if not np.any(np.isfinite(value)):
            raise InputError(
                f"{measure.name} of this pool is undefined (0/0): nothing to compare with"
            )
    each = functools.partial(run_repeat, known, measures=measures, plan=plan)
    all_runs = repeat_all(each, samplers, plan.repeats, workers, report)
    titles = [title(measure, known.systems) for measure in measures]
    results = []
    for sampler, runs in zip(samplers, all_runs, strict=True):
        for m in range(len(measures)):
            for b, budget in enumerate(plan.budgets):
                points = [run[b][m] for run in runs]
                results.append(
                    {
                        "sampler": sampler.name,
                        "measure": titles[m],
                        "budget": budget,
                        **_summary(points, truth[m], plan.confidence),
                    }
                )
    told = {
        name: value.tolist() if len(value) > 1 else float(value[0])
        for name, value in zip(titles, truth, strict=True)
    }
    return {"truth": told, "results": results}


def repeat_all(
    run: Callable[..., Run],
    samplers: Sequence[Sampler],
    repeats: int,
    workers: int | None,
    report: Callable[[int], None],
) -> list[list[Run]]:
    """Call ``run(sampler=..., repeat=...)`` for every sampler and repeat, in processes.

    Returns:
        The results of each sampler, by repeat.
    """
    others = set(multiprocessing.active_children())
    with concurrent.futures.ProcessPoolExecutor(workers or os.cpu_count(), None, _leave) as pool:
        try:
            jobs = [
                [pool.submit(run, sampler=sampler, repeat=repeat) for repeat in range(repeats)]
                for sampler in samplers
            ]
            for _ in concurrent.futures.as_completed(itertools.chain.from_iterable(jobs)):
                report(1)
        except BaseException:
            # Nobody wants what they are at: a repeat may take a minute.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise
    return [[job.result() for job in of_sampler] for of_sampler in jobs]


def _leave() -> None:
    """Leave Ctrl-C, which reaches all processes of a terminal, to the one that started this."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def title(requested: Requested, systems: Sequence[str | None]) -> str:
    """Return the name of a measure in results, with its system's if there are several."""
    if len(systems) == 1:
        return requested.name
    measure = measure_of(requested)
    name = requested.components[0].name if isinstance(measure, Comparison) else requested.name
    return " against ".join([f"{name} of {systems[measure.system]}",
                             *(str(systems[one]) for one in systems_of(measure)[1:])])  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Point:
    """Estimates of one measure in one repeat at one budget.

    Attributes:
        value: shape (components,), NaN where undefined.
        estimates: of the components; empty where only values are compared.
        draws: so far.
        labels: so far.
        cost: of these; their number if all cost the same.
        seconds: of processor time so far.
        divergence: of the latest proposal from the best one, if it can be told.
    """

    value: FloatArray
    estimates: tuple[Estimate, ...]
    draws: int
    labels: int
    cost: float
    seconds: float
    divergence: float | None


def run_repeat(
    known: KnownPool, sampler: Sampler, measures: Sequence[Requested], plan: Plan, repeat: int
) -> list[list[Point]]:
    """Return the points of one simulated evaluation: for each budget, one for each measure."""
    seeds = np.random.SeedSequence([plan.seed, repeat]).generate_state(2, np.uint64)
    systems = known.outputs.prediction.shape[1]
    nothing = known.table.outputs.take(np.zeros(0, dtype=np.int64))
    history = dataclasses.replace(History.start(systems, known.table.classes), outputs=nothing)
    evaluation = Evaluation(
        table=known.table,
        sampler=sampler,
        measures=measures,
        seed=int(seeds[0]),
        confidence=plan.confidence,
        history=history,
        scope=ReportedDomains(
            systems=known.systems,
            bands_seed=int(seeds[0]) if plan.bands else None,
            assumption_light=plan.assumption_light,
        ),
        hidden=plan.hidden,
    )
    oracle = _Urns(known, int(seeds[1]))
    started, stuck, points = time.process_time(), 0, []
    for budget in plan.budgets:
        while (left := _left(budget, evaluation, plan.by_cost)) > 0:
            rounds = len(evaluation.history.rounds)
            size = plan.round_size.after(rounds)
            if evaluation.exhausted or stuck > DRAWS_PER_NEW_ROW * size:
                break
            if plan.by_cost:
                rows = evaluation.draw(size, money=left)
            else:
                rows = evaluation.draw(size, budget=int(left))
            if len(evaluation.history.rounds) == rounds:  # what is left buys no label
                break
            evaluation.history = oracle.answer(evaluation.history)
            stuck = 0 if len(rows) else stuck + len(evaluation.history.rounds[-1].question)
        seconds = time.process_time() - started
        points.append(_points(evaluation, known, seconds, plan))
    assert NO_LABEL not in evaluation.history.label
    return points


def _left(budget: float, evaluation: Evaluation, by_cost: bool) -> float:
    """Return how much of a budget is left, where every question has an answer."""
    if by_cost:
        return budget - evaluation.history.money
    return budget - evaluation.spent(len(evaluation.history))


def _points(evaluation: Evaluation, known: KnownPool, seconds: float, plan: Plan) -> list[Point]:
    """Return the estimates of every measure at this moment."""
    history = evaluation.history
    most = math.inf if plan.bands else MOST_INTERVALS
    many = [len(measure.components) > most for measure in evaluation.measures]
    few = [m for m, is_many in zip(evaluation.measures, many, strict=True) if not is_many]
    estimates = iter(evaluation.estimate(few) if few else [])
    divergence = _divergence(evaluation, known) if plan.divergence else None
    points = []
    for measure, is_many in zip(evaluation.measures, many, strict=True):
        own = () if is_many else tuple(itertools.islice(estimates, len(measure.components)))
        value = np.array([np.nan if one.value is None else one.value for one in own])
        if is_many:
            value = evaluation.sampler.value(
                evaluation.table, history, measure_of(measure), evaluation.confidence
            )
        asked = len(history.question), len(history), history.money
        points.append(Point(value, own, *asked, seconds, divergence))
    return points


def _divergence(evaluation: Evaluation, known: KnownPool) -> float | None:
    sampler = evaluation.sampler
    if known.outputs.grades is not None:  # No best one is known of queries.
        return None
    proposal = sampler.proposal(evaluation.table, evaluation.history)
    if proposal is None or hold_numbers(known.label):
        return None
    return divergence(sampler.measure, evaluation.table, known.labels, evaluation.history, proposal)


class _Urns:
    """The rows of each cell in random order, drawn as they are asked for."""

    def __init__(self, known: KnownPool, seed: int) -> None:
        self._known = known
        self._left = known.count.copy()
        self._first = np.searchsorted(known.cell, np.arange(len(known.table) + 1))
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._kind: dict[tuple[int, int], int] = {}
        self._kinds: list[int] = []

    def answer(self, history: History) -> History:
        """Return the history with the rows and labels of all questions that were asked."""
        asked = len(self._kinds)
        cells, ranks = history.cell[asked:].tolist(), history.rank[asked:].tolist()
        uniforms = self._rng.random(len(cells)).tolist()
        for place, uniform in zip(zip(cells, ranks, strict=True), uniforms, strict=True):
            kind = self._kind.get(place)
            if kind is None:
                begin, end = self._first[place[0]], self._first[place[0] + 1]
                cumulated = np.cumsum(self._left[begin:end])
                at = np.searchsorted(cumulated, uniform * cumulated[-1], side="right")
                kind = int(begin + at)
                self._left[kind] -= 1
                self._kind[place] = kind
            self._kinds.append(kind)
        kinds = np.array(self._kinds, dtype=np.int64)
        history = history.with_rows(self._known.outputs.take(kinds), history.slice)
        return history.with_labels(self._known.label[kinds])


def _summary(points: Sequence[Point], truth: FloatArray, confidence: float) -> dict[str, Any]:
    """Sum up the repeats; for a measure of several components the errors add up in squares."""
    counted = np.isfinite(truth)
    values = np.stack([point.value for point in points])[:, counted]
    errors = np.nan_to_num(values) - truth[counted]
    divergences = [point.divergence for point in points if point.divergence is not None]
    return {
        "rmse": float(np.sqrt(np.mean(np.sum(errors**2, axis=1)))),
        "bias": float(np.mean(errors)),
        **_intervals(points, truth, confidence, None),
        "undefined": int(np.sum(np.any(np.isnan(values), axis=1))),
        "draws": float(np.mean([point.draws for point in points])),
        "labels": float(np.mean([point.labels for point in points])),
        "cost": float(np.mean([point.cost for point in points])),
        "seconds": float(np.sum([point.seconds for point in points])),
        "wald": _intervals(points, truth, confidence, "wald"),
        "intervals": {
            method: _intervals(points, truth, confidence, method) for method in _methods(points)
        },
        "divergence": float(np.mean(divergences)) if divergences else None,
        **_claims(points, truth),
    }


def _methods(points: Sequence[Point]) -> list[str]:
    """Return the methods of intervals that stand beside the default one."""
    found = {
        interval.method: None
        for point in points
        for estimate in point.estimates
        for interval in estimate.intervals[1:]
        if (interval.low, interval.high) != estimate.target.bounds
    }
    return sorted(found)


def _intervals(
    points: Sequence[Point], truth: FloatArray, confidence: float, method: str | None
) -> dict[str, Any]:
    """Sum up the intervals of one method, or of the default.

    Where the first of its kind claims nothing, no method does that rests on the labels met: it then
    counts with that one. Where it is missing it counts with the default.
    """
    compared = _compared(points, truth)
    if compared is None:
        return {"coverage": None, "median_width": None, "interval_score": None}
    chosen = [(_interval(estimate, method), true) for estimate, true in compared]
    covered = [covers(interval, true) for interval, true in chosen]
    scores = [interval_score(interval, true, confidence) for interval, true in chosen]
    return {
        "coverage": float(np.mean(covered)),
        "median_width": float(np.median([i.high - i.low for i, _ in chosen])),
        "interval_score": float(np.mean(scores)),
    }


def _claims(points: Sequence[Point], truth: FloatArray) -> dict[str, Any]:
    """Tell how many default intervals are not the whole range, and how many of these cover."""
    compared = _compared(points, truth)
    if compared is None:
        return {"claims": None, "coverage_of_claims": None}
    claims = [(estimate.intervals[0], true) for estimate, true in compared if estimate.claims]
    covered = [covers(interval, true) for interval, true in claims]
    return {
        "claims": len(claims) / len(compared),
        "coverage_of_claims": float(np.mean(covered)) if covered else None,
    }


def _compared(points: Sequence[Point], truth: FloatArray) -> list[tuple[Estimate, float]] | None:
    """Return each estimate with the truth, where there is one; None without estimates."""
    if not all(point.estimates for point in points):
        return None
    return [
        (estimate, true)
        for point in points
        for estimate, true in zip(point.estimates, truth.tolist(), strict=True)
        if np.isfinite(true)
    ]


def covers(interval: Interval, truth: float) -> bool:
    """Tell whether an interval holds the truth, rounding aside."""
    return interval.low - _ROUNDING <= truth <= interval.high + _ROUNDING


def _interval(estimate: Estimate, method: str | None) -> Interval:
    default = estimate.intervals[0]
    if method is None:
        return default
    chosen = next((i for i in estimate.intervals if i.method == method), default)
    first = next(i for i in estimate.intervals if i.kind == chosen.kind)
    says_nothing = (first.low, first.high) == estimate.target.bounds
    return first if says_nothing and method not in ("wald", METHOD) else chosen
