"""Columns of a pool as label spaces read them: places among values, sets of labels, numbers."""

import reprlib
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.label_spaces.sets import labels_of_text, shortened
from evalsampling.label_spaces.spellings import yes_and_no
from evalsampling.pool.arrow import is_list, is_number, is_text, plain
from evalsampling.pool.batch import PoolBatch, whole_number_texts
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.score_kinds import ROUNDING, cut_to_probabilities


class LabelColumns(PoolBatch):
    """The columns of a batch, as `label_spaces.base.Columns` describes them."""

    @classmethod
    def of(cls, batch: PoolBatch) -> Self:
        """Return the columns of a batch."""
        return cls(batch.rows, batch.path, batch.first_row, batch.item, batch.kept)

    def __contains__(self, name: str) -> bool:
        """Tell whether there is a column of a name."""
        return self.has(name)

    def distinct(self, name: str) -> tuple[list[Any], IntArray]:
        """Return the distinct values of a column, and the place among them of each row's."""
        coded = pc.dictionary_encode(self.column(name))
        return coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64)

    def shares(self, name: str) -> FloatArray:
        """Return a column of numbers in [0, 1], shape (n,); what rounding put outside is cut."""
        values = self.numbers(name).astype(np.float64, copy=False)
        wrong = (values < -ROUNDING) | (values > 1 + ROUNDING)
        self.refuse(name, wrong, lambda row: f"a probability lies in [0, 1], got {values[row]}")
        return cut_to_probabilities(values)

    def flags(self, name: str) -> IntArray:
        """Return a column of 0 and 1, or of truth values, shape (n,)."""
        column = self.column(name)
        if pa.types.is_boolean(column.type):
            return column.cast(pa.int8()).to_numpy().astype(np.int64)
        if is_text(column.type):
            held = pc.index_in(whole_number_texts(column), value_set=pa.array(["0", "1"]))
            if not held.null_count:
                return held.to_numpy().astype(np.int64)
        values = self.numbers(name)
        self.refuse(
            name,
            (values != 0) & (values != 1),
            lambda row: f"a label is there or not, 1 or 0, got {values[row]:g}",
        )
        return values.astype(np.int64)

    def places(self, name: str, among: Sequence[int | str]) -> npt.NDArray[np.integer]:
        """Return the place of each value among some values, shape (n,), as narrow as stored."""
        classes = tuple(among)
        column = self.any_column(name)
        if column.null_count:
            way = f"give it one of {[*classes]}, or leave it out by pool.where: {name} IS NOT NULL"
            raise self.error(name, pc.index(column.is_null(), True).as_py(), f"null: {way}")
        whole = all(isinstance(value, int) for value in classes)
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8() if whole else pa.string())
        elif is_number(column.type):
            column = whole_numbers(column)
        text = is_text(column.type)
        numeric = whole and not text
        if numeric and pa.types.is_integer(column.type):
            values = column.to_numpy()
            low, high = (int(values.min()), int(values.max())) if len(values) else (0, -1)
            if classes == tuple(range(len(classes))) and low >= 0 and high < len(classes):
                return values
            beyond = values > np.iinfo(np.int64).max
            self.refuse(name, beyond, lambda row: f"{values[row]} is none of {[*classes]}")
            column = column.cast(pa.int64())
        elif numeric and is_number(column.type):
            row = first_fraction(column)
            raise self.error(name, row, f"{column[row].as_py()} is none of {[*classes]}")
        elif not text:
            raise self.error(name, 0, f"type {column.type} holds none of the classes {[*classes]}")
        listed = pa.array([v if numeric else str(v) for v in classes], type=column.type)
        codes = pc.index_in(column, value_set=listed)
        if codes.null_count and whole and text:
            codes = pc.index_in(whole_number_texts(column), value_set=listed)
        said = _said_in_words(column, classes) if codes.null_count else None
        codes = codes if said is None else pc.coalesce(codes, said)
        if codes.null_count == len(codes) > 0 and whole and text and not self.holds_text(column):
            words = f"type {column.type} holds none of the classes {[*classes]}"
            words += ": labels.classes names others, labels.positive the positive one"
            raise self.error(name, 0, words)
        if codes.null_count:
            row = pc.index(codes.is_null(), True).as_py()
            shown = reprlib.repr(column[row].as_py())
            raise self.error(name, row, f"{shown} is none of {[*classes]}")
        return np.asarray(codes.to_numpy().astype(np.int64))

    def tags(self, name: str, among: Sequence[str]) -> BoolArray:
        """Return which labels each row has, shape (n, labels)."""
        column = self.column(name)
        if is_list(column.type):
            return self._of_lists(name, column, among)
        if is_text(column.type):
            return self._of_texts(name, column, among)
        raise self.error(name, 0, f"must be a list of labels, got type {column.type}")

    def _of_lists(self, name: str, column: pa.Array, among: Sequence[str]) -> BoolArray:
        held = np.zeros((len(column), len(among)), dtype=np.bool_)
        row = pc.list_parent_indices(column).to_numpy()
        label = plain(pc.list_flatten(column))
        if not is_text(label.type):
            if not len(label):
                return held
            raise self.error(name, int(row[0]), f"labels are text, got type {label.type}")
        place = pc.index_in(label, value_set=pa.array(among, type=label.type))
        if place.null_count:
            first = pc.index(place.is_null(), True).as_py()
            shown = reprlib.repr(label[first].as_py())
            raise self.error(name, int(row[first]), f"{shown} is none of {shortened(among)}")
        held[row, place.to_numpy()] = True
        return held

    def _of_texts(self, name: str, column: pa.Array, among: Sequence[str]) -> BoolArray:
        coded = pc.dictionary_encode(column)
        place = {label: number for number, label in enumerate(among)}
        held = np.zeros((len(coded.dictionary), len(among)), dtype=np.bool_)
        for number, text in enumerate(coded.dictionary.to_pylist()):
            labels = labels_of_text(text)
            if not {*labels} <= place.keys():
                row = pc.index(column, pa.scalar(text, column.type)).as_py()
                shown = f"{reprlib.repr(text)} is no set of {shortened(among)}"
                raise self.error(name, row, shown)
            held[number, [place[label] for label in labels]] = True
        return held[coded.indices.to_numpy()]


def _said_in_words(column: pa.Array, classes: Sequence[int | str]) -> pa.Array | None:
    """Return the class codes of words like yes and no, null where a text is no such word.

    None if classes or column are not of that kind.
    """
    texts = [str(value) for value in classes]
    words = yes_and_no(texts)
    if not words or not is_text(column.type):
        return None
    word = pc.utf8_lower(pc.utf8_trim_whitespace(column.cast(pa.large_string())))
    place = pc.index_in(word, value_set=pa.array(list(words), pa.large_string()))
    return pa.array([texts.index(name) for name in words.values()], pa.int32()).take(place)


def whole_numbers(column: pa.Array) -> pa.Array:
    """Return numbers as whole ones if all are, as those of a column that had nulls once."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def first_fraction(column: pa.Array) -> int:
    """Return the row of the first number, not null, that is no whole number of 64 bits."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = (values == np.trunc(values)) & (np.abs(values) < 2.0**63)
    return int(np.argmax(~whole & column.is_valid().to_numpy(zero_copy_only=False)))
