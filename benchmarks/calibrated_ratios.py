"""Errors of the calibrated design by those of a published sampler, with bootstrap intervals."""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

BETTER_OF = ("stratified", "ais")
"""Where scores say nothing or classes are balanced, the better of these is the measure."""

EVEN_POOLS = ("balanced", "useless")

RESAMPLES = 2000

FURTHEST = 1.1
"""Ratio of root mean squared errors from which on the design is the worse one."""


def ratio_lines(
    squares: Mapping[tuple[str, str], Sequence[FloatArray]], budgets: Sequence[int]
) -> list[str]:
    """Return the section of the page.

    Args:
        squares: squared errors of each pool and sampler, for each budget those of its repeats.
        budgets: labels.
    """
    head = ["pool", "by that of", *(f"{budget:,}" for budget in budgets)]
    lines = [
        "## Beside published samplers",
        "",
        "RMSE of F1 (of four classes macro F1) by `calibrated` over that of another sampler, with",
        f"95 % bootstrap intervals over the repeats. **Bold**: above {FURTHEST}; with an asterisk,",
        "the whole interval is. *The better of* two is chosen at each number of labels, from the",
        "same repeats.",
        "",
        f"| {' | '.join(head)} |",
        f"|{' --- |' * len(head)}",
    ]
    for pool in dict.fromkeys(pool for pool, _ in squares):
        rivals: list[tuple[str, ...]] = [("ais",)]
        if pool in EVEN_POOLS:
            rivals.append(BETTER_OF)
        for rival in rivals:
            if not all((pool, sampler) in squares for sampler in ("calibrated", *rival)):
                continue
            cells = []
            for place, ours in enumerate(squares[pool, "calibrated"]):
                theirs = [squares[pool, sampler][place] for sampler in rival]
                cells.append(_cell(ours, min(theirs, key=lambda one: float(one.mean()))))
            name = rival[0] if len(rival) == 1 else f"the better of {' and '.join(rival)}"
            lines.append(f"| {pool} | {name} | {' | '.join(cells)} |")
    return [*lines, ""]


def _cell(ours: FloatArray, theirs: FloatArray) -> str:
    """Return the ratio and its interval; a dash if the other has no errors."""
    if theirs.mean() == 0:
        return "-"
    rng = np.random.default_rng(1)
    drawn = [one[rng.integers(len(one), size=(RESAMPLES, len(one)))] for one in (ours, theirs)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.sqrt(drawn[0].mean(axis=1) / drawn[1].mean(axis=1))
    low, high = np.nanquantile(ratios, [0.025, 0.975])
    ratio = float(np.sqrt(ours.mean() / theirs.mean()))
    text = f"{ratio:.2f} ({low:.2f}, {high:.2f})"
    if ratio <= FURTHEST:
        return text
    return f"**{text}**{'*' if low > FURTHEST else ''}"
