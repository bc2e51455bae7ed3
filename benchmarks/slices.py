"""Judges slices that are only reported: of another model's scores, and of rows at random.

Two pools of the corpus together are one pool. A slice is one of the two, whose score is that of
another model; or a part of all rows at random, where the score means what it means everywhere.
"""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pools
import pyarrow as pa
import pyarrow.parquet as pq
import runner
from runner import Options

from evalsampling import Evaluation
from evalsampling.inference.intervals import covers, interval_score

MOST_ROWS = 60_000
"""Rows at random of a larger pool."""

ROUNDS = (100, 130, 170, 200)
MEASURES = ("f1", "recall", "precision")
PARTS = {"u": 0.6, "v": 0.3, "w": 0.1}
"""Shares of the slices at random."""


def union(folder: Path, names: tuple[str, ...], rng: np.random.Generator) -> pa.Table:
    """Return two pools of a folder as one, with the columns of the slices."""
    parts = []
    for name in names:
        truth = pq.read_table(folder / f"{name}-truth.parquet")
        rows = pq.read_table(folder / f"{name}.parquet").join(truth, "id").sort_by("id")
        rows = rows.select(["probability", "prediction", "label"])
        rows = rows.take(rng.permutation(len(rows))[:MOST_ROWS])
        parts.append(rows.append_column("another model", pa.array([name] * len(rows))))
    pool = pa.concat_tables(parts, promote_options="permissive")
    at_random = rng.choice([*PARTS], len(pool), p=[*PARTS.values()])
    return pool.append_column("at random", pa.array(at_random))


def true_value(measure: str, label: Any, prediction: Any) -> float:
    """Return the value of a measure of a slice, NaN where it is undefined."""
    found, positive, predicted = label @ prediction, label.sum(), prediction.sum()
    by = {"f1": (predicted + positive) / 2, "recall": positive, "precision": predicted}[measure]
    return float(found / by) if by else np.nan


def outcomes(pool: pa.Table, seed: int) -> Iterator[tuple[tuple[str, str], Any, float]]:
    """Yield measure and kind of slice, estimate and truth of each number of a slice."""
    keys = {"score": "probability", "probability": "probability", "prediction": "prediction"}
    kinds = ["another model", "at random"]
    evaluation = Evaluation.from_frame(
        pool, **keys, slices=kinds, measure=[*MEASURES], score_is="probability", seed=seed
    )
    label, prediction = (pool[name].to_numpy().astype(int) for name in ("label", "prediction"))
    for size in ROUNDS:
        ids = evaluation.sample(size)
        evaluation.label(ids, label[ids])
    for one in evaluation.estimate():
        kind, _, value = (one.target.slice or "").partition("=")
        if kind:
            inside = pool[kind].to_numpy(zero_copy_only=False) == value
            truth = true_value(one.target.measure, label[inside], prediction[inside])
            if np.isfinite(truth):
                yield (one.target.measure, kind), one, truth


def rows(options: Options) -> Iterator[runner.Row]:
    """Yield, by measure and kind of slice, claims, and coverage, width and score of claims."""
    order = np.random.default_rng(corpus.PLAN.seed).permutation(pools.find(options.pools)).tolist()
    pairs = enumerate(zip(order[::2], order[1::2], strict=False))
    found: dict[tuple[str, str], list[tuple[Any, float]]] = {}
    for (number, pair), repeat in itertools.product(pairs, range(options.repeats)):
        pool = union(options.pools, pair, np.random.default_rng([repeat, number]))
        for key, *outcome in outcomes(pool, repeat):
            found.setdefault(key, []).append(tuple(outcome))
    for key, every in sorted(found.items()):
        claims = [(one, truth) for one, truth in every if one.claims]
        scores = [
            (covers(one, truth), one.high - one.low, interval_score(one, truth, one.confidence))
            for one, truth in claims
        ]
        numbers = len(claims) / len(every), *np.mean(scores, axis=0)
        yield *key, str(len(every)), *(f"{number:.3f}" for number in numbers)


HEADER = "measure,slices,numbers,claims,coverage,width,score"
TABLES = (runner.Table("slices", HEADER, rows, repeats=2, kept=False),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES)
