"""Numbers of a column as floats that are on the same side of a threshold as in the column's type.

NumPy, pandas and polars round a literal to the type of the column that it is compared with. So a
float32 of 0.7 reaches a threshold of 0.7, though as float64 it is less. Here it becomes 0.7.
"""

import decimal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.arrow import is_text
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.score_kinds import BEYOND

NO_THRESHOLDS = np.zeros(0)

_ROUNDINGS, _NEXT = 4, 1.5
"""Steps between float64 numbers, and between narrower ones, that count as one rounding."""


def in_type(kind: pa.DataType, value: float) -> float:
    """Return a number as it is compared with floats of a type: rounded to it."""
    with np.errstate(over="ignore"):
        return float(kind.to_pandas_dtype()(value))


def float64_of(column: pa.Array) -> pa.Array:
    """Return numbers as float64, each the nearest one; Arrow's own are not, of decimals."""
    is_decimal = pa.types.is_decimal(column.type)
    return (column.cast(pa.string()) if is_decimal else column).cast(pa.float64(), safe=False)


def placed(column: pa.Array, thresholds: FloatArray) -> npt.NDArray[np.floating]:
    """Return floats or decimals without nulls, shape (n,), to be compared with thresholds."""
    if pa.types.is_decimal(column.type):
        return _decimals(column, thresholds)
    values = column.to_numpy(zero_copy_only=False)
    if values.dtype == np.float64:
        return np.asarray(values)
    with np.errstate(over="ignore"):
        own = thresholds.astype(values.dtype)
    rounded = own[np.isfinite(own) & (own.astype(np.float64) != thresholds)]
    held = np.flatnonzero(np.isin(values, rounded)) if len(rounded) else rounded
    if len(held):  # Of thresholds that are one number in the type, the greatest.
        last = np.searchsorted(own, values[held], side="right") - 1
        values = values.astype(np.float64)
        values[held] = thresholds[last]
    return values.astype(np.float64) if values.dtype == np.float16 else values


def _decimals(column: pa.Array, thresholds: FloatArray) -> FloatArray:
    """Return decimals as float64, less than a threshold whose digits as written are not reached."""
    values: FloatArray = np.array(float64_of(column).to_numpy(zero_copy_only=False))
    doubtful = np.flatnonzero(np.isin(values, thresholds))
    coded = pc.dictionary_encode(column.take(pa.array(doubtful)))
    less = [value < decimal.Decimal(repr(float(value))) for value in coded.dictionary.to_pylist()]
    below = doubtful[np.array(less, dtype=bool)[coded.indices.to_numpy()]]
    values[below] = np.nextafter(values[below], -np.inf)
    return values


def finite(values: npt.NDArray[np.floating]) -> npt.NDArray[np.floating]:
    """Return scores with `BEYOND` in place of infinite ones."""
    infinite = np.isinf(values)
    if not infinite.any():
        return values
    wide = values.astype(np.float64)
    return np.where(infinite, np.copysign(BEYOND, wide), wide)


def near(values: npt.NDArray[np.floating], kind: pa.DataType, threshold: float) -> tuple[int, int]:
    """Return how many rows are within one rounding of a threshold: below it, and reaching it.

    Of float64 that is what arithmetic leaves, or a float32 that became one; those equal to the
    threshold as it is written are not among them. Of narrower floats it is what equals it once it
    is rounded, and the next value on either side.
    """
    if not (pa.types.is_floating(kind) or is_text(kind)):
        return 0, 0  # Whole numbers and decimals are exact.
    with np.errstate(over="ignore"):
        size = np.float32(abs(threshold) or 1.0)
    if not np.isfinite(size):
        return 0, 0  # No narrower float is so large.
    if pa.types.is_float64(kind) or is_text(kind):
        close = values[np.abs(values - threshold) <= np.spacing(size)]
        arithmetic = np.abs(close - threshold) <= _ROUNDINGS * np.spacing(np.float64(size))
        narrowed = close == np.float64(np.float32(threshold))
        close = close[(arithmetic | narrowed) & (close != threshold)]
    else:
        step = np.spacing(np.float64(size).astype(kind.to_pandas_dtype()))
        close = values[np.abs(values - threshold) <= _NEXT * np.float64(step)]
        close = close[(close != threshold) | (in_type(kind, threshold) != threshold)]
    below = int((close < threshold).sum())
    return below, len(close) - below
