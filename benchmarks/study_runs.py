"""The runs of the study: what is simulated, block by block, and where the results are."""

import dataclasses
import functools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from blocks import keep_settings, run_missing, write_rows
from pools import find

from evalsampling import EvaluationSpec
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_driver
from evalsampling.measures.curves import Thresholded
from evalsampling.preparation.local import stratify_pool
from evalsampling.preparation.stratification import Stratification
from evalsampling.samplers import Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.simulation.summary import Point
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize

CURVE = "pr_curve"
MEASURES = ("f1", "accuracy", CURVE)

TRUTH = "truth.json"
"""Beside the results of a pool and measure: its size and the true value."""

CURVES_KEPT = 100
"""Repeats whose curves at the largest budget are kept for the plots."""


@dataclasses.dataclass(frozen=True)
class Method:
    """A way to sample.

    Attributes:
        key: in paths.
        title: in tables and plots; that of [MR], where it is theirs.
        sampler: its name in a spec.
        flat: whether the tree of the leaves has depth 1.
        measures: that it is made for.
        biased: whether it prefers rows that add to the measure.
    """

    key: str
    title: str
    sampler: str
    flat: bool = False
    measures: tuple[str, ...] = MEASURES
    biased: bool = True


METHODS = (
    Method("passive", "Passive", "passive", biased=False),
    Method("stratified", "Stratified", "stratified", biased=False),
    Method("importance", "IS", "importance"),
    Method("oasis", "OASIS", "oasis", measures=("f1",)),
    Method("ais-1", "Ours-1", "ais", flat=True),
    Method("ais-8", "Ours-8", "ais"),
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """What results must have in common to be put together.

    Attributes:
        budgets: labels at which estimates are taken.
        draws: of a round; new rows of a round for a sampler without repeats.
        leaves: of the strata.
        thresholds: of the curve; a leaf of its strata holds thresholds / leaves of them.
        seed: of draws and labels.
        confidence: level of the intervals.
    """

    budgets: tuple[int, ...] = (250, 500, 1000, 2000, 5000)
    draws: int = 100
    leaves: int = 256
    thresholds: int = 1024
    seed: int = 7
    confidence: float = 0.95


@dataclasses.dataclass(frozen=True)
class Block:
    """Some repeats of one method on one pool, for the measure that drives it."""

    pool: str
    measure: str
    method: Method
    first: int
    end: int

    @property
    def kind(self) -> tuple[str, str, str]:
        """What tells its run from others."""
        return self.pool, self.measure, self.method.key

    def path(self, results: Path) -> Path:
        """Return the file of its results."""
        return results.joinpath(*self.kind, f"{self.first:05}-{self.end:05}.parquet")

    @property
    def told(self) -> str:
        """Its name in a line of progress."""
        return f"{', '.join(self.kind)}, {self.first}-{self.end}"


def run(
    pools: Path,
    results: Path,
    settings: Settings,
    repeats: int,
    block: int,
    workers: int | None,
) -> None:
    """Simulate whatever has no results yet.

    Blocks are taken in turn from all runs, so that the results are even at any time.

    Args:
        pools: folder of the pools.
        results: folder of the results.
        settings: of all runs.
        repeats: of each run.
        block: repeats of a file.
        workers: processes; one a core by default.

    Raises:
        SettingsError: if there are results of other settings.
    """
    keep_settings(results, dataclasses.asdict(settings))
    names = find(pools)
    todo = [
        Block(pool, measure, method, first, min(first + block, repeats))
        for first in range(0, repeats, block)
        for pool in names
        for measure in MEASURES
        for method in METHODS
        if measure in method.measures
    ]
    for pool, measure in sorted({(one.pool, one.measure) for one in todo}):
        target = results / pool / measure
        if not (target / TRUTH).exists():
            _Ground.read(pools, pool, measure, settings).write_truth(target)
    each = functools.partial(_simulate, pools=pools, results=results, settings=settings)
    run_missing(todo, results, workers, each)


def read_settings(results: Path) -> Settings:
    """Return the settings of the results that are there."""
    content = json.loads((results / "settings.json").read_text(encoding="utf-8"))
    return Settings(**content | {"budgets": tuple(content["budgets"])})


@dataclasses.dataclass(frozen=True)
class _Ground:
    """A pool cut for one measure."""

    spec: EvaluationSpec
    stratification: Stratification
    known: KnownPool
    measure: Measure

    @classmethod
    @functools.cache
    def read(cls, pools: Path, pool: str, measure: str, settings: Settings) -> "_Ground":
        strata: dict[str, Any] = {"method": "csf", "leaves": settings.leaves, "branching": 2}
        asked: Any = measure
        if measure == CURVE:
            asked = {"name": measure, "thresholds": settings.thresholds}
        content = {
            "pool": {"path": f"{pool}.parquet", "probability": "probability"},
            "measure": asked,
            "strata": strata,
            "sampler": {"name": "ais", "draws": settings.draws},
            "budget": settings.budgets[-1],
            "round_size": settings.draws,
            "seed": settings.seed,
            "confidence": settings.confidence,
        }
        spec = EvaluationSpec.from_mapping(content, pools.resolve())
        stratification = stratify_pool(spec)
        built = build_driver(spec, stratification.ranges)
        if isinstance(built, Thresholded):
            # [MR] section 5.3: a leaf is a group of adjacent bins of the grid of thresholds.
            step = len(built.thresholds) // settings.leaves
            strata["edges"] = list(built.thresholds[step::step])
            spec = EvaluationSpec.from_mapping(content, pools.resolve())
            stratification = stratify_pool(spec)
        known = KnownPool.read(spec, stratification, pools / f"{pool}-truth.parquet")
        return cls(spec, stratification, known, built)

    def sampler(self, method: Method) -> Sampler:
        strata = self.spec.strata
        if method.flat:
            strata = strata.flat(self.known.table.leaves)
        spec = dataclasses.replace(self.spec, strata=strata)
        return build_sampler(spec, self.stratification.ranges, method.sampler)

    def write_truth(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        truth = {
            "rows": self.known.table.rows,
            "leaves": self.known.table.leaves,
            "positives": int(self.known.labels[:, 1].sum()),
            "value": self.known.value(self.measure).tolist(),
        }
        (directory / TRUTH).write_text(json.dumps(truth), encoding="utf-8")


def _simulate(block: Block, pools: Path, results: Path, settings: Settings) -> None:
    """Simulate a block and write its file."""
    ground = _Ground.read(pools, block.pool, block.measure, settings)
    sampler, measure = ground.sampler(block.method), ground.measure
    rounds = RoundSize(settings.draws)
    plan = Plan(settings.budgets, rounds, 1, settings.seed, settings.confidence)
    truth = ground.known.value(measure)
    rows = [
        row
        for repeat in range(block.first, block.end)
        for row in _rows(
            run_repeat(ground.known, sampler, [measure], plan, repeat), truth, plan, repeat
        )
    ]
    write_rows(rows, SCHEMA, block.path(results))


SCHEMA = pa.schema(
    {
        "repeat": pa.int32(),
        "budget": pa.int32(),
        "value": pa.float64(),
        "squared_error": pa.float64(),
        "undefined": pa.int32(),
        "draws": pa.int64(),
        "seconds": pa.float64(),
        "divergence": pa.float64(),
        "claims": pa.bool_(),
        "intervals": pa.list_(
            pa.struct({"method": pa.string(), "low": pa.float64(), "high": pa.float64()})
        ),
        "curve": pa.list_(pa.float32()),
    }
)
"""Of a block's file, a row for each repeat and budget.

An undefined component of a measure counts as 0 in the squared error, which is the sum over the
components. The first interval is the default. Curves are kept for `CURVES_KEPT` repeats at the
largest budget.
"""


def _rows(
    points: Sequence[Sequence[Point]], truth: Any, plan: Plan, repeat: int
) -> Iterator[dict[str, Any]]:
    counted = np.isfinite(truth)
    for budget, (point,) in zip(plan.budgets, points, strict=True):
        error = (np.nan_to_num(point.value) - truth)[counted]
        whole = budget == plan.budgets[-1] and repeat < CURVES_KEPT and len(truth) > 1
        estimate = point.estimates[0] if len(point.estimates) == 1 else None
        yield {
            "repeat": repeat,
            "budget": budget,
            "value": None if estimate is None else estimate.value,
            "squared_error": float(np.sum(error**2)),
            "undefined": int(np.sum(np.isnan(point.value[counted]))),
            "draws": point.draws,
            "seconds": point.seconds,
            "divergence": point.divergence,
            "claims": None if estimate is None else estimate.claims,
            "intervals": None
            if estimate is None
            else [
                {"method": one.method, "low": one.low, "high": one.high}
                for one in estimate.intervals
            ],
            "curve": point.value if whole else None,
        }
