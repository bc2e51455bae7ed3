"""The page of the calibrated design's study, made from its results."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from calibrated_plots import draw_coverage, draw_errors
from calibrated_pools import HIDDEN
from calibrated_ratios import FURTHEST, ratio_lines

FloatArray = npt.NDArray[np.float64]

PUBLISHED = {
    "abt-buy": {300: 0.133, 1000: 0.069, 2000: 0.043},
    "dblp-acm": {300: 0.087, 1000: 0.047, 2000: 0.031},
    "creditcard": {300: 0.122, 1000: 0.126, 2000: 0.115},
}
"""RMSE of F1 by published adaptive importance sampling (docs/reference-points.md)."""

LEAST_RMSE = 0.005
"""Smaller errors count as this one: ratios of errors next to nothing say nothing."""

LEAST_COVERAGE = 0.9
LEAST_OF_HIDDEN = 0.85
"""What the model-assisted interval is to cover at every budget, two standard errors aside."""


def document(results: Path, figures: Path) -> str:
    """Return the page, and write its plots to a folder beside it."""
    settings = dict(read(results))
    repeats = {len(np.unique(one["repeat"])) for one in settings.values()}
    budgets = sorted({int(b) for one in settings.values() for b in one["budget"]})
    squares = {key: _squares_of_f1(one, budgets) for key, one in settings.items()}
    errors = {key: [float(np.sqrt(np.mean(one))) for one in of] for key, of in squares.items()}
    assisted = {key: [_assisted(one, b) for b in budgets] for key, one in settings.items()}
    covered = {key: [_coverage_of(one) for one in of] for key, of in assisted.items()}
    draw_errors(errors, budgets, figures / "calibrated-error.svg")
    draw_coverage(covered, budgets, figures / "calibrated-coverage.svg")
    lines = [
        "# Study of the calibrated design",
        "",
        "Made by `python benchmarks/calibrated.py report` from the results of",
        f"`python benchmarks/calibrated.py run`: {_span(repeats)} repeats (see the first table),",
        f"at {', '.join(f'{b:,}' for b in budgets)} labels. A coverage of 0.95 has a standard",
        f"error of {_span({round(float(np.sqrt(0.95 * 0.05 / n)), 3) for n in repeats})}.",
        "What it means is in [calibrated.md](calibrated.md).",
        "",
        *_errors(settings, errors, budgets),
        *ratio_lines(squares, budgets),
        *_beside_ais(settings, budgets),
        *_efficiency(settings),
        *_coverage(settings, assisted, covered, budgets),
        *_scores(settings),
        *_light(settings, budgets),
    ]
    return "\n".join(lines) + "\n"


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


def _assisted(columns: Mapping[str, npt.NDArray[Any]], budget: int) -> dict[str, npt.NDArray[Any]]:
    """Return the rows of all model-assisted intervals at a budget whose truth is defined."""
    rows = (columns["budget"] == budget) & (columns["interval"] == "model-assisted")
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
) -> list[str]:
    lines = [
        "## Errors of F1",
        "",
        "RMSE, of four classes that of macro F1. An undefined estimate counts as 0.",
        "",
        "![RMSE by number of labels, a panel for each pool](figures/calibrated-error.svg)",
        "",
        "| pool | sampler | " + " | ".join(f"{b:,}" for b in budgets) + " | repeats | ms a round |",
        "| --- | --- |" + " --- |" * (len(budgets) + 2),
    ]
    for (pool, sampler), columns in settings.items():
        rounds = 17  # of 50 rows, growing by 1.3, that make 5,000; the last estimate aside
        cost = np.median(columns["seconds"][columns["budget"] == budgets[-1]]) / rounds * 1000
        cells = " | ".join(f"{value:.3f}" for value in errors[pool, sampler])
        repeats = len(np.unique(columns["repeat"]))
        lines.append(f"| {pool} | {sampler} | {cells} | {repeats} | {cost:.0f} |")
    return [*lines, ""]


def _beside_ais(settings: Mapping[tuple[str, str], Any], budgets: list[int]) -> list[str]:
    heads = [f"{budget:,}" for budget in budgets] + ["geometric mean"]
    lines = [
        "### Every measure",
        "",
        "RMSE by `calibrated` over that by `ais`, of F1, which drives the draws, and of what does",
        f"not; one below {LEAST_RMSE} counts as {LEAST_RMSE}. **Bold**: above {FURTHEST}.",
        "",
        f"| pool | measure | {' | '.join(heads)} |",
        f"| --- | --- |{' --- |' * len(heads)}",
    ]
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
            told = [*ratios, np.exp(np.mean(np.log(ratios)))]
            cells = [f"**{one:.2f}**" if one > FURTHEST else f"{one:.2f}" for one in told]
            lines.append(f"| {pool} | {measure} | {' | '.join(cells)} |")
    return [*lines, ""]


def _efficiency(settings: Mapping[tuple[str, str], Any]) -> list[str]:
    lines = [
        "## Label efficiency",
        "",
        "MSE of `calibrated` by that of adaptive importance sampling: of F1 as published, of",
        "recall and precision as `ais` has it here. An RMSE below",
        f"{LEAST_RMSE} counts as {LEAST_RMSE}.",
        "",
        "| pool | measure | 300 | 1,000 | 2,000 |",
        "| --- | --- | --- | --- | --- |",
    ]
    logs: dict[str, list[float]] = {}
    for pool, published in PUBLISHED.items():
        if (pool, "calibrated") not in settings or (pool, "ais") not in settings:
            continue
        for measure in ("f1", "recall", "precision"):
            ratios = []
            for budget in (300, 1000, 2000):
                ours = _rmse(_chosen(settings[pool, "calibrated"], measure, budget, "default"))
                theirs = _rmse(_chosen(settings[pool, "ais"], measure, budget, "default"))
                theirs = published[budget] if measure == "f1" else theirs
                ratios.append((max(ours, LEAST_RMSE) / max(theirs, LEAST_RMSE)) ** 2)
            logs.setdefault(measure, []).extend(np.log(ratios).tolist())
            cells = " | ".join(f"{r:.2f}" for r in ratios)
            lines.append(f"| {pool} | {measure} | {cells} |")
    means = ", ".join(f"{m} {np.exp(np.mean(values)):.2f}" for m, values in logs.items())
    return [*lines, "", f"Geometric means: {means}." if logs else "", ""]


def _coverage(
    settings: Mapping[tuple[str, str], Any],
    assisted: Mapping[tuple[str, str], list[dict[str, npt.NDArray[Any]]]],
    covered: Mapping[tuple[str, str], list[float]],
    budgets: list[int],
) -> list[str]:
    lines = [
        "## Coverage of the model-assisted interval",
        "",
        "Of F1, recall and precision together (of four classes macro F1, recall and precision of",
        "one class), nominal 95 %; worst first. Where it is not the default, nearly no label of a",
        "kind having been met, it claims nothing and is left out. *Share*: of the default",
        "intervals that are model-assisted; the others claim nothing, or are exact. Rows with few",
        "say little.",
        "",
        "![Coverage by number of labels, a panel for each pool](figures/calibrated-coverage.svg)",
        "",
        "| pool | sampler | share | mean | " + " | ".join(f"{b:,}" for b in budgets) + " |",
        "| --- | --- | --- | --- |" + " --- |" * len(budgets),
    ]
    found, below = [], []
    hidden = HIDDEN.replace(" ", "-")
    for (pool, sampler), columns in settings.items():
        least = LEAST_OF_HIDDEN if pool == hidden else LEAST_COVERAGE
        claims, by_budget = assisted[pool, sampler], covered[pool, sampler]
        for budget, of_budget, coverage in zip(budgets, claims, by_budget, strict=True):
            runs = len(np.unique(of_budget["repeat"]))
            if coverage < least - 2 * np.sqrt(least * (1 - least) / max(runs, 1)):
                below.append(f"{pool}, {sampler}, {budget:,} labels ({coverage:.2f})")
        if np.isfinite(by_budget).any():
            defaults = np.isfinite(columns["truth"]) & (columns["interval"] == "default")
            share = sum(len(one["repeat"]) for one in claims) / int(defaults.sum())
            found.append((float(np.nanmean(by_budget)), pool, sampler, share, by_budget))
    for mean, pool, sampler, share, by_budget in sorted(found):
        cells = " | ".join("" if np.isnan(c) else f"{c:.2f}" for c in by_budget)
        lines.append(f"| {pool} | {sampler} | {share:.2f} | {mean:.2f} | {cells} |")
    level = [mean for mean, pool, *_ in found if pool != hidden]
    told = "; ".join(below) or "none"
    return [
        *lines,
        "",
        f"Mean over settings, hidden tenth aside: {np.mean(level):.3f}. Settings more than two",
        f"standard errors below {LEAST_COVERAGE:.2f} (of the hidden tenth {LEAST_OF_HIDDEN:.2f}):",
        f"{told}.",
        "",
    ]


def _scores(settings: Mapping[tuple[str, str], Any]) -> list[str]:
    lines = [
        "## Interval scores of F1",
        "",
        "Mean score of the default interval, the model-assisted one where there are labels for it,",
        "by that of Korn and Graubard's before any rule of evidence, the default of old: geometric",
        "means over the shared pools. *Claims*: share of the runs, at 300 labels, whose default is",
        "not the whole range; that scores 1. Where the variance is 0 the interval of old has no",
        "width.",
        "",
        "| sampler | claims | 300 | 1,000 | 2,000 |",
        "| --- | --- | --- | --- | --- |",
    ]
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
        means = np.exp(np.mean(np.log(ratios), axis=0))
        claimed = np.mean([one for sampler in samplers for one in claims[sampler]])
        cells = " | ".join(f"{mean:.2f}" for mean in means)
        lines.append(f"| {name} | {claimed:.2f} | {cells} |")
    return [*lines, ""]


def _light(settings: Mapping[tuple[str, str], Any], budgets: list[int]) -> list[str]:
    lines = [
        "## The assumption-light interval",
        "",
        "Coverage of all measures together, and median width of F1's, at the greatest budget.",
        "",
        "| pool | sampler | coverage | width at " + f"{budgets[-1]:,} |",
        "| --- | --- | --- | --- |",
    ]
    for (pool, sampler), columns in settings.items():
        rows = (columns["interval"] == "assumption-light") & np.isfinite(columns["truth"])
        if rows.any():
            one = {name: values[rows] for name, values in columns.items()}
            last = _chosen(columns, _first_measure(columns), budgets[-1], "assumption-light")
            width = np.median(last["high"] - last["low"]) if len(last["low"]) else float("nan")
            lines.append(f"| {pool} | {sampler} | {_covered(one).mean():.3f} | {width:.2f} |")
    return [*lines, ""]
