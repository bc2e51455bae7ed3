"""Errors of the calibrated design by those of a published sampler, with bootstrap intervals."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

BETTER_OF = ("stratified", "ais")
"""Where scores say nothing or classes are balanced, the better of these is the measure."""

EVEN_POOLS = ("balanced", "useless")

RESAMPLES = 2000

FURTHEST = 1.1
"""Ratio of root mean squared errors from which on the design is the worse one."""


def ratio_rows(
    squares: Mapping[tuple[str, str], Sequence[FloatArray]], budgets: Sequence[int]
) -> Iterator[tuple[str, ...]]:
    """Yield pool, rival, labels, the ratio of root mean squared errors and its interval.

    Args:
        squares: squared errors of each pool and sampler, for each budget those of its repeats.
        budgets: labels.
    """
    for pool in dict.fromkeys(pool for pool, _ in squares):
        rivals: list[tuple[str, ...]] = [("ais",)]
        if pool in EVEN_POOLS:
            rivals.append(BETTER_OF)
        for rival in rivals:
            if not all((pool, sampler) in squares for sampler in ("calibrated", *rival)):
                continue
            name = rival[0] if len(rival) == 1 else f"the better of {' and '.join(rival)}"
            for place, budget in enumerate(budgets):
                theirs = [squares[pool, sampler][place] for sampler in rival]
                least = min(theirs, key=lambda one: float(one.mean()))
                if least.mean() > 0:
                    yield (
                        pool,
                        name,
                        str(budget),
                        *_cells(squares[pool, "calibrated"][place], least),
                    )


def _cells(ours: FloatArray, theirs: FloatArray) -> tuple[str, ...]:
    """Return the ratio and its interval."""
    rng = np.random.default_rng(1)
    drawn = [one[rng.integers(len(one), size=(RESAMPLES, len(one)))] for one in (ours, theirs)]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.sqrt(drawn[0].mean(axis=1) / drawn[1].mean(axis=1))
    low, high = np.nanquantile(ratios, [0.025, 0.975])
    return tuple(f"{one:.2f}" for one in (np.sqrt(ours.mean() / theirs.mean()), low, high))
