"""Sets of labels in the columns of a pool: lists, text, or a column of 0 and 1 for each label."""

import reprlib
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.arrays import FloatArray, IntArray
from evalsampling.pool.batch import PoolBatch, whole_number_texts
from evalsampling.spec.label_sets import labels_of_text, set_classes, set_text


def read_label_sets(
    batch: PoolBatch, name: str | None, by_label: Mapping[str, str], labels: Sequence[str]
) -> IntArray:
    """Return the codes of the sets of labels of rows, shape (n,): a bit for each label.

    Args:
        batch: the rows.
        name: column of lists of labels, or of text as `spec.label_sets.set_text` makes it; None if
            there is a column for each label.
        by_label: column of 0 and 1, or of truth values, of each label.
        labels: the labels.

    Raises:
        InputError: naming file, column and row of the first bad value.
    """
    if name is None:
        bits = [_flags(batch, column) << place for place, column in enumerate(by_label.values())]
        return np.sum(bits, axis=0, dtype=np.int64)
    column = batch.column(name)
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return _codes_of_lists(batch, name, column, labels)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return _codes_of_texts(batch, name, column, labels)
    raise batch.error(name, 0, f"must be a list of labels, got type {column.type}")


def probabilities_of_sets(single: FloatArray) -> FloatArray:
    """Return the probability of each set, shape (n, 2^labels), labels being independent.

    (Yilmaz and others, *Sample Efficient Model Evaluation*, 2021, eq. 92.)

    Args:
        single: shape (n, labels): probability of each label.
    """
    sets = np.ones((len(single), 1))
    for p in single.T:
        sets = np.concatenate([sets * (1 - p)[:, None], sets * p[:, None]], axis=1)
    return sets


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
    batch: PoolBatch, name: str, column: pa.Array, labels: Sequence[str]
) -> IntArray:
    row = pc.list_parent_indices(column).to_numpy()
    label = pc.list_flatten(column)
    if pa.types.is_dictionary(label.type):
        label = label.dictionary_decode()
    if not (pa.types.is_string(label.type) or pa.types.is_large_string(label.type)):
        if not len(label):
            return np.zeros(len(column), dtype=np.int64)
        raise batch.error(name, int(row[0]), f"labels are text, got type {label.type}")
    place = pc.index_in(label, value_set=pa.array(labels, type=label.type))
    if place.null_count:
        first = pc.index(place.is_null(), True).as_py()
        shown = reprlib.repr(label[first].as_py())
        raise batch.error(name, int(row[first]), f"{shown} is none of {[*labels]}")
    codes = np.zeros(len(column), dtype=np.int64)
    np.bitwise_or.at(codes, row, 1 << place.to_numpy().astype(np.int64))
    return codes


def _codes_of_texts(
    batch: PoolBatch, name: str, column: pa.Array, labels: Sequence[str]
) -> IntArray:
    coded = pc.dictionary_encode(column)
    classes = {text: code for code, text in enumerate(set_classes(labels))}
    codes = []
    for text in coded.dictionary.to_pylist():
        code = classes.get(set_text(labels_of_text(text), labels), -1)
        if code < 0:
            row = pc.index(column, pa.scalar(text, column.type)).as_py()
            raise batch.error(name, row, f"{reprlib.repr(text)} is no set of {[*labels]}")
        codes.append(code)
    return np.array(codes, dtype=np.int64)[coded.indices.to_numpy()]
