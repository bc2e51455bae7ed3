"""Compares sampling methods on pools whose truth is known, as [MR] section 5 does.

    python benchmarks/study.py run              # simulates; continues where it stopped
    python benchmarks/study.py report           # tables and pictures of docs/studies/study.md

[MR] is Marchant and Rubinstein, "Needle in a Haystack", KDD 2021, and its technical report. A pool
is a pair of files: NAME.parquet (id, score, prediction, probability) and NAME-truth.parquet (id,
label).
"""

import argparse
import dataclasses
import functools
import itertools
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import pools
import pyarrow as pa
import tables
import trials
from tables import Table

from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_driver
from evalsampling.measures.curves import Thresholded
from evalsampling.samplers import Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan
from evalsampling.simulation.summary import Point
from evalsampling.spec import RoundSize

FloatArray = npt.NDArray[np.float64]

CURVE = "pr_curve"
MEASURES = ("f1", "accuracy", CURVE)

DRAWS, LEAVES, THRESHOLDS = 100, 256, 1024
"""Of a round, of the strata, and of the curve: a leaf of its strata holds four of these."""

PLAN = Plan((250, 500, 1000, 2000, 5000), RoundSize(DRAWS), 1, seed=7, confidence=0.95)

PAPER_BUDGETS = {"f1": 2000, "accuracy": 1000, CURVE: 5000}
"""Labels of the bar charts of [MR]: figures 3 and 6; figure 8 goes up to these."""

CURVES_KEPT = 100
"""Repeats whose curves at the largest budget are kept for the plots."""

RESAMPLES = 2000
"""Bootstrap samples of the repeats behind each band."""

_BAND = (2.5, 97.5)


@dataclasses.dataclass(frozen=True)
class Method:
    """A way to sample.

    Attributes:
        title: in tables and plots; that of [MR], where it is theirs.
        sampler: its name in a spec.
        flat: whether the tree of the leaves has depth 1.
        measures: that it is made for.
    """

    title: str
    sampler: str
    flat: bool = False
    measures: tuple[str, ...] = MEASURES


METHODS: Mapping[str, Method] = {
    "passive": Method("Passive", "passive"),
    "stratified": Method("Stratified", "stratified"),
    "importance": Method("IS", "importance"),
    "oasis": Method("OASIS", "oasis", measures=("f1",)),
    "ais-1": Method("Ours-1", "ais", flat=True),
    "ais-8": Method("Ours-8", "ais"),
}

SCHEMA = pa.schema(
    {
        "repeat": pa.int32(),
        "budget": pa.int32(),
        "seconds": pa.float64(),
        "squared_error": pa.float64(),
        "divergence": pa.float64(),
        "curve": pa.list_(pa.float32()),
    }
)
"""Of a block's file, a row for each repeat and budget.

An undefined component of a measure counts as 0 in the squared error, which is the sum over the
components. Curves are kept for `CURVES_KEPT` repeats at the largest budget.
"""


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    options = trials.parser(__doc__, "study", repeats=200, block=20).parse_args(argv)
    names = pools.chosen(options.only, pools.find(options.pools))
    kinds = [
        (pool, measure, method)
        for pool in names
        for measure in MEASURES
        for method in METHODS
        if measure in METHODS[method].measures
    ]
    if options.action == "run":
        study = trials.Study(functools.partial(_trial, options.pools), _rows, SCHEMA)
        trials.run(options, study, trials.blocks(kinds, options.repeats, options.block), PLAN)
        return 0
    options.runs = {}
    for kind in kinds:
        table = trials.read(options.results, *kind)
        if table is not None:
            options.runs[kind] = Run.of(kind[2], ground(options.pools, *kind[:2]), table)
    if not options.runs:
        print(f"{options.results}: no results, nothing written")
        return 0
    for each in TABLES:
        each.make(options)
    import study_plots  # it needs matplotlib

    study_plots.draw(options.runs, options.output / "figures")
    print(f"commits {', '.join(trials.commits(options.results))}", file=sys.stderr)
    return 0


# --- runs


@dataclasses.dataclass(frozen=True)
class Ground:
    """A pool cut for one measure."""

    cut: pools.Ground
    measure: Measure

    def sampler(self, method: Method) -> Sampler:
        """Return the sampler of a method."""
        strata = self.cut.spec.strata
        if method.flat:
            leaves = max(self.cut.known.table.leaves, 2)
            strata = msgspec.structs.replace(strata, branching=leaves)
        spec = dataclasses.replace(self.cut.spec, strata=strata)
        return build_sampler(spec, self.cut.cut.ranges, method.sampler)


@functools.cache
def ground(folder: Path, pool: str, measure: str) -> Ground:
    """Return a pool cut for a measure."""
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
    cut = pools.Ground.read(folder, pool, **content)
    built = build_driver(cut.spec.reading, cut.cut.ranges)
    if isinstance(built, Thresholded):
        # [MR] section 5.3: a leaf is a group of adjacent bins of the grid of thresholds.
        step = len(built.thresholds) // LEAVES
        strata["edges"] = list(built.thresholds[step::step])
        cut = pools.Ground.read(folder, pool, **content)
    return Ground(cut, built)


def _trial(folder: Path, pool: str, measure: str, method: str) -> trials.Trial:
    found = ground(folder, pool, measure)
    sampler = found.sampler(METHODS[method])
    return trials.Trial(found.cut.known, sampler, [found.measure], PLAN)


def _rows(
    _: Measure, truth: FloatArray, point: Point, at: trials.Result
) -> Iterator[trials.Result]:
    counted = np.isfinite(truth)
    error = (np.nan_to_num(point.value) - truth)[counted]
    last = at["budget"] == PLAN.budgets[-1] and at["repeat"] < CURVES_KEPT
    yield {
        "squared_error": float(np.sum(error**2)),
        "divergence": point.divergence,
        "curve": point.value if last and len(truth) > 1 else None,
    }


# --- errors with bootstrap bands


@dataclasses.dataclass(frozen=True)
class Band:
    """A mean over the repeats with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float

    @property
    def cells(self) -> tuple[str, str, str]:
        """Its numbers in a table."""
        return _short(self.mean), _short(self.low), _short(self.high)


@dataclasses.dataclass(frozen=True)
class Run:
    """The repeats of one method on one pool for one measure.

    Truth has the shape (components,), errors and divergence (repeats, budgets), curves (repeats,
    components): of some repeats at the largest budget. Errors are squared, and summed over the
    components; where there is no divergence it is NaN.
    """

    title: str
    truth: FloatArray
    errors: FloatArray
    divergence: FloatArray
    curves: FloatArray

    @classmethod
    def of(cls, method: str, found: Ground, table: pa.Table) -> "Run":
        """Return the run that results tell."""
        table = table.sort_by([("repeat", "ascending"), ("budget", "ascending")])
        shape = len(table) // len(PLAN.budgets), len(PLAN.budgets)
        errors, divergence = (
            table[name].to_numpy(zero_copy_only=False).astype(np.float64).reshape(shape)
            for name in ("squared_error", "divergence")
        )
        truth = found.cut.known.value(found.measure)
        curves = np.array([one for one in table["curve"].to_pylist() if one is not None], float)
        curves = curves.reshape(-1, len(truth))
        return cls(METHODS[method].title, truth, errors, divergence, curves)

    @functools.cached_property
    def resampled(self) -> FloatArray:
        """Mean squared errors of bootstrap samples, shape (resamples, budgets).

        Repeat i has the same seed in every run, and is resampled alike in all of as many repeats.
        """
        chosen = _choices(len(self.errors))
        return np.stack([column[chosen].mean(axis=1) for column in self.errors.T], axis=1)

    def error(self, budget: int) -> Band:
        """Return the mean squared error at a budget, given by its place."""
        low, high = np.percentile(self.resampled[:, budget], _BAND)
        return Band(float(self.errors[:, budget].mean()), float(low), float(high))

    def distance(self, budget: int) -> Band | None:
        """Return the mean KL divergence at a budget, None if there is none."""
        values = self.divergence[:, budget]
        if not np.isfinite(values).all():
            return None
        low, high = np.percentile(values[_choices(len(values))].mean(axis=1), _BAND)
        return Band(float(values.mean()), float(low), float(high))

    def ratio(self, other: "Run", budget: int) -> Band:
        """Return the mean squared error over that of another run."""
        low, high = np.percentile(
            self.resampled[:, budget] / np.maximum(other.resampled[:, budget], 1e-300), _BAND
        )
        mean = self.errors[:, budget].mean() / max(other.errors[:, budget].mean(), 1e-300)
        return Band(float(mean), float(low), float(high))


Runs = Mapping[tuple[str, str, str], Run]
"""By pool, measure and key of the method."""


def of(runs: Runs, pool: str, measure: str) -> dict[str, Run]:
    """Return the runs of a pool and measure by the key of their method, in the usual order."""
    return {key[2]: run for key, run in runs.items() if key[:2] == (pool, measure)}


@functools.cache
def _choices(repeats: int) -> npt.NDArray[np.int64]:
    return np.random.Generator(np.random.PCG64(1)).integers(repeats, size=(RESAMPLES, repeats))


# --- tables


UNBIASED = ("passive", "stratified")
BIASED = ("importance", "oasis", "ais-1", "ais-8")
OTHERS = (*UNBIASED, "importance", "oasis")

_ORDER = "improves on Passive by an order of magnitude or more"
_ORDERS = "Every biased method improves on Passive and Stratified by 1 to 2 orders of magnitude"
_TENDS = "Ours-8 tends to outperform Ours-1"
_RAPIDLY = "Ours generally converges more rapidly than OASIS"

CLAIMS = (
    (
        "Passive and Stratified: an order of magnitude above every biased method",
        "5.3, figure 2", "abt-buy", "f1", 10, UNBIASED, BIASED,
    ),
    (
        "Passive and Stratified: significantly above every biased method",
        "J, figure 5", "dblp-acm", "f1", 1, UNBIASED, BIASED,
    ),
    (
        "Ours-8 below all baselines at all budgets",
        "5.3, figure 2", "abt-buy", "f1", 1, OTHERS, ("ais-8",),
    ),
    (
        "Ours-1 below all baselines at all budgets",
        "5.3, figure 2", "abt-buy", "f1", 1, OTHERS, ("ais-1",),
    ),
    (
        "Ours is not the best here",
        "5.3, figure 3", "dblp-acm", "f1", 1, ("ais-1", "ais-8"), ("importance",),
    ),
    (
        "Ours-1 performs best",
        "J, figure 5", "dblp-acm", "f1", 1, (*OTHERS, "ais-8"), ("ais-1",),
    ),
    (_TENDS, "5.3", "abt-buy", "f1", 1, ("ais-1",), ("ais-8",)),
    (_TENDS, "5.3", "dblp-acm", "f1", 1, ("ais-1",), ("ais-8",)),
    (_RAPIDLY, "5.3", "abt-buy", "f1", 1, ("oasis",), ("ais-8",)),
    (_RAPIDLY, "5.3", "dblp-acm", "f1", 1, ("oasis",), ("ais-8",)),
    (
        "IS performs best", "J, figure 5", "creditcard", "f1", 1,
        (*UNBIASED, "oasis", "ais-1", "ais-8"), ("importance",),
    ),
    (f"Ours-8 {_ORDER}", "J, figure 6", "abt-buy", "accuracy", 10, ("passive",), ("ais-8",)),
    (f"Ours-8 {_ORDER}", "J, figure 7", "dblp-acm", "accuracy", 10, ("passive",), ("ais-8",)),
    (_ORDERS, "J, figure 8", "abt-buy", CURVE, 10, UNBIASED, BIASED),
    (_ORDERS, "J, figure 8", "dblp-acm", CURVE, 10, UNBIASED, BIASED),
    ("Ours-8 below IS", "5.3, figure 2", "abt-buy", "f1", 1, ("importance",), ("ais-8",)),
    (
        "Ours-8 and IS closer than for F1",
        "J, figure 8", "abt-buy", CURVE, 1, ("importance",), ("ais-8",),
    ),
)  # fmt: skip
"""What [MR] says of the mean squared errors, and where in the technical report.

Of a pool and measure the errors of some methods are greater than those of others, by a factor.
"""


def _claims(options: argparse.Namespace) -> Iterator[tables.Row]:
    for words, source, pool, measure, factor, worse, better in CLAIMS:
        runs = of(options.runs, pool, measure)
        pairs = [(runs[a], runs[b]) for a in worse for b in better if a in runs and b in runs]
        for place, budget in enumerate(PLAN.budgets if pairs else ()):
            ratio = min((a.ratio(b, place) for a, b in pairs), key=lambda band: band.mean)
            holds = "yes" if ratio.low >= factor else "no" if ratio.high < factor else "open"
            yield words, source, pool, measure, str(factor), str(budget), *ratio.cells, holds


def _orders(options: argparse.Namespace) -> Iterator[tables.Row]:
    for pool, measure in dict.fromkeys(key[:2] for key in options.runs):
        place = PLAN.budgets.index(PAPER_BUDGETS[measure])
        runs = sorted(
            of(options.runs, pool, measure).values(), key=lambda run: run.error(place).mean
        )
        told = runs[0].title
        for before, after in itertools.pairwise(runs):
            told += f" {'<' if after.ratio(before, place).low > 1 else '~'} {after.title}"
        yield pool, measure, str(PLAN.budgets[place]), told


def _errors(options: argparse.Namespace) -> Iterator[tables.Row]:
    ordered = sorted(
        options.runs.items(), key=lambda item: (MEASURES.index(item[0][1]), item[0][0])
    )
    for (pool, measure, _), run in ordered:
        for place, budget in enumerate(PLAN.budgets):
            yield pool, measure, run.title, str(budget), *run.error(place).cells


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

if __name__ == "__main__":
    sys.exit(main())
