"""The runs of the coverage study: what is simulated, block by block, and where the results are."""

import dataclasses
import functools
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pools
import pyarrow as pa
import pyarrow.parquet as pq
from blocks import keep_settings, run_missing, write_rows
from coverage_situations import AT_RANDOM, CLASSES, NUMBERS, RANGE, SITUATIONS, write_situations

from evalsampling import EvaluationSpec
from evalsampling.inference.estimates import BANDS
from evalsampling.inference.intervals import SIMULTANEOUS, Interval, covers, interval_score
from evalsampling.inference.results import Estimate
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.preparation.stratification import Stratification
from evalsampling.samplers import Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior

CURVE = "pr_curve"
BAND = "PR band"
FEW = 64
"""Thresholds of a curve beside which other measures are estimated too."""


@dataclasses.dataclass(frozen=True)
class Method:
    """A way to sample.

    Attributes:
        name: in tables and paths.
        sampler: as in a spec.
        drives: the measure it samples for; that of several classes for `f1` is `macro_f1`.
        thresholds: of the curve that is estimated from its draws; 0 for no curve.
        pools: that it is tried on; all if empty.
        most: repeats, at most; None: as many as are asked for.
    """

    name: str
    sampler: dict[str, Any]
    drives: str = "f1"
    thresholds: int = 0
    pools: tuple[str, ...] = ()
    most: int | None = None


METHODS = (
    Method("passive", {"name": "passive"}, thresholds=FEW),
    Method("stratified", {"name": "stratified"}, thresholds=FEW),
    Method("importance", {"name": "importance"}),
    Method("oasis", {"name": "oasis"}),
    Method("ais", {"name": "ais"}),
    Method("ais, delta .1", {"name": "ais", "delta": 0.1}),
    Method("calibrated", {"name": "calibrated"}),
    Method("poisson", {"name": "poisson"}),
    Method("active_risk", {"name": "active_risk"}),
    Method("active_err", {"name": "active_err"}),
    Method("strat", {"name": "strat"}),
    Method("strat_model", {"name": "strat_model"}),
    Method("ais for the curve", {"name": "ais"}, CURVE, thresholds=FEW),
    Method("calibrated for the curve", {"name": "calibrated"}, CURVE, FEW, most=60),
    Method("passive, 1,024 thresholds", {"name": "passive"}, CURVE, 1024, ("balanced",), 60),
    Method("ais, 1,024 thresholds", {"name": "ais"}, CURVE, 1024, ("balanced",), 60),
)
"""What is compared. A sampler more is a line here."""

BINARY = ("f1", "recall", "precision", "accuracy", "mcc", "brier", "log_loss")
MULTICLASS = ({"name": "f1", "average": "macro"}, "recall", "precision", "accuracy",
              {"name": "f1", "average": "micro"}, "brier", "log_loss")  # fmt: skip
OF_NUMBERS = ("mse", "rmse", "mae", "mean_error")
TAKE_NUMBERS = ("passive", "stratified", "importance", "poisson", "active_risk")
"""Samplers of predicted numbers."""

TAKE_RANDOM = ("passive", "importance", "oasis", "ais", "poisson", "active_risk", "active_err")
"""Samplers of a stochastic oracle."""

DEFAULT = "default"
BESIDE = "design-based"
INTERVALS = (DEFAULT, BESIDE)
"""Intervals that are told of: the default one, which is judged, and the kind that stands beside it.

The default band is the model-based one, where a point has it."""

PLAN = Plan(
    budgets=(100, 300, 1000, 2000),
    round_size=RoundSize(50, 1.4),
    repeats=1,
    seed=29,
    confidence=0.95,
    divergence=False,
    bands=True,
    hidden=HiddenPrior(),
)


@dataclasses.dataclass(frozen=True)
class Block:
    """Some repeats of one method on one pool."""

    pool: str
    method: Method
    first: int
    end: int

    def path(self, results: Path) -> Path:
        """Return the file of its results."""
        folder = "-".join(re.findall(r"\w+", self.method.name))
        return results / "runs" / self.pool / folder / f"{self.first:05}-{self.end:05}.parquet"

    @property
    def told(self) -> str:
        """Its name in a line of progress."""
        return f"{self.pool}, {self.method.name}, {self.first}-{self.end}"


def run(
    shared: Path,
    results: Path,
    repeats: int,
    block: int,
    workers: int,
    only: Sequence[str],
    methods: Sequence[str],
) -> None:
    """Simulate whatever has no results yet.

    Blocks are taken in turn from all pools and methods, so that results are even at any time.

    Args:
        shared: folder of pools of known truth, besides the situations.
        results: folder of the results, and of the situations' pools.
        repeats: of each method on each pool.
        block: repeats of a file.
        workers: processes.
        only: names of the pools to run; all if empty.
        methods: names of the methods to run; all if empty.

    Raises:
        SettingsError: if the results that are there have other settings.
    """
    keep_settings(results, dataclasses.asdict(PLAN))
    folder = dict.fromkeys(write_situations(results / "pools"), results / "pools")
    folder |= dict.fromkeys(pools.find(shared), shared)
    todo = [
        Block(pool, method, first, min(first + block, repeats))
        for first in range(0, repeats, block)
        for pool in pools.chosen(only, list(folder))
        for method in METHODS
        if (method.most is None or first < method.most) and _possible(pool, method)
        if not methods or method.name in methods
    ]
    run_missing(todo, results, workers, functools.partial(_simulate, folder, results))


def _possible(pool: str, method: Method) -> bool:
    """Oasis is for two classes, as curves are in this study; few samplers are for numbers.

    Some are for a stochastic oracle, of whose pools curves drive none.
    """
    if method.pools and pool not in method.pools:
        return False
    if pool == NUMBERS:
        return method.name in TAKE_NUMBERS
    if pool in AT_RANDOM:
        return method.sampler["name"] in TAKE_RANDOM and method.drives != CURVE
    return pool != "four-classes" or (method.name != "oasis" and method.drives != CURVE)


@dataclasses.dataclass(frozen=True)
class Ground:
    """A pool cut for the measure that drives a method."""

    spec: EvaluationSpec
    stratification: Stratification
    known: KnownPool

    @classmethod
    @functools.cache
    def read(cls, folder: Path, pool: str, drives: str, thresholds: int) -> "Ground":
        """Read a pool, with its strata cut for the measure that drives, and a curve's thresholds.

        One more measure, a curve, comes last unless it drives.
        """
        measures: list[Any] = list(MULTICLASS if pool == "four-classes" else BINARY)
        columns: dict[str, Any] = {"path": f"{pool}.parquet", "probability": "probability"}
        labels: dict[str, Any] = {}
        if pool == NUMBERS:
            measures, labels = list(OF_NUMBERS), {"range": list(RANGE)}
            del columns["probability"]
        elif pool == "four-classes":
            columns["probability"] = {c: f"probability_{c}" for c in range(CLASSES)}
            labels = {"classes": list(range(CLASSES)), "positive": 1}
        elif thresholds:
            score = pq.read_table(folder / f"{pool}.parquet", columns=["score"])["score"]
            low, high = np.quantile(score.to_numpy(), [0.005, 0.9999])
            cuts = [float(low)] if low == high else np.linspace(low, high, thresholds).tolist()
            curve = {"name": CURVE, "thresholds": cuts}
            measures = [curve, *measures] if drives == CURVE else [*measures, curve]
        if pool in AT_RANDOM:
            labels = {"oracle": "stochastic"}
        content = {
            "pool": columns,
            "labels": labels,
            "measure": measures,
            "budget": PLAN.budgets[-1],
            "seed": PLAN.seed,
        }
        spec = EvaluationSpec.from_mapping(content, folder.resolve())
        stratification = stratify_pool(spec)
        known = KnownPool.read(spec, stratification, folder / f"{pool}-truth.parquet")
        return cls(spec, stratification, known)

    def measures(self, method: Method) -> list[Measure]:
        """Return what is estimated from the draws of a method: of a fine curve that alone."""
        built = build_measures(self.spec, self.stratification.ranges)
        return built[:1] if method.thresholds > FEW else built

    def sampler(self, method: Method) -> Sampler:
        """Return the sampler of a method."""
        written = self.spec.to_mapping() | {"sampler": method.sampler}
        spec = EvaluationSpec.from_mapping(written, "/")
        return build_sampler(spec, self.stratification.ranges)


SCHEMA = pa.schema(
    {
        "repeat": pa.int32(),
        "budget": pa.int32(),
        "measure": pa.string(),
        "interval": pa.string(),
        "claims": pa.bool_(),
        "covers": pa.bool_(),
        "warned": pa.bool_(),
        "error": pa.float64(),
        "width": pa.float64(),
        "score": pa.float64(),
        "warning": pa.string(),
        "seconds": pa.float64(),
    }
)
"""A row for each repeat, budget, measure and interval.

`claims`: whether the interval is not the whole range; of the band, whether it is not at
some point. `covers`: of the band, at all points. `warned`: whether words come with a claim, of the
band with the claim of any point; `warning` has the first words. `error` of an undefined estimate is
null; of a band it is null too, and width and score are means over the points.
"""


def _simulate(folder: dict[str, Path], results: Path, block: Block) -> None:
    """Simulate a block and write its file."""
    method = block.method
    ground = Ground.read(folder[block.pool], block.pool, method.drives, method.thresholds)
    sampler, measures = ground.sampler(method), ground.measures(method)
    truths = [ground.known.value(measure) for measure in measures]
    plan = dataclasses.replace(PLAN, hidden=ground.spec.label_prior)
    rows: list[dict[str, Any]] = []
    for repeat in range(block.first, block.end):
        points = run_repeat(ground.known, sampler, measures, plan, repeat)
        for budget, of_budget in zip(PLAN.budgets, points, strict=True):
            for measure, truth, point in zip(measures, truths, of_budget, strict=True):
                for row in _rows(measure, truth, point.estimates):
                    row |= {"repeat": repeat, "budget": budget, "seconds": point.seconds}
                    rows.append(row)
    write_rows(rows, SCHEMA, block.path(results))


def _rows(
    measure: Measure, truth: npt.NDArray[np.float64], estimates: Sequence[Estimate]
) -> Iterator[dict[str, Any]]:
    """Compare estimates with the truth, where there is one."""
    compared = [
        (one, float(true)) for one, true in zip(estimates, truth, strict=True) if np.isfinite(true)
    ]
    if measure.name == CURVE:
        for name in INTERVALS:
            points = [(one, _band(one, name), true) for one, true in compared]
            yield _summed_up(BAND, points) | {"interval": name}
    else:
        for one, true in compared:
            error = None if one.value is None else one.value - true
            for kind in INTERVALS:
                row = _summed_up(measure.name, [(one, _interval(one, kind), true)])
                yield row | {"interval": kind, "error": error}


def _interval(one: Estimate, kind: str) -> Interval:
    """Return the first interval of a kind; of a census, which has none, its value."""
    if kind == DEFAULT:
        return one.intervals[0]
    return next((interval for interval in one.intervals if interval.kind == kind), one.intervals[0])


def _band(one: Estimate, name: str) -> Interval:
    """Return the interval that holds together with those of the other points."""
    bands = [i for i in one.intervals if SIMULTANEOUS in i.method or i.method == BANDS]
    if name == BESIDE:
        bands = [i for i in bands if i.kind == SIMULTANEOUS]
    return bands[-1] if bands else Interval(*one.target.bounds, SIMULTANEOUS, "none")


def _summed_up(name: str, points: list[tuple[Estimate, Interval, float]]) -> dict[str, Any]:
    claims = [
        (interval.low, interval.high) != estimate.target.bounds for estimate, interval, _ in points
    ]
    words = [
        warning.removeprefix(f"{estimate.target.title}: ")
        for (estimate, _, _), claim in zip(points, claims, strict=True)
        for warning in estimate.warnings
        if claim
    ]
    return {
        "measure": name,
        "interval": DEFAULT,
        "claims": any(claims),
        "covers": all(covers(interval, true) for _, interval, true in points),
        "warned": bool(words),
        "warning": words[0] if words else None,
        "error": None,
        "width": float(np.mean([i.high - i.low for _, i, _ in points])),
        "score": float(np.mean([interval_score(i, t, PLAN.confidence) for _, i, t in points])),
    }


def read_results(results: Path) -> Iterator[tuple[str, str, dict[str, npt.NDArray[Any]]]]:
    """Yield pool, method and the columns of all results of each pair."""
    for pool in [*SITUATIONS, *sorted({p.name for p in results.glob("runs/*")} - {*SITUATIONS})]:
        for method in METHODS:
            folder = Block(pool, method, 0, 0).path(results).parent
            files = sorted(folder.glob("*.parquet"))
            if files:
                table = pa.concat_tables([pq.read_table(file) for file in files])
                columns = {
                    name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names
                }
                yield pool, method.name, columns
