"""How plots of studies look, and their files: the same data make the same file."""

from pathlib import Path

from matplotlib.figure import Figure

STYLE = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "study",
}


def save(figure: Figure, path: Path) -> None:
    """Write a plot, as SVG or PNG, without the time."""
    if path.suffix == ".svg":
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        return
    figure.savefig(path, dpi=110, metadata={"Software": None})
