"""Plots of the calibrated design's study: errors, and coverage of the model-based interval."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from figure_files import STYLE, save
from matplotlib.axes import Axes
from matplotlib.figure import Figure

COLOURS = {
    "calibrated": "#d62728",
    "ais": "#1f77b4",
    "importance": "#ff7f0e",
    "oasis": "#9467bd",
    "stratified": "#888888",
}
COLUMNS = 4

Values = Mapping[tuple[str, str], Sequence[float]]
"""A number at each budget, nan where there is none, by pool and sampler."""


def draw_errors(values: Values, budgets: Sequence[int], path: Path) -> None:
    """Write a plot of root mean squared errors by labels, a panel for each pool."""

    def finish(axes: Axes) -> None:
        axes.set_yscale("log")

    _draw(values, budgets, path, finish)


def draw_coverage(values: Values, budgets: Sequence[int], path: Path) -> None:
    """Write a plot of coverage by labels, a panel for each pool, with a line at 95 %."""

    def finish(axes: Axes) -> None:
        axes.axhline(0.95, color="black", linewidth=0.5, linestyle="dotted")
        axes.set_ylim(0.8, 1.005)

    _draw(values, budgets, path, finish)


def _draw(
    values: Values, budgets: Sequence[int], path: Path, finish: Callable[[Axes], None]
) -> None:
    pools = sorted({pool for pool, _ in values})
    with mpl.rc_context(STYLE):
        rows = -(-len(pools) // COLUMNS)
        figure = Figure(figsize=(2.4 * COLUMNS, 1.9 * rows), layout="constrained")
        panels = figure.subplots(rows, COLUMNS, squeeze=False).ravel()
        for panel, pool in zip(panels, pools, strict=False):
            panel.set_title(pool)
            for sampler, colour in COLOURS.items():
                if (pool, sampler) in values:
                    look = {"color": colour, "marker": "o", "markersize": 2.5, "linewidth": 1}
                    panel.plot(budgets, values[pool, sampler], label=sampler, **look)
            panel.set_xscale("log")
            panel.set_xticks(budgets, [f"{b:,}" for b in budgets], rotation=45)
            panel.minorticks_off()
            finish(panel)
        for panel in panels[len(pools) :]:
            panel.set_axis_off()
        handles, names = panels[0].get_legend_handles_labels()
        figure.legend(handles, names, loc="lower right", ncols=1, frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        save(figure, path)
