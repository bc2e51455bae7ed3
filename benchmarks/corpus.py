"""Measures samplers on a folder of pools with known truth: errors, coverage, interval scores.

Every sampler labels every pool, each repeat with seeds of its own, with rounds that begin with 50
rows and grow by 1.3. A folder holds NAME.parquet (columns id, score, probability, prediction) and
NAME-truth.parquet (id, label). The page compares `calibrated` with a baseline kept as CSV.
"""

import functools
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
import pools
import runner
from runner import Options

from evalsampling.simulation.simulate import Plan
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.arrays import FloatArray

SAMPLERS = ("calibrated", "ais")
MEASURES = ("f1", "precision", "recall", "accuracy", "average_precision")
LEAST_RMSE = 0.005  # smaller errors count as this one: ratios of errors next to nothing say nothing
FINER_RMSE = 0.001  # a finer least error, by which the page says how much the other one decides
NO_VALUE = 0.5  # error of an estimate without a value
LOW_COVERAGE = 0.85  # settings are listed whose coverage is below this by two standard errors
ROUNDING = 1e-9
LEAST_SCORE = 0.01  # smaller mean interval scores of a pool count as this one

LARGE_RATIO = 1.25
"""Settings are listed whose bootstrap interval of the error over that of `ais` is above this."""

RESAMPLES = 2_000
TEMPLATE = Path(__file__).with_name("real_pools.md.jinja")
COMPARED = ("f1", "recall", "precision", "accuracy")
MEANS = ("claims", "warned", "width")
SHOWN = (300, 1000)  # labels that the table of F1 by pool tells of
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


@functools.lru_cache(maxsize=8)
def _read(folder: Path, name: str, measures: tuple[str, ...]) -> pools.Ground:
    return pools.Ground.read(folder, name, measure=list(measures), seed=1)


# --- the page: a summary, a picture, where it goes wrong, and a table by pool


KEY = ["pool", "measure", "budget"]
"""Of a setting: what the runs on one pool say of one measure at one budget."""


def settings(held: pd.DataFrame) -> pd.DataFrame:
    """Return what runs say by pool, measure and budget, given results as in `runner.rows_of`.

    Score, width and coverage are of the default interval at the level .95, the last among claims;
    claims and warned are shares of the runs. Of `errors` there is an array, with `NO_VALUE` for an
    estimate without a value.
    """
    low, high, truth = (held[name] for name in ("low", "high", "truth"))
    missed = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
    missed = missed.where(missed >= ROUNDING, 0)
    runs = held.assign(
        width=high - low,
        score=high - low + 40 * missed,
        coverage=(missed == 0).where(held["claims"]).astype(float),
        errors=(held["value"] - truth).fillna(NO_VALUE),
    ).groupby(KEY, sort=False)
    found = runs[["truth", "score", "coverage", *MEANS]].mean()
    return found.assign(errors=runs["errors"].apply(np.array))[found["truth"].notna()]


def read_baseline(path: Path) -> pd.DataFrame:
    """Return the settings that were kept."""
    kept = pd.read_csv(path, index_col=KEY)
    return kept.assign(errors=[np.array(row.split(), float) for row in kept["errors"]])


def with_rmse(settings: pd.DataFrame) -> pd.DataFrame:
    """Return settings with their number of runs, root mean squared error, and variance of its log.

    That is by the delta method; 0 below `LEAST_RMSE`, or of one run.
    """
    runs = settings["errors"].map(len)
    rmse = settings["errors"].map(lambda errors: np.sqrt(np.mean(errors**2)))
    spread = settings["errors"].map(lambda errors: np.var(errors**2, ddof=min(len(errors) - 1, 1)))
    variance = (spread / runs / (2 * rmse**2) ** 2).where((rmse > LEAST_RMSE) & (runs > 1), 0.0)
    return settings.assign(runs=runs, rmse=rmse, log_rmse_variance=variance)


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


def mean_ratio(mine: FloatArray, others: FloatArray, least: float) -> float:
    """Return the geometric mean of ratios; numbers below the least count as it."""
    ratios = np.maximum(mine, least) / np.maximum(others, least)
    return float(np.exp(np.mean(np.log(ratios))))


class Page:
    """The page: of the sampler `calibrated`, and of the baseline, sampler `ais`."""

    def __init__(self, found: pd.DataFrame, before: pd.DataFrame) -> None:
        """Take the settings that both have; columns of the baseline end in `_before`."""
        found = found[found.index.isin(COMPARED, level="measure")]
        both = with_rmse(found).join(with_rmse(before), how="inner", rsuffix="_before")
        self._both = both.reset_index()
        self.settings = len(both)
        self.budgets = sorted({*self._both["budget"]})

    def text(self, baseline: str, commits: Sequence[str]) -> str:
        """Return the page, given the name of the file of the baseline."""
        runs = self._both.groupby("pool")["runs"].max().tolist()
        template = jinja2.Template(TEMPLATE.read_text("utf-8"), undefined=jinja2.StrictUndefined)
        of = {"page": self, "runs": runs, "commits": commits, "baseline": baseline}
        return f"{template.render(**globals(), **of)}\n"

    def summary(self) -> Iterator[Sequence[str]]:
        """Yield the lines of the table of measures and labels."""
        for measure, budget in itertools.product(COMPARED, self.budgets):
            both = self._of(measure, budget)
            coverage = np.average(both["coverage"].fillna(0), weights=both["claims"])
            error = mean_ratio(both["rmse"], both["rmse_before"], LEAST_RMSE)
            score = mean_ratio(both["score"], both["score_before"], LEAST_SCORE)
            variance = both[["log_rmse_variance", "log_rmse_variance_before"]].to_numpy().sum()
            spread = 1.96 * np.sqrt(variance) / len(both)
            low, high = error * np.exp(-spread), error * np.exp(spread)
            yield (
                *(measure, f"{budget:,}"),
                *(f"{number:.3f}" for number in (coverage, *both[[*MEANS]].mean())),
                *(f"{error:.3f} ({low:.2f} to {high:.2f})", f"{score:.3f}"),
            )

    def finer(self) -> Iterator[Sequence[str]]:
        """Yield, for each measure, ratios of errors by budget, by the finer least error."""
        for measure in COMPARED:
            each = (self._of(measure, budget) for budget in self.budgets)
            errors = (mean_ratio(one["rmse"], one["rmse_before"], FINER_RMSE) for one in each)
            yield measure, *(f"{error:.3f}" for error in errors)

    def _of(self, measure: str, budget: int) -> pd.DataFrame:
        """Return the settings of all pools."""
        both = self._both
        return both[(both["measure"] == measure) & (both["budget"] == budget)]

    def low(self) -> Iterator[Sequence[str]]:
        """Yield the settings that cover too little, by two standard errors, without a warning."""
        both = self._both[self._both["warned"] <= 0.5]
        claims = np.maximum(both["runs"] * both["claims"], 1)
        error = np.sqrt(LOW_COVERAGE * (1 - LOW_COVERAGE) / claims)
        for one in both[both["coverage"] < LOW_COVERAGE - 2 * error].itertuples():
            told = f"{one.truth:.3f}", f"{one.coverage:.2f}", f"{one.width:.3f}"
            yield one.pool, one.measure, f"{one.budget:,}", *told

    def large(self) -> Iterator[Sequence[str]]:
        """Yield the settings that err more than those of the baseline, the worst first."""
        ends = map(least_ratio, self._both["errors"], self._both["errors_before"])
        both = self._both.assign(end=[*ends])
        worst = both.sort_values(["end", *KEY], ascending=False)
        for one in worst[worst["end"] > LARGE_RATIO].itertuples():
            errors = f"{one.rmse:.3f}", f"{one.rmse_before:.3f}"
            yield one.pool, one.measure, f"{one.budget:,}", *errors, f"{one.end:.2f}"

    def by_pool(self) -> Iterator[runner.Row]:
        """Yield the lines of the table of F1 by pool."""
        columns = ["rmse", "rmse_before", "coverage", "width"]
        for pool, found in self._both[self._both["measure"] == "f1"].groupby("pool"):
            at = found.set_index("budget").loc[[*SHOWN]]
            yield pool, at["truth"].iloc[0], *at[columns].to_numpy().ravel()

    def draw(self, path: Path) -> None:
        """Write the picture: coverage and error ratio of F1, a dot for each pool."""
        rng = np.random.default_rng(1)
        figure = runner.new_figure(7.0, 2.4)
        left, right = figure.subplots(1, 2, sharey=True)
        for place, budget in enumerate(self.budgets):
            both = self._of("f1", budget)
            height = place + rng.uniform(-0.28, 0.28, len(both))
            look = {"s": 9, "alpha": 0.55, "color": "#d62728", "linewidths": 0}
            left.scatter(both["coverage"], height, **look)
            mine, other = (np.maximum(both[of], LEAST_RMSE) for of in ("rmse", "rmse_before"))
            right.scatter(mine / other, height, **look)
        left.axvline(0.95, color="black", linewidth=0.5, linestyle="dotted")
        right.axvline(1.0, color="black", linewidth=0.5, linestyle="dotted")
        right.set_xscale("log")
        left.set_yticks(range(len(self.budgets)), [f"{b:,} labels" for b in self.budgets])
        left.set_xlabel("coverage of the default interval of F1")
        right.set_xlabel("error of F1 over that of ais")
        runner.save_figure(figure, path)


def page_of(options: Options) -> Page:
    """Return the page of the results."""
    held = STUDY.read(options)
    return Page(settings(held[held["sampler"] == "calibrated"]), read_baseline(BASELINE))


def write_page(options: Options) -> None:
    """Write the page and its picture beside the folder of studies."""
    page, docs = page_of(options), options.output.parent
    text = page.text(BASELINE.name, runner.commits(options.results))
    (docs / "real-pools.md").write_text(text, encoding="utf-8")
    page.draw(docs / "figures" / "real-pools.svg")


STUDY = runner.Study(
    "corpus", PLAN, functools.partial(names, [SAMPLERS]), functools.partial(trial, MEASURES, PLAN)
)
COLUMNS = ("error_{}:.3f", "error_of_ais_{}:.3f", "coverage_{}:.2f", "width_{}:.3f")
HEADER = ",".join(column.format(budget) for budget in SHOWN for column in COLUMNS)
TABLES = (runner.Table("real-pools", f"pool,truth:.3f,{HEADER}", lambda of: page_of(of).by_pool()),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, STUDY, then=write_page)
