"""How plots of studies look, and their files: the same data make the same file."""

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

mpl.rcParams.update(
    {
        "font.size": 8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "svg.fonttype": "none",
        "svg.hashsalt": "study",
    }
)


def new(width: float, height: float) -> Figure:
    """Return an empty figure, its size in inches."""
    return Figure(figsize=(width, height), layout="constrained")


def save(figure: Figure, path: Path) -> None:
    """Write a plot, as SVG or PNG, without the time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".svg":
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        return
    figure.savefig(path, dpi=110, metadata={"Software": None})
