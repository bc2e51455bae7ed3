"""Active risk estimation against rows drawn alike: skew, bias and variance, rivals, intervals.

The axes are those of the thesis (C. Sawade, *Active Evaluation of Predictive Models*, 2012, section
4.4; of intervals figures 3.2, 4.11 and 4.12). Its pools were not at hand, though most are public:
data of the same description are made up.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pools
import runner
from runner import Options, Row, Table
from scipy import special, stats

from evalsampling import samplers
from evalsampling.inference.interval_methods import SampledNumber, by_student, by_wald, by_wilson
from evalsampling.inference.intervals import Interval, covers
from evalsampling.inference.results import Target
from evalsampling.label_spaces.numbers import Numbers
from evalsampling.measures import Accuracy, FBeta, MeanSquaredError, Measure, TableRisk
from evalsampling.simulation.truth import KnownPool, Urns
from evalsampling.stats.history import History

ROWS = 33_296  # as the thesis's pool of e-mails

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
    kinds = samplers.Passive, samplers.ActiveRisk
    return [pools.Draws.of(known, kind(measure)) for kind in kinds]


def error(draws: pools.Draws, size: int, repeats: int) -> float:
    """Return the mean absolute error of samples of a size, of those that give a value."""
    return float(np.nanmean(np.abs(draws.estimates(size, repeats) - draws.truth)))


def compared(measure: Measure, known: KnownPool, size: int, repeats: int) -> Row:
    """Return the true value, errors of passive and of active draws, and n_active / n_passive.

    The last is for the same error by the true labels (lemma 3.4), NaN without an error.
    """
    passive, active = draws = both(known, measure)
    errors = (error(one, size, repeats) for one in draws)
    needed = active.variance / passive.variance if passive.variance else np.nan
    return passive.truth, *errors, needed


def skew(options: Options) -> Iterator[Row]:
    """Yield errors at 200 draws for pools of different shares of positives."""
    for share in SHARES:
        known = made_up(share)
        for name, measure in MEASURES.items():
            yield 100 * share, name, *compared(measure, known, 200, options.repeats)


def bias(options: Options) -> Iterator[Row]:
    """Yield squared bias and variance by the number of draws."""
    known = made_up(SPAM)
    for name, size in itertools.product(TWO, SIZES):
        told: list[float] = []
        for draws in both(known, MEASURES[name]):
            values = draws.estimates(size, options.repeats)
            told += [(np.nanmean(values) - draws.truth) ** 2, np.nanvar(values)]
        yield size, name, *told


def rivals(options: Options) -> Iterator[Row]:
    """Yield errors of 200 labels for the stratified rivals, by the share of positives."""
    measures = [MEASURES[name] for name in TWO]
    for share in RIVAL_SHARES:
        known = made_up(share)
        stratified = (
            errors_of_rounds(known, one, measures, rounds, options.repeats)
            for one, rounds in (
                (samplers.OnlineStratified(Accuracy()), 10),
                (samplers.ModelStratified(Accuracy()), 1),
            )
        )
        for name, *found in zip(TWO, *stratified, strict=True):
            passive, by_error, active = (
                error(pools.Draws.of(known, kind(MEASURES[name])), 200, 2000)
                for kind in (samplers.Passive, samplers.ActiveError, samplers.ActiveRisk)
            )
            yield 100 * share, name, passive, *found, by_error, active


def errors_of_rounds(
    known: KnownPool,
    sampler: samplers.Sampler,
    measures: Sequence[Measure],
    rounds: int,
    repeats: int,
) -> list[float]:
    """Return mean absolute errors of defined estimates after 200 labels in some rounds."""
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
        known = pools.Ground.of(columns, pool={}, labels={"range": [-most, most]}).known
        yield 1 / np.sqrt(shape), *compared(measure, known, 200, options.repeats)


def real_pools(options: Options) -> Iterator[Row]:
    """Yield errors on real pools."""
    for pool in pools.find(options.pools):
        known = pools.Ground.read(options.pools, pool).known
        for (name, measure), size in itertools.product(MEASURES.items(), (200, 800)):
            true, *errors = compared(measure, known, size, options.repeats)
            yield pool, name, true, size, *errors


ERRORS = "true,passive,active,labels_for_the_same_error:.2f"
REAL = "pool,measure,true:.3g,draws,passive,active,labels_for_the_same_error:.3g"
PARTS = "passive_bias2,passive_variance,active_bias2,active_variance"
RIVALS = "passive,strat,strat_model,active_err,active_risk"

# --- intervals: moments are those of the self-normalised estimator, 3.14 with n - 1 in place of n

CONFIDENCE = 0.95
INTERVAL_SIZES = (25, *SIZES)
BINOMIAL = ",".join(["risk:g", *map(str, INTERVAL_SIZES)])
INTERVALS = "measure,sampler,interval,draws,coverage,width,collapsed,undefined"
RISKS = (0.01, 0.025, 0.05, 0.1, 0.3, 0.5)
METHODS: dict[str, Callable[[SampledNumber], Interval | None]] = {
    "wald": by_wald,
    "t": lambda one: by_student(dataclasses.replace(one, terms=np.ones(one.draws))),
    "student": by_student,
    "wilson": by_wilson,
}
"""The thesis's t has n - 1 degrees of freedom, `student` those of the spread of the terms."""

NO_ERROR = 1e-12
"""In place of an error or a value of zero: Wilson's effective size is the number of draws then."""


def binomial(_: Options) -> Iterator[Row]:
    """Yield the expected coverage of the binomial Wald interval (figure 3.2)."""
    for risk in RISKS:
        yield risk, *(expected_coverage(risk, draws) for draws in INTERVAL_SIZES)


def expected_coverage(risk: float, draws: int) -> float:
    """Return the expected coverage of the binomial Wald interval, exactly (eq. 3.17)."""
    chance = stats.binom.pmf(np.arange(draws + 1), draws, risk)
    numbers = (
        SampledNumber(Target("risk"), p, np.sqrt(p * (1 - p) / draws), chance, draws, CONFIDENCE)
        for p in (np.arange(draws + 1) / draws).tolist()
    )
    held = [covers(by_wald(number), risk) for number in numbers]
    return float(chance @ held)


def outcomes(draws: pools.Draws, measure: Measure, size: int, repeats: int) -> Iterator[Row]:
    """Yield of each interval what it did over samples with replacement of a size.

    Its coverage, of which a sample without a value has none, and its mean width; then the shares of
    the samples whose variance is estimated to be zero, and of those without a value.
    """
    rng, chance = np.random.default_rng(size), draws.chance / draws.chance.sum()
    held, widths, collapsed, undefined = dict.fromkeys(METHODS, 0), {}, 0, 0
    for _ in range(repeats):
        row = rng.choice(len(chance), size, p=chance)
        ratio, loss, weight = draws.ratio[row], draws.loss[row], draws.weight[row]
        total = ratio @ weight
        if total == 0:
            undefined += 1
            continue
        value = float(ratio @ loss / total)
        terms = (ratio * (loss - value * weight) / total) ** 2
        error = float(np.sqrt(terms.sum() * size / (size - 1)))
        collapsed += error == 0
        inside, least = min(max(value, NO_ERROR), 1 - NO_ERROR), max(error, NO_ERROR)
        number = SampledNumber(Target(measure.name), inside, least, terms, size, CONFIDENCE)
        for name, method in METHODS.items():
            interval = method(number)
            assert interval is not None
            held[name] += covers(interval, draws.truth)
            widths.setdefault(name, []).append(interval.high - interval.low)
    for name in METHODS:
        coverage, width = held[name] / repeats, np.mean(widths[name])
        yield name, size, coverage, width, collapsed / repeats, undefined / repeats


def widths_and_coverage(options: Options) -> Iterator[Row]:
    """Yield what intervals of active and passive draws did (figures 4.11 and 4.12)."""
    known = made_up(SPAM)
    for title in TWO:
        measure = MEASURES[title]
        for sampler in (samplers.ActiveRisk(measure), samplers.Passive(measure)):
            draws = pools.Draws.of(known, sampler)
            for size in INTERVAL_SIZES:
                for row in outcomes(draws, measure, size, options.repeats):
                    yield title, sampler.name, *row


TABLES = (
    Table("active-risk/skew", f"positives_percent:.0f,measure,{ERRORS}", skew, 2000, ".4f"),
    Table("active-risk/bias-and-variance", f"draws,measure,{PARTS}", bias, 2000, ".1e"),
    Table("active-risk/real-pools", REAL, real_pools, 2000, ".2g"),
    Table("rivals", f"positives_percent:.0f,measure,{RIVALS}", rivals, 150, ".4f", kept=False),
    Table("numbers", f"spread_of_variances:g,{ERRORS}", numbers, 500, ".3f", kept=False),
    Table("thesis-intervals/widths-and-coverage", INTERVALS, widths_and_coverage, 4000, ".4f"),
    Table("thesis-intervals/binomial", BINOMIAL, binomial, form=".3f"),
)

if __name__ == "__main__":
    runner.main(__doc__, TABLES)
