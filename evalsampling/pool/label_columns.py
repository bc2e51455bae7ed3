"""Columns of a pool as label spaces read them: places among values, sets of labels, numbers."""

import dataclasses
import reprlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.arrays import FloatArray, IntArray
from evalsampling.errors import InputError
from evalsampling.label_spaces.sets import labels_of_text
from evalsampling.pool.batch import PoolBatch, whole_number_texts


@dataclasses.dataclass(frozen=True)
class LabelColumns:
    """The columns of a batch, as `label_spaces.base.Columns` describes them.

    Attributes:
        batch: the rows.
    """

    batch: PoolBatch

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.batch)

    def __contains__(self, name: str) -> bool:
        """Tell whether there is a column of a name."""
        return name in self.batch.rows.schema.names

    def values(self, name: str) -> list[Any]:
        """Return a column without nulls as Python values."""
        values: list[Any] = self.batch.column(name).to_pylist()
        return values

    def numbers(self, name: str) -> npt.NDArray[np.floating]:
        """Return a column of finite numbers, shape (n,)."""
        return self.batch.numbers(name)

    def shares(self, name: str) -> FloatArray:
        """Return a column of numbers in [0, 1], shape (n,)."""
        values = self.batch.numbers(name).astype(np.float64, copy=False)
        wrong = (values < 0) | (values > 1)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise self.error(name, row, f"a probability lies in [0, 1], got {values[row]}")
        return values

    def flags(self, name: str) -> IntArray:
        """Return a column of 0 and 1, or of truth values, shape (n,)."""
        return _flags(self.batch, name)

    def places(self, name: str, among: Sequence[int | str]) -> npt.NDArray[np.integer]:
        """Return the place of each value among some values, shape (n,), as narrow as stored."""
        return _places(self.batch, name, tuple(among))

    def bits(self, name: str, among: Sequence[str]) -> IntArray:
        """Return a number for each set of labels, shape (n,): bit c is set if it has label c.

        Args:
            name: column of lists of labels, or of text as `sets.set_text` makes it.
            among: the labels.

        Raises:
            InputError: naming file, column and row of the first bad value.
        """
        column = self.batch.column(name)
        if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
            return _codes_of_lists(self.batch, name, column, among)
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return _codes_of_texts(self.batch, name, column, among)
        raise self.error(name, 0, f"must be a list of labels, got type {column.type}")

    def error(self, column: str, row: int, problem: str) -> InputError:
        """Return the error of one value, ``row`` being its place in these rows."""
        return self.batch.error(column, row, problem)


def _places(batch: PoolBatch, name: str, classes: tuple[int | str, ...]) -> npt.NDArray[np.integer]:
    """Return the place of each value among the classes, shape (n,), as narrow as stored.

    Raises:
        InputError: naming file, column and row of the first bad value.
    """
    column = batch.column(name)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    elif pa.types.is_floating(column.type):
        column = whole_numbers(column)
    whole, untyped = all(isinstance(value, int) for value in classes), batch.holds_text(column)
    numeric = whole and not untyped
    if numeric and pa.types.is_integer(column.type):
        values = column.to_numpy()
        if classes == tuple(range(len(classes))) and _all_below(values, len(classes)):
            return values
        beyond = values > np.iinfo(np.int64).max
        if beyond.any():
            row = int(np.argmax(beyond))
            raise batch.error(name, row, f"{values[row]} is none of {[*classes]}")
        column = column.cast(pa.int64())
    elif numeric and pa.types.is_floating(column.type):
        row = first_fraction(column)
        raise batch.error(name, row, f"{column[row].as_py()} is none of {[*classes]}")
    elif numeric or not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        words = f"type {column.type} holds none of the classes {[*classes]}"
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            words += ": labels.classes names others, labels.positive the positive one"
        raise batch.error(name, 0, words)
    known = pa.array([value if numeric else str(value) for value in classes], type=column.type)
    codes = pc.index_in(column, value_set=known)
    if codes.null_count and whole and untyped:
        codes = pc.index_in(whole_number_texts(column), value_set=known)
    if codes.null_count:
        row = pc.index(codes.is_null(), True).as_py()
        shown = reprlib.repr(column[row].as_py())
        raise batch.error(name, row, f"{shown} is none of {[*classes]}")
    return codes.to_numpy().astype(np.int64)


def whole_numbers(column: pa.Array) -> pa.Array:
    """Return floats as whole numbers if all are, as those of a column that had nulls once."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def first_fraction(column: pa.Array) -> int:
    """Return the row of the first float, not null, that is no whole number of 64 bits."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = (values == np.trunc(values)) & (np.abs(values) < 2.0**63)
    return int(np.argmax(~whole & column.is_valid().to_numpy(zero_copy_only=False)))


def _all_below(values: npt.NDArray[np.integer], end: int) -> bool:
    """Tell whether whole numbers lie in [0, end)."""
    return not len(values) or (int(values.min()) >= 0 and int(values.max()) < end)


def _flags(batch: PoolBatch, name: str) -> IntArray:
    """Return a column of 0 and 1, shape (n,)."""
    column = batch.column(name)
    if pa.types.is_boolean(column.type):
        return column.cast(pa.int8()).to_numpy().astype(np.int64)
    if batch.holds_text(column):
        held = pc.index_in(whole_number_texts(column), value_set=pa.array(["0", "1"]))
        if not held.null_count:
            return held.to_numpy().astype(np.int64)
    values = batch.numbers(name)
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise batch.error(name, row, f"a label is there or not, 1 or 0, got {values[row]:g}")
    return values.astype(np.int64)


def _codes_of_lists(
    batch: PoolBatch, name: str, column: pa.Array, known: Sequence[str]
) -> IntArray:
    row = pc.list_parent_indices(column).to_numpy()
    label = pc.list_flatten(column)
    if pa.types.is_dictionary(label.type):
        label = label.dictionary_decode()
    if not (pa.types.is_string(label.type) or pa.types.is_large_string(label.type)):
        if not len(label):
            return np.zeros(len(column), dtype=np.int64)
        raise batch.error(name, int(row[0]), f"labels are text, got type {label.type}")
    place = pc.index_in(label, value_set=pa.array(known, type=label.type))
    if place.null_count:
        first = pc.index(place.is_null(), True).as_py()
        shown = reprlib.repr(label[first].as_py())
        raise batch.error(name, int(row[first]), f"{shown} is none of {[*known]}")
    codes = np.zeros(len(column), dtype=np.int64)
    np.bitwise_or.at(codes, row, 1 << place.to_numpy().astype(np.int64))
    return codes


def _codes_of_texts(
    batch: PoolBatch, name: str, column: pa.Array, known: Sequence[str]
) -> IntArray:
    coded = pc.dictionary_encode(column)
    place = {label: bit for bit, label in enumerate(known)}
    codes = []
    for text in coded.dictionary.to_pylist():
        labels = labels_of_text(text)
        if not {*labels} <= {*known}:
            row = pc.index(column, pa.scalar(text, column.type)).as_py()
            raise batch.error(name, row, f"{reprlib.repr(text)} is no set of {[*known]}")
        codes.append(sum(1 << place[label] for label in {*labels}))
    return np.array(codes, dtype=np.int64)[coded.indices.to_numpy()]
