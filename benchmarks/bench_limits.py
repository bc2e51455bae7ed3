"""Limits of the ratios that `bench.py` measures: they only ever tighten.

`bench_limits.json` has the most that each ratio was once held to. A new limit is the ratio measured
with a margin for noise, and is taken only where it is below the one before.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path

FILE = Path(__file__).with_name("bench_limits.json")

MARGIN = 1.15
"""A new limit, by the ratio measured: so much medians differ from run to run on a busy machine."""

TOO_SLOW = 1.4
"""A ratio that is more than so many times its limit is too slow."""


def read() -> dict[str, float]:
    """Return the limit of each ratio."""
    limits: dict[str, float] = json.loads(FILE.read_text())
    return limits


def write(limits: Mapping[str, float]) -> None:
    """Store the limit of each ratio."""
    FILE.write_text(json.dumps(dict(limits), indent=1) + "\n")


def tightened(limits: Mapping[str, float], ratios: Mapping[str, float]) -> dict[str, float]:
    """Return limits of which none is above what it was.

    A ratio without a limit gets one; the limit of a ratio that was not measured stays.

    Args:
        limits: as they are, above 0.
        ratios: as measured, above 0.
    """
    wanted = {name: _rounded_up(MARGIN * ratio) for name, ratio in ratios.items()}
    return {**wanted, **{name: min(one, wanted.get(name, one)) for name, one in limits.items()}}


def _rounded_up(number: float) -> float:
    """Return a number with three digits, not below itself."""
    unit = 10.0 ** (math.floor(math.log10(number)) - 2)
    return float(f"{math.ceil(number / unit) * unit:.6g}")


def too_slow(limits: Mapping[str, float], ratios: Mapping[str, float]) -> list[str]:
    """Return the names of the ratios that are too slow; one without a limit is not."""
    return [name for name, ratio in ratios.items() if ratio > TOO_SLOW * limits.get(name, math.inf)]
