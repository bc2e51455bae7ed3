"""The page of the coverage study: settings, the rule they are held to, and tables."""

import dataclasses
import itertools
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from coverage_runs import BESIDE, DEFAULT, INTERVALS, PLAN, read_results
from scipy import stats

LEAST = 0.85
"""Coverage among claims below which words must come with most claims."""

TRUSTED = 0.93
"""Coverage among claims from which on words may come in few runs."""

WARNED_TOO_LITTLE = 0.5
WARNED_TOO_OFTEN = 0.2

_BY_CHANCE = stats.norm.sf(2)
"""Chance of two standard errors: what is rarer at a coverage of `LEAST` is below it."""

WORST = 60
"""Settings in the first table."""

SHARES = (0.015, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0)
"""Ends of the classes of settings by the share of runs that claim."""

SELDOM = """\
Where one run in a hundred claims an interval, a setting has two or three claims, too few to judge.
Here such settings are taken together. The runs that claim there are those that met more positives
than most, so they hold less often.
"""

WHY = """\
Why the default is the model-assisted interval where there are labels for it: its score by that of
the design-based interval at each number of labels, geometric means over the settings in which some
run claims each, and what both cover of their claims. Below 1 the default is better; of numbers, and
of rows without a model, it is the design-based one itself.
"""


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


def document(settings: Sequence[Setting]) -> Iterator[str]:
    """Yield the lines of the page."""
    judged = [one for one in settings if one.is_default]
    beside = [one for one in settings if not one.is_default]
    alarms = [one for one in judged if one.alarms]
    yield INTRODUCTION.format(
        repeats=_repeats(settings),
        judged=len(judged),
        below=sum(one.is_below for one in judged),
        misleading=sum(one.misleads for one in judged),
        trusted=sum(one.coverage >= TRUSTED for one in judged),
        alarms=len(alarms),
        beside=len(beside),
        beside_below=sum(one.is_below for one in beside),
        least=LEAST,
        reliable=TRUSTED,
    )
    yield "## Worst settings\n"
    yield from _table(judged[:WORST])
    yield "\n## Claims in few runs\n"
    yield SELDOM
    yield from _seldom(judged)
    yield "\n## Worst settings of the design-based intervals\n"
    yield from _table(beside[:WORST])
    if alarms:
        yield "\n## Warned of and right\n"
        yield from _table(sorted(alarms, key=lambda one: -one.warned_share)[:WORST])
    yield "\n## The default beside the design-based interval\n"
    yield WHY
    yield from _scores_beside(settings)
    yield "\n## Summed up\n"
    yield from _summary(settings)
    yield "\n## Every pool\n"
    for pool in dict.fromkeys(one.pool for one in sorted(settings, key=lambda one: one.pool)):
        yield f"### {pool}\n"
        found = [one for one in settings if one.pool == pool]
        yield from _matrix(found)
        yield ""


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


def _seldom(settings: Sequence[Setting]) -> Iterator[str]:
    """Yield a table of settings taken together by the share of their runs that claim."""
    yield _row("share of runs that claim", "settings", "claims", "coverage", "least of a measure")
    yield _row("---", *["---:"] * 3, "---")
    for low, high in itertools.pairwise((0.0, *SHARES)):
        found = [one for one in settings if low < one.claims / one.runs <= high]
        if not found:
            continue
        least, name = min(
            (_pooled([one for one in found if one.measure == measure]), measure)
            for measure in {one.measure for one in found}
        )
        yield _row(
            f"{low:g} to {high:g}",
            f"{len(found):,}",
            f"{sum(one.claims for one in found):,}",
            f"{_pooled(found):.3f}",
            f"{name} {least:.3f}",
        )


def _scores_beside(settings: Sequence[Setting]) -> Iterator[str]:
    """Yield a table of measures: scores of the default by those of the design-based interval."""
    others = {
        (one.pool, one.method, one.measure.removesuffix(f" by {BESIDE}"), one.budget): one
        for one in settings
        if not one.is_default
    }
    pairs: dict[str, list[tuple[Setting, Setting]]] = {}
    for one in settings:
        other = others.get((one.pool, one.method, one.measure, one.budget))
        if one.is_default and other is not None and one.score > 0 and other.score > 0:
            pairs.setdefault(one.measure, []).append((one, other))
    yield _row(
        "measure", "settings", *(f"{budget:,}" for budget in PLAN.budgets), "covers", "beside"
    )
    yield _row("---", *["---:"] * (len(PLAN.budgets) + 3))
    for measure, found in sorted(pairs.items()):
        cells = []
        for budget in PLAN.budgets:
            ratios = [one.score / other.score for one, other in found if one.budget == budget]
            cells.append(f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-")
        covers = (f"{_pooled(side):.3f}" for side in zip(*found, strict=True))
        yield _row(measure, f"{len(found):,}", *cells, *covers)


def _pooled(settings: Sequence[Setting]) -> float:
    """Return the share of all claims of some settings that hold the truth."""
    return sum(one.covered for one in settings) / sum(one.claims for one in settings)


def _table(settings: Sequence[Setting]) -> Iterator[str]:
    yield _row(
        "pool", "sampler", "measure", "labels", "claims", "coverage", "warned", "width", "score",
        "RMSE",
    )  # fmt: skip
    yield _row("---", "---", "---", *["---:"] * 7)
    for one in settings:
        yield _row(
            one.pool,
            one.method,
            one.measure,
            f"{one.budget:,}",
            f"{one.claims / one.runs:.2f}",
            f"{one.coverage:.2f}",
            f"{one.warned_share:.2f}",
            f"{one.width:.3f}",
            f"{one.score:.3f}",
            "-" if np.isnan(one.error) else f"{one.error:.4f}",
        )


def _summary(settings: Sequence[Setting]) -> Iterator[str]:
    """Yield a table of measures and samplers: claims, coverage and warned share of all runs."""
    methods = list(dict.fromkeys(one.method for one in sorted(settings, key=lambda s: s.method)))
    yield _row("measure", *methods)
    yield _row("---", *["---"] * len(methods))
    for measure in sorted({one.measure for one in settings}):
        cells = []
        for method in methods:
            found = [one for one in settings if (one.method, one.measure) == (method, measure)]
            claims = sum(one.claims for one in found)
            cells.append(
                f"{claims / sum(one.runs for one in found):.2f} / "
                f"{_pooled(found):.2f} / "
                f"{sum(one.warned for one in found) / claims:.2f}"
                if claims
                else "-"
            )
        yield _row(measure, *cells)


def _matrix(settings: Sequence[Setting]) -> Iterator[str]:
    """Yield claims, coverage and width of one pool, a column for each number of labels."""
    yield _row("measure", "sampler", *(f"{budget:,}" for budget in PLAN.budgets))
    yield _row("---", "---", *["---"] * len(PLAN.budgets))
    by_key = {(one.measure, one.method, one.budget): one for one in settings}
    for measure, method in sorted({(one.measure, one.method) for one in settings}):
        cells = []
        for budget in PLAN.budgets:
            one = by_key.get((measure, method, budget))
            cells.append(
                "-"
                if one is None
                else f"{one.claims / one.runs:.2f} / {one.coverage:.2f} / {one.width:.3f}"
            )
        yield _row(measure, method, *cells)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


INTRODUCTION = """\
# Coverage

Made with `python benchmarks/coverage.py run` and `report`, which overwrites this page. How often do
the 95 % intervals of evalsampling hold the truth?

{repeats}.

The pools are synthetic ones, each made to mislead in one way
(`benchmarks/coverage_situations.py`), and those of [benchmarks/README.md](../benchmarks/README.md).
Rounds of 50 rows at first, growing by 1.4. Judged are the default intervals; the design-based ones
stand beside them ([methods.md](methods.md#intervals)).

- *Claims*: share of the runs whose interval is not the whole range of the measure.
- *Coverage*: share of the claims that hold the truth. A band has to hold all points of the curve.
- *Warned*: share of the claims that come with a warning in words, of a band with one for any of
  its points that claims something.
- *Width*: mean, of the claims. *Score*: mean interval score (width plus 40 times the distance by
  which the interval misses), of all runs. Of a band both are means over its points.

A setting is a pool, sampler, measure and number of labels; settings without any claim are left
out. **The rule**: where coverage is below {least} by more than two standard errors, most claims
come with a warning; where it is {reliable} or more, no more than a fifth of the runs have a claim
with a warning.

{judged:,} settings of default intervals have claims. Those that cover less than {least} by more
than two standard errors: {below}; in {misleading} of these most claims come without a warning.
{trusted:,} cover {reliable} or more; in {alarms} of these more than a fifth of the runs have a
claim with a warning. Of {beside:,} settings of design-based intervals {beside_below} cover less
than {least} by more than two standard errors; they have no warnings of their own where another is
the default.
"""
