"""Plots of the study, like figures 2 and 4 of [MR]."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import figure_files
import numpy as np
import study
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

LOOKS = {
    "passive": ("#888888", "o"),
    "stratified": ("#bcbd22", "s"),
    "importance": ("#1f77b4", "v"),
    "oasis": ("#9467bd", "^"),
    "ais-1": ("#ff7f0e", "D"),
    "ais-8": ("#d62728", "X"),
}
"""Colour and marker of each method."""

COMPARED = ("ais-8", "importance", "passive")
"""Methods whose curves are drawn."""


def draw(runs: study.Runs, folder: Path) -> None:
    """Write all plots."""
    for measure in dict.fromkeys(key[1] for key in runs):
        figure_files.save(_convergence(runs, measure), folder / f"convergence-{measure}.svg")
    for pool in dict.fromkeys(key[0] for key in runs):
        found = study.of(runs, pool, study.CURVE)
        chosen = [found[key] for key in COMPARED if key in found and len(found[key].curves)]
        if chosen:
            figure_files.save(_curves(pool, chosen), folder / f"curves-{pool}.png")


def _convergence(runs: study.Runs, measure: str) -> Figure:
    """Draw KL divergence above mean squared error, a column for each pool."""
    pools = sorted({key[0] for key in runs})
    figure = figure_files.new(3.0 * len(pools), 4.6)
    axes = figure.subplots(2, len(pools), sharex=True, squeeze=False, height_ratios=(2, 3))
    budgets = np.array(study.PLAN.budgets)
    for column, pool in enumerate(pools):
        upper, lower = axes[:, column]
        upper.set_title(pool)
        for key, run in study.of(runs, pool, measure).items():
            places = range(len(budgets))
            _band(lower, budgets, [run.error(place) for place in places], key)
            distances = [run.distance(place) for place in places]
            if None not in distances:
                _band(upper, budgets, distances, key)
        lower.set(xscale="log", yscale="log", xlabel="labels")
        lower.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        lower.minorticks_off()
        upper.set_ylim(bottom=0)
    axes[0, 0].set_ylabel("KL divergence (nats)")
    axes[1, 0].set_ylabel(f"MSE of {measure}")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def _band(axes: Any, budgets: np.ndarray, bands: Sequence[Any], key: str) -> None:
    """Draw means by budget, with their bands."""
    colour, marker = LOOKS[key]
    look = {"color": colour, "marker": marker, "markersize": 3, "linewidth": 1}
    axes.plot(budgets, [band.mean for band in bands], **look, label=study.METHODS[key].title)
    low, high = np.array([(band.low, band.high) for band in bands]).T
    axes.fill_between(budgets, low, high, color=colour, alpha=0.2, linewidth=0)


def _curves(pool: str, runs: Sequence[study.Run]) -> Figure:
    """Draw estimated precision-recall curves under the true one."""
    figure = figure_files.new(2.6 * len(runs), 2.5)
    panels = figure.subplots(1, len(runs), sharey=True, squeeze=False)[0]
    for axes, run in zip(panels, runs, strict=True):
        precision, recall = np.split(run.curves, 2, axis=1)
        lines = np.stack([recall, precision], axis=2)
        axes.add_collection(LineCollection(lines, colors="#333333", alpha=0.2, linewidths=0.5))
        true_precision, true_recall = np.split(run.truth, 2)
        axes.plot(true_recall, true_precision, color="#d62728", linewidth=1.5)
        axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel="recall", title=run.title)
    figure.axes[0].set_ylabel("precision")
    figure.suptitle(f"{pool}, {study.PLAN.budgets[-1]:,} labels")
    return figure
