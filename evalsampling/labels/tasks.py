"""Tasks: what annotators are shown of the rows that were drawn."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.pool.rendering import rendered
from evalsampling.spec import EvaluationSpec

TASK, ID, KIND, LABEL = "task", "id", "kind", "label"
SAMPLE = "sample"
"""The kind of a task whose row was drawn by the design."""


def task_key(key: str | None, seed: int) -> bytes:
    """Return the key of the names of tasks.

    Args:
        key: the workspace's own, in hexadecimal digits; None if it was prepared before there
            were any. Then the seed is the key.
        seed: of the spec. Small ones are soon found by trying.
    """
    return seed.to_bytes(8, "little") if key is None else bytes.fromhex(key)


def task_name(spec: EvaluationSpec, key: bytes, number: int, id: Any, question: int) -> str:
    """Return the opaque name of a question: a keyed hash that tells nothing of the id.

    Names are text that no spreadsheet takes for a number, 18 characters, equal for equal
    arguments.

    Args:
        spec: of the evaluation.
        key: see `task_key`.
        number: of the round, from 1.
        id: of the row, an integer or a string.
        question: its number, from 1: a stochastic oracle is asked about a row more than once.
    """
    again = f":{question}" if spec.labels.oracle == "stochastic" else ""
    text = f"{number}:{id}{again}".encode()
    digest = hashlib.blake2b(text, digest_size=10, key=key).digest()
    return "t_" + base64.b32encode(digest).decode().lower()


def make_batch(names: Sequence[str], rows: pa.Table) -> pa.Table:
    """Return the tasks of a round: columns task, id, kind and the payload.

    Rows are ordered by task, which is an order at random: neither the order of the draws nor
    that of the scores can be read from it.

    Args:
        names: of the tasks.
        rows: columns id and payload, with its prefix, a row for each task.
    """
    table = pa.table(
        {TASK: pa.array(names, pa.string()), ID: rows[ID], KIND: [SAMPLE] * len(names)}
    )
    for name in payload_columns(rows):
        # Reserves of earlier versions hold dates and nested values as they are.
        table = table.append_column(name, rendered(rows[name].combine_chunks()))
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
