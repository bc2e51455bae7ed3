"""Tasks: what annotators are shown of the rows that were drawn."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

TASK, ID, KIND, LABEL = "task", "id", "kind", "label"
SAMPLE = "sample"
"""The kind of a task whose row was drawn by the design."""


def task_name(seed: int, number: int, id: Any) -> str:
    """Return the opaque name of a row in a round: a keyed hash that tells nothing of the id.

    Names are text that no spreadsheet takes for a number, 18 characters, equal for equal
    arguments.

    Args:
        seed: the key, in [0, 2^64).
        number: of the round, from 1.
        id: of the row, an integer or a string.
    """
    digest = hashlib.blake2b(
        f"{number}:{id}".encode(), digest_size=10, key=seed.to_bytes(8, "little")
    ).digest()
    return "t_" + base64.b32encode(digest).decode().lower()


def make_batch(seed: int, number: int, ids: pa.Array, payload: pa.Table) -> pa.Table:
    """Return the tasks of a round: columns task, id, kind and the payload.

    Rows are ordered by task, which is an order at random: neither the order of the draws nor
    that of the scores can be read from it.
    """
    names = [task_name(seed, number, id) for id in ids.to_pylist()]
    table = pa.table({TASK: pa.array(names, pa.string()), ID: ids, KIND: [SAMPLE] * len(names)})
    for name in payload.column_names:
        table = table.append_column(pa.field(f"payload.{name}", payload[name].type), payload[name])
    return table.take(pa.array(np.argsort(names)))


def blind(batch: pa.Table) -> pa.Table:
    """Return what goes out: task, payload and an empty label, nothing else."""
    shown = {TASK: batch[TASK]}
    for name in payload_columns(batch):
        shown[name.removeprefix("payload.")] = batch[name]
    return pa.table({**shown, LABEL: pa.array([""] * len(batch), pa.string())})


def payload_columns(batch: pa.Table) -> Sequence[str]:
    """Return the names of the payload columns of a batch."""
    return [name for name in batch.column_names if name.startswith("payload.")]
