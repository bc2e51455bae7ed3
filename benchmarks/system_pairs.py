"""Judges comparisons of two systems on real pools: a pool's own, and a second one made from it.

No two models of the same rows and labels are in the corpus, so pools, sorted by group and name,
have the kinds of second systems in `KINDS` in turn. Each pair is evaluated with its systems named
in both orders, and with rounds for what a spec names first. All is seeded: a pair is the same in
every run.
"""

import dataclasses
import functools
import itertools
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pandas as pd
import pools
import pyarrow.parquet as pq
import runner
from corpus import LEAST_RMSE, LOW_COVERAGE, NO_VALUE, ROUNDING, mean_ratio
from runner import Options
from scipy import special, stats

from evalsampling import EvaluationSpec
from evalsampling.simulation.truth import KnownPool
from evalsampling.stats.arrays import BoolArray, FloatArray

MOST_NEGATIVES = 250_000
"""Of larger pools a pair has all positives, and so many negatives, drawn at random."""

FEWEST_SCORES = 50
"""A pool with fewer distinct scores has no other threshold: its second system is `thinned`."""

ORDERS = ("ab", "ba")
REPORTED = ["f1", "precision", "recall", {"ratio": "f1"}]
DRAWN_FOR: Mapping[str, list[Any]] = {
    "f1": ["f1", "precision", "recall"],
    "precision": ["precision", "f1"],
    "recall": ["recall", "f1"],
    "difference": [{"difference": "f1"}, "f1"],
}
"""What a spec lists, by what is first."""

PLAN = dataclasses.replace(corpus.PLAN, budgets=(300, 600), seed=57)


@dataclasses.dataclass(frozen=True)
class Second:
    """How a second system is made from the first."""

    kept: float | None = None  # share of the hits of the first left by noise; None for no noise
    seen: float = 0.0  # share of the rows of which it knows something that the first does not
    by_rank: bool = False  # whether the noise is in ranks, and the score no probability
    factor: float = 1.0  # rows that it predicts to be positive, over those of the first


KINDS: Mapping[str, Second] = {
    "thinned": Second(kept=0.6),
    "other": Second(kept=0.25, seen=0.6),
    "threshold": Second(factor=2.0),
    "ranks": Second(kept=0.7, by_rank=True),
    "knows": Second(kept=0.6, seen=0.3),
    "weak": Second(kept=0.2),
    "near": Second(kept=0.95),
}
SIGNAL = 3.0
"""Standard deviations between positives and negatives in what only the second system knows."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """What one system says of the rows of a pool: arrays of shape (n,)."""

    score: FloatArray
    probability: FloatArray
    prediction: BoolArray

    @classmethod
    def predicting(cls, score: FloatArray, probability: FloatArray, rows: int) -> "Rows":
        """Return a system that predicts as many rows to be positive as are asked for, or more."""
        return cls(score, probability, score >= np.partition(score, -rows)[-rows])


def kinds(folder: Path) -> dict[str, str]:
    """Return the kind of the second system of each pool; groups are in a ``catalog.tsv``."""
    catalog = folder / "catalog.tsv"
    groups = pd.read_csv(catalog, sep="\t", index_col="name")["group"] if catalog.exists() else {}
    names = sorted(pools.find(folder), key=lambda name: (groups.get(name, name), name))
    return dict(zip(names, itertools.cycle(KINDS), strict=False))


def systems_of(folder: Path, name: str, kind: str) -> tuple[Rows, Rows, BoolArray]:
    """Return the system of a pool, one made from it, and the labels."""
    rng = np.random.default_rng([57, zlib.crc32(name.encode())])
    pool = pq.read_table(folder / f"{name}.parquet")
    label = pq.read_table(folder / f"{name}-truth.parquet")["label"].to_numpy() == 1
    negatives = np.flatnonzero(~label)
    if len(negatives) > MOST_NEGATIVES:
        chosen = rng.choice(negatives, MOST_NEGATIVES, replace=False)
        rows = np.sort(np.concatenate([np.flatnonzero(label), chosen]))
        pool, label = pool.take(rows), label[rows]
    score, probability = (pool[c].to_numpy().astype(np.float64) for c in ("score", "probability"))
    first = Rows(score, probability, pool["prediction"].to_numpy() == 1)
    if kind == "threshold" and len(np.unique(score)) < FEWEST_SCORES:
        kind = "thinned"
    return first, second(first, label, KINDS[kind], rng), label


def second(first: Rows, label: BoolArray, how: Second, rng: np.random.Generator) -> Rows:
    """Return a system made from another, whose labels are known."""
    rows = max(round(how.factor * int(first.prediction.sum())), 1)
    if how.kept is None:
        return Rows.predicting(first.score, first.probability, min(rows, len(label) // 2))
    known = special.logit(np.clip(first.probability, 1e-9, 1 - 1e-9))
    if how.by_rank:
        known = stats.rankdata(first.score) / len(label)
    known = with_noise(known, label, rows, how.kept, rng)
    if how.by_rank:
        probability = stats.rankdata(known) / (len(label) + 1)
        return Rows.predicting(probability, probability, rows)
    # What the second has seen is a normal number; its log-odds add to those of the rest.
    seen = rng.random(len(label)) < how.seen
    number = SIGNAL * label + rng.normal(size=len(label))
    known = known + seen * SIGNAL * (number - SIGNAL / 2)
    return Rows.predicting(known, special.expit(known), rows)


def with_noise(
    known: FloatArray, label: BoolArray, rows: int, kept: float, rng: np.random.Generator
) -> FloatArray:
    """Return numbers that vary as before, so noisy that the top rows keep a share of their hits."""
    noise = rng.normal(size=len(known)) * max(float(np.std(known)), 1e-9)

    def hits(size: float) -> int:
        top = np.argpartition(known + size * noise, -rows)[-rows:]
        return int(label[top].sum())

    least, most = np.log(1e-6), np.log(1e2)
    wanted = kept * hits(1e-6)
    for _ in range(30):
        middle = (least + most) / 2
        least, most = (middle, most) if hits(np.exp(middle)) > wanted else (least, middle)
    noisy = known + np.exp(most) * noise
    return noisy * (np.std(known) / max(float(np.std(noisy)), 1e-9))


def write_pair(folder: Path, name: str, kind: str, made: Path) -> None:
    """Write a pair as a pool with the columns of both systems, if it is not there yet."""
    if not (made / f"{name}-truth.parquet").exists():
        a, b, label = systems_of(folder, name, kind)
        columns: dict[str, Any] = {"label": label.astype(np.int8)}
        for system, rows in {"a": a, "b": b}.items():
            columns |= {f"{system}_{part}": values for part, values in vars(rows).items()}
            columns[f"{system}_prediction"] = rows.prediction.astype(np.int8)
        pools.write(made, name, columns)


def names(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield pair, order, what is first in the spec, and sampler of all trials."""
    return itertools.product(kinds(options.pools), ORDERS, DRAWN_FOR, corpus.SAMPLERS)


def trial(options: Options, name: str, order: str, first: str, sampler: str) -> runner.Trial:
    """Return a trial, of a pair that is made unless it is there."""
    made = options.results / "pools"
    write_pair(options.pools, name, kinds(options.pools)[name], made)
    drawn, reported = _read(made, name, order, first)
    return runner.Trial(reported.known, drawn.sampler(sampler), reported.measures, PLAN)


@functools.lru_cache(maxsize=2)
def _read(made: Path, name: str, order: str, first: str) -> tuple[pools.Ground, pools.Ground]:
    """Return a pair as it is cut for what a spec lists, and the same cells for what is reported."""
    parts = ("score", "probability", "prediction")
    systems = {system: {part: f"{system}_{part}" for part in parts} for system in order}
    pool = {"path": f"{name}.parquet", "systems": systems}
    drawn = pools.Ground.read(made, name, pool=pool, measure=DRAWN_FOR[first], seed=1)
    content = {"pool": pool, "measure": REPORTED, "seed": 1}
    spec = EvaluationSpec.from_mapping(content, made.resolve())
    known = KnownPool.read(drawn.cut, made / f"{name}-truth.parquet")
    return drawn, pools.Ground(spec, drawn.cut, known)


STUDY = runner.Study(
    "pairs", PLAN, names, trial, repeats=3, block=1, titles=("pair", "order", "first", "sampler")
)

HEADER = (
    "pair,number,pairs,repeats:.3g,evaluations:.0f,claims,coverage,ab,ba,at_300,at_600,f1_first,"
    "precision_first,recall_first,difference_first,warned,error,disagree,commit"
)
RUN = ["pair", "order", "first", "repeat", "budget", "title"]
PER_EVALUATION = 4
"""Rows of a number in one evaluation: two orders, of which both count as one, and two budgets."""


def rows(options: Options) -> Iterator[runner.Row]:
    """Yield what runs say of each number of all pairs, and of pairs where too few hold the truth.

    Of `calibrated`; errors are over those of `ais` in the same repeats, a geometric mean over
    pairs. `disagree` counts comparisons whose interval and p-value disagree, of all samplers.
    """
    held, commit = read(options), " ".join(runner.commits(options.results))
    groups = [*held.groupby("number")]
    groups.sort(key=lambda group: (len(group[0]) > 9, group[0]))
    groups.append(("all of one system", held[held["null"].isna()]))
    groups.append(("all differences", held[held["null"] == 0]))
    for name, found in groups:
        yield "all", name, *_cells(found), commit
    for key, found in held.groupby(["pair", "title"]):
        holds = found["holds"][(found["sampler"] == "calibrated") & found["claims"]]
        spread = np.sqrt(LOW_COVERAGE * (1 - LOW_COVERAGE) * PER_EVALUATION / max(len(holds), 1))
        if holds.mean() < LOW_COVERAGE - 2 * spread:
            yield *key, *_cells(found), commit


def read(options: Options) -> pd.DataFrame:
    """Return all rows of results, with their names and what follows from them."""
    held = STUDY.read(options)
    held = held[np.isfinite(held["truth"])].copy()
    low, high, null, truth = (held[name] for name in ("low", "high", "null", "truth"))
    held["number"] = held["measure"].where(null != 0, "difference of " + held["measure"])
    of_system = held["number"] + " of " + held["system"]
    held["title"] = held["number"].where(null.notna(), of_system)
    held["holds"] = np.maximum(low - truth, truth - high) < ROUNDING
    held["error"] = held["value"] - truth
    leaves_out = np.maximum(low - null, null - high) > ROUNDING
    held["disagree"] = leaves_out != (held["p_value"] <= 0.05)
    return held


def _cells(held: pd.DataFrame) -> Iterator[Any]:
    mine = held[held["sampler"] == "calibrated"]
    claims, evaluations = mine[mine["claims"]], len(mine) / PER_EVALUATION
    systems = len(held[["pair", "title"]].drop_duplicates())
    yield from (held["pair"].nunique(), evaluations / systems / len(DRAWN_FOR), evaluations)
    yield from (mine["claims"].mean(), claims["holds"].mean())
    for column, values in (("order", ORDERS), ("budget", PLAN.budgets), ("first", DRAWN_FOR)):
        yield from (claims["holds"][claims[column] == value].mean() for value in values)
    yield from (mine["warned"].mean(), _error(held), held["disagree"].sum())


def _error(held: pd.DataFrame) -> float:
    """Return errors over those of `ais` in runs where that has a value: a mean over pairs."""
    both = held[held.groupby(RUN)["sampler"].transform("size") == 2]
    if both.empty:
        return np.nan
    runs = both.pivot(index=RUN, columns="sampler", values="error")
    square = runs[runs["ais"].notna()].fillna(NO_VALUE) ** 2
    error = np.sqrt(square.groupby("pair").mean())
    return mean_ratio(error["calibrated"], error["ais"], LEAST_RMSE)


TABLES = (runner.Table("pairs", HEADER, rows, form=".3f"),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, STUDY)
