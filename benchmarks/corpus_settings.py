"""What runs on pools say of a measure at a budget: errors, coverage, interval score."""

import csv
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import trials

FloatArray = npt.NDArray[np.float64]

LEAST_RMSE = 0.005
"""Smaller errors count as this one: ratios of errors next to nothing say nothing."""

NO_VALUE = 0.5
"""Error of an estimate without a value."""

LOW_COVERAGE = 0.85
"""Settings are listed whose coverage is below this by two standard errors."""

ROUNDING = 1e-9

NUMBERS = ("truth", "score", "coverage", "claims", "warned", "width")
"""Columns of a baseline between pool, measure and budget and the errors of the runs."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """What runs on one pool say of one measure at one budget.

    Score, width and coverage are of the default interval at the level .95, the last among claims;
    claims, warned and beyond are shares of the runs. An estimate without a value errs by
    `NO_VALUE`.
    """

    truth: float
    score: float
    coverage: float
    claims: float
    warned: float
    width: float
    errors: FloatArray
    beyond: float = np.nan

    @property
    def runs(self) -> int:
        """How many there are."""
        return len(self.errors)

    @property
    def rmse(self) -> float:
        """Root mean squared error."""
        return float(np.sqrt(np.mean(self.errors**2)))

    @property
    def log_rmse_variance(self) -> float:
        """Variance of log `rmse` by the delta method; 0 below `LEAST_RMSE`, or of one run."""
        if self.rmse <= LEAST_RMSE or self.runs < 2:
            return 0.0
        square = self.errors**2
        return float(square.var(ddof=1) / self.runs / (2 * square.mean()) ** 2)

    @classmethod
    def of_runs(cls, runs: Mapping[str, npt.NDArray[np.generic]]) -> "Setting":
        """Sum up the rows of a setting, columns as in `corpus.SCHEMA`."""
        order = np.argsort(runs["repeat"])
        runs = {name: values[order] for name, values in runs.items()}
        truth, low, high = (runs[name].astype(np.float64) for name in ("truth", "low", "high"))
        value = runs["value"].astype(np.float64)
        error = np.where(np.isnan(value), NO_VALUE, value - truth)
        missed = np.maximum(low - truth, 0) + np.maximum(truth - high, 0)
        missed[missed < ROUNDING] = 0
        claims = runs["claims"].astype(bool)
        return cls(
            float(truth[0]),
            float(np.mean(high - low + 40 * missed)),
            float(np.mean(missed[claims] == 0)) if claims.any() else np.nan,
            float(claims.mean()),
            float(runs["warned"].astype(bool).mean()),
            float(np.mean(high - low)),
            error,
            float(runs["beyond"].astype(bool).mean()),
        )

    @property
    def is_low(self) -> bool:
        """Whether coverage is below `LOW_COVERAGE` by two standard errors, without a warning."""
        if np.isnan(self.coverage) or self.warned > 0.5:
            return False
        error = np.sqrt(LOW_COVERAGE * (1 - LOW_COVERAGE) / max(self.runs * self.claims, 1))
        return bool(self.coverage < LOW_COVERAGE - 2 * error)


Key = tuple[str, str, int]
"""Pool, measure, budget."""


def settings(results: Path, sampler: str, names: Sequence[str] = ()) -> dict[Key, Setting]:
    """Return what the runs of a sampler say, by pool, measure and budget; of all pools if empty."""
    found = {}
    for pool in names or sorted(path.name for path in results.glob("runs/*")):
        if (table := trials.read(results, pool, sampler)) is None:
            continue
        runs = trials.columns(table)
        for measure in dict.fromkeys(runs["measure"]):
            for budget in dict.fromkeys(runs["budget"].tolist()):
                chosen = (runs["measure"] == measure) & (runs["budget"] == budget)
                if not np.isnan(runs["truth"][chosen]).any():
                    of_setting = {name: values[chosen] for name, values in runs.items()}
                    found[pool, str(measure), budget] = Setting.of_runs(of_setting)
    return found


def read_baseline(path: Path) -> dict[Key, Setting]:
    """Return the settings that were kept."""
    with path.open(encoding="utf-8", newline="") as file:
        return {
            (row["pool"], row["measure"], int(row["budget"])): Setting(
                *(float(row[name]) for name in NUMBERS), np.array(row["errors"].split(), float)
            )
            for row in csv.DictReader(file)
        }
