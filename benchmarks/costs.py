"""Costs of labels, the label likelihood and drift: the tables of docs/studies/costs.md.

``python benchmarks/costs.py [--repeats N]`` prints them: the experiments of C. Sawade, *Active
Evaluation of Predictive Models*, 2012, sections 4.4.1 and 4.4.2, on made-up data of its
description, and labels that cost what the text of a row is long on abt-buy, which is looked for in
../shared/pools and left out if it is not there.

Each repeat draws n* rows with replacement, row by row, and estimates with self-normalised weights.
"""

import argparse
import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pools
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy import special

from evalsampling import Evaluation, samplers
from evalsampling.measures import Accuracy, FBeta, Measure
from evalsampling.measures.deviation import Deviation
from evalsampling.stats.costs import MOST_CLASSES, CostClasses, predicted_saving
from evalsampling.stats.history import History

NAMES = ("passive", "active_lambda", "active_uniC", "optimal_importance")
"""Of the comparisons by money; the last, without a mixture, is the thesis's active."""

SPAM = 33_296
"""Mails that the thesis evaluates on."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """A pool all of whose labels are known.

    Attributes:
        probability: shape (n,): of the positive class, by the model.
        prediction: shape (n,).
        label: shape (n,).
        cost: shape (n,): of labels, 1 on average.
    """

    probability: np.ndarray
    prediction: np.ndarray
    label: np.ndarray
    cost: np.ndarray

    @property
    def uncertainty(self) -> np.ndarray:
        """u: the mean square of a row's loss about the expected risk (section 4.4.1)."""
        error = np.where(self.prediction == 1, 1 - self.probability, self.probability)
        risk = error.mean()
        return (1 - 2 * risk) * error + risk**2

    @property
    def rho(self) -> float:
        """Correlation of u and 1 / cost."""
        return float(np.corrcoef(self.uncertainty, 1 / self.cost)[0, 1])

    @property
    def likelihood(self) -> float:
        """Label likelihood on the whole pool (eq. 2.9)."""
        p = np.where(self.label == 1, self.probability, 1 - self.probability)
        return float(np.exp(np.mean(np.log(np.clip(p, 1e-12, 1)))))

    def evaluation(self, measure: str, leaves: int = 64) -> Evaluation:
        """Return the evaluation of the pool in memory."""
        return Evaluation.from_arrays(
            self.probability,
            self.prediction,
            columns={"cost": self.cost},
            pool={"cost": "cost"},
            measure=measure,
            strata={"method": "equal_count", "leaves": leaves},
        )

    def cells(self, evaluation: Evaluation) -> np.ndarray:
        """Return the place of each row's cell in the table."""
        stratification = evaluation.state.pool.stratification
        bins = np.searchsorted(stratification.bin_edges, self.probability, side="right")
        codes = stratification.grid.codes(bins, self.prediction[:, None], self.cost)
        return np.searchsorted(evaluation.table.code, codes)


def like_spam(rows: int = SPAM, seed: int = 1, sharp: float = 1.0, angle: float = 0.0) -> Rows:
    """Return mails of which 7 % are spam and a calibrated model errs on 4 %.

    Args:
        rows: how many.
        seed: of the rows.
        sharp: what the model's log odds are multiplied with: 1 for a calibrated one.
        angle: between what the model looks at and what decides, in radians: drift.
    """
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(2, rows))
    decides = np.cos(angle) * x[0] + np.sin(angle) * x[1]
    truth = special.expit(4.5 * decides - 7.0)
    probability = special.expit(sharp * (4.5 * x[0] - 7.0))
    cost = np.exp(rng.normal(0, 1, rows))
    return Rows(
        probability,
        (probability > 0.5).astype(np.int64),
        (rng.random(rows) < truth).astype(np.int64),
        cost / cost.mean(),
    )


def sorted_costs(rows: Rows, sign: int) -> Rows:
    """Return the pool with its costs handed out anew: to certain rows the dearest, or not."""
    order, ranked = np.argsort(rows.uncertainty), np.sort(rows.cost)
    cost = np.empty(len(ranked))
    cost[order] = ranked[::-1] if sign > 0 else ranked
    return dataclasses.replace(rows, cost=cost)


def spread_costs(rows: Rows, power: float) -> Rows:
    """Return the pool with costs to a power, 1 on average."""
    cost = rows.cost**power
    return dataclasses.replace(rows, cost=cost / cost.mean())


@dataclasses.dataclass(frozen=True)
class Outcome:
    """Mean absolute error of many repeats, its standard error, draws and what they cost."""

    error: float
    deviation: float
    draws: int
    cost: float


def compare(
    rows: Rows, measure: Measure, spec: str, money: float, repeats: int, names: tuple[str, ...]
) -> Mapping[str, Outcome]:
    """Return how samplers do with an amount of money."""
    evaluation = rows.evaluation(spec)
    cell, table = rows.cells(evaluation), evaluation.table
    truth = value_of(spec, rows, np.ones((1, len(cell))), np.arange(len(cell))[None])[0]
    found = {}
    for name in names:
        keys = {} if name == "passive" else {"delta": 0.0}
        sampler = samplers.BY_NAME[name](measure, **keys)
        start = History.start(1, 2)
        q = sampler.proposal(table, start).cell_probability[cell]  # type: ignore[union-attr]
        draws = int(money / float(q @ rows.cost))
        rng = np.random.default_rng(3)
        cumulated = np.cumsum(q)
        picked = np.searchsorted(cumulated, rng.random((repeats, draws)) * cumulated[-1], "right")
        values = value_of(spec, rows, 1 / q[picked], picked)
        errors = np.abs(values - truth)
        found[name] = Outcome(
            float(errors.mean()),
            float(errors.std() / np.sqrt(repeats)),
            draws,
            float(rows.cost[picked].sum(axis=1).mean()),
        )
    return found


def value_of(spec: str, rows: Rows, weight: np.ndarray, picked: np.ndarray) -> np.ndarray:
    """Return the self-normalised estimate of each repeat (eq. 3.31), 0 where it is undefined."""
    f, y = rows.prediction[picked], rows.label[picked]
    if spec == "accuracy":
        return np.sum(weight * (f == y), axis=1) / np.sum(weight, axis=1)
    over = np.sum(weight * (f + y) / 2, axis=1)
    return np.divide(np.sum(weight * f * y, axis=1), over, out=np.zeros(len(over)), where=over > 0)


def table(heads: list[str], lines: list[list[str]]) -> None:
    """Print a table."""
    print("| " + " | ".join(heads) + " |\n|" + " --- |" * len(heads))
    for line in lines:
        print("| " + " | ".join(line) + " |")
    print()


def by_correlation(repeats: int) -> None:
    """Print errors by money for costs that go with uncertainty, against it, and neither."""
    plain = like_spam()
    lines = []
    for pool in (sorted_costs(plain, -1), plain, sorted_costs(plain, 1)):
        saving = predicted_saving(
            np.sqrt(pool.uncertainty), np.ones(len(pool.cost), dtype=np.int64), pool.cost
        )
        for money in (100, 200, 400, 800):
            found = compare(pool, Accuracy(), "accuracy", money, repeats, NAMES)
            ratio = (found["optimal_importance"].error / found["passive"].error) ** 2
            lines.append(
                [f"{pool.rho:.3f}", str(money)]
                + [f"{one.error:.4f} ({one.draws})" for one in found.values()]
                + [f"{ratio:.2f}", f"{saving:.2f}"]
            )
    print("**Correlation of cost and uncertainty**\n")
    table(["rho", "money", *NAMES, "realised", "predicted"], lines)


def by_variance(repeats: int) -> None:
    """Print errors for costs that differ more and more."""
    lines = []
    for power in (0.0, 0.5, 1.0, 1.5, 2.0):
        pool = spread_costs(like_spam(), power)
        found = compare(pool, Accuracy(), "accuracy", 200, repeats, NAMES)
        lines.append(
            [f"{power:g}", f"{pool.cost.var():.2f}"]
            + [f"{one.error:.4f} ({one.draws})" for one in found.values()]
            + [f"{found['optimal_importance'].cost:.0f}"]
        )
    print("**Variance of costs**, money 200\n")
    table(["power", "variance", *NAMES, "spent by the last"], lines)


def by_likelihood(repeats: int) -> None:
    """Print the gain over even draws for models that are unsure, calibrated and overconfident."""
    lines = []
    for sharp in (0.02, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0):
        pool = dataclasses.replace(like_spam(sharp=sharp), cost=np.ones(SPAM))
        lines.append([f"{sharp:g}", *gain(pool, repeats)])
    print("**Label likelihood**: log odds multiplied\n")
    table(["times", "likelihood", "accuracy", "f1"], lines)


def by_drift(repeats: int) -> None:
    """Print the gain over even draws for batches that drift away from the model."""
    lines = []
    for number in range(10):
        angle = 0.12 * min(number, 14 - number)
        pool = like_spam(12_745, seed=number, angle=angle)
        lines.append(
            [str(number + 1), *gain(dataclasses.replace(pool, cost=np.ones(12_745)), repeats)]
        )
    print("**Drift**: ten batches, the last two nearer again\n")
    table(["batch", "likelihood", "accuracy", "f1"], lines)


def gain(pool: Rows, repeats: int) -> list[str]:
    """Return the likelihood and the ratio of the errors of even draws and active ones."""
    told = [f"{pool.likelihood:.2f}"]
    for measure, spec in ((Accuracy(), "accuracy"), (FBeta(), "f1")):
        found = compare(pool, measure, spec, 300, repeats, ("passive", "optimal_importance"))
        told.append(f"{found['passive'].error / found['optimal_importance'].error:.2f}")
    return told


def classes_lost(_: int) -> None:
    """Print what is lost to classes of costs, by their number, beside what the formula says."""
    pool = like_spam()
    size, cost = np.sqrt(pool.uncertainty), pool.cost
    best = float(np.sum(size * np.sqrt(cost))) ** 2
    lines = []
    for number in (1, 2, 4, 8, MOST_CLASSES):
        classes = CostClasses.spanning(cost.min(), cost.max(), number)
        found = classes.find(cost)
        count = np.maximum(np.bincount(found, minlength=number), 1)
        mean = (np.bincount(found, cost, number) / count)[found]
        q = size / np.sqrt(mean)
        paid = float(np.sum(size**2 / q)) * float(np.sum(q * cost))
        lost = paid / best - 1, classes.loss, classes.greatest_loss
        lines.append([str(number), *(f"{100 * one:.2f} %" for one in lost)])
    print(f"**Loss to classes**: costs from {cost.min():.3g} to {cost.max():.3g}\n")
    table(["classes", "measured", "log-uniform", "at most"], lines)


def by_text_length(directory: Path, repeats: int) -> None:
    """Print errors by money on abt-buy where a label costs what its text is long."""
    path = directory / "abt-buy.parquet"
    if not path.exists():
        print(f"{path}: not there, nothing measured")
        return
    stored, features = pq.read_table(path), pq.read_table(directory / "abt-buy-features.parquet")
    label = pq.read_table(directory / "abt-buy-truth.parquet")["label"].to_numpy()
    texts = [name for name in stored.column_names if name.startswith(("left_", "right_"))]
    length = sum(
        pc.fill_null(pc.utf8_length(stored[name]), 0).to_numpy().astype(float) for name in texts
    )
    probability = features["probability_platt"].to_numpy()
    prediction = stored["prediction"].to_numpy().astype(np.int64)
    cost = np.maximum(np.asarray(length), 1.0)
    pool = Rows(probability, prediction, label.astype(np.int64), cost / cost.mean())
    lines = []
    cells = pool.evaluation("f1").table
    size = Deviation.from_cells(FBeta(), cells, cells.prior).of_cells(cells, cells.prior)
    saving = predicted_saving(size, cells.count, cells.cost)
    for money in (250, 500, 1000, 2000):
        found = compare(pool, FBeta(), "f1", money, repeats, NAMES)
        dearer = (found["optimal_importance"].error / found["active_uniC"].error) ** 2
        to_even = (found["optimal_importance"].error / found["passive"].error) ** 2
        assert cells.cost is not None
        weighed = cells.count * size
        without = np.sum(weighed) * np.sum(weighed * cells.cost)
        gained = np.sum(weighed * np.sqrt(cells.cost)) ** 2 / without
        errors = [f"{one.error:.4f} ({one.draws})" for one in found.values()]
        ratios = [f"{one:.3f}" for one in (dearer, gained, to_even, saving)]
        lines.append([str(money), *errors, *ratios])
    print(f"**abt-buy**, F1: costs from {pool.cost.min():.2f} to {pool.cost.max():.2f}\n")
    heads = ["to active_uniC", "predicted", "to passive", "predicted"]
    table(["money", *NAMES, *heads], lines)


TABLES: Mapping[str, Callable[[int], None]] = {
    "correlation": by_correlation,
    "variance": by_variance,
    "classes": classes_lost,
    "likelihood": by_likelihood,
    "drift": by_drift,
}
"""The tables of made-up data."""


def main() -> None:
    """Print all tables, or one."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    pools.add_option(parser)
    parser.add_argument("--repeats", type=int, default=1000, metavar="N")
    parser.add_argument("--only", choices=[*TABLES, "text"], help="one table alone")
    given = parser.parse_args()
    for name, table_of in TABLES.items():
        if given.only in (None, name):
            table_of(given.repeats)
    if given.only in (None, "text"):
        by_text_length(given.pools, given.repeats)


if __name__ == "__main__":
    main()
