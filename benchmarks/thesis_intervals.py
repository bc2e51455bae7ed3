"""Wald, Student and Wilson: width and coverage by number of draws, beside the thesis's figures.

C. Sawade, *Active Evaluation of Predictive Models*, 2012, figures 3.2 (expected coverage of the
binomial Wald interval, eq. 3.17), 4.11 (widths) and 4.12 (coverage). Its mails were not at hand:
the made-up pool of the same description is that of `active_risk.py`. Intervals are those of
`inference/intervals.py`; moments of the draws are those of the self-normalised estimator (eq. 3.31,
3.14 with n - 1 in place of n).
"""

import dataclasses
from collections.abc import Callable, Iterator

import active_risk
import numpy as np
import pools
import runner
import scipy
from runner import Options, Row, Table

from evalsampling.inference.interval_methods import SampledNumber, by_student, by_wald, by_wilson
from evalsampling.inference.intervals import Interval, covers
from evalsampling.inference.results import Target
from evalsampling.measures import FBeta, Measure, TableRisk
from evalsampling.samplers import ActiveRisk, Passive

CONFIDENCE = 0.95
SIZES = (25, 50, 100, 200, 400, 800)
RISKS = (0.01, 0.025, 0.05, 0.1, 0.3, 0.5)
MEASURES: dict[str, Measure] = {"error rate": TableRisk(), "F1 (eta 0.5)": FBeta(alpha=0.5)}
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
        yield f"{risk:g}", *(f"{expected_coverage(risk, draws):.3f}" for draws in SIZES)


def expected_coverage(risk: float, draws: int) -> float:
    """Return the expected coverage of the binomial Wald interval, exactly (eq. 3.17)."""
    chance = scipy.stats.binom.pmf(np.arange(draws + 1), draws, risk)
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
        shares = held[name] / repeats, float(np.mean(widths[name]))
        both = *shares, collapsed / repeats, undefined / repeats
        yield name, str(size), *(f"{figure:.4f}" for figure in both)


def widths_and_coverage(options: Options) -> Iterator[Row]:
    """Yield what intervals of active and passive draws did (figures 4.11 and 4.12)."""
    known = active_risk.made_up(active_risk.SPAM)
    for title, measure in MEASURES.items():
        for sampler in (ActiveRisk(measure), Passive(measure)):
            draws = pools.Draws.of(known, sampler)
            for size in SIZES:
                for row in outcomes(draws, measure, size, options.repeats):
                    yield title, sampler.name, *row


TABLES = (
    Table(
        "thesis-intervals/widths-and-coverage",
        "measure,sampler,interval,draws,coverage,width,collapsed,undefined",
        widths_and_coverage,
        repeats=4000,
    ),
    Table("thesis-intervals/binomial", ",".join(["risk", *map(str, SIZES)]), binomial),
)

if __name__ == "__main__":
    runner.main(__doc__, TABLES)
