"""The runs of the coverage study: what is simulated, and what is kept of it."""

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pools
import pyarrow as pa
import pyarrow.parquet as pq
import trials
from coverage_situations import AT_RANDOM, CLASSES, NUMBERS, RANGE, SITUATIONS, write_made_up

from evalsampling import EvaluationSpec
from evalsampling.inference.estimates import BANDS
from evalsampling.inference.intervals import SIMULTANEOUS, Interval, covers, interval_score
from evalsampling.inference.results import Estimate
from evalsampling.measures.base import Measure
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan
from evalsampling.simulation.summary import Point
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
        "seconds": pa.float64(),
    }
)
"""A row for each repeat, budget, measure and interval.

`claims`: whether the interval is not the whole range; of the band, whether it is not at
some point. `covers`: of the band, at all points. `warned`: whether words come with a claim, of the
band with the claim of any point. `error` of an undefined estimate is null; of a band it is null
too, and width and score are means over the points.
"""


def run(options: Any) -> None:
    """Simulate whatever has no results yet."""
    made = options.results / "pools"
    folder = dict.fromkeys(write_made_up(made, SITUATIONS, seed=2024), made)
    folder |= dict.fromkeys(pools.find(options.pools), options.pools)
    asked = [one for one in METHODS if not options.methods or one.name in options.methods]
    todo = [
        block
        for pool in pools.chosen(options.only, list(folder))
        for method in asked
        if _possible(pool, method)
        for block in trials.blocks(
            [(pool, method.name)], min(options.repeats, method.most or options.repeats),
            options.block,
        )
    ]  # fmt: skip
    study = trials.Study(functools.partial(_trial, folder), rows_of, SCHEMA)
    # In turn from all pools and methods, so that results are even at any time.
    trials.run(options, study, sorted(todo, key=lambda block: block.first), PLAN)


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


def _trial(folder: dict[str, Path], pool: str, name: str) -> trials.Trial:
    (method,) = (one for one in METHODS if one.name == name)
    ground = _read(folder[pool], pool, method.drives, method.thresholds)
    written = ground.spec.to_mapping() | {"sampler": method.sampler}
    sampler = build_sampler(EvaluationSpec.from_mapping(written, "/"), ground.cut.ranges)
    # Of a fine curve that alone is estimated.
    measures = ground.measures[:1] if method.thresholds > FEW else ground.measures
    plan = dataclasses.replace(PLAN, hidden=ground.spec.label_prior)
    return trials.Trial(ground.known, sampler, measures, plan)


@functools.cache
def _read(folder: Path, pool: str, drives: str, thresholds: int) -> pools.Ground:
    """Read a pool, with its strata cut for the measure that drives, and a curve's thresholds.

    One more measure, a curve, comes last unless it drives.
    """
    measures: list[Any] = list(MULTICLASS if pool == "four-classes" else BINARY)
    columns: dict[str, Any] = {"probability": "probability"}
    labels: dict[str, Any] = {}
    if pool == NUMBERS:
        measures, labels, columns = list(OF_NUMBERS), {"range": list(RANGE)}, {}
    elif pool == "four-classes":
        columns = {"probability": {c: f"probability_{c}" for c in range(CLASSES)}}
        labels = {"classes": list(range(CLASSES)), "positive": 1}
    elif thresholds:
        score = pq.read_table(folder / f"{pool}.parquet", columns=["score"])["score"]
        low, high = np.quantile(score.to_numpy(), [0.005, 0.9999])
        cuts = [float(low)] if low == high else np.linspace(low, high, thresholds).tolist()
        curve = {"name": CURVE, "thresholds": cuts}
        measures = [curve, *measures] if drives == CURVE else [*measures, curve]
    if pool in AT_RANDOM:
        labels = {"oracle": "stochastic"}
    content = {"measure": measures, "budget": PLAN.budgets[-1], "seed": PLAN.seed}
    return pools.Ground.read(folder, pool, pool=columns, labels=labels, **content)


def rows_of(
    measure: Measure, truth: npt.NDArray[np.float64], point: Point, _: trials.Result
) -> Iterator[trials.Result]:
    """Compare estimates with the truth, where there is one."""
    compared = [
        (one, float(true))
        for one, true in zip(point.estimates, truth, strict=True)
        if np.isfinite(true)
    ]
    for kind in INTERVALS:
        if measure.name == CURVE:
            yield _row(BAND, kind, [(one, _band(one, kind), true) for one, true in compared])
            continue
        for one, true in compared:
            error = None if one.value is None else one.value - true
            yield _row(measure.name, kind, [(one, _interval(one, kind), true)]) | {"error": error}


def _interval(one: Estimate, kind: str) -> Interval:
    """Return the first interval of a kind; of a census, which has none, its value."""
    if kind == DEFAULT:
        return one.intervals[0]
    return next((interval for interval in one.intervals if interval.kind == kind), one.intervals[0])


def _band(one: Estimate, kind: str) -> Interval:
    """Return the interval that holds together with those of the other points."""
    bands = [i for i in one.intervals if SIMULTANEOUS in i.method or i.method == BANDS]
    if kind == BESIDE:
        bands = [i for i in bands if i.kind == SIMULTANEOUS]
    return bands[-1] if bands else Interval(*one.target.bounds, SIMULTANEOUS, "none")


def _row(name: str, kind: str, points: Sequence[tuple[Estimate, Interval, float]]) -> trials.Result:
    claims = [(interval.low, interval.high) != one.target.bounds for one, interval, _ in points]
    return {
        "measure": name,
        "interval": kind,
        "claims": any(claims),
        "covers": all(covers(interval, true) for _, interval, true in points),
        "warned": any(
            claim and bool(one.warnings) for (one, _, _), claim in zip(points, claims, strict=True)
        ),
        "error": None,
        "width": float(np.mean([i.high - i.low for _, i, _ in points])),
        "score": float(np.mean([interval_score(i, t, PLAN.confidence) for _, i, t in points])),
    }
