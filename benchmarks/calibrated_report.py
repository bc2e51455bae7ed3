"""The page of the calibrated design's study, and its tables, made from its results."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import commits
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from calibrated_plots import draw_coverage, draw_errors
from calibrated_pools import HIDDEN
from calibrated_ratios import FURTHEST, ratio_rows
from study_pages import Page, Table

FloatArray = npt.NDArray[np.float64]

PUBLISHED = {
    "abt-buy": {300: 0.133, 1000: 0.069, 2000: 0.043},
    "dblp-acm": {300: 0.087, 1000: 0.047, 2000: 0.031},
    "creditcard": {300: 0.122, 1000: 0.126, 2000: 0.115},
}
"""RMSE of F1 by published adaptive importance sampling (docs/studies/reference-points.md)."""

LEAST_RMSE = 0.005
"""Smaller errors count as this one: ratios of errors next to nothing say nothing."""

LEAST_COVERAGE = 0.9
LEAST_OF_HIDDEN = 0.85
"""What the model-based interval is to cover at every budget, two standard errors aside."""


HEADERS = {
    "errors": ("pool", "sampler", "labels", "rmse", "repeats", "ms_a_round"),
    "ratios": ("pool", "by_that_of", "labels", "ratio", "low", "high"),
    "measures": ("pool", "measure", "labels", "ratio"),
    "efficiency": ("pool", "measure", "labels", "ratio"),
    "coverage": ("pool", "sampler", "share", "labels", "coverage"),
    "scores": ("sampler", "claims", "labels", "ratio"),
    "assumption-light": ("pool", "sampler", "coverage", "width"),
}
"""Columns of the tables; labels are `all` for a mean over their numbers."""

ABOUT = {
    "errors": "RMSE of F1, of four classes that of macro F1; an undefined estimate counts as 0",
    "ratios": "RMSE of F1 by `calibrated` over that of another sampler, with 95 % bootstrap "
    "intervals over the repeats; the better of two is chosen at each number of labels",
    "measures": "RMSE by `calibrated` over that by `ais`, of F1, which drives the draws, and of "
    f"what does not; one below {LEAST_RMSE} counts as {LEAST_RMSE}",
    "efficiency": "MSE of `calibrated` by that of adaptive importance sampling: of F1 as "
    "published, of recall and precision as `ais` has it here",
    "coverage": "coverage of the model-based interval, where it is the default, of F1, recall and "
    "precision together; *share* of the default intervals that are model-based",
    "scores": "interval score of F1 by the default over that by Korn and Graubard's interval "
    "before any rule of evidence, geometric means over the shared pools",
    "assumption-light": "coverage of the assumption-light interval of all measures, and median "
    "width of F1's, at the most labels",
}


def report(results: Path, output: Path, note: str) -> None:
    """Write the page, its tables and its plots."""
    settings = dict(read(results))
    budgets = sorted({int(b) for one in settings.values() for b in one["budget"]})
    squares = {key: _squares_of_f1(one, budgets) for key, one in settings.items()}
    errors = {key: [float(np.sqrt(np.mean(one))) for one in of] for key, of in squares.items()}
    combined = {key: [_with_model(one, b) for b in budgets] for key, one in settings.items()}
    covered = {key: [_coverage_of(one) for one in of] for key, of in combined.items()}
    draw_errors(errors, budgets, output.parent / "figures" / "calibrated-error.svg")
    draw_coverage(covered, budgets, output.parent / "figures" / "calibrated-coverage.svg")
    rows = {
        "errors": list(_errors(settings, errors, budgets)),
        "ratios": list(ratio_rows(squares, budgets)),
        "measures": list(_beside_ais(settings, budgets)),
        "efficiency": list(_efficiency(settings)),
        "coverage": list(_coverage(settings, combined, covered, budgets)),
        "scores": list(_scores(settings)),
        "assumption-light": list(_light(settings, budgets)),
    }
    below = "; ".join(_below(combined, covered, budgets)) or "none"
    means = [np.nanmean(of) for key, of in covered.items() if _is_level(key[0], of)]
    page(rows, f"{np.mean(means):.3f}", below, commits.of(results), note).write(output)


def _is_level(pool: str, covered: list[float]) -> bool:
    """Return whether coverage of a setting is there, and not that of the hidden tenth."""
    return pool != HIDDEN.replace(" ", "-") and bool(np.isfinite(covered).any())


def page(
    rows: Mapping[str, Sequence[Sequence[str]]],
    level: str,
    below: str,
    commits: Sequence[str],
    note: str,
) -> Page:
    """Return the page.

    Args:
        rows: of each table of `HEADERS`.
        level: mean coverage of the model-based interval, the hidden tenth aside.
        below: settings that cover too little, in words.
        commits: that made the results.
        note: what else there is to know.
    """
    repeats = {int(row[4]) for row in rows["errors"]}
    ratios = [row for row in rows["ratios"] if row[1] == "ais"]
    worse = [row for row in ratios if float(row[3]) > FURTHEST]
    means = [row for row in rows["efficiency"] if row[0] == "all"]
    answer = ANSWER.format(
        repeats=_span(repeats),
        pools=len({row[0] for row in rows["errors"]}),
        better=sum(float(row[5]) < 1 for row in ratios),
        settings=len(ratios),
        worse=len(worse),
        surely=sum(float(row[4]) > FURTHEST for row in worse),
        furthest=FURTHEST,
        efficiency=", ".join(f"{row[1]} {row[3]}" for row in means),
        level=level,
        least=f"{LEAST_COVERAGE:.2f}",
        hidden=f"{LEAST_OF_HIDDEN:.2f}",
        below=below,
    )
    return Page(
        "Does the calibrated design err less than published samplers?",
        answer,
        ("python benchmarks/calibrated.py run", "python benchmarks/calibrated.py report"),
        commits,
        tuple(Table(name, ABOUT[name], HEADERS[name], rows[name]) for name in HEADERS),
        ("figures/calibrated-error.svg", "RMSE by number of labels, a panel for each pool"),
        note,
    )


def read(results: Path) -> Iterator[tuple[tuple[str, str], dict[str, npt.NDArray[Any]]]]:
    """Yield pool and sampler with the columns of all their results."""
    for folder in sorted(results.glob("runs/*/*")):
        files = sorted(folder.glob("*.parquet"))
        if files:
            table = pa.concat_tables([pq.read_table(file) for file in files])
            columns = {
                name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names
            }
            yield (folder.parent.name, folder.name), columns


def _span(numbers: set[int] | set[float]) -> str:
    low, high = min(numbers), max(numbers)
    return f"{low}" if low == high else f"{low} to {high}"


def _chosen(
    columns: Mapping[str, npt.NDArray[Any]], measure: str, budget: int, interval: str
) -> dict[str, npt.NDArray[Any]]:
    """Return the rows of one measure, budget and interval."""
    rows = (columns["measure"] == measure) & (columns["budget"] == budget)
    rows &= columns["interval"] == interval
    return {name: values[rows] for name, values in columns.items()}


def _rmse(one: Mapping[str, npt.NDArray[Any]]) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean(_squares(one))))


def _squares(one: Mapping[str, npt.NDArray[Any]]) -> FloatArray:
    """Return the squared errors; an undefined estimate counts as 0."""
    value = np.nan_to_num(one["value"].astype(np.float64))
    return np.asarray((value - one["truth"]) ** 2)


def _squares_of_f1(columns: Mapping[str, npt.NDArray[Any]], budgets: list[int]) -> list[FloatArray]:
    """Return the squared errors of the first measure at each budget."""
    name = _first_measure(columns)
    return [_squares(_chosen(columns, name, budget, "default")) for budget in budgets]


def _covered(one: Mapping[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_]:
    tolerance = 1e-9
    return np.asarray(
        (one["low"] <= one["truth"] + tolerance) & (one["truth"] - tolerance <= one["high"])
    )


def _score(one: Mapping[str, npt.NDArray[Any]]) -> float:
    """Return the mean interval score at 95 %."""
    missed = np.maximum(one["low"] - one["truth"], 0) + np.maximum(one["truth"] - one["high"], 0)
    return float(np.mean(one["high"] - one["low"] + 40 * missed))


def _first_measure(columns: Mapping[str, npt.NDArray[Any]]) -> str:
    return "macro_f1" if "macro_f1" in columns["measure"] else "f1"


def _with_model(
    columns: Mapping[str, npt.NDArray[Any]], budget: int
) -> dict[str, npt.NDArray[Any]]:
    """Return the rows of all model-based intervals at a budget whose truth is defined."""
    rows = (columns["budget"] == budget) & (columns["interval"] == "model-based")
    rows &= np.isfinite(columns["truth"])
    return {name: values[rows] for name, values in columns.items()}


def _coverage_of(claims: Mapping[str, npt.NDArray[Any]]) -> float:
    """Return the share of the claims that hold the truth, nan if there are none."""
    covered = _covered(claims)
    return float(covered.mean()) if len(covered) else float("nan")


def _errors(
    settings: Mapping[tuple[str, str], Any],
    errors: Mapping[tuple[str, str], list[float]],
    budgets: list[int],
) -> Iterator[tuple[str, ...]]:
    for (pool, sampler), columns in settings.items():
        rounds = 17  # of 50 rows, growing by 1.3, that make 5,000; the last estimate aside
        cost = np.median(columns["seconds"][columns["budget"] == budgets[-1]]) / rounds * 1000
        repeats = len(np.unique(columns["repeat"]))
        for budget, value in zip(budgets, errors[pool, sampler], strict=True):
            yield pool, sampler, str(budget), f"{value:.3f}", str(repeats), f"{cost:.0f}"


def _beside_ais(
    settings: Mapping[tuple[str, str], Any], budgets: list[int]
) -> Iterator[tuple[str, ...]]:
    for pool, sampler in settings:
        if sampler != "ais" or (pool, "calibrated") not in settings:
            continue
        for measure in dict.fromkeys(settings[pool, "ais"]["measure"].tolist()):
            both = [
                [
                    max(
                        _rmse(_chosen(settings[pool, name], measure, budget, "default")), LEAST_RMSE
                    )
                    for budget in budgets
                ]
                for name in ("calibrated", "ais")
            ]
            ratios = np.divide(*both)
            for budget, ratio in zip(budgets, ratios, strict=True):
                yield pool, measure, str(budget), f"{ratio:.2f}"
            yield pool, measure, "all", f"{np.exp(np.mean(np.log(ratios))):.2f}"


def _efficiency(settings: Mapping[tuple[str, str], Any]) -> Iterator[tuple[str, ...]]:
    logs: dict[str, list[float]] = {}
    for pool, published in PUBLISHED.items():
        if (pool, "calibrated") not in settings or (pool, "ais") not in settings:
            continue
        for measure in ("f1", "recall", "precision"):
            for budget in (300, 1000, 2000):
                ours = _rmse(_chosen(settings[pool, "calibrated"], measure, budget, "default"))
                theirs = _rmse(_chosen(settings[pool, "ais"], measure, budget, "default"))
                theirs = published[budget] if measure == "f1" else theirs
                ratio = (max(ours, LEAST_RMSE) / max(theirs, LEAST_RMSE)) ** 2
                logs.setdefault(measure, []).append(float(np.log(ratio)))
                yield pool, measure, str(budget), f"{ratio:.2f}"
    for measure, values in logs.items():
        yield "all", measure, "all", f"{np.exp(np.mean(values)):.2f}"


def _below(
    combined: Mapping[tuple[str, str], list[dict[str, npt.NDArray[Any]]]],
    covered: Mapping[tuple[str, str], list[float]],
    budgets: list[int],
) -> Iterator[str]:
    """Yield settings that cover too little by more than two standard errors."""
    for (pool, sampler), by_budget in covered.items():
        least = LEAST_OF_HIDDEN if pool == HIDDEN.replace(" ", "-") else LEAST_COVERAGE
        for budget, claims, coverage in zip(
            budgets, combined[pool, sampler], by_budget, strict=True
        ):
            runs = len(np.unique(claims["repeat"]))
            if coverage < least - 2 * np.sqrt(least * (1 - least) / max(runs, 1)):
                yield f"{pool}, {sampler}, {budget:,} labels ({coverage:.2f})"


def _coverage(
    settings: Mapping[tuple[str, str], Any],
    combined: Mapping[tuple[str, str], list[dict[str, npt.NDArray[Any]]]],
    covered: Mapping[tuple[str, str], list[float]],
    budgets: list[int],
) -> Iterator[tuple[str, ...]]:
    for (pool, sampler), columns in settings.items():
        claims, by_budget = combined[pool, sampler], covered[pool, sampler]
        if not np.isfinite(by_budget).any():
            continue
        defaults = np.isfinite(columns["truth"]) & (columns["interval"] == "default")
        share = f"{sum(len(one['repeat']) for one in claims) / int(defaults.sum()):.2f}"
        for budget, one in zip(budgets, by_budget, strict=True):
            if np.isfinite(one):
                yield pool, sampler, share, str(budget), f"{one:.2f}"
        yield pool, sampler, share, "all", f"{np.nanmean(by_budget):.3f}"


def _scores(settings: Mapping[tuple[str, str], Any]) -> Iterator[tuple[str, ...]]:
    """Yield scores; where the variance is 0 the interval of old has no width."""
    claims: dict[str, list[float]] = {}
    by_sampler: dict[str, list[list[float]]] = {}
    for pool, sampler in settings:
        if pool in PUBLISHED:
            columns = settings[pool, sampler]
            default = _chosen(columns, "f1", 300, "default")
            claims.setdefault(sampler, []).append(
                float(np.mean((default["low"] > 0) | (default["high"] < 1)))
            )
            by_sampler.setdefault(sampler, []).append(
                [
                    _score(_chosen(columns, "f1", budget, "default"))
                    / _score(_chosen(columns, "f1", budget, "korn-graubard"))
                    for budget in (300, 1000, 2000)
                ]
            )
    rows = {sampler: [sampler] for sampler in by_sampler} | {
        "all": [*by_sampler],
        "all but stratified": [one for one in by_sampler if one != "stratified"],
    }
    for name, samplers in rows.items():
        ratios = [one for sampler in samplers for one in by_sampler[sampler]]
        claimed = np.mean([one for sampler in samplers for one in claims[sampler]])
        means = np.exp(np.mean(np.log(ratios), axis=0))
        for budget, mean in zip((300, 1000, 2000), means, strict=True):
            yield name, f"{claimed:.2f}", str(budget), f"{mean:.2f}"


def _light(
    settings: Mapping[tuple[str, str], Any], budgets: list[int]
) -> Iterator[tuple[str, ...]]:
    for (pool, sampler), columns in settings.items():
        rows = (columns["interval"] == "assumption-light") & np.isfinite(columns["truth"])
        if rows.any():
            one = {name: values[rows] for name, values in columns.items()}
            last = _chosen(columns, _first_measure(columns), budgets[-1], "assumption-light")
            width = np.median(last["high"] - last["low"]) if len(last["low"]) else float("nan")
            yield pool, sampler, f"{_covered(one).mean():.3f}", f"{width:.2f}"


ANSWER = """\
In {better} of {settings} settings its RMSE of F1 is below that of `ais`, with the whole bootstrap
interval. It is above {furthest} times that of `ais` in {worse}, in {surely} with the whole
interval.
A setting is a pool and a number of labels. `calibrated`, `ais`, `importance`, `oasis` and
`stratified` label the same {pools} pools of known truth, {repeats} repeats each.

- *Efficiency.* The MSE on three shared pools by that of adaptive importance sampling is, in the
  geometric mean: {efficiency}.
- *Coverage.* Where the model-based interval is the default, it covers {level} in the mean over
  settings, nominal 0.95, a hidden tenth of the positives aside. Settings more than two standard
  errors below {least} (of the hidden tenth {hidden}): {below}.

What the design is: [The calibrated design](../calibrated.md). Coverage has
[a plot too](figures/calibrated-coverage.svg).
"""
