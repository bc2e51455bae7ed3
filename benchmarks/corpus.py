"""Measures samplers on a folder of pools with known truth: errors, coverage, interval scores.

Every sampler labels every pool, each repeat with seeds of its own, with rounds that begin with 50
rows and grow by 1.3. A folder holds NAME.parquet (columns id, score, probability, prediction) and
NAME-truth.parquet (id, label). The page compares `calibrated` with a baseline kept as CSV.
"""

import csv
import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import numpy.typing as npt
import pools
import runner
from runner import Options

from evalsampling.simulation.simulate import Plan
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior

FloatArray = npt.NDArray[np.float64]

SAMPLERS = ("calibrated", "ais")
MEASURES = ("f1", "precision", "recall", "accuracy", "average_precision")
LEAST_RMSE = 0.005
"""Smaller errors count as this one: ratios of errors next to nothing say nothing."""

FINER_RMSE = 0.001
"""A finer least error, by which the page says how much the other one decides."""

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

TEMPLATE = Path(__file__).with_name("real_pools.md.jinja")

COMPARED = ("f1", "recall", "precision", "accuracy")
MEANS = ("claims", "warned", "width")

NUMBERS = ("truth", "score", "coverage", *MEANS)
"""Columns of a baseline between pool, measure and budget and the errors of the runs."""

BASELINE = pools.PROJECT / "benchmarks" / "corpus_ais.csv"
PLAN = Plan(
    budgets=(100, 300, 1000, 2000),
    round_size=RoundSize(50, 1.3),
    repeats=1,
    seed=53,
    confidence=0.95,
    divergence=False,
    hidden=HiddenPrior(),
)


def names(further: Sequence[Sequence[str]], options: Options) -> Iterator[runner.Names]:
    """Yield the names of all trials: pools with all that is further in their names."""
    return itertools.product(pools.find(options.pools), *further)


def trial(
    measures: Sequence[str], plan: Plan, options: Options, pool: str, sampler: str
) -> runner.Trial:
    """Return a trial of a pool by a sampler."""
    ground = _read(options.pools, pool, tuple(measures))
    return runner.Trial(ground.known, ground.sampler(sampler), ground.measures, plan)


def study(
    name: str, plan: Plan, measures: Sequence[str], samplers: Sequence[str], **more: Any
) -> runner.Study:
    """Return a study of samplers on all pools of a folder."""
    of_pools = functools.partial(names, [samplers]), functools.partial(trial, measures, plan)
    return runner.Study(name, plan, *of_pools, **more)


@functools.lru_cache(maxsize=8)
def _read(folder: Path, name: str, measures: tuple[str, ...]) -> pools.Ground:
    return pools.Ground.read(folder, name, measure=list(measures), seed=1)


# --- the page: a summary, a picture, where it goes wrong, and a table by pool


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
        self.budgets = sorted({key[2] for key in self._found})

    @property
    def settings(self) -> int:
        """How many there are."""
        return len(self._found)

    def text(self, baseline: str, commits: Sequence[str]) -> str:
        """Return the page, given the name of the file of the baseline."""
        runs = [
            max(one.runs for key, one in self._found.items() if key[0] == pool)
            for pool in self._pools
        ]
        template = jinja2.Template(TEMPLATE.read_text("utf-8"), undefined=jinja2.StrictUndefined)
        text: str = template.render(
            page=self,
            pools=len(self._pools),
            runs=runs,
            commits=commits,
            baseline=baseline,
            least_rmse=LEAST_RMSE,
            finer_rmse=FINER_RMSE,
            least_score=LEAST_SCORE,
            no_value=NO_VALUE,
            low_coverage=LOW_COVERAGE,
            large_ratio=LARGE_RATIO,
        )
        return f"{text}\n"

    def summary(self) -> Iterator[Sequence[str]]:
        """Yield the lines of the table of measures and labels."""
        for measure, budget in itertools.product(COMPARED, self.budgets):
            mine, others = self._both(measure, budget)
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

    def finer(self) -> Iterator[Sequence[str]]:
        """Yield, for each measure, ratios of errors by budget, by the finer least error."""
        for measure in COMPARED:
            both = (self._both(measure, budget) for budget in self.budgets)
            errors = ([[one.rmse for one in each] for each in pair] for pair in both)
            yield measure, *(f"{mean_ratio(*each, FINER_RMSE):.3f}" for each in errors)

    def _both(self, measure: str, budget: int) -> list[list[Setting]]:
        """Return the settings of all pools, and those of the baseline."""
        keys = [(pool, measure, budget) for pool in self._pools]
        keys = [key for key in keys if key in self._found]
        return [[each[key] for key in keys] for each in (self._found, self._before)]

    def low(self) -> Iterator[Sequence[str]]:
        """Yield the settings that cover too little."""
        for key, one in self._found.items():
            if one.is_low:
                told = f"{one.truth:.3f}", f"{one.coverage:.2f}", f"{one.width:.3f}"
                yield *key[:2], f"{key[2]:,}", *told

    def large(self) -> Iterator[Sequence[str]]:
        """Yield the settings that err more than those of the baseline, the worst first."""
        ends = (
            (least_ratio(one.errors, self._before[key].errors), key)
            for key, one in self._found.items()
        )
        for end, key in sorted((one for one in ends if one[0] > LARGE_RATIO), reverse=True):
            yield *key[:2], f"{key[2]:,}", *self._errors(key), f"{end:.2f}"

    def _errors(self, key: Key) -> list[str]:
        """Return the error, and that of the baseline."""
        return [f"{each[key].rmse:.3f}" for each in (self._found, self._before)]

    def by_pool(self) -> Iterator[Sequence[str]]:
        """Yield the lines of the table of F1 by pool, the first with the names of its columns."""
        shown = [budget for budget in (300, 1000) if budget in self.budgets] or self.budgets
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
        for place, budget in enumerate(self.budgets):
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
        left.set_yticks(range(len(self.budgets)), [f"{b:,} labels" for b in self.budgets])
        left.set_xlabel("coverage of the default interval of F1")
        right.set_xlabel("error of F1 over that of ais")
        runner.save_figure(figure, path)


def write_page(options: Options) -> None:
    """Write the page and its picture beside the folder of studies, and the table by pool to it."""
    found = [one for one in STUDY.asked(options) if one[1] == "calibrated"]
    page = Page(settings(options.results, found), read_baseline(BASELINE))
    docs = options.output.parent
    text = page.text(BASELINE.name, runner.commits(options.results))
    (docs / "real-pools.md").write_text(text, encoding="utf-8")
    page.draw(docs / "figures" / "real-pools.svg")
    with (options.output / "real-pools.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(page.by_pool())


STUDY = study("corpus", PLAN, MEASURES, SAMPLERS)

if __name__ == "__main__":
    runner.main(__doc__, (), STUDY, then=write_page)
