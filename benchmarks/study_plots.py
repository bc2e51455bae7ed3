"""Plots of the study, like figures 2, 3 and 4 of [MR]."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from figure_files import STYLE, save
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from study_results import Run, Study
from study_runs import CURVE, METHODS

COLOURS = dict(
    zip(
        (method.key for method in METHODS),
        ("#888888", "#bcbd22", "#1f77b4", "#9467bd", "#ff7f0e", "#d62728"),
        strict=True,
    )
)
MARKERS = dict(zip(COLOURS, "osv^DX", strict=True))

COMPARED = ("ais-8", "importance", "passive")
"""Methods whose curves are drawn."""


def draw(study: Study, directory: Path, budgets: dict[str, int]) -> dict[str, Path]:
    """Write all plots.

    Args:
        study: what to draw.
        directory: for the files.
        budgets: place of the budget of the bar chart of each measure.

    Returns:
        The files, by name.
    """
    directory.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}
    with mpl.rc_context(STYLE):
        for measure in study.measures:
            files[f"convergence-{measure}"] = directory / f"convergence-{measure}.svg"
            save(_convergence(study, measure), files[f"convergence-{measure}"])
            files[f"error-{measure}"] = directory / f"error-{measure}.svg"
            save(_bars(study, measure, budgets[measure]), files[f"error-{measure}"])
        for pool in study.pools:
            runs = study.of(pool, CURVE)
            chosen = [runs[key] for key in COMPARED if key in runs and len(runs[key].curves)]
            if chosen:
                files[f"curves-{pool}"] = directory / f"curves-{pool}.png"
                save(_curves(study, chosen), files[f"curves-{pool}"])
    return files


def _convergence(study: Study, measure: str) -> Figure:
    """Draw KL divergence above mean squared error, a column for each pool."""
    pools = study.pools
    figure = Figure(figsize=(3.0 * len(pools), 4.6), layout="constrained")
    axes = figure.subplots(2, len(pools), sharex=True, squeeze=False, height_ratios=(2, 3))
    budgets = np.array(study.settings.budgets)
    for column, pool in enumerate(pools):
        upper, lower = axes[:, column]
        upper.set_title(pool)
        for key, run in study.of(pool, measure).items():
            look = {"color": COLOURS[key], "marker": MARKERS[key], "markersize": 3}
            look |= {"linewidth": 1, "label": run.method.title}
            errors = [run.error(b) for b in range(len(budgets))]
            lower.plot(budgets, [e.mean for e in errors], **look)
            _band(lower, budgets, [(e.low, e.high) for e in errors], COLOURS[key])
            distances = [run.distance(b) for b in range(len(budgets))]
            told = [d for d in distances if d is not None]
            if len(told) == len(distances):
                upper.plot(budgets, [d.mean for d in told], **look)
                _band(upper, budgets, [(d.low, d.high) for d in told], COLOURS[key])
        lower.set(xscale="log", yscale="log", xlabel="labels")
        lower.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        lower.minorticks_off()
        upper.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("KL divergence (nats)")
    axes[1, 0].set_ylabel(f"MSE of {measure}")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _band(
    axes: mpl.axes.Axes, budgets: np.ndarray, ends: Sequence[tuple[float, float]], colour: str
) -> None:
    low, high = np.array(ends).T
    axes.fill_between(budgets, low, high, color=colour, alpha=0.2, linewidth=0)


def _bars(study: Study, measure: str, budget: int) -> Figure:
    """Draw the mean squared error of every method on every pool."""
    figure = Figure(figsize=(6, 0.4 + 1.1 * len(study.pools)), layout="constrained")
    axes = figure.subplots()
    keys = [m.key for m in METHODS if any((p, measure, m.key) in study.runs for p in study.pools)]
    for place, pool in enumerate(study.pools):
        for key, run in study.of(pool, measure).items():
            offset = (keys.index(key) - (len(keys) - 1) / 2) * 0.8 / len(keys)
            error = run.error(budget)
            axes.barh(
                place + offset,
                error.mean,
                height=0.7 / len(keys),
                color=COLOURS[key],
                label=run.method.title if not place else None,
                xerr=[[error.mean - error.low], [error.high - error.mean]],
                error_kw={"linewidth": 0.8, "capsize": 1.5},
            )
    axes.set_yticks(range(len(study.pools)), study.pools)
    axes.invert_yaxis()
    labels = study.settings.budgets[budget]
    axes.set(xscale="log", xlabel=f"MSE of {measure} after {labels:,} labels")
    figure.legend(loc="outside right upper", frameon=False)
    return figure


def _curves(study: Study, runs: Sequence[Run]) -> Figure:
    """Draw estimated precision-recall curves under the true one."""
    figure = Figure(figsize=(2.6 * len(runs), 2.5), layout="constrained")
    for axes, run in zip(
        figure.subplots(1, len(runs), sharey=True, squeeze=False)[0], runs, strict=True
    ):
        precision, recall = np.split(run.curves, 2, axis=1)
        lines = np.stack([recall, precision], axis=2)
        axes.add_collection(LineCollection(lines, colors="#333333", alpha=0.2, linewidths=0.5))
        true_precision, true_recall = np.split(run.truth, 2)
        axes.plot(true_recall, true_precision, color="#d62728", linewidth=1.5)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="recall", title=run.method.title)
    figure.axes[0].set_ylabel("precision")
    labels = study.settings.budgets[-1]
    figure.suptitle(f"{runs[0].pool}, {labels:,} labels")
    return figure
