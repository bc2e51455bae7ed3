"""Costs of labels, the label likelihood and drift, on made-up mails.

The experiments of C. Sawade, *Active Evaluation of Predictive Models*, 2012, sections 4.4.1 and
4.4.2, on data of its description. Each repeat draws n* rows with replacement, row by row, and
estimates with self-normalised weights.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pools
import runner
from runner import Options, Row, Table
from scipy import special

from evalsampling import Evaluation, samplers
from evalsampling.measures import Accuracy, FBeta, Measure
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.costs import predicted_saving
from evalsampling.stats.history import History

ALONE = "optimal_importance"  # without a mixture, the thesis's active
NAMES = ("passive", "active_lambda", "active_uniC", ALONE)  # of the comparisons by money

MEASURES: dict[str, Measure] = {"accuracy": Accuracy(), "f1": FBeta()}
SPAM = 33_296  # mails that the thesis evaluates on


@dataclasses.dataclass(frozen=True)
class Rows:
    """A pool all of whose labels are known, by row; labels cost 1 on average."""

    probability: FloatArray
    prediction: IntArray
    label: IntArray
    cost: FloatArray

    @classmethod
    def like_spam(
        cls, rows: int = SPAM, seed: int = 1, sharp: float = 1.0, angle: float = 0.0
    ) -> "Rows":
        """Return mails of which 7 % are spam and a calibrated model errs on 4 %.

        The model's log odds are multiplied with `sharp`, which is 1 for a calibrated one; it looks
        at what is at an angle (drift, in radians) from what decides.
        """
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(2, rows))
        decides = np.cos(angle) * x[0] + np.sin(angle) * x[1]
        truth = special.expit(4.5 * decides - 7.0)
        probability = special.expit(sharp * (4.5 * x[0] - 7.0))
        cost = np.exp(rng.normal(0, 1, rows))
        label = (rng.random(rows) < truth).astype(np.int64)
        return cls(probability, (probability > 0.5).astype(np.int64), label, cost / cost.mean())

    @property
    def uncertainty(self) -> FloatArray:
        """u: the mean square of a row's loss about the expected risk (section 4.4.1)."""
        error = np.where(self.prediction == 1, 1 - self.probability, self.probability)
        risk = error.mean()
        return (1 - 2 * risk) * error + risk**2

    @property
    def likelihood(self) -> float:
        """Label likelihood on the whole pool (eq. 2.9)."""
        p = np.where(self.label == 1, self.probability, 1 - self.probability)
        return float(np.exp(np.mean(np.log(np.clip(p, 1e-12, 1)))))

    def with_sorted_costs(self, sign: int) -> "Rows":
        """Return the pool with its costs handed out anew: to certain rows the dearest, or not."""
        cost = np.empty(len(self.cost))
        cost[np.argsort(self.uncertainty)] = np.sort(self.cost)[::-sign]
        return dataclasses.replace(self, cost=cost)

    def with_spread_costs(self, power: float) -> "Rows":
        """Return the pool with costs to a power, 1 on average."""
        cost = self.cost**power
        return dataclasses.replace(self, cost=cost / cost.mean())

    def values(self, measure: str, weight: FloatArray, picked: IntArray) -> FloatArray:
        """Return the self-normalised estimates of samples (eq. 3.31), 0 where undefined."""
        f, y = self.prediction[picked], self.label[picked]
        hit, over = (f == y, 1.0) if measure == "accuracy" else (f * y, (f + y) / 2)
        total, of_all = np.sum(weight * hit, axis=1), np.sum(weight * over, axis=1)
        return np.divide(total, of_all, out=np.zeros(len(total)), where=of_all > 0)


class Outcome(NamedTuple):
    """Mean absolute error of many repeats, draws and what they cost."""

    error: float
    draws: int
    cost: float


def compare(
    rows: Rows, measure: str, money: float, repeats: int, names: Sequence[str] = NAMES
) -> dict[str, Outcome]:
    """Return how samplers do with an amount of money."""
    keys = {"measure": measure, "strata": {"method": "equal_count", "leaves": 64}}
    costs = {"columns": {"cost": rows.cost}, "pool": {"cost": "cost"}}
    evaluation = Evaluation.from_arrays(rows.probability, rows.prediction, **costs, **keys)
    by_cell, _, number = pools.places(evaluation)
    cell = np.empty_like(by_cell)
    cell[number] = by_cell
    truth = rows.values(measure, np.ones((1, len(cell))), np.arange(len(cell))[None])[0]
    found = {}
    for name in names:
        unmixed = {} if name == "passive" else {"delta": 0.0}
        sampler = samplers.BY_NAME[name](MEASURES[measure], **unmixed)
        proposal = sampler.proposal(evaluation.analysis.table, History.start(1, 2))  # type: ignore[union-attr]
        q = proposal.cell_probability[cell]
        draws = int(money / float(q @ rows.cost))
        cumulated, rng = np.cumsum(q), np.random.default_rng(3)
        picked = np.searchsorted(cumulated, rng.random((repeats, draws)) * cumulated[-1], "right")
        error = np.abs(rows.values(measure, 1 / q[picked], picked) - truth).mean()
        found[name] = Outcome(error, draws, rows.cost[picked].sum(axis=1).mean())
    return found


def errors(found: dict[str, Outcome]) -> Iterator[float]:
    """Yield the error and the draws of each sampler."""
    return itertools.chain.from_iterable(one[:2] for one in found.values())


def by_correlation(options: Options) -> Iterator[Row]:
    """Yield errors by money for costs that go with uncertainty, against it, and neither."""
    plain = Rows.like_spam()
    for pool in (plain.with_sorted_costs(-1), plain, plain.with_sorted_costs(1)):
        rho = np.corrcoef(pool.uncertainty, 1 / pool.cost)[0, 1]
        each = np.ones(len(pool.cost), dtype=np.int64)
        saving = predicted_saving(np.sqrt(pool.uncertainty), each, pool.cost)
        for money in (100, 200, 400, 800):
            found = compare(pool, "accuracy", money, options.repeats)
            ratio = (found[ALONE].error / found["passive"].error) ** 2
            yield rho, money, *errors(found), ratio, saving


def by_variance(options: Options) -> Iterator[Row]:
    """Yield errors for costs that differ more and more."""
    for power in (0.0, 0.5, 1.0, 1.5, 2.0):
        pool = Rows.like_spam().with_spread_costs(power)
        found = compare(pool, "accuracy", 200, options.repeats)
        yield power, pool.cost.var(), *errors(found), found[ALONE].cost


def by_likelihood(options: Options) -> Iterator[Row]:
    """Yield the gain over even draws for models that are unsure, calibrated and overconfident."""
    for sharp in (0.02, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 10.0):
        yield sharp, *gain(Rows.like_spam(sharp=sharp), options.repeats)


def by_drift(options: Options) -> Iterator[Row]:
    """Yield the gain over even draws for batches that drift away from the model."""
    for number in range(10):
        angle = 0.12 * min(number, 14 - number)
        pool = Rows.like_spam(12_745, seed=number, angle=angle)
        yield number + 1, *gain(pool, options.repeats)


def gain(pool: Rows, repeats: int) -> Iterator[float]:
    """Yield the likelihood and the ratio of the errors of even draws and active ones."""
    alike = pool.with_spread_costs(0.0)
    yield alike.likelihood
    for measure in MEASURES:
        found = compare(alike, measure, 300, repeats, ("passive", ALONE))
        yield found["passive"].error / found[ALONE].error


_ERRORS = ",".join(f"{name.lower()}_error,{name.lower()}_draws" for name in NAMES)
_GAINS = "likelihood,accuracy,f1"
_MONEY = f"rho:.3f,money,{_ERRORS},realised:.2f,predicted:.2f"
_SPREAD = f"power:g,variance:.2f,{_ERRORS},spent_by_the_last:.0f"

TABLES = (
    Table("costs/correlation", _MONEY, by_correlation, 200, ".4f"),
    Table("costs/variance", _SPREAD, by_variance, 200, ".4f"),
    Table("likelihood", f"times:g,{_GAINS}", by_likelihood, 200, ".2f", kept=False),
    Table("drift", f"batch,{_GAINS}", by_drift, 200, ".2f", kept=False),
)

if __name__ == "__main__":
    runner.main(__doc__, TABLES)
