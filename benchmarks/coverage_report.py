"""The page of the coverage study: settings, the rule they are held to, and its tables."""

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from coverage_runs import BESIDE, DEFAULT, INTERVALS, PLAN, read_results
from scipy import stats
from study_pages import Page, Table

LEAST = 0.85
"""Coverage among claims below which words must come with most claims."""

TRUSTED = 0.93
"""Coverage among claims from which on words may come in few runs."""

WARNED_TOO_LITTLE = 0.5
WARNED_TOO_OFTEN = 0.2

_BY_CHANCE = stats.norm.sf(2)
"""Chance of two standard errors: what is rarer at a coverage of `LEAST` is below it."""

SHARES = (0.015, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0)
"""Ends of the classes of settings by the share of runs that claim."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """How one measure did with one sampler on one pool at one number of labels.

    Attributes:
        pool: its name.
        method: how rows were sampled.
        measure: its name, with the method of an interval that is not the default.
        is_default: whether the interval is, which the rule is about.
        budget: labels.
        runs: repeats.
        claims: runs whose interval is not the whole range.
        covered: claims that hold the truth.
        warned: claims with a warning in words.
        width: mean of the claims' widths.
        score: mean interval score of all runs.
        error: root mean squared error of the defined estimates, NaN for a band.
    """

    pool: str
    method: str
    measure: str
    is_default: bool
    budget: int
    runs: int
    claims: int
    covered: int
    warned: int
    width: float
    score: float
    error: float

    @property
    def name(self) -> str:
        """The measure alone."""
        return self.measure.removesuffix(f" by {BESIDE}")

    @property
    def interval(self) -> str:
        """Which interval it is."""
        return DEFAULT if self.is_default else BESIDE

    @property
    def coverage(self) -> float:
        """Share of the claims that hold the truth; 1 of no claims."""
        return self.covered / self.claims if self.claims else 1.0

    @property
    def warned_share(self) -> float:
        """Share of the claims that come with a warning."""
        return self.warned / self.claims if self.claims else 0.0

    @property
    def is_below(self) -> bool:
        """Whether coverage is below `LEAST` by more than two standard errors."""
        return bool(stats.binom.cdf(self.covered, self.claims, LEAST) < _BY_CHANCE)

    @property
    def misleads(self) -> bool:
        """Whether most claims of a setting that covers too little come without a warning."""
        return self.is_default and self.is_below and self.warned_share <= WARNED_TOO_LITTLE

    @property
    def alarms(self) -> bool:
        """Whether too many runs of a setting that covers have a claim with a warning."""
        return (
            self.is_default
            and self.coverage >= TRUSTED
            and self.warned > WARNED_TOO_OFTEN * self.runs
        )


def settings_of(results: Path) -> list[Setting]:
    """Return all settings that have results and a claim, those that cover least first."""
    settings = []
    for pool, method, columns in read_results(results):
        for measure, interval in itertools.product(dict.fromkeys(columns["measure"]), INTERVALS):
            for budget in PLAN.budgets:
                chosen = (columns["measure"] == measure) & (columns["interval"] == interval)
                chosen &= columns["budget"] == budget
                claims = chosen & columns["claims"].astype(bool)
                if not claims.any():
                    continue
                error = columns["error"][chosen].astype(np.float64)
                error = error[np.isfinite(error)]
                settings.append(
                    Setting(
                        pool=pool,
                        method=method,
                        measure=measure if interval == DEFAULT else f"{measure} by {interval}",
                        is_default=interval == DEFAULT,
                        budget=budget,
                        runs=int(chosen.sum()),
                        claims=int(claims.sum()),
                        covered=int(columns["covers"][claims].sum()),
                        warned=int(columns["warned"][claims].sum()),
                        width=float(columns["width"][claims].mean()),
                        score=float(columns["score"][chosen].mean()),
                        error=float(np.sqrt(np.mean(error**2))) if len(error) else np.nan,
                    )
                )
    return sorted(settings, key=lambda one: (not one.is_below, one.coverage, -one.claims))


def broken(settings: Sequence[Setting]) -> list[str]:
    """Return a line for each setting that breaks the rule."""
    lines = [f"misleads: {_words(one)}" for one in settings if one.misleads]
    return lines + [f"false alarm: {_words(one)}" for one in settings if one.alarms]


def _words(one: Setting) -> str:
    return (
        f"{one.pool}, {one.method}, {one.measure}, {one.budget} labels: {one.covered} of "
        f"{one.claims} claims cover, {one.warned} are warned of"
    )


@dataclasses.dataclass(frozen=True)
class Totals:
    """What the page says in numbers.

    Attributes:
        repeats: how many, in words.
        claims: of the default intervals.
        coverage: share of these that hold the truth.
        judged: settings of default intervals that have claims.
        below: those of them that cover less than `LEAST` by more than two standard errors.
        misleading: those of them in which most claims come without a warning.
        trusted: settings that cover `TRUSTED` or more.
        alarms: those of them with a warning in too many runs.
        beside: settings of design-based intervals that have claims.
        beside_below: those of them that cover too little.
    """

    repeats: str
    claims: int
    coverage: float
    judged: int
    below: int
    misleading: int
    trusted: int
    alarms: int
    beside: int
    beside_below: int

    @classmethod
    def of(cls, settings: Sequence[Setting]) -> "Totals":
        """Return those of some settings."""
        judged = [one for one in settings if one.is_default]
        beside = [one for one in settings if not one.is_default]
        return cls(
            _repeats(settings),
            sum(one.claims for one in judged),
            _pooled(judged),
            len(judged),
            sum(one.is_below for one in judged),
            sum(one.misleads for one in judged),
            sum(one.coverage >= TRUSTED for one in judged),
            sum(one.alarms for one in judged),
            len(beside),
            sum(one.is_below for one in beside),
        )


HEADERS = {
    "settings": (
        *("pool", "sampler", "measure", "interval", "labels"),
        *("claims", "coverage", "warned", "width", "score", "rmse"),
    ),
    "few-claims": (
        *("from", "to", "settings", "claims", "coverage"),
        *("least_measure", "least_coverage"),
    ),
    "beside": (
        *("measure", "settings", *(f"score_at_{budget}" for budget in PLAN.budgets)),
        *("coverage", "design_coverage"),
    ),
    "samplers": ("measure", "interval", "sampler", "claims", "coverage", "warned"),
}
"""Columns of the tables."""

ABOUT = {
    "settings": "every setting: share of the runs that claim, coverage and share with a warning "
    "among the claims, their mean width, mean score of all runs, RMSE of the estimates",
    "few-claims": "settings together, by the share of their runs that claim: those that claim "
    "rarely met more positives than most, and hold less often",
    "beside": "score of the default by that of the design-based interval, geometric means over "
    "settings in which both claim, and what both cover",
    "samplers": "measures and samplers, summed up over pools and labels",
}


def page(
    totals: Totals,
    rows: Mapping[str, Sequence[Sequence[str]]],
    output: Path,
    commits: Sequence[str],
    note: str = "",
) -> Page:
    """Return the page.

    Args:
        totals: its numbers.
        rows: of each table of `HEADERS`.
        output: its file.
        commits: that made the results.
        note: what else there is to know.
    """
    samplers = {row[1] for row in rows["settings"]}
    alone = next(iter(samplers)) if len(samplers) == 1 else ""
    run = "python benchmarks/coverage.py run" + (f" --methods {alone}" if alone else "")
    report = "python benchmarks/coverage.py report"
    if output.stem != "coverage":
        report += f" --output docs/studies/{output.name}"
    repeats = totals.repeats.split()[0]
    return Page(
        f"How often do the intervals {f'of `{alone}` ' if alone else ''}hold the truth?",
        ANSWER.format(**vars(totals), least=LEAST, reliable=TRUSTED, pools=_pools(rows)),
        (run + (f" --repeats {repeats}" if repeats != "200" else ""), report),
        commits,
        tuple(Table(name, ABOUT[name], HEADERS[name], rows[name]) for name in HEADERS),
        (f"figures/{output.stem}.svg", "Coverage on each pool: nine in ten of its settings"),
        note,
    )


def _pools(rows: Mapping[str, Sequence[Sequence[str]]]) -> int:
    return len({row[0] for row in rows["settings"]})


def tables(settings: Sequence[Setting]) -> dict[str, list[tuple[str, ...]]]:
    """Return the rows of all tables."""
    judged = [one for one in settings if one.is_default]
    return {
        "settings": [_cells(one) for one in sorted(settings, key=_place)],
        "few-claims": list(_seldom(judged)),
        "beside": list(_scores_beside(settings)),
        "samplers": list(_summary(settings)),
    }


def _place(one: Setting) -> tuple[str, str, bool, str, int]:
    return one.pool, one.name, not one.is_default, one.method, one.budget


def _cells(one: Setting) -> tuple[str, ...]:
    return (
        *(one.pool, one.method, one.name, one.interval, str(one.budget)),
        *(f"{one.claims / one.runs:.2f}", f"{one.coverage:.2f}", f"{one.warned_share:.2f}"),
        *(f"{one.width:.3f}", f"{one.score:.3f}"),
        "" if np.isnan(one.error) else f"{one.error:.4f}",
    )


def _repeats(settings: Sequence[Setting]) -> str:
    """Return how many repeats most samplers and pools have, and which have another number."""
    runs: dict[tuple[str, str], int] = {}
    for one in settings:
        key = (one.method, one.pool)
        runs[key] = max(runs.get(key, 0), one.runs)
    usual = statistics.mode(runs.values())
    others = []
    for method in sorted({method for method, _ in runs}):
        numbers = {pool: number for (of, pool), number in sorted(runs.items()) if of == method}
        alike = len(numbers) > 1 and len(set(numbers.values())) == 1
        told = {"": next(iter(numbers.values()))} if alike else numbers
        others += [
            f"{number:,} of {method}" + (f" on {pool}" if pool else "")
            for pool, number in told.items()
            if number != usual
        ]
    return f"{usual} repeats" + (f" ({'; '.join(others)})" if others else "")


def _seldom(settings: Sequence[Setting]) -> Iterator[tuple[str, ...]]:
    """Yield settings taken together by the share of their runs that claim."""
    for low, high in itertools.pairwise((0.0, *SHARES)):
        found = [one for one in settings if low < one.claims / one.runs <= high]
        if not found:
            continue
        least, name = min(
            (_pooled([one for one in found if one.measure == measure]), measure)
            for measure in {one.measure for one in found}
        )
        yield (
            *(f"{low:g}", f"{high:g}", str(len(found)), str(sum(one.claims for one in found))),
            *(f"{_pooled(found):.3f}", name, f"{least:.3f}"),
        )


def _scores_beside(settings: Sequence[Setting]) -> Iterator[tuple[str, ...]]:
    """Yield measures: scores of the default by those of the design-based interval."""
    others = {(*_place(one)[:2], *_place(one)[3:]): one for one in settings if not one.is_default}
    pairs: dict[str, list[tuple[Setting, Setting]]] = {}
    for one in settings:
        other = others.get((*_place(one)[:2], *_place(one)[3:]))
        if one.is_default and other is not None and one.score > 0 and other.score > 0:
            pairs.setdefault(one.name, []).append((one, other))
    for measure, found in sorted(pairs.items()):
        cells = []
        for budget in PLAN.budgets:
            ratios = [one.score / other.score for one, other in found if one.budget == budget]
            cells.append(f"{statistics.geometric_mean(ratios):.2f}" if ratios else "")
        covers = (f"{_pooled(side):.3f}" for side in zip(*found, strict=True))
        yield (measure, str(len(found)), *cells, *covers)


def _pooled(settings: Sequence[Setting]) -> float:
    """Return the share of all claims of some settings that hold the truth."""
    return sum(one.covered for one in settings) / sum(one.claims for one in settings)


def _summary(settings: Sequence[Setting]) -> Iterator[tuple[str, ...]]:
    """Yield measures and samplers: claims, coverage and warned share of all runs."""
    for name, interval, method in sorted({(s.name, s.interval, s.method) for s in settings}):
        found = [s for s in settings if (s.name, s.interval, s.method) == (name, interval, method)]
        claims = sum(one.claims for one in found)
        yield (
            *(name, interval, method, f"{claims / sum(one.runs for one in found):.2f}"),
            *(f"{_pooled(found):.2f}", f"{sum(one.warned for one in found) / claims:.2f}"),
        )


ANSWER = """\
The default intervals are 95 % ones. They make {claims:,} claims here, of which {coverage:.2f} hold
the truth. A setting is a pool, a sampler, a measure and a number of labels; {judged:,} settings
of default intervals have claims.

- Coverage below {least} by more than two standard errors: {below:,} settings. Most claims come
  without a warning: in {misleading:,} of these.
- Coverage of {reliable} or more: {trusted:,} settings. More than a fifth of the runs have a claim
  with a warning: in {alarms:,} of these.
- Design-based intervals stand beside the default ones. Of their {beside:,} settings
  {beside_below:,} cover less than {least} in the same way.

The rule: the second number of the first two lines is 0. `report --check` fails where it is not.

There are {pools} pools: real ones, and made-up ones that mislead, each in one way
(`benchmarks/coverage_situations.py`). Each has {repeats}.
An interval *claims* something where it is not the whole range of the measure. A band has to hold
all points of its curve. [Methods](../methods.md#intervals) says what the intervals are.
"""
