"""Active risk estimation against rows drawn alike: skew, bias and variance, rivals, numbers.

    python benchmarks/active_risk.py            # the tables of docs/studies/active-risk.md
    python benchmarks/active_risk.py --only rivals    # that of docs/stratified-rivals.md

The axes are those of the thesis (C. Sawade, *Active Evaluation of Predictive Models*, 2012, section
4.4). Its pools were not at hand, though most are public: data of the same description are made up.
"""

import argparse
import dataclasses
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pools
import tables
from scipy import special
from tables import Table

from evalsampling.label_spaces.numbers import Numbers
from evalsampling.measures import Accuracy, FBeta, MeanSquaredError, Measure, TableRisk
from evalsampling.samplers import (
    ActiveError,
    ActiveRisk,
    ModelStratified,
    OnlineStratified,
    Passive,
    ReplacementSampler,
    Sampler,
)
from evalsampling.simulation.truth import KnownPool, Urns
from evalsampling.stats.history import History

FloatArray = npt.NDArray[np.float64]

ROWS = 33_296
"""As the thesis's pool of e-mails."""

SPAM, APART = 0.05, 2.8
"""Share of positives there, and distance of the classes that gives its error rate of .0245."""

SHARES = (0.5, 0.2, 0.1, 0.05, 0.02)
RIVAL_SHARES = (0.5, 0.2, 0.05, 0.02)
SIZES = (50, 100, 200, 400, 800)
MEASURES: dict[str, Measure] = {
    "error rate": TableRisk(),
    "recall (eta 0)": FBeta(alpha=0.0),
    "F1 (eta 0.5)": FBeta(alpha=0.5),
    "precision (eta 1)": FBeta(alpha=1.0),
}
TWO = ("error rate", "F1 (eta 0.5)")


def made_up(share: float) -> KnownPool:
    """Return a pool of two normal classes, whose scores are the right log-odds."""
    rng = np.random.default_rng(4)
    label = (rng.random(ROWS) < share).astype(np.int64)
    logit = APART * (rng.normal(size=ROWS) + APART * (label - 0.5)) + special.logit(share)
    columns = {
        "score": logit,
        "prediction": (logit > 0).astype(np.int64),
        "probability": special.expit(logit),
        "label": label,
    }
    with tempfile.TemporaryDirectory() as folder:
        pools.write(Path(folder), "pool", columns)
        return pools.Ground.read(Path(folder), "pool").known


def fraction(known: KnownPool, measure: Measure) -> tuple[FloatArray, FloatArray]:
    """Return what each row adds to the numerator and to the denominator of a measure."""
    loss = measure.loss(known.outputs, known.label)
    return loss[:, 0], loss[:, 1] if loss.shape[1] == 2 else np.ones(len(loss))


@dataclasses.dataclass(frozen=True)
class Estimates:
    """Self-normalised estimates of one measure from many samples (eq. 3.31), and the truth.

    Attributes:
        value: shape (repeats,): NaN where a sample has no weight.
        truth: value on the whole pool.
    """

    value: FloatArray
    truth: float

    @classmethod
    def simulated(
        cls,
        known: KnownPool,
        sampler: ReplacementSampler,
        draws: int,
        repeats: int,
        measure: Measure | None = None,
    ) -> "Estimates":
        """Return the estimates from draws with replacement, rows alike taken together.

        Of the measure that they are drawn for, unless another one is given.
        """
        numerator, weight = fraction(known, measure or sampler.measure)
        q, ratio = pools.drawn(known, sampler)
        chance = q * known.count
        rng = np.random.default_rng(draws)
        total = np.zeros((repeats, 2))
        for begin in range(0, repeats, 200):
            taken = rng.multinomial(
                draws, chance / chance.sum(), size=min(200, repeats - begin)
            ).astype(np.float64)
            total[begin : begin + 200] = taken @ (ratio[:, None] * np.stack([numerator, weight], 1))
        value = np.full(repeats, np.nan)
        np.divide(total[:, 0], total[:, 1], out=value, where=total[:, 1] > 0)
        return cls(value, float((known.count @ numerator) / (known.count @ weight)))

    @property
    def error(self) -> float:
        """Mean absolute deviation from the truth, of the samples that give a value."""
        return float(np.nanmean(np.abs(self.value - self.truth)))

    @property
    def parts(self) -> tuple[float, float]:
        """Squared bias and variance."""
        return float(np.nanmean(self.value) - self.truth) ** 2, float(np.nanvar(self.value))


def both(known: KnownPool, measure: Measure, draws: int, repeats: int) -> tuple[Estimates, ...]:
    """Return the estimates of passive and of active draws."""
    samplers = (Passive(measure), ActiveRisk(measure))
    return tuple(Estimates.simulated(known, one, draws, repeats) for one in samplers)


def labels_for_the_same_error(known: KnownPool, measure: Measure) -> float:
    """Return n_active / n_passive, with the true labels (lemma 3.4); NaN without an error."""
    hit, weight = fraction(known, measure)
    value = (known.count @ hit) / (known.count @ weight)
    square = known.count * (hit - value * weight) ** 2
    variances = []
    for sampler in (ActiveRisk(measure), Passive(measure)):
        q, _ = pools.drawn(known, sampler)
        variances.append(np.sum(np.divide(square, q, out=np.zeros(len(q)), where=q > 0)))
    return float(variances[0] / variances[1]) if variances[1] else float("nan")


def skew(options: argparse.Namespace) -> Iterator[tables.Row]:
    """Yield errors at 200 draws for pools of different shares of positives."""
    for share in SHARES:
        known = made_up(share)
        for name, measure in MEASURES.items():
            passive, active = both(known, measure, 200, options.repeats)
            errors = (f"{one:.4f}" for one in (active.truth, passive.error, active.error))
            needed = f"{labels_for_the_same_error(known, measure):.2f}"
            yield f"{100 * share:.0f}", name, *errors, needed


def parts_of_the_error(options: argparse.Namespace) -> Iterator[tables.Row]:
    """Yield squared bias and variance by the number of draws."""
    known = made_up(SPAM)
    for name in TWO:
        for draws in SIZES:
            found = both(known, MEASURES[name], draws, options.repeats)
            yield str(draws), name, *(f"{part:.1e}" for one in found for part in one.parts)


def rivals(options: argparse.Namespace) -> Iterator[tables.Row]:
    """Yield errors of 200 labels for the stratified rivals, by the share of positives."""
    measures = [MEASURES[name] for name in TWO]
    for share in RIVAL_SHARES:
        known = made_up(share)
        stratified = [
            errors_of_rounds(known, one, measures, rounds, options.repeats)
            for one, rounds in (
                (OnlineStratified(Accuracy()), 10),
                (ModelStratified(Accuracy()), 1),
            )
        ]
        for place, (name, measure) in enumerate(zip(TWO, measures, strict=True)):
            passive, error, active = (
                Estimates.simulated(known, one, 200, 2000, measure).error
                for one in (Passive(measure), ActiveError(measure), ActiveRisk(measure))
            )
            told = [passive, *(found[place] for found in stratified), error, active]
            yield f"{100 * share:.0f}", name, *(f"{one:.4f}" for one in told)


def errors_of_rounds(
    known: KnownPool, sampler: Sampler, measures: Sequence[Measure], rounds: int, repeats: int
) -> list[float]:
    """Return the mean absolute error of each measure after 200 labels in some rounds.

    Samples that leave a measure undefined are left out.
    """
    truths = [known.value(measure)[0] for measure in measures]
    errors = np.zeros((repeats, len(measures)))
    for repeat in range(repeats):
        history, oracle = History.start(1, known.table.classes), Urns(known, repeat)
        for number in range(rounds):
            rng = np.random.default_rng([repeat, number])
            history = oracle.answer(sampler.design(known.table, history, 200 // rounds, rng))
        values = [sampler.value(known.table, history, one, 0.95)[0] for one in measures]
        errors[repeat] = np.abs(np.subtract(values, truths))
    return np.nanmean(errors, axis=0).tolist()


def numbers(options: argparse.Namespace) -> Iterator[tables.Row]:
    """Yield errors of the mean squared error at 200 draws, by how much variances differ."""
    rng, rows, most = np.random.default_rng(6), 8000, 1000
    measure = MeanSquaredError(Numbers(-most, most))
    for shape in (16.0, 4.0, 1.0, 0.25):
        variance = rng.gamma(shape, 5 / shape, rows)
        label = np.sqrt(variance) * rng.normal(size=rows)
        columns = {"prediction": np.zeros(rows), "variance": variance, "label": label}
        with tempfile.TemporaryDirectory() as folder:
            pools.write(Path(folder), "numbers", columns)
            content = {"pool": {}, "labels": {"range": [-most, most]}}
            known = pools.Ground.read(Path(folder), "numbers", **content).known
        passive, active = both(known, measure, 200, options.repeats)
        errors = (f"{one:.3f}" for one in (active.truth, passive.error, active.error))
        yield f"{1 / np.sqrt(shape):g}", *errors, f"{labels_for_the_same_error(known, measure):.2f}"


def real_pools(options: argparse.Namespace) -> Iterator[tables.Row]:
    """Yield errors on real pools."""
    for pool in pools.find(options.pools):
        known = pools.Ground.read(options.pools, pool).known
        for name, measure in MEASURES.items():
            needed = f"{labels_for_the_same_error(known, measure):.3g}"
            for draws in (200, 800):
                passive, active = both(known, measure, draws, options.repeats)
                errors = f"{passive.error:.2g}", f"{active.error:.2g}"
                yield pool, name, f"{active.truth:.3g}", str(draws), *errors, needed


ERRORS = "passive,active,labels_for_the_same_error"
PARTS = "passive_bias2,passive_variance,active_bias2,active_variance"
RIVALS = "passive,strat,strat_model,active_err,active_risk"
TABLES = (
    Table("active-risk/skew", f"positives_percent,measure,true,{ERRORS}", skew, 2000),
    Table("active-risk/bias-and-variance", f"draws,measure,{PARTS}", parts_of_the_error, 2000),
    Table("active-risk/real-pools", f"pool,measure,true,draws,{ERRORS}", real_pools, 2000),
    Table("rivals", f"positives_percent,measure,{RIVALS}", rivals, 150, kept=False),
    Table("numbers", f"spread_of_variances,true,{ERRORS}", numbers, 500, kept=False),
)

if __name__ == "__main__":
    tables.main(__doc__, TABLES)
