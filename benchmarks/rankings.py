"""What choosing queries saves, on pools like the one of the thesis, beside its own figures.

The thesis has 31,531 queries of MSLR-WEB30k with about 119 documents each, grades 0 to 4, and
models fitted to some of them. Here qualities, grades and models are drawn.
"""

import dataclasses
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pools
import pyarrow as pa
import pyarrow.parquet as pq
import runner
from runner import Options, Row, Table

from evalsampling.measures.build import build_driver
from evalsampling.stats.history import History

CUTS = np.array([0.0, 1.0, 2.0, 3.0])
"""Qualities from which on the odds are even that a document has the next grade."""

SLOPE = 2.5

NOISE = {"new": 0.6, "old": 0.7}
"""Standard deviations of the noise through which each ranker sees a quality."""

VARIANTS = ("uniform_cost", "active", "rescaled")

TASKS = {
    "one ranker": {"dcg": "10 to 20 %", "err": "10 to 20 %"},
    "the better of two": {"dcg": "30 to 55 %", "err": "30 to 55 %"},
    "index update": {"dcg": "30 %", "err": "75 %"},
    "twice the training data": {"dcg": "30 %", "err": "45 %"},
}
"""What the thesis says is saved."""


def rows(options: Options) -> Iterator[Row]:
    """Yield what is saved at each task by gain and variant: of queries, and of grades.

    That is at equal variance, against queries drawn alike. All grades are known, and the cost of a
    query is the number of its documents.
    """
    for task, published in TASKS.items():
        with tempfile.TemporaryDirectory() as folder:
            write_pool(Path(folder), task, options.queries, options.documents)
            for gain, thesis in published.items():
                found = ways(Path(folder), task, gain)
                even = found.pop("passive")
                for name, one in found.items():
                    ratio = one.variance / even.variance
                    saved = 1 - ratio, 1 - ratio * one.cost / even.cost
                    yield task, thesis, f"{gain}@10", name, *(100 * share for share in saved)


def write_pool(folder: Path, task: str, queries: int, documents: float) -> None:
    """Write a pool of queries and its grades.

    The second ranker is another model of the same quality, or the first without a tenth of the
    documents, or one that saw half as much training data: half of the variance of its noise is due
    to that, and doubling the data halves this half, so that the first has three quarters of it.
    """
    rng, rows = np.random.default_rng(11), []
    for number in range(queries):
        items = 5 + int(rng.poisson(rng.gamma(2, (documents - 5) / 2)))
        quality = rng.normal(rng.normal(-1.0, 0.8), 1.0, items)
        new = quality + rng.normal(0, NOISE["new"], items)
        old = quality + rng.normal(0, NOISE["old"], items)
        if task == "twice the training data":
            old = new + rng.normal(0, NOISE["new"] / 3**0.5, items)
        kept = np.where(rng.random(items) < 0.1, np.nan, new)
        row = {
            "query": f"q{number}",
            "document": [f"d{place}" for place in range(items)],
            "new": new,
            "old": kept if task == "index update" else old,
            "new chances": [*chances(new, NOISE["new"])],
            "old chances": [*chances(old, NOISE["old"])],
            "grade": [int(rng.choice(5, p=one)) for one in chances(quality, 0.0)],
            "cost": float(items),
        }
        rows.append(row)
    pool = pa.Table.from_pylist(rows)
    pq.write_table(pool.drop(["grade"]), folder / "pool.parquet")
    pq.write_table(pool.select(["query", "document", "grade"]), folder / "pool-truth.parquet")


def chances(quality: np.ndarray, noise: float) -> np.ndarray:
    """Return probabilities of grades; noise lowers the slope as it would that of a normal curve."""
    slope = SLOPE / np.sqrt(1 + (SLOPE * noise / 1.7) ** 2)
    above = 1 / (1 + np.exp(slope * (CUTS - quality[:, None])))
    found = np.maximum(-np.diff(above, axis=1, prepend=1, append=0), 0.0)
    return found / found.sum(axis=1, keepdims=True)


@dataclasses.dataclass(frozen=True)
class Way:
    """A way to draw queries, all grades being known: the draws, and what one costs on average."""

    draws: pools.Draws
    cost: float
    variance: float  # of the term of a draw: of the gain of a query, or the difference of two's


def ways(folder: Path, task: str, gain: str) -> dict[str, Way]:
    """Return how the queries of a task are drawn, evenly and by each variant."""
    driver, names = {"name": gain, "cut": 10}, ["new", "old"]
    if task == "one ranker":
        names.remove("old")
    systems = {name: {"score": name, "probability": f"{name} chances"} for name in names}
    if task == "index update":
        systems["old"].pop("probability")
    content = {
        "pool": {"id": "query", "systems": systems, "lists": {"items": "document"}, "cost": "cost"},
        "labels": {"classes": [0, 1, 2, 3, 4]},
        "measure": {"difference": driver} if "old" in names else driver,
    }
    # Of one ranker's gain `rescaled` is `active`.
    chosen = VARIANTS if "old" in names else VARIANTS[:2]
    variants = {name: {"name": "ranking", "variant": name} for name in chosen}
    samplers = {"passive": "passive", "active_lambda": "active_lambda", **variants}
    return {
        name: drawn(pools.Ground.read(folder, "pool", **content, sampler=sampler))
        for name, sampler in samplers.items()
    }


def drawn(ground: pools.Ground) -> Way:
    """Return the queries as a spec's sampler draws them."""
    known, sampler = ground.known, ground.sampler()
    measure, table = build_driver(ground.asked.reading), known.table
    draws = pools.Draws.of(known, sampler, measure)
    cost = float(np.bincount(known.cell, draws.chance, len(table)) @ table.cost)
    start = History.start(len(ground.spec.pool.systems), 1)
    share = draws.count / draws.count.sum()
    mean = float(share @ draws.loss)
    if sampler.inputs(table, start, 0.95).self_normalised:
        return Way(draws, cost, float(share @ (draws.ratio * (draws.loss - mean) ** 2)))
    return Way(draws, cost, float(share @ (draws.ratio * draws.loss**2)) - mean**2)


HEADER = "task,thesis,gain,drawn_by,queries_saved_percent,grades_saved_percent"
TABLES = (Table("rankings", HEADER, rows, form=".0f"),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, queries=800, documents=119)
