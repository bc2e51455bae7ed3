"""Compares sampling methods on pools whose truth is known, as [MR] section 5 does.

[MR] is Marchant and Rubinstein, "Needle in a Haystack", KDD 2021, and its technical report.
"""

import csv
import dataclasses
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pools
import runner
from runner import Options, Row, Table

from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_driver
from evalsampling.measures.curves import Thresholded
from evalsampling.simulation.simulate import Plan
from evalsampling.simulation.summary import Point
from evalsampling.spec import RoundSize
from evalsampling.stats.arrays import FloatArray, IntArray

CURVE = "pr_curve"
MEASURES = ("f1", "accuracy", CURVE)

DRAWS, LEAVES, THRESHOLDS = 100, 256, 1024
"""Of a round, of the strata, and of the curve: a leaf of its strata holds four of these."""

PLAN = Plan((250, 500, 1000, 2000, 5000), RoundSize(DRAWS), 1, seed=7, confidence=0.95)

PAPER_BUDGETS = {"f1": 2000, "accuracy": 1000, CURVE: 5000}
"""Labels of the bar charts of [MR]: figures 3 and 6; figure 8 goes up to these."""

CURVES_KEPT = 100  # repeats whose curves at the largest budget are kept for the plots
RESAMPLES = 2000  # bootstrap samples of the repeats behind each band


@dataclasses.dataclass(frozen=True)
class Method:
    """A way to sample; titles are those of [MR], a flat tree of the leaves has depth 1."""

    title: str
    sampler: str
    look: tuple[str, str]
    """Its colour and marker in pictures."""
    flat: bool = False
    measures: tuple[str, ...] = MEASURES


METHODS: Mapping[str, Method] = {
    "passive": Method("Passive", "passive", ("#888888", "o")),
    "stratified": Method("Stratified", "stratified", ("#bcbd22", "s")),
    "importance": Method("IS", "importance", ("#1f77b4", "v")),
    "oasis": Method("OASIS", "oasis", ("#9467bd", "^"), measures=("f1",)),
    "ais-1": Method("Ours-1", "ais", ("#ff7f0e", "D"), flat=True),
    "ais-8": Method("Ours-8", "ais", ("#d62728", "X")),
}

COMPARED = ("ais-8", "importance", "passive")  # methods whose curves are drawn


# --- runs


@functools.cache
def ground(folder: Path, pool: str, measure: str) -> tuple[pools.Ground, Measure]:
    """Return a pool cut for a measure, and the measure."""
    strata: dict[str, Any] = {"method": "csf", "leaves": LEAVES, "branching": 2}
    content: dict[str, Any] = {
        "measure": {"name": measure, "thresholds": THRESHOLDS} if measure == CURVE else measure,
        "strata": strata,
        "sampler": {"name": "ais", "draws": DRAWS},
        "budget": PLAN.budgets[-1],
        "round_size": DRAWS,
        "seed": PLAN.seed,
        "confidence": PLAN.confidence,
    }
    found = pools.Ground.read(folder, pool, **content)
    built = build_driver(found.asked.reading)
    if isinstance(built, Thresholded):
        # [MR] section 5.3: a leaf is a group of adjacent bins of the grid of thresholds.
        step = len(built.thresholds) // LEAVES
        strata["edges"] = list(built.thresholds[step::step])
        found = pools.Ground.read(folder, pool, **content)
    return found, built


def names(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield pool, measure and method of all trials."""
    for pool, measure, key in itertools.product(pools.find(options.pools), MEASURES, METHODS):
        if measure in METHODS[key].measures:
            yield pool, measure, key


def trial(options: Options, pool: str, measure: str, method: str) -> runner.Trial:
    """Return a trial."""
    (found, built), how = ground(options.pools, pool, measure), METHODS[method]
    if how.flat:
        leaves = max(len(found.known.table.leaves), 2)
        strata = msgspec.structs.replace(found.spec.strata, branching=leaves)
        found = dataclasses.replace(found, spec=dataclasses.replace(found.spec, strata=strata))
    return runner.Trial(found.known, found.sampler(how.sampler), [built], PLAN)


def rows_of(
    _: Measure, truth: FloatArray, point: Point, at: runner.Result
) -> Iterator[runner.Result]:
    """Yield the squared error, summed over components, undefined ones as 0, and some curves."""
    counted = np.isfinite(truth)
    error = (np.nan_to_num(point.value) - truth)[counted]
    last = at["budget"] == PLAN.budgets[-1] and at["repeat"] < CURVES_KEPT
    yield {
        "squared_error": float(np.sum(error**2)),
        "divergence": point.divergence,
        "curve": point.value if last and len(truth) > 1 else None,
    }


STUDY = runner.Study(
    "study", PLAN, names, trial, rows_of, ("pool", "measure", "method"), repeats=200, block=20,
    pools=pools.SHARED,
)  # fmt: skip


# --- errors with bootstrap bands


@dataclasses.dataclass(frozen=True)
class Band:
    """A mean over the repeats with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, mean: float, resampled: FloatArray) -> "Band":
        """Return the band of a mean and its bootstrap samples."""
        return cls(float(mean), *np.percentile(resampled, (2.5, 97.5)).tolist())

    @property
    def cells(self) -> tuple[str, str, str]:
        """Its numbers in a table."""
        return _short(self.mean), _short(self.low), _short(self.high)


@dataclasses.dataclass(frozen=True)
class Run:
    """The repeats of one method on one pool for one measure.

    Truth has the shape (components,), errors and divergence (repeats, budgets), curves (repeats,
    components): of some repeats at the largest budget. Where there is no divergence it is NaN.
    """

    method: Method
    truth: FloatArray
    errors: FloatArray
    divergence: FloatArray
    curves: FloatArray

    @functools.cached_property
    def resampled(self) -> FloatArray:
        """Mean squared errors of bootstrap samples, shape (resamples, budgets).

        Repeat i has the same seed in every run, and is resampled alike in all of as many repeats.
        """
        chosen = _choices(len(self.errors))
        return np.stack([column[chosen].mean(axis=1) for column in self.errors.T], axis=1)

    def error(self, budget: int) -> Band:
        """Return the mean squared error at a budget, given by its place."""
        return Band.of(self.errors[:, budget].mean(), self.resampled[:, budget])

    def distance(self, budget: int) -> Band | None:
        """Return the mean KL divergence at a budget, None if there is none."""
        values = self.divergence[:, budget]
        if not np.isfinite(values).all():
            return None
        return Band.of(values.mean(), values[_choices(len(values))].mean(axis=1))

    def ratio(self, other: "Run", budget: int) -> Band:
        """Return the mean squared error over that of another run."""
        both = ((run.errors[:, budget].mean(), run.resampled[:, budget]) for run in (self, other))
        return Band.of(*(a / np.maximum(b, 1e-300) for a, b in zip(*both, strict=True)))


Runs = Mapping[tuple[str, ...], Run]
"""By pool, measure and key of the method."""


def runs_of(options: Options) -> Runs:
    """Return all runs that have results."""
    found = {}
    for key, held in STUDY.read(options).groupby([*STUDY.titles], sort=False):
        pool, measure, method = key
        cut, built = ground(options.pools, pool, measure)
        truth = cut.known.value(built)
        errors, divergence = (
            held[name].to_numpy(float).reshape(-1, len(PLAN.budgets))
            for name in ("squared_error", "divergence")
        )
        curves = np.reshape([*held["curve"].dropna()], (-1, len(truth)))
        found[key] = Run(METHODS[method], truth, errors, divergence, curves)
    return found


def of(runs: Runs, pool: str, measure: str) -> dict[str, Run]:
    """Return the runs of a pool and measure by the key of their method, in the usual order."""
    return {key[2]: run for key, run in runs.items() if key[:2] == (pool, measure)}


@functools.cache
def _choices(repeats: int) -> IntArray:
    return np.random.Generator(np.random.PCG64(1)).integers(repeats, size=(RESAMPLES, repeats))


# --- tables


CLAIMS = Path(__file__).with_name("study_claims.csv")
"""What [MR] says of the mean squared errors, and where in the technical report.

Of a pool and measure the errors of some methods are greater than those of others, by a factor.
"""


def _claims(options: Options) -> Iterator[Row]:
    every = runs_of(options)
    with CLAIMS.open(encoding="utf-8", newline="") as file:
        _, *claims = csv.reader(file)
    for *said, factor, worse, better in claims:
        runs = of(every, *said[2:])
        both = itertools.product(worse.split(), better.split())
        pairs = [(runs[a], runs[b]) for a, b in both if a in runs and b in runs]
        for place, budget in enumerate(PLAN.budgets if pairs else ()):
            ratio = min((a.ratio(b, place) for a, b in pairs), key=lambda band: band.mean)
            least = float(factor)
            holds = "yes" if ratio.low >= least else "no" if ratio.high < least else "open"
            yield *said, factor, budget, *ratio.cells, holds


def _orders(options: Options) -> Iterator[Row]:
    every = runs_of(options)
    for pool, measure in dict.fromkeys(key[:2] for key in every):
        place = PLAN.budgets.index(PAPER_BUDGETS[measure])
        runs = sorted(of(every, pool, measure).values(), key=lambda run: run.error(place).mean)
        told = runs[0].method.title
        for before, after in itertools.pairwise(runs):
            sign = "<" if after.ratio(before, place).low > 1 else "~"
            told += f" {sign} {after.method.title}"
        yield pool, measure, PLAN.budgets[place], told


def _errors(options: Options) -> Iterator[Row]:
    every = runs_of(options)
    for key in sorted(every, key=lambda key: (MEASURES.index(key[1]), key[0])):
        for place, budget in enumerate(PLAN.budgets):
            yield *key[:2], every[key].method.title, budget, *every[key].error(place).cells


def _short(value: float) -> str:
    """Return two digits of a number."""
    if value == 0 or 0.001 <= abs(value) < 1000:
        return f"{float(f'{value:.2g}'):g}"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa}e{int(exponent)}"


TABLES = (
    Table("study/errors", "pool,measure,method,labels,mse,low,high", _errors),
    Table("study/orders", "pool,measure,labels,from_least_to_greatest_mse", _orders),
    Table("study/claims", "claim,where,pool,measure,factor,labels,ratio,low,high,holds", _claims),
)


# --- pictures, like figures 2 and 4 of [MR]


def draw(options: Options) -> None:
    """Write all pictures."""
    runs, folder = runs_of(options), options.output / "figures"
    for measure in dict.fromkeys(key[1] for key in runs):
        runner.save_figure(_convergence(runs, measure), folder / f"convergence-{measure}.svg")
    for pool in dict.fromkeys(key[0] for key in runs):
        found = of(runs, pool, CURVE)
        chosen = [found[key] for key in COMPARED if key in found and len(found[key].curves)]
        if chosen:
            runner.save_figure(_curves(pool, chosen), folder / f"curves-{pool}.png")


def _convergence(runs: Runs, measure: str) -> Any:
    """Draw KL divergence above mean squared error, a column for each pool."""
    pools = sorted({key[0] for key in runs})
    figure = runner.new_figure(3.0 * len(pools), 4.6)
    axes = figure.subplots(2, len(pools), sharex=True, squeeze=False, height_ratios=(2, 3))
    budgets = np.array(PLAN.budgets)
    for pool, (upper, lower) in zip(pools, axes.T, strict=True):
        upper.set_title(pool)
        for run in of(runs, pool, measure).values():
            places = range(len(budgets))
            _band(lower, budgets, [run.error(place) for place in places], run.method)
            distances = [run.distance(place) for place in places]
            if None not in distances:
                _band(upper, budgets, distances, run.method)
        lower.set(xscale="log", yscale="log", xlabel="labels")
        lower.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        lower.minorticks_off()
        upper.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("KL divergence (nats)")
    axes[1, 0].set_ylabel(f"MSE of {measure}")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _band(axes: Any, budgets: FloatArray, bands: Sequence[Any], method: Method) -> None:
    """Draw means by budget, with their bands."""
    colour, marker = method.look
    look = {"color": colour, "marker": marker, "markersize": 3, "linewidth": 1}
    axes.plot(budgets, [band.mean for band in bands], **look, label=method.title)
    low, high = np.array([(band.low, band.high) for band in bands]).T
    axes.fill_between(budgets, low, high, color=colour, alpha=0.2, linewidth=0)


def _curves(pool: str, runs: Sequence[Run]) -> Any:
    """Draw estimated precision-recall curves under the true one."""
    from matplotlib.collections import LineCollection

    figure = runner.new_figure(2.6 * len(runs), 2.5)
    panels = figure.subplots(1, len(runs), sharey=True, squeeze=False)[0]
    for axes, run in zip(panels, runs, strict=True):
        precision, recall = np.split(run.curves, 2, axis=1)
        lines = np.stack([recall, precision], axis=2)
        axes.add_collection(LineCollection(lines, colors="#333333", alpha=0.2, linewidths=0.5))
        true_precision, true_recall = np.split(run.truth, 2)
        axes.plot(true_recall, true_precision, color="#d62728", linewidth=1.5)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="recall", title=run.method.title)
    figure.axes[0].set_ylabel("precision")
    figure.suptitle(f"{pool}, {PLAN.budgets[-1]:,} labels")
    return figure


if __name__ == "__main__":
    runner.main(__doc__, TABLES, STUDY, then=draw)
