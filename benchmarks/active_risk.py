"""Active risk estimation against rows drawn alike: skew, bias and variance, rivals, numbers.

The axes are those of the thesis (C. Sawade, *Active Evaluation of Predictive Models*, 2012, section
4.4). Its pools were not at hand, though most are public: data of the same description are made up.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pools
import runner
from runner import Options, Row, Table
from scipy import special

from evalsampling.label_spaces.numbers import Numbers
from evalsampling.measures import Accuracy, FBeta, MeanSquaredError, Measure, TableRisk
from evalsampling.samplers import (
    ActiveError,
    ActiveRisk,
    ModelStratified,
    OnlineStratified,
    Passive,
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
    return pools.Ground.of(columns).known


def both(known: KnownPool, measure: Measure) -> list[pools.Draws]:
    """Return passive and active draws."""
    return [pools.Draws.of(known, sampler(measure)) for sampler in (Passive, ActiveRisk)]


def error(draws: pools.Draws, size: int, repeats: int) -> float:
    """Return the mean absolute error of samples of a size, of those that give a value."""
    return float(np.nanmean(np.abs(draws.estimates(size, repeats) - draws.truth)))


def compared(
    draws: Sequence[pools.Draws], size: int, repeats: int, form: str = ".4f", needed: str = ".2f"
) -> Iterator[str]:
    """Yield the errors of passive and of active draws, and n_active / n_passive for the same one.

    That is by the true labels (lemma 3.4), NaN without an error.
    """
    yield from (f"{error(one, size, repeats):{form}}" for one in draws)
    passive, active = (one.variance for one in draws)
    yield f"{active / passive if passive else np.nan:{needed}}"


def skew(options: Options) -> Iterator[Row]:
    """Yield errors at 200 draws for pools of different shares of positives."""
    for share in SHARES:
        known = made_up(share)
        for name, measure in MEASURES.items():
            draws = both(known, measure)
            errors = compared(draws, 200, options.repeats)
            yield f"{100 * share:.0f}", name, f"{draws[0].truth:.4f}", *errors


def parts_of_the_error(options: Options) -> Iterator[Row]:
    """Yield squared bias and variance by the number of draws."""
    known = made_up(SPAM)
    for name, size in itertools.product(TWO, SIZES):
        told = [str(size), name]
        for draws in both(known, MEASURES[name]):
            values = draws.estimates(size, options.repeats)
            bias = float(np.nanmean(values) - draws.truth)
            told += [f"{part:.1e}" for part in (bias**2, np.nanvar(values))]
        yield told


def rivals(options: Options) -> Iterator[Row]:
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
            passive, by_error, active = (
                error(pools.Draws.of(known, one, measure), 200, 2000)
                for one in (Passive(measure), ActiveError(measure), ActiveRisk(measure))
            )
            told = [passive, *(found[place] for found in stratified), by_error, active]
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


def numbers(options: Options) -> Iterator[Row]:
    """Yield errors of the mean squared error at 200 draws, by how much variances differ."""
    rng, rows, most = np.random.default_rng(6), 8000, 1000
    measure = MeanSquaredError(Numbers(-most, most))
    for shape in (16.0, 4.0, 1.0, 0.25):
        variance = rng.gamma(shape, 5 / shape, rows)
        label = np.sqrt(variance) * rng.normal(size=rows)
        columns = {"prediction": np.zeros(rows), "variance": variance, "label": label}
        labels = {"range": [-most, most]}
        known = pools.Ground.of(columns, pool={}, labels=labels).known
        draws = both(known, measure)
        errors = compared(draws, 200, options.repeats, ".3f")
        yield f"{1 / np.sqrt(shape):g}", f"{draws[0].truth:.3f}", *errors


def real_pools(options: Options) -> Iterator[Row]:
    """Yield errors on real pools."""
    for pool in pools.find(options.pools):
        known = pools.Ground.read(options.pools, pool).known
        for name, measure in MEASURES.items():
            draws = both(known, measure)
            for size in (200, 800):
                errors = compared(draws, size, options.repeats, ".2g", ".3g")
                yield pool, name, f"{draws[0].truth:.3g}", str(size), *errors


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
    runner.main(__doc__, TABLES)
