"""The page of real pools: a summary, a picture, where it goes wrong, and a table by pool."""

import csv
import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import runner

FloatArray = npt.NDArray[np.float64]

LEAST_RMSE = 0.005
"""Smaller errors count as this one: ratios of errors next to nothing say nothing."""

NO_VALUE = 0.5
"""Error of an estimate without a value."""

LOW_COVERAGE = 0.85
"""Settings are listed whose coverage is below this by two standard errors."""

ROUNDING = 1e-9

LEAST_SCORE = 0.01
"""Smaller mean interval scores of a pool count as this one."""

LARGE_RATIO = 1.25
"""Settings are listed whose bootstrap interval of the error over that of `ais` is above this."""

RESAMPLES = 2_000

PAIRS = runner.FOLDER / "pairs.csv"

COMPARED = ("f1", "recall", "precision", "accuracy")
MEANS = ("claims", "warned", "width")

NUMBERS = ("truth", "score", "coverage", *MEANS)
"""Columns of a baseline between pool, measure and budget and the errors of the runs."""

_INTRODUCTION = """\
# Real pools

How the default does on {pools} real pools that nobody made for it. They come from models that
people train, string similarities, rules and vendors' scores. The data are public: record linkage,
credit, health, text and network traffic. Pools have 5,400 to 1,000,000 rows, positives from 1 in 3
to 1 in 20,000. Scores are as the models give them: over-sure, tied, exactly 0 and 1, far too high.
All labels are known, so every interval can be checked.

`python benchmarks/corpus.py run` made {runs}, with seeds that were fixed beforehand.{made}
The pools are not part of the project; any folder of pools with truth will do.

| column | meaning |
| --- | --- |
| coverage | share of 95 % intervals that hold the truth, among those that claim anything |
| claims, warned, width | share of runs that claim, share with a warning, mean width |
| error | root mean squared error by that of `ais`: geometric mean, and its 95 % interval |
| score | likewise the interval score: width, and 40 times what the interval misses by |

The default draws for all four measures, `ais` for F1 (`benchmarks/{baseline}`). Errors below
{error} count as that, mean scores of a pool below {score} too, and no value is an error of {none}.
"""

_PAIRS = """
## Pairs of systems

{pairs} pairs of systems of the same rows: a pool's own, and one made from it. That one knows less,
is weaker, has another threshold or noise in its ranks, or knows something that the first does not.
Each pair is evaluated in both orders, four times: with F1, precision, recall, or the difference of
F1 first in the spec. `python benchmarks/system_pairs.py run` made {repeats} repeats of the default,
of 3 that were meant, and 1 of `ais`. The code is of commit {commit}.

Coverage is of the default, among claims; *error* is that of the default over that of `ais`. The aim
is a coverage of at least 0.94, and an error of differences of at most 0.75. But for rounding,
interval and p-value disagree about a difference in {disagree} comparisons.
"""

_LOW_PAIRS = f"""
Some number covers less than {LOW_COVERAGE} by more than two standard errors for {{pairs}}.
[The table](studies/pairs.csv) has them, and coverage by order and by what is first.
"""

_SHOWN = ("number", "claims", "coverage", "at_300", "at_600", "warned", "error")
"""Columns of that table which the section has."""

_PICTURE = """
![Coverage and error of F1, a dot for each pool](figures/real-pools.svg)

A dot is a pool. Left: coverage of the default interval of F1. Right: its error divided by that of
`ais`; left of the line it is smaller.

## Where it goes wrong
"""


_LOW = f"""\
Of {{settings:,}} settings (pool, measure, labels) these cover less than {LOW_COVERAGE}
by more than two standard errors, mostly without a warning:
"""

_LARGE = f"""
These err more than {LARGE_RATIO:g} times as much as `ais` does, by the lower end of a
95 % bootstrap interval of the ratio, runs with the same seeds paired:
"""


@dataclasses.dataclass(frozen=True)
class Setting:
    """What runs on one pool say of one measure at one budget.

    Score, width and coverage are of the default interval at the level .95, the last among claims;
    claims and warned are shares of the runs. An estimate without a value errs by `NO_VALUE`.
    """

    truth: float
    score: float
    coverage: float
    claims: float
    warned: float
    width: float
    errors: FloatArray

    @classmethod
    def of_runs(cls, runs: runner.Columns) -> "Setting":
        """Sum up the rows of a setting, columns as in `runner.rows_of`."""
        truth, low, high, value = (
            runs[name].astype(np.float64) for name in ("truth", "low", "high", "value")
        )
        missed = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
        missed[missed < ROUNDING] = 0
        claims, width = runs["claims"].astype(bool), high - low
        return cls(
            float(truth[0]),
            float(np.mean(width + 40 * missed)),
            float(np.mean(missed[claims] == 0)) if claims.any() else np.nan,
            float(claims.mean()),
            float(runs["warned"].mean()),
            float(np.mean(width)),
            np.where(np.isnan(value), NO_VALUE, value - truth),
        )

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.errors)

    @property
    def rmse(self) -> float:
        """Root mean squared error."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def log_rmse_variance(self) -> float:
        """Variance of log `rmse` by the delta method; 0 below `LEAST_RMSE`, or of one run."""
        if self.rmse <= LEAST_RMSE or self.runs < 2:
            return 0.0
        square = self.errors**2
        return float(square.var(ddof=1) / self.runs / (2 * square.mean()) ** 2)

    @property
    def is_low(self) -> bool:
        """Whether coverage is below `LOW_COVERAGE` by two standard errors, without a warning."""
        if np.isnan(self.coverage) or self.warned > 0.5:
            return False
        error = np.sqrt(LOW_COVERAGE * (1 - LOW_COVERAGE) / max(self.runs * self.claims, 1))
        return bool(self.coverage < LOW_COVERAGE - 2 * error)


Key = tuple[str, str, int]
"""Pool, measure, budget."""


def settings(results: Path, trials: Iterable[runner.Names]) -> dict[Key, Setting]:
    """Return what the runs of trials say, one of each pool, by pool, measure and budget."""
    held = runner.read(results, trials, "pool")
    return {
        key: Setting.of_runs(runs)
        for key, runs in runner.groups(held, "pool", "measure", "budget")
        if not np.isnan(runs["truth"]).any()
    }


def read_baseline(path: Path) -> dict[Key, Setting]:
    """Return the settings that were kept."""
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["pool"], row["measure"], int(row["budget"])): Setting(
                *(float(row[name]) for name in NUMBERS), np.array(row["errors"].split(), float)
            )
            for row in csv.DictReader(file)
        }


def least_ratio(mine: FloatArray, others: FloatArray) -> float:
    """Return the lower end of a 95 % interval of the ratio of two root mean squared errors.

    By the bootstrap over runs that both have, in the order of their seeds; errors below
    `LEAST_RMSE` count as that.
    """
    runs = min(len(mine), len(others))
    chosen = np.random.default_rng(1).integers(0, runs, (RESAMPLES, runs))
    errors = (np.sqrt(np.mean(one[:runs][chosen] ** 2, axis=1)) for one in (mine, others))
    a, b = (np.maximum(error, LEAST_RMSE) for error in errors)
    return float(np.quantile(a / b, 0.025))


def mean_ratio(mine: Sequence[float], others: Sequence[float], least: float) -> float:
    """Return the geometric mean of ratios; numbers below the least count as it."""
    ratios = np.maximum(mine, least) / np.maximum(others, least)
    return float(np.exp(np.mean(np.log(ratios))))


class Page:
    """The page: of the sampler `calibrated`, and of the baseline, sampler `ais`."""

    def __init__(self, found: Mapping[Key, Setting], before: Mapping[Key, Setting]) -> None:
        """Take the settings that both have."""
        self._before = before
        self._found = {
            key: one for key, one in found.items() if key in before and key[1] in COMPARED
        }
        self._pools = sorted({key[0] for key in self._found})
        self._budgets = sorted({key[2] for key in self._found})

    def text(self, baseline: str, commits: Sequence[str]) -> str:
        """Return the page, given the name of the file of the baseline."""
        runs = [
            max(one.runs for key, one in self._found.items() if key[0] == pool)
            for pool in self._pools
        ]
        introduction = _INTRODUCTION.format(
            pools=len(self._pools),
            runs=_runs_in_words(runs),
            made=f" The code is of commit {' and '.join(commits)}." if commits else "",
            baseline=baseline,
            error=LEAST_RMSE,
            score=LEAST_SCORE,
            none=NO_VALUE,
        )
        head = ("measure", "labels", "coverage", "claims", "warned", "width", "error", "score")
        lines = [
            introduction,
            *_table(head, self._summary(), 1),
            _PICTURE,
            *self._wrong(),
            "",
            "[The table](studies/real-pools.csv) has the error, coverage and width of F1 by pool.",
            *pairs(PAIRS),
        ]
        return "\n".join(lines) + "\n"

    def _summary(self) -> Iterator[Sequence[str]]:
        for measure, budget in itertools.product(COMPARED, self._budgets):
            keys = [(pool, measure, budget) for pool in self._pools]
            keys = [key for key in keys if key in self._found]
            mine, others = ([each[key] for key in keys] for each in (self._found, self._before))
            held = np.nan_to_num([one.coverage for one in mine])
            shown = [np.average(held, weights=[one.claims for one in mine])]
            shown += [np.mean([getattr(one, name) for one in mine]) for name in MEANS]
            error, score = (
                mean_ratio(*([getattr(one, of) for one in each] for each in (mine, others)), least)
                for of, least in (("rmse", LEAST_RMSE), ("score", LEAST_SCORE))
            )
            spread = 1.96 * np.sqrt(sum(s.log_rmse_variance for s in (*mine, *others))) / len(mine)
            low, high = error * np.exp(-spread), error * np.exp(spread)
            cells = [f"{number:.3f}" for number in shown]
            yield (
                measure,
                f"{budget:,}",
                *cells,
                f"{error:.3f} ({low:.2f} to {high:.2f})",
                f"{score:.3f}",
            )

    def _wrong(self) -> Iterator[str]:
        yield _LOW.format(settings=len(self._found))
        low = (
            (*key[:2], f"{key[2]:,}", f"{one.truth:.3f}", f"{one.coverage:.2f}", f"{one.width:.3f}")
            for key, one in self._found.items()
            if one.is_low
        )
        yield from _table(("pool", "measure", "labels", "truth", "coverage", "width"), low, 2)
        yield _LARGE
        ends = {
            key: least_ratio(one.errors, self._before[key].errors)
            for key, one in self._found.items()
        }
        large = sorted(((end, key) for key, end in ends.items() if end > LARGE_RATIO), reverse=True)
        rows = ((*key[:2], f"{key[2]:,}", *self._errors(key), f"{end:.2f}") for end, key in large)
        yield from _table(("pool", "measure", "labels", "error", "of `ais`", "lower end"), rows, 2)

    def _errors(self, key: Key) -> list[str]:
        """Return the error, and that of the baseline."""
        return [f"{each[key].rmse:.3f}" for each in (self._found, self._before)]

    def by_pool(self) -> Iterator[Sequence[str]]:
        """Yield the lines of the table of F1 by pool, the first with the names of its columns."""
        shown = [budget for budget in (300, 1000) if budget in self._budgets] or self._budgets
        names = ("error", "error_of_ais", "coverage", "width")
        yield ["pool", "truth", *(f"{name}_{budget}" for budget in shown for name in names)]
        for pool in self._pools:
            keys = [(pool, "f1", budget) for budget in shown]
            line = [pool, f"{self._found[keys[0]].truth:.3f}"]
            for key in keys:
                one = self._found[key]
                held = "" if np.isnan(one.coverage) else f"{one.coverage:.2f}"
                line += [*self._errors(key), held, f"{one.width:.3f}"]
            yield line

    def draw(self, path: Path) -> None:
        """Write the picture: coverage and error ratio of F1, a dot for each pool."""
        rng = np.random.default_rng(1)
        figure = runner.new_figure(7.0, 2.4)
        left, right = figure.subplots(1, 2, sharey=True)
        for place, budget in enumerate(self._budgets):
            keys = [key for key in self._found if key[1:] == ("f1", budget)]
            height = place + rng.uniform(-0.28, 0.28, len(keys))
            look = {"s": 9, "alpha": 0.55, "color": "#d62728", "linewidths": 0}
            left.scatter([self._found[key].coverage for key in keys], height, **look)
            errors = ([each[key].rmse for key in keys] for each in (self._found, self._before))
            mine, other = (np.maximum(error, LEAST_RMSE) for error in errors)
            right.scatter(mine / other, height, **look)
        left.axvline(0.95, color="black", linewidth=0.5, linestyle="dotted")
        right.axvline(1.0, color="black", linewidth=0.5, linestyle="dotted")
        right.set_xscale("log")
        left.set_yticks(range(len(self._budgets)), [f"{b:,} labels" for b in self._budgets])
        left.set_xlabel("coverage of the default interval of F1")
        right.set_xlabel("error of F1 over that of ais")
        runner.save_figure(figure, path)


def _runs_in_words(runs: Sequence[int]) -> str:
    """Return how many runs there are of each pool."""
    few, many = min(runs), max(runs)
    if few == many:
        return f"{few} runs a pool"
    return (
        f"{few} runs a pool. It made {many} on the {runs.count(many)} pools where these had\n"
        "shown a coverage below 0.90 of some measure at some number of labels"
    )


def pairs(path: Path) -> Iterator[str]:
    """Yield the lines of the section on pairs of systems, from the table of their study."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    every = [row for row in rows if row["pair"] == "all"]
    low = [row for row in rows if row["pair"] != "all"]
    disagree = sum(int(row["disagree"]) for row in every if not row["number"].startswith("all"))
    commit = every[0]["commit"].replace(" ", " and ")
    yield _PAIRS.format(**every[0] | {"disagree": disagree, "commit": commit})
    yield from _table(_SHOWN, ([row[name] or "-" for name in _SHOWN] for row in every), 1)
    yield _LOW_PAIRS.format(pairs=", ".join(sorted({f"`{row['pair']}`" for row in low})))


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], texts: int) -> Iterator[str]:
    """Yield the lines of a table, whose first columns are texts, the others numbers."""
    sides = ["---"] * texts + ["---:"] * (len(columns) - texts)
    for row in ([name.replace("_", " ") for name in columns], sides, *rows):
        yield f"| {' | '.join(row)} |"
