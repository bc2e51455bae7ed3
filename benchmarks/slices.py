"""Judges slices that are only reported: of another model's scores, and of rows at random.

    python benchmarks/slices.py --pools=DIR --repeats 2                # prints the table

Two pools of the corpus together are one pool. A slice is one of the two, whose score is that of
another model; or a part of all rows at random, where the score means what it means everywhere.
"""

import dataclasses
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import corpus
import numpy as np
import numpy.typing as npt
import pools
import pyarrow.parquet as pq
import runner
from runner import Options

from evalsampling import Evaluation
from evalsampling.inference.intervals import covers, interval_score
from evalsampling.inference.results import Estimate

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MOST_ROWS = 60_000
"""Rows at random of a larger pool."""

ROUNDS = (100, 130, 170, 200)
MEASURES = ("f1", "recall", "precision")
PARTS = {"u": 0.6, "v": 0.3, "w": 0.1}
"""Shares of the slices at random."""


@dataclasses.dataclass(frozen=True)
class Union:
    """Rows of two pools together: arrays of shape (n,)."""

    probability: FloatArray
    prediction: IntArray
    label: IntArray
    slices: dict[str, npt.NDArray[np.str_]]

    @classmethod
    def read(cls, folder: Path, names: tuple[str, ...], rng: np.random.Generator) -> "Union":
        """Return two pools of a folder as one."""
        columns, sizes = [], []
        for name in names:
            pool = pq.read_table(folder / f"{name}.parquet")
            pool = pool.join(pq.read_table(folder / f"{name}-truth.parquet"), "id")
            pool = pool.sort_by("id").take(rng.permutation(len(pool))[:MOST_ROWS])
            columns.append([pool[c].to_numpy() for c in ("probability", "prediction", "label")])
            sizes.append(len(pool))
        probability, prediction, label = map(np.concatenate, zip(*columns, strict=True))
        part = rng.choice([*PARTS], sum(sizes), p=[*PARTS.values()])
        slices = {"another model": np.repeat([*names], sizes), "at random": part}
        whole = prediction.astype(np.int64), label.astype(np.int64)
        return cls(probability.astype(np.float64), *whole, slices)

    def value(self, measure: str, inside: npt.NDArray[np.bool_]) -> float:
        """Return the true value of a measure on a slice, NaN where it is undefined."""
        label, prediction = self.label[inside], self.prediction[inside]
        found, positive, predicted = label @ prediction, label.sum(), prediction.sum()
        by = {"f1": (predicted + positive) / 2, "recall": positive, "precision": predicted}[measure]
        return float(found / by) if by else np.nan


def evaluate(union: Union, seed: int) -> Iterator[tuple[str, str, Estimate, float]]:
    """Yield measure, kind of slice, estimate and truth of each number of a slice that has one."""
    evaluation = Evaluation.from_arrays(
        union.probability, union.prediction, columns=union.slices, slices=[*union.slices],
        measure=[*MEASURES], score_is="probability", seed=seed,
    )  # fmt: skip
    for size in ROUNDS:
        ids = evaluation.sample(size)
        evaluation.label(ids, union.label[ids])
    for one in evaluation.estimate():
        kind, _, value = (one.target.slice or "").partition("=")
        if kind:
            truth = union.value(one.target.measure, union.slices[kind] == value)
            if np.isfinite(truth):
                yield one.target.measure, kind, one, truth


def rows(options: Options) -> Iterator[runner.Row]:
    """Yield, by measure and kind of slice, claims, and coverage, width and score of claims."""
    order = np.random.default_rng(corpus.PLAN.seed).permutation(pools.find(options.pools)).tolist()
    pairs = [*zip(order[::2], order[1::2], strict=False)]
    found: dict[tuple[str, str], list[tuple[Estimate, float]]] = {}
    for repeat, (number, pair) in itertools.product(range(options.repeats), enumerate(pairs)):
        union = Union.read(options.pools, pair, np.random.default_rng([repeat, number]))
        for measure, kind, *outcome in evaluate(union, repeat):
            found.setdefault((measure, kind), []).append(tuple(outcome))
        print(repeat, *pair, file=sys.stderr, flush=True)
    for key, outcomes in sorted(found.items()):
        claims = [(one, truth) for one, truth in outcomes if one.claims]
        held = np.mean([covers(*claim) for claim in claims])
        width = np.mean([one.high - one.low for one, _ in claims])
        score = np.mean([interval_score(*claim, corpus.PLAN.confidence) for claim in claims])
        numbers = len(claims) / len(outcomes), held, width, score
        yield *key, str(len(outcomes)), *(f"{number:.3f}" for number in numbers)


HEADER = "measure,slices,numbers,claims,coverage,width,score"
TABLES = (runner.Table("slices", HEADER, rows, repeats=2, kept=False),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES)
