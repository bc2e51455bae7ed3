"""Poisson sampling beside importance and uniform sampling, and rows drawn for another measure.

The experiments of [Y] Yilmaz and others, *Sample Efficient Model Evaluation*, 2021: pools like its
MNIST, like its comments with six labels, and of the shape of 20 Newsgroups, 11,313 rows of one of
20 groups each, as 20 labels. All are made up and seeded. Of real pools abt-buy is looked for.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pools
import pyarrow.parquet as pq
import runner
from runner import Options, Row, Table

from evalsampling import Evaluation
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.intervals import Interval, covers
from evalsampling.inference.results import Estimate
from evalsampling.label_spaces.sets import Sets, Tags
from evalsampling.measures import (
    Accuracy,
    FBeta,
    MacroF,
    Measure,
    MicroF,
    Precision,
    Recall,
    Specificity,
)
from evalsampling.samplers import OptimalImportance, Passive, Poisson, Sampler
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.outputs import Outputs

BINARY: list[Measure] = [FBeta(), Precision(), Recall(), Accuracy(), Specificity()]
KINDS = (Passive, OptimalImportance, Poisson)


@dataclasses.dataclass(frozen=True)
class KnownRows:
    """A pool all of whose labels are known: its cells, and cell, outputs and class of each row."""

    table: CellTable
    cell: np.ndarray
    outputs: Outputs
    label: np.ndarray

    @classmethod
    def of(cls, evaluation: Evaluation, label: np.ndarray) -> "KnownRows":
        """Return the rows of an evaluation in memory whose ids are row numbers."""
        cell, rank, number = pools.places(evaluation)
        history = dataclasses.replace(evaluation.history, cell=cell, rank=rank)
        outputs, _ = evaluation.state.pool.describe(history)
        return cls(evaluation.analysis.table, cell, outputs, label[number])

    def true(self, measure: Measure) -> float:
        """Return the value of a measure on all rows."""
        weight = np.full(len(self.label), 1 / len(self.label))
        return float(measure.value(measure.mean_loss(self.outputs, self.label, weight))[0])

    def estimates(
        self, sampler: Sampler, measures: Sequence[Measure], labels: int, seed: int
    ) -> list[Estimate]:
        """Return the estimates of measures of one number after one round of so many new rows."""
        rng = np.random.default_rng([seed, labels])
        order = np.lexsort([rng.random(len(self.cell)), self.cell])
        first = np.cumsum(self.table.count) - self.table.count
        start = History.start(1, self.table.classes)
        history = sampler.design(self.table, start, labels, rng)
        rows = order[first[history.cell] + history.rank]
        history = history.with_rows(self.outputs.take(rows), history.slice)
        history = history.with_labels(self.label[rows])
        scope = ReportedDomains(methods=("beta",))
        return sampler.estimate(self.table, history, measures, 0.9, scope)


def repeat(
    pool: KnownRows, sampler: Sampler, measures: Sequence[Measure], labels: int, repeats: int
) -> list[tuple[float, float]]:
    """Return RMSE and coverage of 90 % intervals of each measure; an undefined estimate is 0."""
    runs = [pool.estimates(sampler, measures, labels, seed) for seed in range(repeats)]
    summaries = []
    for measure, found in zip(measures, zip(*runs, strict=True), strict=True):
        true = pool.true(measure)
        square = np.square([(one.value or 0.0) - true for one in found])
        covered = [covers(_interval(one), true) for one in found]
        summaries.append((float(np.sqrt(np.mean(square))), float(np.mean(covered))))
    return summaries


def _interval(one: Estimate) -> Interval:
    """Return the Beta interval, the default one where there is none."""
    return next((each for each in one.intervals if each.method == "beta"), one.intervals[0])


# --- pools


@functools.cache
def like_mnist(rows: int = 11_200) -> KnownRows:
    """Return a pool like the source's: one row in ten positive, calibrated scores."""
    rng = np.random.default_rng(8)
    margin = np.where(rng.random(rows) < 0.1, rng.normal(3.5, 2.5, rows), rng.normal(-5, 2, rows))
    p = 1 / (1 + np.exp(-margin))
    label = (rng.random(rows) < p).astype(np.int64)
    evaluation = Evaluation.from_arrays(
        p, (p > 0.5).astype(int), probability=p, strata={"leaves": 256}, sampler="poisson"
    )
    return KnownRows.of(evaluation, label)


def like_comments(rows: int = 600) -> KnownRows:
    """Return a pool like the source's second: 600 rows, six labels, 125 of 3,600 positive."""
    rng = np.random.default_rng(6)
    base = np.array([-3.94, -6.34, -4.74, -7.04, -4.94, -6.34])
    margin = base + 1.9 * rng.normal(0, 1, (rows, 1)) + 0.9 * rng.normal(0, 1, (rows, 6))
    p = 1 / (1 + np.exp(-margin))
    label = (rng.random((rows, 6)) < p) @ (1 << np.arange(6))
    evaluation = Evaluation.from_arrays(
        p.max(axis=1), (p > 0.3).astype(int), probability=p, strata={"leaves": 32},
        sampler="poisson", labels={"multilabel": [*"abcdef"]}, measure={"f1": {"average": "micro"}},
    )  # fmt: skip
    return KnownRows.of(evaluation, label)


def abt_buy(folder: Path) -> KnownRows | None:
    """Return a real pool with probabilities by Platt's method, None if it is not there."""
    if not (folder / "abt-buy.parquet").exists():
        return None
    columns, truth, features = (
        pq.read_table(folder / f"abt-buy{part}.parquet") for part in ("", "-truth", "-features")
    )
    score, prediction = (columns[name].to_numpy() for name in ("score", "prediction"))
    platt = features["probability_platt"].to_numpy()
    evaluation = Evaluation.from_arrays(
        score, prediction, probability=platt, sampler="poisson", strata={"leaves": 256}
    )
    return KnownRows.of(evaluation, truth["label"].to_numpy().astype(np.int64))


def newsgroups(rows: int = 11_313, groups: int = 20) -> tuple[KnownRows, list[Measure]]:
    """Return a pool of the shape of 20 Newsgroups, and the measures of all labels.

    Rows are of one of 20 groups of like size. Groups come in threes that are easily confused, and
    probabilities are surer than they should be, as those of Naive Bayes are: four of five rows are
    predicted right.
    """
    rng = np.random.default_rng(20)
    group = rng.integers(0, groups, rows)
    near = group[:, None] // 3 == np.arange(groups) // 3
    logit = rng.normal(0, 1.2, (rows, groups)) + 1.5 * near
    logit[np.arange(rows), group] += rng.normal(2.6, 1.2, rows)
    p = np.exp(2 * logit)
    p /= p.sum(axis=1, keepdims=True)
    held, predicted = (each[:, None] == np.arange(groups) for each in (group, p.argmax(axis=1)))
    names = [f"tag {number}" for number in range(groups)]
    evaluation = Evaluation.from_arrays(
        None, predicted.astype(int), probability=p, labels={"multilabel": names}
    )
    space = Tags(tuple(names))
    kinds = itertools.product((0.5, 1.0, 0.0), (MicroF, MacroF))
    measures = [kind(groups, sets=space, alpha=alpha) for alpha, kind in kinds]
    return KnownRows.of(evaluation, space.encode(held)), measures


# --- tables


def shares(options: Options) -> Iterator[Row]:
    """Yield errors and coverage at equal distinct labels, by share of the pool."""
    pools_of = {"like MNIST": like_mnist(), "abt-buy, probability_platt": abt_buy(options.pools)}
    for name, pool in pools_of.items():
        for share in (0.005, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9):
            if pool is None or (share > 0.1 and pool.table.rows > 20_000):
                continue
            labels, f1 = round(share * pool.table.rows), FBeta()
            found = [repeat(pool, kind(f1), [f1], labels, options.repeats)[0] for kind in KINDS]
            (_, (importance, _), (poisson, _)) = found
            ratio = poisson / importance if importance else None
            yield name, share, *itertools.chain(*found), ratio


def six_labels(options: Options) -> Iterator[Row]:
    """Yield micro and macro F1 of six labels with rare positives."""
    pool = like_comments()
    measures = [kind(6, sets=Sets(tuple("abcdef"))) for kind in (MicroF, MacroF)]
    for labels in (60, 150, 300, 450):
        for place, driver in enumerate(measures):
            found = (
                repeat(pool, kind(driver), measures, labels, options.repeats)[place]
                for kind in KINDS
            )
            yield labels, driver.name, *itertools.chain(*found)


def measures(options: Options) -> Iterator[Row]:
    """Yield the error of each measure from rows drawn for each, by both designs ([Y] F.1)."""
    pools = (
        ("like MNIST", like_mnist(), BINARY, 1120),
        ("like 20 Newsgroups", *newsgroups(), 1131),
    )
    for name, pool, of_pool, labels in pools:
        for kind, driver in itertools.product(KINDS[1:], of_pool):
            found = repeat(pool, kind(driver), of_pool, labels, options.repeats)
            for measure, (rmse, _) in zip(of_pool, found, strict=True):
                yield name, kind.name, driver.name, measure.name, labels, rmse


_BOTH = ",".join(f"{kind.name}_rmse:.4f,{kind.name}_coverage:.2f" for kind in KINDS)
TABLES = (
    Table("poisson/shares", f"pool,share:g,{_BOTH},poisson_by_importance:.2f", shares, 100),
    Table("poisson/six-labels", f"labels,drawn_for_and_estimated,{_BOTH}", six_labels, 100),
    Table("many-labels/measures", "pool,design,drawn_for,measure,labels,rmse:.5f", measures, 40),
)

if __name__ == "__main__":
    runner.main(__doc__, TABLES)
