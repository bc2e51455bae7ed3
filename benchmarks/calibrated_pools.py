"""The pools that the calibrated design is judged on: those of known truth, and made-up ones."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from coverage_situations import SITUATIONS, Columns, write_pool
from pools import find
from scipy import special

from evalsampling import EvaluationSpec
from evalsampling.measures.base import Measure
from evalsampling.measures.build import Range, build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers import Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.stats.cells import CellGrid
from evalsampling.stats.signatures import Signatures

MEASURES = ("f1", "recall", "precision")
OF_CLASSES = ("macro_f1", "recall", "precision")
HIDDEN = "hidden tenth"
LARGE = "one in a million"


def _hidden_tenth(rng: np.random.Generator) -> Columns:
    """A tenth of the positives are anywhere in the pool, whatever their score."""
    logit = rng.normal(-9.0, 2.5, 150_000)
    rate = special.expit(logit)
    label = (rng.random(len(logit)) < rate).astype(np.int64)
    label[rng.choice(len(label), int(label.sum()) // 9, replace=False)] = 1
    prediction = (logit > 0).astype(np.int64)
    return {"score": logit, "prediction": prediction, "probability": rate, "label": label}


def _two_clusters(rng: np.random.Generator) -> Columns:
    """A hundred positives with high scores, fifty with low ones, none between."""
    label = np.zeros(100_000, dtype=np.int64)
    label[:150] = 1
    score = rng.normal(-6.0, 1.5, len(label))
    score[:100], score[100:150] = rng.normal(3, 1, 100), rng.normal(-3, 0.5, 50)
    prediction = (score > 0).astype(np.int64)
    prior = special.expit(score)
    return {"score": score, "prediction": prediction, "probability": prior, "label": label}


MADE: Mapping[str, Callable[[np.random.Generator], Columns]] = {
    "calibrated": SITUATIONS["calibrated"],
    "over-confident": SITUATIONS["over-confident"],
    "useless": SITUATIONS["useless"],
    HIDDEN: _hidden_tenth,
    "two clusters": _two_clusters,
    "balanced": SITUATIONS["balanced"],
    "tied": SITUATIONS["tied"],
    "rounded": SITUATIONS["rounded"],
    "four-classes": SITUATIONS["four-classes"],
}
"""Situations (i) to (v) and (vii) to (ix); (vi) is `LARGE`, made from a cell table."""


def names(shared: Path) -> list[str]:
    """Return the names of all pools."""
    return [*find(shared), *MADE, LARGE]


@dataclasses.dataclass(frozen=True)
class Ground:
    """A pool cut into cells, with its truth."""

    spec: EvaluationSpec
    ranges: Sequence[Range | None]
    known: KnownPool

    def measures(self) -> list[Measure]:
        """Return what is estimated."""
        return [one for one in build_measures(self.spec, self.ranges) if isinstance(one, Measure)]

    def sampler(self, name: str) -> Sampler:
        """Return a sampler driven by the first measure."""
        return build_sampler(self.spec, self.ranges, name)


@functools.cache
def read(shared: Path, made: Path, name: str) -> Ground:
    """Return a pool; a made-up one is written to its folder if it is not there yet.

    Args:
        shared: folder of pools with known truth.
        made: folder of made-up pools.
        name: of the pool.
    """
    if name == LARGE:
        spec = EvaluationSpec.from_mapping({"pool": {"path": "x"}, "measure": [*MEASURES]}, made)
        return Ground(spec, ((-30.0, 30.0),), _large())
    folder = shared
    if name in MADE:
        folder = made
        write_pool(made, name, MADE[name], [2026, list(MADE).index(name)])
    columns: dict[str, object] = {"path": f"{name}.parquet", "probability": "probability"}
    content: dict[str, object] = {"pool": columns, "measure": [*MEASURES], "seed": 1}
    if name == "four-classes":
        columns["probability"] = {c: f"probability_{c}" for c in range(4)}
        content |= {"labels": {"classes": [0, 1, 2, 3], "positive": 1}, "measure": [*OF_CLASSES]}
    spec = EvaluationSpec.from_mapping(content, folder.resolve())
    cut = stratify_pool(spec)
    return Ground(spec, cut.ranges, KnownPool.read(spec, cut, folder / f"{name}-truth.parquet"))


def _large() -> KnownPool:
    """Return a pool of 10^8 rows with 100 positives, as its cells."""
    rng = np.random.default_rng(6)
    positive = np.clip(rng.normal(1.0, 2.5, 100), -13, 9)
    edge = np.linspace(-22, 10, 257)
    centre = (edge[:-1] + edge[1:]) / 2
    share = np.exp(-((centre + 14) ** 2) / 8)
    negatives = np.rint(1e8 * share / share.sum()).astype(np.int64)
    positives = np.histogram(positive, edge)[0]
    kept = negatives + positives > 0
    centre, count = centre[kept], np.stack([negatives, positives], axis=1)[kept]
    grid = CellGrid(np.arange(len(centre)), centre, len(centre), Signatures.every((2,)))
    prior = special.expit(centre)
    code = 2 * np.arange(len(centre)) + (centre > 0)
    table = grid.table(code, count.sum(axis=1), np.stack([1 - prior, prior], axis=1), 2)
    held = count.ravel() > 0
    cell = np.repeat(np.arange(len(centre)), 2)[held]
    label = np.tile([0, 1], len(centre))[held]
    return KnownPool(table, cell, label, count.ravel()[held], table.outputs.take(cell))
