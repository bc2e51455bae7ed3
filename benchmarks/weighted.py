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
import pandas as pd
import pools
import runner
from runner import Options

CASES = {"lognormal": 1.0, "with positives": 1.5}  # factors of the weights of positives

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
    table = pd.read_parquet(folder / f"{name}.parquet")
    truth = pd.read_parquet(folder / f"{name}-truth.parquet")
    pool = table.merge(truth, on="id", how="left", validate="1:1")
    pool["weight"] = np.exp(np.random.default_rng(len(pool)).normal(size=len(pool)))
    pool.loc[pool["label"].astype(str) == "1", "weight"] *= CASES[case]
    content = {"probability": "probability", "weight": "weight"}
    return pools.Ground.of(pool, pool=content, measure=[*MEASURES], seed=1)


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
