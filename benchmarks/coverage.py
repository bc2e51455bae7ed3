"""Measures how often claimed intervals hold the truth, on pools made to mislead.

    python benchmarks/coverage.py run --results=DIR       # continues where it stopped
    python benchmarks/coverage.py report --results=DIR    # tables and picture of docs/studies
    python benchmarks/coverage.py report --results=DIR --check

A setting is a pool, a sampler, a measure and a number of labels. With `--check` the exit status is
1 if one of them breaks the rule: where coverage is below `LEAST` most claims come with a warning,
and where it is `TRUSTED` or more few do.
"""

import argparse
import dataclasses
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import tables
import trials
from coverage_runs import DEFAULT, INTERVALS, METHODS, PLAN, run
from scipy import stats
from tables import Table

LEAST = 0.85
"""Coverage among claims below which words must come with most claims."""

TRUSTED = 0.93
"""Coverage among claims from which on words may come in few runs."""

WARNED_TOO_LITTLE = 0.5
WARNED_TOO_OFTEN = 0.2

_BY_CHANCE = stats.norm.sf(2)
"""Chance of two standard errors: what is rarer at a coverage of `LEAST` is below it."""

COLOURS = dict(zip(INTERVALS, ("#d62728", "#1f77b4"), strict=True))

OFTEN = 0.5
"""Share of the runs that claim from which on a setting is drawn: others say little."""


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    parser = trials.parser(__doc__, "coverage", repeats=200, block=20)
    names = [method.name for method in METHODS]
    parser.add_argument("--methods", nargs="*", choices=names, default=[], metavar="NAME")
    parser.add_argument("--check", action="store_true", help="exit with 1 if the rule is broken")
    options = parser.parse_args(argv)
    if options.action == "run":
        run(options)
        return 0
    settings = settings_of(options.results)
    if not settings:
        print(f"{options.results}: no results")
        return 1
    options.settings = settings
    for table in TABLES:
        table.make(options)
    draw(settings, options.output / "figures" / "coverage.svg")
    lines = broken(settings)
    print("\n".join([*totals(settings), *lines]), file=sys.stderr)
    print(f"commits {', '.join(trials.commits(options.results))}", file=sys.stderr)
    return 1 if options.check and lines else 0


@dataclasses.dataclass(frozen=True)
class Setting:
    """How one measure did with one sampler on one pool at one number of labels.

    Of its runs some claim, by an interval that is not the whole range. Of these claims some are
    covered and some warned of. Width is the mean of the claims', score the mean of all runs; the
    error is the root mean squared one of defined estimates, NaN for a band.
    """

    pool: str
    method: str
    measure: str
    interval: str
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
        """Share of the claims that hold the truth."""
        return self.covered / self.claims

    @property
    def warned_share(self) -> float:
        """Share of the claims that come with a warning."""
        return self.warned / self.claims

    @property
    def is_below(self) -> bool:
        """Whether coverage is below `LEAST` by more than two standard errors."""
        return bool(stats.binom.cdf(self.covered, self.claims, LEAST) < _BY_CHANCE)

    @property
    def misleads(self) -> bool:
        """Whether most claims of a setting that covers too little come without a warning."""
        return self.is_below and self.warned_share <= WARNED_TOO_LITTLE

    @property
    def alarms(self) -> bool:
        """Whether too many runs of a setting that covers have a claim with a warning."""
        return self.coverage >= TRUSTED and self.warned > WARNED_TOO_OFTEN * self.runs

    @property
    def told(self) -> str:
        """The setting in words."""
        return (
            f"{self.pool}, {self.method}, {self.measure}, {self.budget} labels: {self.covered} of "
            f"{self.claims} claims cover, {self.warned} are warned of"
        )


def settings_of(results: Path) -> list[Setting]:
    """Return all settings that have results and a claim, in the order of the table."""
    pools = sorted(path.name for path in results.glob("runs/*"))
    found = (
        setting
        for pool, method in itertools.product(pools, METHODS)
        for setting in _settings(results, pool, method.name)
    )
    order = ("pool", "measure", "interval", "method", "budget")
    return sorted(found, key=lambda one: [getattr(one, name) for name in order])


def _settings(results: Path, pool: str, method: str) -> Iterator[Setting]:
    if (table := trials.read(results, pool, method)) is None:
        return
    columns = trials.columns(table)
    measures = dict.fromkeys(columns["measure"])
    for measure, interval, budget in itertools.product(measures, INTERVALS, PLAN.budgets):
        chosen = (columns["measure"] == measure) & (columns["interval"] == interval)
        chosen &= columns["budget"] == budget
        claims = chosen & columns["claims"].astype(bool)
        if not claims.any():
            continue
        error = columns["error"][chosen].astype(np.float64)
        error = error[np.isfinite(error)]
        yield Setting(
            *(pool, method, str(measure), interval, int(budget)),
            runs=int(chosen.sum()),
            claims=int(claims.sum()),
            covered=int(columns["covers"][claims].sum()),
            warned=int(columns["warned"][claims].sum()),
            width=float(columns["width"][claims].mean()),
            score=float(columns["score"][chosen].mean()),
            error=float(np.sqrt(np.mean(error**2))) if len(error) else np.nan,
        )


def _judged(settings: Sequence[Setting], interval: str = DEFAULT) -> list[Setting]:
    return [one for one in settings if one.interval == interval]


def broken(settings: Sequence[Setting]) -> list[str]:
    """Return a line for each setting of the default interval that breaks the rule."""
    lines = [f"misleads: {one.told}" for one in _judged(settings) if one.misleads]
    return lines + [f"false alarm: {one.told}" for one in _judged(settings) if one.alarms]


def totals(settings: Sequence[Setting]) -> Iterator[str]:
    """Yield what the page says in numbers."""
    for interval in INTERVALS:
        judged = _judged(settings, interval)
        claims, below = sum(one.claims for one in judged), [one for one in judged if one.is_below]
        trusted = [one for one in judged if one.coverage >= TRUSTED]
        yield (
            f"{interval}: {claims:,} claims of {len(judged):,} settings, {_pooled(judged):.2f} "
            f"hold the truth; below {LEAST}: {len(below)}, of these without a warning "
            f"{sum(one.misleads for one in below)}; {TRUSTED} or more: {len(trusted):,}, of these "
            f"with too many warnings {sum(one.alarms for one in trusted)}"
        )


def _pooled(settings: Sequence[Setting]) -> float:
    """Return the share of all claims of some settings that hold the truth."""
    return sum(one.covered for one in settings) / sum(one.claims for one in settings)


# --- tables


def _all(options: argparse.Namespace) -> Iterator[tables.Row]:
    for one in options.settings:
        yield (
            *(one.pool, one.method, one.measure, one.interval, str(one.budget)),
            *(f"{one.claims / one.runs:.2f}", f"{one.coverage:.2f}", f"{one.warned_share:.2f}"),
            *(f"{one.width:.3f}", f"{one.score:.3f}"),
            "" if np.isnan(one.error) else f"{one.error:.4f}",
        )


def _samplers(options: argparse.Namespace) -> Iterator[tables.Row]:
    """Yield measures and samplers: claims, coverage and warned share of all runs."""
    by_key: dict[tuple[str, str, str], list[Setting]] = {}
    for one in options.settings:
        by_key.setdefault((one.measure, one.interval, one.method), []).append(one)
    for key, found in sorted(by_key.items()):
        claims = sum(one.claims for one in found)
        yield (
            *(*key, f"{claims / sum(one.runs for one in found):.2f}"),
            *(f"{_pooled(found):.2f}", f"{sum(one.warned for one in found) / claims:.2f}"),
        )


TABLES = (
    Table(
        "coverage/settings",
        "pool,sampler,measure,interval,labels,claims,coverage,warned,width,score,rmse",
        _all,
    ),
    Table("coverage/samplers", "measure,interval,sampler,claims,coverage,warned", _samplers),
)


def draw(settings: Sequence[Setting], path: Path) -> None:
    """Write a plot of coverage, a line from the 5th to the 95th percentile of a pool's settings."""
    import figure_files  # it needs matplotlib

    often = [one for one in settings if one.claims >= OFTEN * one.runs]
    pools = sorted({one.pool for one in often})
    figure = figure_files.new(6.5, 0.6 + 0.22 * len(pools))
    axes = figure.subplots()
    for height, pool in enumerate(pools):
        for interval, shift in zip(INTERVALS, (-0.17, 0.17), strict=True):
            of_pool = [one for one in often if (one.pool, one.interval) == (pool, interval)]
            if not of_pool:
                continue
            low, middle, high = np.quantile([one.coverage for one in of_pool], [0.05, 0.5, 0.95])
            colour, place = COLOURS[interval], height + shift
            axes.plot([low, high], [place, place], color=colour, linewidth=1.5)
            axes.plot([middle], [place], color=colour, marker="o", markersize=3)
    axes.axvline(0.95, color="black", linewidth=0.5, linestyle="dotted")
    axes.set_yticks(range(len(pools)), pools)
    axes.invert_yaxis()
    axes.set(xlabel="coverage: median and nine in ten of the settings in which most runs claim")
    for interval, colour in COLOURS.items():
        axes.plot([], [], color=colour, marker="o", markersize=3, label=interval)
    axes.legend(loc="lower left", frameon=False)
    figure_files.save(figure, path)


if __name__ == "__main__":
    sys.exit(main())
