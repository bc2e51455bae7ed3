"""What the results of the study say: errors with bootstrap bands, intervals, comparisons."""

import dataclasses
import functools
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from study_runs import MEASURES, METHODS, Method, Settings, read_settings

FloatArray = npt.NDArray[np.float64]

RESAMPLES = 2000
"""Bootstrap samples of the repeats behind each band."""

_BAND = (2.5, 97.5)

_ROUNDING = 1e-9
"""What an interval without width may differ by from a truth summed in another order."""

NO_RULE = "wald, always"
"""Wald's interval where it is given however few rows carry the estimate: the textbook's."""


@dataclasses.dataclass(frozen=True)
class Band:
    """A mean over the repeats with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Intervals:
    """How intervals of one method did in one setting."""

    coverage: float
    width: float
    score: float


@dataclasses.dataclass(frozen=True)
class Run:
    """The repeats of one method on one pool for one measure.

    Attributes:
        pool: its name.
        measure: that drove the sampling.
        method: of sampling.
        truth: shape (components,).
        errors: shape (repeats, budgets): squared, summed over the components.
        draws: shape (repeats, budgets).
        undefined: shape (repeats, budgets): components counted as 0.
        divergence: shape (repeats, budgets): NaN where there is none.
        ends: by method of interval, shape (repeats, budgets, 2), NaN where there is no such one;
            "default" is the first interval.
        claims: shape (repeats, budgets): whether the default is not the whole range.
        curves: shape (repeats, components), of some repeats at the largest budget.
    """

    pool: str
    measure: str
    method: Method
    truth: FloatArray
    errors: FloatArray
    draws: FloatArray
    undefined: FloatArray
    divergence: FloatArray
    ends: dict[str, FloatArray]
    claims: npt.NDArray[np.bool_]
    curves: FloatArray

    @property
    def repeats(self) -> int:
        """Number of repeats."""
        return len(self.errors)

    @functools.cached_property
    def resampled(self) -> FloatArray:
        """Mean squared errors of bootstrap samples, shape (resamples, budgets).

        Repeat i has the same seed in every run, and is resampled alike in all of as many repeats.
        """
        chosen = _choices(self.repeats)
        return np.stack([column[chosen].mean(axis=1) for column in self.errors.T], axis=1)

    def error(self, budget: int) -> Band:
        """Return the mean squared error at a budget, given by its place."""
        low, high = np.percentile(self.resampled[:, budget], _BAND)
        return Band(float(self.errors[:, budget].mean()), float(low), float(high))

    def distance(self, budget: int) -> Band | None:
        """Return the mean KL divergence at a budget, None if there is none."""
        values = self.divergence[:, budget]
        if not np.isfinite(values).all():
            return None
        low, high = np.percentile(values[_choices(len(values))].mean(axis=1), _BAND)
        return Band(float(values.mean()), float(low), float(high))

    def ratio(self, other: "Run", budget: int) -> Band:
        """Return the mean squared error over that of another run."""
        low, high = np.percentile(
            self.resampled[:, budget] / np.maximum(other.resampled[:, budget], 1e-300), _BAND
        )
        mean = self.errors[:, budget].mean() / max(other.errors[:, budget].mean(), 1e-300)
        return Band(float(mean), float(low), float(high))

    @property
    def interval_methods(self) -> list[str]:
        """Methods of intervals there are."""
        return [name for name in INTERVALS if name in self.ends]

    def intervals(
        self, name: str, budget: int, confidence: float, claimed: bool = False
    ) -> Intervals:
        """Sum up intervals of one method at a budget.

        Where the default claims nothing, no method does, but for `NO_RULE`; where a method has no
        interval, the default stands in.

        Args:
            name: of the method.
            budget: its place.
            confidence: level of the intervals.
            claimed: whether to leave out repeats in which the default claims nothing.
        """
        default = self.ends["default"][:, budget]
        own = self.ends["wald" if name == NO_RULE else name][:, budget]
        there = ~np.isnan(own[:, 0])
        if name != NO_RULE:
            there &= self.claims[:, budget]
        chosen = np.where(there[:, None], own, default)
        low, high = (chosen[self.claims[:, budget]] if claimed else chosen).T
        true = float(self.truth[0])
        missed = np.maximum(low - true, 0) + np.maximum(true - high, 0)
        return Intervals(
            coverage=float(np.mean(missed <= _ROUNDING)),
            width=float(np.median(high - low)),
            score=float(np.mean(high - low + 2 / (1 - confidence) * missed)),
        )


INTERVALS = ("korn-graubard", "logit", "wilson", "student", "wald", "wald-latest-proposal")
"""Methods of intervals that are compared."""


@functools.cache
def _choices(repeats: int) -> npt.NDArray[np.int64]:
    return np.random.Generator(np.random.PCG64(1)).integers(repeats, size=(RESAMPLES, repeats))


@dataclasses.dataclass(frozen=True)
class Study:
    """All results.

    Attributes:
        settings: of all runs.
        runs: by pool, measure and key of the method.
        rows: of each pool.
        positives: of each pool.
    """

    settings: Settings
    runs: dict[tuple[str, str, str], Run]
    rows: dict[str, int]
    positives: dict[str, int]

    @classmethod
    def read(cls, results: Path) -> "Study":
        """Read what there is."""
        settings = read_settings(results)
        runs, rows, positives = {}, {}, {}
        for path in sorted(results.glob("*/*/truth.json")):
            pool, measure = path.parts[-3:-1]
            told = json.loads(path.read_text(encoding="utf-8"))
            rows[pool], positives[pool] = told["rows"], told["positives"]
            for method in METHODS:
                files = sorted((path.parent / method.key).glob("*.parquet"))
                if files and measure in MEASURES:
                    table = pa.concat_tables(pq.read_table(file) for file in files)
                    truth = np.array(told["value"])
                    key = (pool, measure, method.key)
                    runs[key] = _run(pool, measure, method, truth, table, settings.budgets)
        return cls(settings, runs, rows, positives)

    @property
    def pools(self) -> list[str]:
        """Names of the pools."""
        return sorted({pool for pool, _, _ in self.runs})

    @property
    def measures(self) -> list[str]:
        """Names of the measures."""
        there = {measure for _, measure, _ in self.runs}
        return [measure for measure in MEASURES if measure in there]

    def of(self, pool: str, measure: str) -> dict[str, Run]:
        """Return the runs of a pool and measure by the key of their method, in the usual order."""
        keys = [(pool, measure, method.key) for method in METHODS]
        return {key[2]: self.runs[key] for key in keys if key in self.runs}


def _run(
    pool: str,
    measure: str,
    method: Method,
    truth: FloatArray,
    table: pa.Table,
    budgets: Sequence[int],
) -> Run:
    order = [("repeat", "ascending"), ("budget", "ascending")]
    table = table.sort_by(order)
    repeats = len(table) // len(budgets)

    def column(name: str) -> FloatArray:
        values = table[name].to_numpy(zero_copy_only=False).astype(np.float64)
        return values.reshape(repeats, len(budgets))

    found = table["intervals"].to_pylist()
    ends: dict[str, FloatArray] = {}
    for i, intervals in enumerate(found):
        for place, one in enumerate(intervals or ()):
            for name in (one["method"], *(("default",) if not place else ())):
                blank = np.full((repeats * len(budgets), 2), np.nan)
                ends.setdefault(name, blank)[i] = one["low"], one["high"]
    claims = np.array([bool(value) for value in table["claims"].to_pylist()])
    curves = [curve for curve in table["curve"].to_pylist() if curve is not None]
    return Run(
        pool=pool,
        measure=measure,
        method=method,
        truth=truth,
        errors=column("squared_error"),
        draws=column("draws"),
        undefined=column("undefined"),
        divergence=column("divergence"),
        ends={name: value.reshape(repeats, len(budgets), 2) for name, value in ends.items()},
        claims=claims.reshape(repeats, len(budgets)),
        curves=np.array(curves, dtype=np.float64).reshape(len(curves), len(truth)),
    )
