"""Measures how often claimed intervals hold the truth, on pools made to mislead.

A setting is a pool, a sampler, a measure and a number of labels. With `--check` the exit status is
1 if one of them breaks the rule: where coverage is below `LEAST` most claims come with a warning,
and where it is `TRUSTED` or more few do.
"""

import dataclasses
import functools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import corpus
import numpy as np
import pandas as pd
import pools
import pyarrow.parquet as pq
import runner
from coverage_situations import AT_RANDOM, CLASSES, NUMBERS, RANGE, SITUATIONS, write_made_up
from runner import Options, Table
from scipy import stats

from evalsampling import EvaluationSpec
from evalsampling.inference.estimates import BANDS
from evalsampling.inference.intervals import SIMULTANEOUS, Interval, covers, interval_score
from evalsampling.inference.results import Estimate
from evalsampling.measures.base import Measure
from evalsampling.simulation.summary import Point
from evalsampling.spec import RoundSize
from evalsampling.stats.arrays import FloatArray

CURVE = "pr_curve"
BAND = "PR band"
FEW = 64  # thresholds of a curve beside which other measures are estimated too


@dataclasses.dataclass(frozen=True)
class Method:
    """A way to sample, its sampler as in a spec."""

    name: str
    sampler: dict[str, Any]
    drives: str = "f1"  # the measure it samples for; of several classes `f1` is `macro_f1`
    thresholds: int = 0  # of the curve that is estimated from its draws; 0 for no curve
    pools: tuple[str, ...] = ()  # that it is tried on; all if empty
    most: int | None = None  # repeats; None: as many as are asked for


PLAIN = ("importance", "oasis", "ais", "calibrated", "poisson", "active_risk", "active_err",
         "strat", "strat_model")  # fmt: skip

METHODS = (
    Method("passive", {"name": "passive"}, thresholds=FEW),
    Method("stratified", {"name": "stratified"}, thresholds=FEW),
    *(Method(name, {"name": name}) for name in PLAIN),
    Method("ais, delta .1", {"name": "ais", "delta": 0.1}),
    Method("ais for the curve", {"name": "ais"}, CURVE, thresholds=FEW),
    Method("calibrated for the curve", {"name": "calibrated"}, CURVE, FEW, most=60),
    Method("passive, 1,024 thresholds", {"name": "passive"}, CURVE, 1024, ("balanced",), 60),
    Method("ais, 1,024 thresholds", {"name": "ais"}, CURVE, 1024, ("balanced",), 60),
)
"""What is compared. A sampler more is a name of `PLAIN`."""

BINARY = ("f1", "recall", "precision", "accuracy", "mcc", "brier", "log_loss")
MULTICLASS = ({"name": "f1", "average": "macro"}, "recall", "precision", "accuracy",
              {"name": "f1", "average": "micro"}, "brier", "log_loss")  # fmt: skip
OF_NUMBERS = ("mse", "rmse", "mae", "mean_error")
TAKE_NUMBERS = ("passive", "stratified", "poisson", "active_risk")
"""Samplers of predicted numbers."""

TAKE_RANDOM = ("passive", "importance", "oasis", "ais", "poisson", "active_risk", "active_err")
"""Samplers of a stochastic oracle."""

DEFAULT = "default"
BESIDE = "design-based"
INTERVALS = (DEFAULT, BESIDE)
"""Intervals that are told of: the default one, which is judged, and the kind that stands beside it.

The default band is the model-based one, where a point has it."""

PLAN = dataclasses.replace(corpus.PLAN, round_size=RoundSize(50, 1.4), seed=29, bands=True)
LEAST = 0.85  # coverage among claims below which words must come with most claims
TRUSTED = 0.93  # coverage among claims from which on words may come in few runs
WARNED_TOO_LITTLE = 0.5
WARNED_TOO_OFTEN = 0.2

BY_CHANCE = stats.norm.sf(2)  # of two standard errors: what is rarer at `LEAST` is below it
COLOURS = dict(zip(INTERVALS, ("#d62728", "#1f77b4"), strict=True))
OFTEN = 0.5  # share of the runs that claim from which on a setting is drawn: others say little


# --- runs


def names(options: Options) -> Iterator[tuple[str, ...]]:
    """Yield pool and method of all trials."""
    for pool in [*SITUATIONS, *pools.find(options.pools)]:
        yield from ((pool, method.name) for method in METHODS if _possible(pool, method))


def _possible(pool: str, method: Method) -> bool:
    """Oasis and curves are for two classes; few samplers take numbers or a stochastic oracle."""
    if method.pools and pool not in method.pools:
        return False
    if pool == NUMBERS:
        return method.name in TAKE_NUMBERS
    if pool in AT_RANDOM:
        return method.sampler["name"] in TAKE_RANDOM and method.drives != CURVE
    return pool != "four-classes" or (method.name != "oasis" and method.drives != CURVE)


def trial(options: Options, pool: str, name: str) -> runner.Trial:
    """Return a trial, of a pool that is made up unless it is there."""
    method = next(one for one in METHODS if one.name == name)
    folder = options.results / "pools" if pool in SITUATIONS else options.pools
    if pool in SITUATIONS:
        write_made_up(folder, pool)
    ground = _read(folder, pool, method.drives, method.thresholds)
    spec = EvaluationSpec.from_mapping(ground.spec.to_mapping() | {"sampler": method.sampler}, "/")
    # Of a fine curve that alone is estimated.
    measures = ground.measures[:1] if method.thresholds > FEW else ground.measures
    plan = dataclasses.replace(PLAN, hidden=ground.spec.analysis.label_prior)
    sampler = dataclasses.replace(ground, spec=spec).sampler()
    return runner.Trial(ground.known, sampler, measures, plan)


@functools.cache
def _read(folder: Path, pool: str, drives: str, thresholds: int) -> pools.Ground:
    """Read a pool, cut for the measure that drives; one more, a curve, comes last or drives."""
    measures: list[Any] = list(MULTICLASS if pool == "four-classes" else BINARY)
    columns: dict[str, Any] = {"probability": "probability"}
    labels: dict[str, Any] = {}
    if pool == NUMBERS:
        measures, labels, columns = list(OF_NUMBERS), {"range": list(RANGE)}, {}
    elif pool == "four-classes":
        columns = {"probability": {c: f"probability_{c}" for c in range(CLASSES)}}
        labels = {"classes": list(range(CLASSES)), "positive": 1}
    elif thresholds:
        score = pq.read_table(folder / f"{pool}.parquet", columns=["score"])["score"]
        low, high = np.quantile(score.to_numpy(), [0.005, 0.9999])
        cuts = [float(low)] if low == high else np.linspace(low, high, thresholds).tolist()
        curve = {"name": CURVE, "thresholds": cuts}
        measures = [curve, *measures] if drives == CURVE else [*measures, curve]
    if pool in AT_RANDOM:
        labels = {"oracle": "stochastic"}
    content = {"measure": measures, "budget": PLAN.budgets[-1], "seed": PLAN.seed}
    return pools.Ground.read(folder, pool, pool=columns, labels=labels, **content)


def rows_of(
    measure: Measure, truth: FloatArray, point: Point, _: runner.Result
) -> Iterator[runner.Result]:
    """Yield a row for each interval of each number with a truth, or of a whole curve.

    `claims`: whether the interval is not the whole range; of a band, whether it is not at some
    point. `covers`: of a band, at all points. `warned`: whether words come with a claim. A band
    has no error, and means over its points for width and score.
    """
    both = zip(point.estimates, truth.tolist(), strict=True)
    compared = [(one, true) for one, true in both if np.isfinite(true)]
    for kind in INTERVALS:
        if measure.name == CURVE:
            yield _row(BAND, kind, [(one, _band(one, kind), true) for one, true in compared])
            continue
        for one, true in compared:
            error = None if one.value is None else one.value - true
            yield _row(measure.name, kind, [(one, _interval(one, kind), true)]) | {"error": error}


def _interval(one: Estimate, kind: str) -> Interval:
    """Return the first interval of a kind; of a census, which has none, its value."""
    if kind == DEFAULT:
        return one.intervals[0]
    return next((interval for interval in one.intervals if interval.kind == kind), one.intervals[0])


def _band(one: Estimate, kind: str) -> Interval:
    """Return the interval that holds together with those of the other points."""
    bands = [i for i in one.intervals if SIMULTANEOUS in i.method or i.method == BANDS]
    if kind == BESIDE:
        bands = [i for i in bands if i.kind == SIMULTANEOUS]
    return bands[-1] if bands else Interval(*one.target.bounds, SIMULTANEOUS, "none")


def _row(name: str, kind: str, points: Sequence[tuple[Estimate, Interval, float]]) -> runner.Result:
    claims = [(interval.low, interval.high) != one.target.bounds for one, interval, _ in points]
    return {
        "measure": name,
        "interval": kind,
        "claims": any(claims),
        "covers": all(covers(interval, true) for _, interval, true in points),
        "warned": any(
            claim and bool(one.warnings) for (one, _, _), claim in zip(points, claims, strict=True)
        ),
        "error": None,
        "width": float(np.mean([i.high - i.low for _, i, _ in points])),
        "score": float(np.mean([interval_score(i, t, PLAN.confidence) for _, i, t in points])),
    }


STUDY = runner.Study(
    "coverage", PLAN, names, trial, rows_of, ("pool", "method"), repeats=200, block=20,
    most={method.name: method.most for method in METHODS if method.most}, pools=pools.SHARED,
)  # fmt: skip


# --- settings


def settings_of(options: Options) -> pd.DataFrame:
    """Return all settings that have results and a claim, in the order of the table.

    How one measure did with one sampler on one pool at one number of labels. Of its runs some
    claim, by an interval that is not the whole range. Of these claims some are covered and some
    warned of. Width is the mean of the claims', score the mean of all runs; the error is the root
    mean squared one of defined estimates, NaN for a band.
    """
    held = STUDY.read(options)
    held["squared"] = held["error"].astype(float) ** 2
    key = ["pool", "measure", "interval", "method", "budget"]
    every, claims = held.groupby(key), held[held["claims"]].groupby(key)
    found = pd.DataFrame(
        {
            "runs": every.size(),
            "claims": claims.size(),
            "covered": claims["covers"].sum(),
            "warned": claims["warned"].sum(),
            "width": claims["width"].mean(),
            "score": every["score"].mean(),
            "error": np.sqrt(every["squared"].mean()),
        }
    )
    found = found.dropna(subset="claims").reset_index()
    return found.astype(dict.fromkeys(("claims", "covered", "warned"), int))


def judged(settings: pd.DataFrame) -> pd.DataFrame:
    """Return settings with shares of their claims, and whether they break the rule.

    A setting is below if its coverage is below `LEAST` by more than two standard errors; then it
    misleads if most claims come without a warning. It alarms if it covers and too many runs have a
    claim with a warning.
    """
    coverage, share = (settings[name] / settings["claims"] for name in ("covered", "warned"))
    below = stats.binom.cdf(settings["covered"], settings["claims"], LEAST) < BY_CHANCE
    often = settings["warned"] > WARNED_TOO_OFTEN * settings["runs"]
    return settings.assign(
        coverage=coverage,
        warned_share=share,
        below=below,
        misleads=below & (share <= WARNED_TOO_LITTLE),
        alarms=(coverage >= TRUSTED) & often,
    )


def broken(settings: pd.DataFrame) -> list[str]:
    """Return a line for each setting of the default interval that breaks the rule."""
    by_default = judged(settings[settings["interval"] == DEFAULT])
    return [
        f"{word}: {one.pool}, {one.method}, {one.measure}, {one.budget} labels: {one.covered} of "
        f"{one.claims} claims cover, {one.warned} are warned of"
        for word, breaks in (("misleads", "misleads"), ("false alarm", "alarms"))
        for one in by_default[by_default[breaks]].itertuples()
    ]


def totals(settings: pd.DataFrame) -> Iterator[str]:
    """Yield what the page says in numbers."""
    for interval, found in judged(settings).groupby("interval"):
        claims, below = found["claims"].sum(), found["below"]
        yield (
            f"{interval}: {claims:,} claims of {len(found):,} settings, "
            f"{found['covered'].sum() / claims:.2f} hold the truth; below {LEAST}: {below.sum()}, "
            f"of these without a warning {found['misleads'].sum()}; {TRUSTED} or more: "
            f"{(found['coverage'] >= TRUSTED).sum():,}, of these with too many warnings "
            f"{found['alarms'].sum()}"
        )


# --- tables and picture


def _all(options: Options) -> Iterator[runner.Row]:
    columns = ["pool", "method", "measure", "interval", "budget", "share", "coverage",
               "warned_share", "width", "score", "error"]  # fmt: skip
    found = judged(settings_of(options))
    found["share"] = found["claims"] / found["runs"]
    return found[columns].itertuples(index=False, name=None)


def _samplers(options: Options) -> Iterator[runner.Row]:
    """Yield measures and samplers: claims, coverage and warned share of all runs."""
    by_sampler = settings_of(options).groupby(["measure", "interval", "method"])
    for key, one in by_sampler[["runs", "claims", "covered", "warned"]].sum().iterrows():
        yield *key, one.claims / one.runs, one.covered / one.claims, one.warned / one.claims


SETTINGS = "pool,sampler,measure,interval,labels,claims,coverage,warned"
SUMMED = "measure,interval,sampler,claims,coverage,warned"
TABLES = (
    Table("coverage/settings", f"{SETTINGS},width:.3f,score:.3f,rmse:.4f", _all, form=".2f"),
    Table("coverage/samplers", SUMMED, _samplers, form=".2f"),
)


def draw(settings: pd.DataFrame, path: Path) -> None:
    """Write a plot of coverage, a line from the 5th to the 95th percentile of a pool's settings."""
    often = judged(settings[settings["claims"] >= OFTEN * settings["runs"]])
    pools = sorted({*often["pool"]})
    figure = runner.new_figure(6.5, 0.6 + 0.22 * len(pools))
    axes = figure.subplots()
    for (pool, interval), found in often.groupby(["pool", "interval"]):
        low, middle, high = np.quantile(found["coverage"], [0.05, 0.5, 0.95])
        place = pools.index(pool) + (-0.17 if interval == DEFAULT else 0.17)
        look = {"color": COLOURS[interval], "linewidth": 1.5, "markersize": 3}
        axes.plot([low, high], [place, place], **look)
        axes.plot([middle], [place], marker="o", **look)
    axes.axvline(0.95, color="black", linewidth=0.5, linestyle="dotted")
    axes.set_yticks(range(len(pools)), pools)
    axes.invert_yaxis()
    axes.set(xlabel="coverage: median and nine in ten of the settings in which most runs claim")
    for interval, colour in COLOURS.items():
        axes.plot([], [], color=colour, marker="o", markersize=3, label=interval)
    axes.legend(loc="lower left", frameon=False)
    runner.save_figure(figure, path)


def judge(options: Options) -> int:
    """Draw the picture and print the totals; return the exit status."""
    settings = settings_of(options)
    draw(settings, options.output / "figures" / "coverage.svg")
    lines = broken(settings)
    print("\n".join([*totals(settings), *lines]), file=sys.stderr)
    return int(options.check and bool(lines))


if __name__ == "__main__":
    runner.main(__doc__, TABLES, STUDY, then=judge, check=False)
