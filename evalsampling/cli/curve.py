"""`evalsampling curve`."""

import argparse

import numpy as np

from evalsampling.cli.command import Command
from evalsampling.commands.curve import Bounds, CurveOptions, CurveResult, curve

_MOST_POINTS = 12
"""Most points that are printed unless ranks are asked for; `--json` has them all."""

_SHOWN = ("precision", "recall", "f1")


def _text(arguments: argparse.Namespace, result: CurveResult) -> str:
    points = result.points
    if not arguments.at and len(points) > _MOST_POINTS:
        ranks = np.log([point.rank for point in points])
        even = np.linspace(ranks[0], ranks[-1], _MOST_POINTS)
        points = tuple(points[i] for i in np.unique(np.searchsorted(ranks, even - 1e-9)))
    head = "".join(f"{name:>26}" for name in _SHOWN)
    guarantee = result.guarantee
    warnings = [f"warning: {warning}" for warning in guarantee.warnings]
    lines = [guarantee.words, *warnings, f"{'rank':>12}{'threshold':>12}{head}"]
    for point in points:
        cells = "".join(f"{_shown(point.measures[name]):>26}" for name in _SHOWN)
        lines.append(f"{point.rank:>12,}{point.threshold:>12.5g}{cells}")
    return "\n".join([*lines, f"average precision {_shown(result.average_precision)}"])


def _shown(bounds: Bounds) -> str:
    return f"{bounds.value:.4f} ({bounds.low:.4f}-{bounds.high:.4f})"


COMMAND = Command.of(CurveOptions, curve, _text)
