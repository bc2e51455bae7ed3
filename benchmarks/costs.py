"""Costs of labels, the label likelihood and drift, on made-up mails.

    python benchmarks/costs.py                            # the tables of docs/studies/costs.md
    python benchmarks/costs.py --only likelihood drift    # those of docs/label-likelihood.md

The experiments of C. Sawade, *Active Evaluation of Predictive Models*, 2012, sections 4.4.1 and
4.4.2, on data of its description. Each repeat draws n* rows with replacement, row by row, and
estimates with self-normalised weights.
"""

import argparse
import dataclasses
from collections.abc import Iterator, Mapping

import numpy as np
import tables
from scipy import special
from tables import Table

from evalsampling import Evaluation, samplers
from evalsampling.measures import Accuracy, FBeta, Measure
from evalsampling.stats.costs import predicted_saving
from evalsampling.stats.history import History

NAMES = ("passive", "active_lambda", "active_uniC", "optimal_importance")
"""Of the comparisons by money; the last, without a mixture, is the thesis's active."""

SPAM = 33_296
"""Mails that the thesis evaluates on."""


@dataclasses.dataclass(frozen=True)
class Rows:
    """A pool all of whose labels are known, by row; labels cost 1 on average."""

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
        return np.searchsorted(evaluation.analysis.table.code, codes)


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
    """Mean absolute error of many repeats, draws and what they cost."""

    error: float
    draws: int
    cost: float


def compare(
    rows: Rows, measure: Measure, spec: str, money: float, repeats: int, names: tuple[str, ...]
) -> Mapping[str, Outcome]:
    """Return how samplers do with an amount of money."""
    evaluation = rows.evaluation(spec)
    cell, table = rows.cells(evaluation), evaluation.analysis.table
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
        spent = float(rows.cost[picked].sum(axis=1).mean())
        found[name] = Outcome(float(np.abs(values - truth).mean()), draws, spent)
    return found


def value_of(spec: str, rows: Rows, weight: np.ndarray, picked: np.ndarray) -> np.ndarray:
    """Return the self-normalised estimate of each repeat (eq. 3.31), 0 where it is undefined."""
    f, y = rows.prediction[picked], rows.label[picked]
    if spec == "accuracy":
        return np.sum(weight * (f == y), axis=1) / np.sum(weight, axis=1)
    over = np.sum(weight * (f + y) / 2, axis=1)
    return np.divide(np.sum(weight * f * y, axis=1), over, out=np.zeros(len(over)), where=over > 0)


def errors(found: Mapping[str, Outcome]) -> Iterator[str]:
    """Yield the error and the draws of each sampler."""
    for one in found.values():
        yield from (f"{one.error:.4f}", str(one.draws))


def by_correlation(options: argparse.Namespace) -> Iterator[tables.Row]:
    """Yield errors by money for costs that go with uncertainty, against it, and neither."""
    plain = like_spam()
    for pool in (sorted_costs(plain, -1), plain, sorted_costs(plain, 1)):
        each = np.ones(len(pool.cost), dtype=np.int64)
        saving = f"{predicted_saving(np.sqrt(pool.uncertainty), each, pool.cost):.2f}"
        for money in (100, 200, 400, 800):
            found = compare(pool, Accuracy(), "accuracy", money, options.repeats, NAMES)
            ratio = (found["optimal_importance"].error / found["passive"].error) ** 2
            yield f"{pool.rho:.3f}", str(money), *errors(found), f"{ratio:.2f}", saving


def by_variance(options: argparse.Namespace) -> Iterator[tables.Row]:
    """Yield errors for costs that differ more and more."""
    for power in (0.0, 0.5, 1.0, 1.5, 2.0):
        pool = spread_costs(like_spam(), power)
        found = compare(pool, Accuracy(), "accuracy", 200, options.repeats, NAMES)
        spent = f"{found['optimal_importance'].cost:.0f}"
        yield f"{power:g}", f"{pool.cost.var():.2f}", *errors(found), spent


def by_likelihood(options: argparse.Namespace) -> Iterator[tables.Row]:
    """Yield the gain over even draws for models that are unsure, calibrated and overconfident."""
    for sharp in (0.02, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0):
        yield f"{sharp:g}", *gain(like_spam(sharp=sharp), options.repeats)


def by_drift(options: argparse.Namespace) -> Iterator[tables.Row]:
    """Yield the gain over even draws for batches that drift away from the model."""
    for number in range(10):
        angle = 0.12 * min(number, 14 - number)
        pool = like_spam(12_745, seed=number, angle=angle)
        yield str(number + 1), *gain(pool, options.repeats)


def gain(pool: Rows, repeats: int) -> Iterator[str]:
    """Yield the likelihood and the ratio of the errors of even draws and active ones."""
    alike = dataclasses.replace(pool, cost=np.ones(len(pool.cost)))
    yield f"{alike.likelihood:.2f}"
    for measure, spec in ((Accuracy(), "accuracy"), (FBeta(), "f1")):
        found = compare(alike, measure, spec, 300, repeats, ("passive", "optimal_importance"))
        yield f"{found['passive'].error / found['optimal_importance'].error:.2f}"


_ERRORS = ",".join(f"{name.lower()}_error,{name.lower()}_draws" for name in NAMES)
_GAINS = "likelihood,accuracy,f1"

TABLES = (
    Table("costs/correlation", f"rho,money,{_ERRORS},realised,predicted", by_correlation, 200),
    Table("costs/variance", f"power,variance,{_ERRORS},spent_by_the_last", by_variance, 200),
    Table("likelihood", f"times,{_GAINS}", by_likelihood, 200, kept=False),
    Table("drift", f"batch,{_GAINS}", by_drift, 200, kept=False),
)

if __name__ == "__main__":
    tables.main(__doc__, TABLES)
