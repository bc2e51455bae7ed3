"""Labels that rows of a pool have already, read from their column."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.arrow import is_text
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.stored_columns import GIVEN, GIVEN_NUMBER
from evalsampling.spec import LabelsSpec
from evalsampling.spec.labels_at_hand import CHANCE
from evalsampling.stats.arrays import IntArray


def read_given(batch: PoolBatch, labels: LabelsSpec) -> dict[str, pa.Array]:
    """Return the columns `GIVEN` and `GIVEN_NUMBER` of a batch; none without labels at hand.

    A null, a NaN or a blank text is no label. Numbers are read of rows with a label alone.
    """
    at_hand = labels.at_hand
    if at_hand is None:
        return {}
    column = batch.any_column(at_hand.column)
    empty = pc.is_null(column, nan_is_null=True)
    if is_text(column.type):
        empty = pc.or_(empty, pc.equal(pc.utf8_trim_whitespace(column.fill_null("")), ""))
    labelled = np.flatnonzero(~empty.to_numpy(zero_copy_only=False))
    values, space = column.take(pa.array(labelled)).to_pylist(), labels.space
    texts = [str(text) for text in space.texts(values)]
    meant = space.meant({*texts})
    codes = np.full(len(batch), -1)
    for row, text in zip(labelled.tolist(), texts, strict=True):
        code = space.codes.get(meant.get(text, text))
        if code is None:
            raise batch.error(at_hand.column, row, space.problem(text))
        codes[row] = code
    columns = {GIVEN: pa.array(codes, mask=codes < 0)}
    if at_hand.number is not None:
        columns[GIVEN_NUMBER] = _numbers(batch, at_hand.number, labelled, at_hand.drawn == CHANCE)
    return columns


def _numbers(batch: PoolBatch, name: str, labelled: IntArray, chances: bool) -> pa.Array:
    """Return the chances or weights of labelled rows, checked; null of all others."""
    column = pa.record_batch({name: batch.any_column(name).take(pa.array(labelled))})
    own = PoolBatch(column, batch.path, 0, batch.item, batch.row_numbers(labelled))
    values = own.numbers(name)
    wanted = "a chance is above 0 and at most 1" if chances else "a weight is above 0"
    wrong = (values <= 0) | (values > 1) if chances else values <= 0
    own.refuse(name, wrong, lambda row: f"{wanted}, got {values[row]:g}")
    numbers = np.zeros(len(batch))
    numbers[labelled] = values
    return pa.array(numbers, mask=np.isin(np.arange(len(batch)), labelled, invert=True))
