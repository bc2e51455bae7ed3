"""What annotators see of rows that were drawn one by one, read from the pool for these alone."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.stored_columns import ID, PAYLOAD_PREFIX
from evalsampling.preparation.local import pool_rows
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import columns_of


def read_payload(spec: EvaluationSpec, ids: Sequence[Any]) -> pa.Table:
    """Return the ids and the payload of some rows of a pool, in the order of the ids.

    The pool is gone over once, unless the spec names no payload.

    Args:
        spec: of the evaluation.
        ids: of rows of the pool; one may be named several times.

    Raises:
        InputError: if a file cannot be read, or a value cannot be shown.
    """
    wanted, payload = pa.array(ids), spec.pool.payload
    if not payload:
        return pa.table({ID: wanted})
    columns = list(dict.fromkeys([*columns_of(spec.pool.id), *payload]))
    rows = dataclasses.replace(pool_rows(spec), columns=columns)
    parts = []
    for batch in rows.batches():
        id_column = batch.ids(spec.pool.id)
        place = np.flatnonzero(pc.is_in(id_column, wanted.cast(id_column.type)).to_numpy(False))
        shown = {PAYLOAD_PREFIX + name: batch.payload(name, place) for name in payload}
        parts.append(pa.table({ID: id_column.take(pa.array(place)), **shown}))
    read = pa.concat_tables(parts, promote_options="permissive")
    place_of = {id: place for place, id in enumerate(read[ID].to_pylist())}
    return read.take(pa.array([place_of[id] for id in ids]))
