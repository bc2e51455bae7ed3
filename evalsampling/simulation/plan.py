"""Planning: expected standard errors and interval widths of a budget, before any label.

The scores' probabilities are taken to be right: labels are drawn from them, cell by cell, and
whole evaluations are run on these. So every sampler is judged by what it does, and plans are as
good as the scores are. That is not known before any label; so for two classes the same is done
with other curves that real pools might have (`imagined.Curves`): a range of half-widths.
"""

import contextlib
import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from evalsampling import samplers
from evalsampling.errors import InputError
from evalsampling.inference.class_curves import obstacle
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_measures, not_expected
from evalsampling.measures.comparisons import Comparison
from evalsampling.measures.on_cells import known_exactly
from evalsampling.parts.records import finite
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.effort import draws_for, effort_of, paid_by, prices_of, saving_of
from evalsampling.simulation.imagined import Curves, imagine, is_believed
from evalsampling.simulation.simulate import Plan, repeat_all, run_repeat, title
from evalsampling.simulation.summary import Point, Selection, candidates_of, mean_selection, select
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import AnalysisPlan
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.clusters import SharedClusters

MOST_ATTEMPTS = 100
"""Imagined pools without a value after which a measure counts as undefined."""

MOST_LABELS = 25_600
"""Largest budget in the search for a half-width: beyond it plans take hours."""

WIDER = 1.75
"""Factor by which either end of a range is moved out.

It was chosen on 53 real pools, so that the range held what came in nine of ten."""

FEWEST_LABELS = 50
"""The default budgets begin between this and twice as much."""


def usable_samplers(asked: AnalysisPlan) -> list[str]:
    """Return the samplers that take a plan's measure and oracle, and query no ranks."""
    usable = []
    for name in samplers.BY_NAME:
        with contextlib.suppress(InputError):
            if not isinstance(build_sampler(asked, name), samplers.RankedSampler):
                usable.append(name)
    return usable


def plan(
    asked: AnalysisPlan,
    table: CellTable,
    names: Sequence[str],
    budgets: tuple[float, ...] | None = None,
    repeats: int = 50,
    half_width: float | None = None,
    power: float | None = None,
    effect: float | None = None,
    report: Callable[[int], None] = lambda repeats: None,
    expect: Callable[[int], None] = lambda repeats: None,
    workers: int | None = None,
    clusters: SharedClusters | None = None,
) -> list[dict[str, Any]]:
    """Return the object that `plan --json` prints: standard errors and half-widths of a budget.

    With ``half_width`` there is one more entry for each sampler and measure, whose budget is the
    least that gives the half-width (interpolated), None if it is beyond the largest. Unless budgets
    are given, the largest is doubled until it is enough, up to the rows of the pool and
    `MOST_LABELS`. With ``power`` there is one for each comparison and sampler that draws with
    replacement, whose budget pays for the draws that its test needs (`effort.draws_for`). Where
    rows share ``clusters``, evaluations have as many labels of single rows as those are worth.
    """
    reading, space = asked.reading, asked.reading.labels.space
    if reading.pool.lists is not None:
        raise InputError(
            "pool.lists: there is no plan for rankings: `simulate` says what to expect, on queries "
            "whose grades are known"
        )
    if table.kinds.expected is not None:
        raise InputError(
            f"labels.multilabel: there is no plan for {space.size}: it imagines rows "
            "with one label each. `simulate` says what to expect, on rows whose labels are known"
        )
    built = [build_sampler(asked, name) for name in names]
    for sampler in built:
        if isinstance(sampler, samplers.RankedSampler):
            head, queries = sampler.first_wave(table)
            raise InputError(
                f"sampler {sampler.name}: there is no plan of it: its budget follows from what it "
                f"finds; its first round takes {head + queries:,} answers, {head:,} for the head"
            )
    if power is not None and effect is None and not space.has_score:
        raise InputError(
            "effect: systems that predict numbers are expected to be alike, so a power needs the "
            "difference that it is for (--effect)"
        )
    measures = build_measures(reading)
    for measure in measures:
        if not_expected(measure):
            raise InputError(
                f"measure: {measure.name} cannot be planned for: no label is expected before it "
                "is given, only its error; leave it out"
            )
        if measure.looks_at == frozenset({"score"}) and not known_exactly(measure, table):
            raise InputError(
                f"measure: {measure.name} cannot be planned for: the cells do not tell which "
                "rows reach its thresholds; list these, or leave it out"
            )
    plan = Plan(
        budgets=budgets or _budgets(asked, table),
        round_size=asked.round_size,
        repeats=repeats,
        seed=reading.seed,
        confidence=asked.confidence,
        divergence=False,
        hidden=asked.label_prior,
        by_cost=asked.budget.money is not None,
    )
    systems = tuple(system.name for system in reading.pool.systems)
    believed = is_believed(reading, table)
    curves = Curves(table, reading.labels.positive, asked.hidden, believed)
    imagined = _Imagined(table, systems, measures, plan, None if believed else curves, clusters)
    savings = [saving_of(measure, table) if believed else None for measure in measures]
    tries_others = believed and table.classes == 2 and obstacle(table) is None
    expect(repeats * len(built) * (1 + tries_others))
    spreads = imagined.spreads(built, workers, report)
    most = min(table.rows, MOST_LABELS) * _mean_cost(table, plan.by_cost)
    while (
        half_width is not None
        and budgets is None
        and (more := _doubled(plan.budgets, most, spreads, half_width))
    ):
        plan = dataclasses.replace(plan, budgets=more)
        imagined = dataclasses.replace(imagined, plan=plan)
        expect(repeats * len(built))
        spreads = imagined.spreads(built, workers, report)
    entries: list[dict[str, Any]] = []
    ranges_if_off = spreads
    if tries_others:
        others = dataclasses.replace(imagined, curves=curves)
        ranges_if_off = others.spreads(built, workers, report)
    for sampler, sampler_spreads, if_off in zip(built, spreads, ranges_if_off, strict=True):
        prices = prices_of(sampler, table)
        for m, measure in enumerate(measures):
            rows = [
                {
                    "sampler": sampler.name,
                    "measure": title(measure, systems),
                    "budget": budget,
                    **spread,
                    **_widened(off, spread["half_width"], _most_half(measure)),
                    **effort_of(sampler, table, budget, plan.by_cost),
                    "saving": savings[m],
                    "no_claim": finite(_most_half(measure)),
                    "price": next((price for part, price in prices if part == measure), None),
                }
                for budget, spread, off in zip(
                    plan.budgets, sampler_spreads[m], if_off[m], strict=True
                )
            ]
            entries += rows
            if half_width is not None:
                entries.append(_needed(rows, half_width))
            if power is not None and isinstance(measure, Comparison):
                test = draws_for(measure, sampler, table, asked.confidence, power, effect)
                if test is not None:
                    budget = paid_by(test, plan.by_cost)
                    needed = {**test, "budget": budget, "half_width": None, "power": power}
                    entries.append({**rows[0], **needed, **NO_RANGE, **mean_selection([])})
    return entries


NO_RANGE: dict[str, float | None] = {"half_width_low": None, "half_width_high": None}

Spread = dict[str, float | None]
"""Standard error, half-widths, power and selection of one sampler, measure and budget."""


def _range(halves: Sequence[float]) -> Spread:
    """Return the quantiles .1 and .9 of half-widths, at least one."""
    if not np.isfinite(halves).all():
        return NO_RANGE
    low, high = np.quantile(halves, [0.1, 0.9])
    return {"half_width_low": float(low), "half_width_high": float(high)}


def _widened(off: Spread, half: float | None, most: float) -> Spread:
    """Return the range with its ends moved out by `WIDER`, up to ``most``, around ``half``."""
    low, high = off["half_width_low"], off["half_width_high"]
    if half is None or low is None or high is None:
        return NO_RANGE
    return {
        "half_width_low": min(low, half) / WIDER,
        "half_width_high": min(max(high, half) * WIDER, most),
    }


def _most_half(measure: Measure) -> float:
    """Return half the range of a measure."""
    least, greatest = measure.components[0].bounds
    return (greatest - least) / 2


def _doubled(
    budgets: tuple[float, ...],
    most: float,
    spreads: Sequence[Sequence[Sequence[Spread]]],
    half_width: float,
) -> tuple[float, ...] | None:
    """Return budgets with one of twice the last, if that may make intervals narrow enough."""
    last = min(2 * budgets[-1], most)
    if last <= budgets[-1]:
        return None
    halves = [by_budget[-1]["half_width"] for by_measure in spreads for by_budget in by_measure]
    is_wide = any(half is not None and half > half_width for half in halves)
    return (*budgets, last) if is_wide else None


def _mean_cost(table: CellTable, by_cost: bool) -> float:
    """Return the mean cost of a label, 1 where budgets are of labels."""
    return 1 if not by_cost or table.cost is None else float(table.count @ table.cost) / table.rows


def _budgets(asked: AnalysisPlan, table: CellTable) -> tuple[float, ...]:
    """Return budgets that double up to the plan's, and the rows of the pool."""
    money, labels = asked.budget.money, asked.budget.labels
    if asked.reading.labels.oracle != "stochastic":
        labels = min(labels, table.rows)
    budgets = [labels if money is None else money]
    while budgets[0] >= 2 * FEWEST_LABELS * _mean_cost(table, money is not None):
        budgets.insert(0, budgets[0] // 2 if money is None else budgets[0] / 2)
    return tuple(budgets)


class _Outcome(NamedTuple):
    """Squared error of a measure in one imagined evaluation, and what there is beside it."""

    square: float
    half: float | None
    p_value: float | None
    is_compared: bool
    selection: Selection | None


@dataclasses.dataclass(frozen=True)
class _Imagined:
    """Imagined evaluations of a pool, whose labels follow a curve each, or the cells' prior."""

    table: CellTable
    systems: tuple[str | None, ...]
    measures: Sequence[Measure]
    plan: Plan
    curves: Curves | None = None
    clusters: SharedClusters | None = None

    def _of_single_rows(self, whole: bool) -> Plan:
        """Return the plan whose budgets are of single rows: over the design effect of clusters."""
        if self.clusters is None:
            return self.plan
        mean = _mean_cost(self.table, self.plan.by_cost)
        alone = (
            budget / self.clusters.design_effect(budget / mean, whole)
            for budget in self.plan.budgets
        )
        worth = (each if self.plan.by_cost else max(round(each), 1) for each in alone)
        return dataclasses.replace(self.plan, budgets=tuple(worth))

    def spreads(
        self, built: Sequence[samplers.Sampler], workers: int | None, report: Callable[[int], None]
    ) -> list[list[list[Spread]]]:
        """Return the spread of each sampler, measure and budget, over curves with a range."""
        all_runs = repeat_all(self.repeat, built, self.plan.repeats, workers, report)
        budgets = range(len(self.plan.budgets))
        return [
            [
                [self._sum_up([run[b][m] for run in runs], measure) for b in budgets]
                for m, measure in enumerate(self.measures)
            ]
            for runs in all_runs
        ]

    def _sum_up(self, points: Sequence[_Outcome], measure: Measure) -> Spread:
        spread = _spread(points, self.plan.confidence, _most_half(measure))
        halves = [point.half for point in points if point.half is not None]
        if self.curves is None or not halves:
            return spread | NO_RANGE
        # Errors differ from curve to curve, so that none bounds the intervals of all.
        return spread | {"half_width": float(np.median(halves))} | _range(halves)

    def repeat(self, sampler: samplers.Sampler, repeat: int) -> list[list[_Outcome]]:
        """Return outcomes by budget and measure."""
        pool, truth = self._defined(repeat)
        plan = self._of_single_rows("cluster" in sampler.needs)
        points = run_repeat(pool, sampler, self.measures, plan, repeat)
        candidates = candidates_of(self.measures)
        return [
            [
                _outcome(point, true, select(among, row, truth))
                for point, true, among in zip(row, truth, candidates, strict=True)
            ]
            for row in points
        ]

    def _defined(self, repeat: int) -> tuple[KnownPool, list[FloatArray]]:
        """Return an imagined pool on which every measure has a value, and the true values."""
        seed = self.plan.seed
        source = self.table
        if self.curves is not None:
            source = self.curves.spread(seed, repeat, self.plan.repeats)
        for attempt in range(MOST_ATTEMPTS):
            # The sampler knows the probabilities as they were given.
            pool = imagine(source, self.systems, (seed, repeat, attempt))
            pool = dataclasses.replace(pool, table=self.table)
            truth = [pool.value(measure) for measure in self.measures]
            if all(np.isfinite(value).any() for value in truth):
                return pool, truth
        values = zip(self.measures, truth, strict=True)
        undefined = next(measure for measure, value in values if not np.isfinite(value).any())
        raise InputError(
            f"if the scores are right, {undefined.name} is as good as always undefined (0/0) on "
            "this pool: nothing to plan for"
        )


def _outcome(point: Point, truth: FloatArray, selection: Selection | None) -> _Outcome:
    errors = (np.nan_to_num(point.value) - truth)[np.isfinite(truth)]
    widths = [e.intervals[0].high - e.intervals[0].low for e in point.estimates]
    tests = [e.significance.p_value for e in point.estimates if e.significance is not None]
    return _Outcome(
        square=float(np.sum(errors**2)),
        half=float(np.mean(widths)) / 2 if widths else None,
        p_value=tests[0] if tests else None,
        is_compared=any(e.target.null is not None for e in point.estimates),
        selection=selection,
    )


def _spread(points: Sequence[_Outcome], confidence: float, most: float) -> Spread:
    """Return the root mean squared error, the expected half-width, and the power of a test.

    The half-width is the median one of the default intervals, but at least the normal quantile
    times the error: intervals narrower than that are narrow by luck.
    """
    error = float(np.sqrt(np.mean([point.square for point in points])))
    halves = [point.half for point in points if point.half is not None]
    selection = mean_selection([point.selection for point in points])
    power = None
    if all(point.is_compared for point in points):
        p_values = [point.p_value for point in points]
        power = float(np.mean([p is not None and p <= 1 - confidence for p in p_values]))
    half = None
    if halves:
        least = min(float(scipy.special.ndtri((1 + confidence) / 2)) * error, most)
        half = max(float(np.median(halves)), least)
    return {"standard_error": error, "half_width": half, "power": power, **selection}


def _needed(rows: Sequence[dict[str, Any]], half_width: float) -> dict[str, Any]:
    """Return the entry of the least budget with a wanted half-width.

    Between two budgets the logarithm of the half-width is taken to be linear in that of the
    budget. The least budget, and one after a budget without a finite half-width, stay as they are.
    """
    unknown = dict.fromkeys(("budget", "standard_error", "power", "draws", "labels", "cost"))
    entry: dict[str, Any] = {**rows[0], **unknown, **NO_RANGE, **mean_selection([])}
    entry["half_width"] = half_width
    wide = [row["half_width"] is None or row["half_width"] > half_width for row in rows]
    first = max((place + 1 for place, too_wide in enumerate(wide) if too_wide), default=0)
    if first == len(rows):
        return entry
    after = rows[first]
    before = rows[max(first - 1, 0)]
    if first == 0 or before["half_width"] in (None, math.inf) or after["half_width"] == 0:
        return entry | {key: after[key] for key in ("budget", "standard_error", "half_width")}
    ends = [np.log(row["half_width"]) for row in (before, after)]
    share = float((ends[0] - np.log(half_width)) / (ends[0] - ends[1]))
    budget, error = (
        _between(before[key], after[key], share) for key in ("budget", "standard_error")
    )
    is_money = not all(isinstance(row["budget"], int) for row in rows)
    return entry | {"budget": budget if is_money else math.ceil(budget), "standard_error": error}


def _between(first: float, last: float, share: float) -> float:
    """Return the number between two others, on the logarithmic scale if both are above 0."""
    if first <= 0 or last <= 0:
        return first + share * (last - first)
    return float(first ** (1 - share) * last**share)
