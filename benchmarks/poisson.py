"""Poisson sampling beside importance and uniform sampling: the tables of docs/studies/poisson.md.

``python benchmarks/poisson.py [--repeats N]`` prints them. Real pools are looked for beside the
project, in ../shared/pools; without them the tables of made-up pools are printed alone.
"""

import argparse
import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from evalsampling import Evaluation
from evalsampling.inference.domains import ReportedDomains
from evalsampling.inference.results import Estimate
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
from evalsampling.measures.deviation import Deviation
from evalsampling.preparation.poisson import PoissonFilter
from evalsampling.samplers import OptimalImportance, Passive, Poisson, Sampler
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.outputs import Outputs

SHARED = Path(__file__).resolve().parents[2] / "shared" / "pools"
LABELS = ["toxic", "severe", "obscene", "threat", "insult", "hate"]


@dataclasses.dataclass(frozen=True)
class KnownRows:
    """A pool all of whose labels are known, row by row.

    Attributes:
        table: its cells.
        cell: shape (n,): cell of each row.
        outputs: of the rows.
        label: shape (n,): class codes.
    """

    table: CellTable
    cell: np.ndarray
    outputs: Outputs
    label: np.ndarray

    @classmethod
    def of(cls, evaluation: Evaluation, label: np.ndarray) -> "KnownRows":
        """Return the rows of an evaluation in memory whose ids are row numbers."""
        table = evaluation.table
        cell = np.repeat(np.arange(len(table)), table.count)
        first = np.cumsum(table.count) - table.count
        rank = np.arange(len(cell)) - first[cell]
        pool = evaluation.state.pool
        history = dataclasses.replace(evaluation.history, cell=cell, rank=rank)
        outputs, _ = pool.describe(history)
        return cls(table, cell, outputs, label[pool.ids(cell, rank)])

    def true(self, measure: Measure) -> float:
        """Return the value of a measure on all rows."""
        weight = np.full(len(self.label), 1 / len(self.label))
        return float(measure.value(measure.mean_loss(self.outputs, self.label, weight))[0])

    def standard_error(self, measure: Measure, inclusion: np.ndarray) -> float:
        """Return the root of [Y] eq. 21 of a measure, of independent rows with these chances."""
        weight = np.full(len(self.label), 1 / len(self.label))
        risk = measure.mean_loss(self.outputs, self.label, weight)
        influence = measure.influence(self.outputs, self.label, risk)[:, 0]
        residual = (influence - influence.mean()) * weight
        return float(np.sqrt(np.sum((1 / inclusion - 1) * residual**2)))

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


@dataclasses.dataclass(frozen=True)
class Summary:
    """Root mean square error of a measure, and the coverage of its 90 % interval."""

    rmse: float
    coverage: float


def repeat(
    pool: KnownRows, sampler: Sampler, measures: Sequence[Measure], labels: int, repeats: int
) -> list[Summary]:
    """Return what many samples of so many labels do, for each measure; undefined counts as 0."""
    runs = [pool.estimates(sampler, measures, labels, seed) for seed in range(repeats)]
    summaries = []
    for place, measure in enumerate(measures):
        true = pool.true(measure)
        found = [run[place] for run in runs]
        errors = [(one.value or 0.0) - true for one in found]
        covered = [_covers(one, true) for one in found]
        rmse = float(np.sqrt(np.mean(np.square(errors))))
        summaries.append(Summary(rmse, float(np.mean(covered))))
    return summaries


def _covers(one: Estimate, true: float) -> bool:
    """Tell whether the Beta interval holds the truth, the default one where there is none."""
    default = one.intervals[0]
    found = next((each for each in one.intervals if each.method == "beta"), default)
    return found.low - 1e-9 <= true <= found.high + 1e-9


def like_mnist(rows: int = 11_200, leaves: int = 256) -> KnownRows:
    """Return a pool like the source's: one row in ten positive, calibrated scores."""
    rng = np.random.default_rng(8)
    margin = np.where(rng.random(rows) < 0.1, rng.normal(3.5, 2.5, rows), rng.normal(-5, 2, rows))
    p = 1 / (1 + np.exp(-margin))
    label = (rng.random(rows) < p).astype(np.int64)
    evaluation = Evaluation.from_arrays(
        p, (p > 0.5).astype(int), probability=p, strata={"leaves": leaves}, sampler="poisson"
    )
    return KnownRows.of(evaluation, label)


def like_comments(rows: int = 600, leaves: int = 32) -> KnownRows:
    """Return a pool like the source's second: 600 rows, six labels, 125 of 3,600 positive."""
    rng = np.random.default_rng(6)
    base = np.array([-3.94, -6.34, -4.74, -7.04, -4.94, -6.34])
    margin = base + 1.9 * rng.normal(0, 1, (rows, 1)) + 0.9 * rng.normal(0, 1, (rows, 6))
    p = 1 / (1 + np.exp(-margin))
    label = (rng.random((rows, 6)) < p) @ (1 << np.arange(6))
    evaluation = Evaluation.from_arrays(
        p.max(axis=1), (p > 0.3).astype(int), probability=p, strata={"leaves": leaves},
        sampler="poisson", labels={"multilabel": LABELS}, measure={"f1": {"average": "micro"}},
    )  # fmt: skip
    return KnownRows.of(evaluation, label)


def shared_pool(name: str, probability: str, leaves: int = 256) -> KnownRows | None:
    """Return a real pool, None if it is not there."""
    path = SHARED / f"{name}.parquet"
    if not path.exists():
        return None
    columns, truth = pq.read_table(path), pq.read_table(SHARED / f"{name}-truth.parquet")
    if probability not in columns.column_names:
        columns = (
            pq.read_table(SHARED / f"{name}-features.parquet")
            .append_column("prediction", columns["prediction"])
            .append_column("score", columns["score"])
        )
    evaluation = Evaluation.from_arrays(
        columns["score"].to_numpy(),
        columns["prediction"].to_numpy(),
        probability=columns[probability].to_numpy(),
        sampler="poisson",
        strata={"leaves": leaves},
    )
    return KnownRows.of(evaluation, truth["label"].to_numpy().astype(np.int64))


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table of Markdown."""
    print(f"\n{title}\n")
    print(f"| {' | '.join(head)} |\n| {' | '.join('---' for _ in head)} |")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def designs(pools: dict[str, KnownRows], repeats: int) -> None:
    """Smoothed probabilities beside a defensive mixture: which is to be the default."""
    ways = {
        "neither": {"delta": 0.0, "smoothing": 1.0},
        "smoothing .9 (the source)": {"delta": 0.0, "smoothing": 0.9},
        "delta .1 (default)": {"delta": 0.1, "smoothing": 1.0},
        "both": {"delta": 0.1, "smoothing": 0.9},
    }
    measures = [FBeta(), Recall()]
    rows = [
        [name, way, str(labels)]
        + [
            f"{one.rmse:.4f}, {one.coverage:.2f}"
            for one in repeat(pool, Poisson(FBeta(), **given), measures, labels, repeats)
        ]
        for name, pool in pools.items()
        for labels in (300, 1000)
        for way, given in ways.items()
    ]
    table("Designs: error, coverage", ["pool", "design", "labels", "F1", "recall"], rows)


def shares(pools: dict[str, KnownRows], repeats: int) -> None:
    """Poisson, importance and uniform sampling at equal distinct labels, by share of the pool."""
    rows = []
    for name, pool in pools.items():
        for share in (0.005, 0.02, 0.1, 0.25, 0.5, 0.75, 0.9):
            labels = round(share * pool.table.rows)
            if share > 0.1 and pool.table.rows > 20_000:
                continue
            found = [
                repeat(pool, sampler, [FBeta()], labels, repeats)[0]
                for sampler in (Passive(FBeta()), OptimalImportance(FBeta()), Poisson(FBeta()))
            ]
            ratio = f"{found[2].rmse / found[1].rmse:.2f}" if found[1].rmse else ""
            rows.append(
                [
                    name,
                    f"{share:g}",
                    *(f"{one.rmse:.4f}, {one.coverage:.2f}" for one in found),
                    ratio,
                ]
            )
    head = ["pool", "share", "passive", "optimal_importance", "poisson", "poisson / importance"]
    table("F1 at equal distinct labels: error, coverage of nominal 90 %", head, rows)


def by_cell(
    pools: dict[str, Callable[[int], KnownRows | None]], measure: Measure, leaves: Sequence[int]
) -> list[list[str]]:
    """Return what is lost where rows of a cell share a probability: exact, nothing is drawn."""
    rows = []
    for name, pool_of in pools.items():
        for number in leaves:
            pool = pool_of(number)
            if pool is None:
                continue
            deviation = Deviation.from_cells(measure, pool.table, pool.table.prior)
            chosen = PoissonFilter.from_cells(deviation, pool.table, 1000)
            h = deviation.of_rows(pool.outputs, pool.outputs.probability[:, 0])
            own = np.minimum(chosen.factor * h + chosen.least, 1.0)
            errors = [pool.standard_error(measure, b) for b in (own, chosen.chance[pool.cell])]
            told = [name, measure.name, str(number), f"{own.sum():.0f}"]
            rows.append([*told, *(f"{one:.4f}" for one in errors), f"{errors[1] / errors[0]:.3f}"])
    return rows


def own_beside_shared() -> None:
    """Probabilities of rows beside those of cells, 1,000 labels wanted: exact, nothing is drawn."""
    two_classes: dict[str, Callable[[int], KnownRows | None]] = {
        "like MNIST": lambda leaves: like_mnist(leaves=leaves),
        "abt-buy, probability": lambda leaves: shared_pool("abt-buy", "probability", leaves),
        "abt-buy, probability_platt": lambda leaves: shared_pool(
            "abt-buy", "probability_platt", leaves
        ),
    }
    six = {"six labels, 20,000 rows": lambda leaves: like_comments(20_000, leaves)}
    rows = by_cell(two_classes, FBeta(), (24, 256))
    rows += by_cell(six, MicroF(6, sets=True), (24, 256))
    rows += by_cell(six, MacroF(6, sets=True), (24, 256))
    head = ["pool", "measure", "leaves", "rows expected, own b", "error, own b", "error, by cell"]
    table("Own probabilities beside those of cells", [*head, "ratio"], rows)


def across(pool: KnownRows, repeats: int) -> None:
    """The source's appendix F.1: design measure against evaluated measure."""
    measures = [FBeta(), Precision(), Recall(), Accuracy(), Specificity()]
    rows = [
        [driver.name]
        + [f"{one.rmse:.4f}" for one in repeat(pool, Poisson(driver), measures, 1120, repeats)]
        for driver in measures
    ]
    head = ["drawn for", *(measure.name for measure in measures)]
    table("Error of each measure by the measure drawn for, 1,120 of 11,200 labels", head, rows)


def multilabel(pool: KnownRows, repeats: int) -> None:
    """Micro and macro F1 of six labels with rare positives."""
    measures: list[Measure] = [MicroF(6, sets=True), MacroF(6, sets=True)]
    rows = []
    for labels in (60, 150, 300, 450):
        for driver in measures:
            samplers = (Passive(driver), OptimalImportance(driver), Poisson(driver))
            found = [repeat(pool, one, measures, labels, repeats) for one in samplers]
            place = measures.index(driver)
            rows.append(
                [str(labels), driver.name]
                + [f"{one[place].rmse:.4f}, {one[place].coverage:.2f}" for one in found]
            )
    head = ["labels", "drawn for and estimated", "passive", "optimal_importance", "poisson"]
    table("Six labels, 600 rows: error, coverage", head, rows)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    repeats = parser.parse_args().repeats
    mnist = like_mnist()
    pools = {"like MNIST": mnist}
    for name, probability in (("abt-buy", "probability"), ("abt-buy", "probability_platt")):
        found = shared_pool(name, probability)
        if found is not None:
            pools[f"{name}, {probability}"] = found
    designs(pools, repeats)
    shares(
        {name: pool for name, pool in pools.items() if not name.endswith(" probability")}, repeats
    )
    across(mnist, repeats)
    multilabel(like_comments(), repeats)
    own_beside_shared()


if __name__ == "__main__":
    main()
