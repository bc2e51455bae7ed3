"""The plot of the coverage study: what intervals cover on each pool."""

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from coverage_report import HEADERS
from coverage_runs import INTERVALS
from figure_files import STYLE, save
from matplotlib.figure import Figure

COLOURS = dict(zip(INTERVALS, ("#d62728", "#1f77b4"), strict=True))

OFTEN = 0.5
"""Share of the runs that claim from which on a setting is drawn: others say little."""


def draw(rows: Sequence[Sequence[str]], path: Path) -> None:
    """Write a plot of coverage, a line from the 5th to the 95th percentile of a pool's settings.

    Args:
        rows: of the table of settings.
        path: of the file.
    """
    place = {name: HEADERS["settings"].index(name) for name in HEADERS["settings"]}
    covers: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        if float(row[place["claims"]]) >= OFTEN:
            key = row[place["pool"]], row[place["interval"]]
            covers.setdefault(key, []).append(float(row[place["coverage"]]))
    pools = sorted({pool for pool, _ in covers})
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(6.5, 0.6 + 0.22 * len(pools)), layout="constrained")
        axes = figure.subplots()
        for (pool, interval), found in sorted(covers.items()):
            low, middle, high = np.quantile(found, [0.05, 0.5, 0.95])
            height = pools.index(pool) + (0.17 if interval == INTERVALS[1] else -0.17)
            colour = COLOURS[interval]
            axes.plot([low, high], [height, height], color=colour, linewidth=1.5)
            axes.plot([middle], [height], color=colour, marker="o", markersize=3)
        axes.axvline(0.95, color="black", linewidth=0.5, linestyle="dotted")
        axes.set_yticks(range(len(pools)), pools)
        axes.invert_yaxis()
        axes.set(xlabel="coverage: median and nine in ten of the settings in which most runs claim")
        for interval, colour in COLOURS.items():
            axes.plot([], [], color=colour, marker="o", markersize=3, label=interval)
        axes.legend(loc="lower left", frameon=False)
        path.parent.mkdir(parents=True, exist_ok=True)
        save(figure, path)
