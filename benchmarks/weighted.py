"""Measures coverage where rows count by lognormal weights, on the pools of the corpus.

A row counts exp(z), z standard normal, whatever its label; or, in the second case, half as much
again where it is positive, which no score tells.
"""

import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path

import corpus
import numpy as np
import pools
import pyarrow.parquet as pq
import runner
from runner import Options

CASES = {"lognormal": 1.0, "with positives": 1.5}
"""Factors of the weights of positives."""

MEASURES = ("f1", "precision", "recall", "accuracy")
PLAN = dataclasses.replace(corpus.PLAN, budgets=(300, 1000))


def rows(options: Options) -> Iterator[runner.Row]:
    """Yield, by case and labels, the share of runs that claim, and coverage among these."""
    held = STUDY.read(options)
    for (case, budget), runs in held.groupby(["case", "budget"], sort=False):
        settings = corpus.settings(runs)
        claims = settings["claims"] * (count := settings["errors"].map(len))
        covered = (settings["coverage"] * claims).sum() / claims.sum()
        yield case, budget, claims.sum() / count.sum(), covered, count.sum()


@functools.lru_cache(maxsize=4)
def _ground(folder: Path, name: str, case: str) -> pools.Ground:
    """Return a pool whose rows have weights."""
    table = pq.read_table(folder / f"{name}.parquet")
    truth = pq.read_table(folder / f"{name}-truth.parquet")
    labels = dict(zip(truth["id"].to_pylist(), truth["label"].to_pylist(), strict=True))
    label = [labels[id] for id in table["id"].to_pylist()]
    weight = np.exp(np.random.default_rng(len(label)).normal(size=len(label)))
    weight[[str(one) == "1" for one in label]] *= CASES[case]
    columns = {name: table[name] for name in table.column_names}
    content = {"probability": "probability", "weight": "weight"}
    return pools.Ground.of(
        {**columns, "weight": weight, "label": label}, pool=content, measure=[*MEASURES], seed=1
    )


def trial(options: Options, pool: str, case: str, sampler: str) -> runner.Trial:
    """Return a trial."""
    ground = _ground(options.pools, pool, case)
    return runner.Trial(ground.known, ground.sampler(sampler), ground.measures, PLAN)


NAMES = functools.partial(corpus.names, [CASES, ["calibrated"]])
STUDY = runner.Study(
    "weighted", PLAN, NAMES, trial, repeats=6, block=3, titles=("pool", "case", "sampler")
)
HEADER = "weights,labels,claims:.3f,coverage:.3f,runs"
TABLES = (runner.Table("weights", HEADER, rows, kept=False),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, STUDY)
