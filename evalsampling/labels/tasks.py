"""Tasks: the rows that were drawn, under opaque names, as annotators see them."""

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.arrow import is_text
from evalsampling.pool.stored_columns import CLUSTER, PAYLOAD_PREFIX
from evalsampling.spec import LabellingPlan
from evalsampling.spec.pool import Mask
from evalsampling.stats.arrays import IntArray

TASK, ID, KIND, LABEL, QUESTION = "task", "id", "kind", "label", "question"
LINKED = "tasks.parquet"
"""File of an adjudication batch with tasks and ids, which those who settle disputes do not get."""

SAMPLE, ADJUDICATION, GOLD, REPEAT = "sample", "adjudication", "gold", "repeat"
"""Kinds of tasks: a row drawn by the design, a dispute, a row whose class is known, a row asked
about before."""

REDACTED = "[redacted]"

_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
_PREFIX = "t_"
_DIGITS = 16
_DIGEST_BYTES = 10


def task_name(
    plan: LabellingPlan, key: bytes, number: int, id: Any, question: int, check: bool = False
) -> str:
    """Return the opaque name of a question, by the id of its row: see `opaque_name`."""
    again = (question,) if plan.labels.oracle == "stochastic" else ()
    return opaque_name(key, number, id, *again, check=check)


def make_batch(
    names: Sequence[str],
    rows: pa.Table,
    plan: LabellingPlan,
    key: bytes,
    kind: str = SAMPLE,
    kept: Sequence[str] = (),
) -> pa.Table:
    """Return the tasks of a round: columns task, id, kind, those that are kept and the payload.

    Rows are ordered by task, which is a random order: it reveals neither the order of the draws nor
    that of the scores. Of whole clusters each is together, in the order of what annotators see.
    """
    kinds = pa.array([kind] * len(names), pa.string())
    columns = {TASK: pa.array(names, pa.string()), ID: rows[ID], KIND: kinds}
    table = pa.table({**columns, **{name: rows[name] for name in kept}})
    for name in payload_columns(rows):
        shown = rows[name].combine_chunks()
        mask = plan.pool.masks.get(name.removeprefix(PAYLOAD_PREFIX))
        table = table.append_column(name, shown if mask is None else masked(shown, mask, key))
    if plan.by_cluster and kind == SAMPLE:
        return _by_cluster(table, rows[CLUSTER].to_numpy())
    return table.take(pa.array(np.argsort(names)))


def _by_cluster(table: pa.Table, cluster: IntArray) -> pa.Table:
    """Return tasks with those of a cluster together: by the payload, column after column."""
    place = np.argsort(np.argsort(table[TASK].to_pylist()))
    number = np.unique(cluster, return_inverse=True)[1]
    first = np.full(number.max(initial=-1) + 1, len(place))
    np.minimum.at(first, number, place)
    keys = {"first": pa.array(first[number])}
    for name in payload_columns(table):
        if not pa.types.is_nested(table.schema.field(name).type):
            keys[name] = _ordered(table[name])
    keys[TASK] = table[TASK]
    return table.take(pc.sort_indices(pa.table(keys), [(name, "ascending") for name in keys]))


def _ordered(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return values as numbers if texts are all such, so that 2 comes before 10."""
    try:
        return values.cast(pa.float64()) if is_text(values.type) else values
    except pa.ArrowInvalid:
        return values


def masked(values: pa.Array, mask: Mask, key: bytes) -> pa.Array:
    """Return a column as annotators may see it: text; nulls and empty texts stay."""
    return pa.array([_masked(value, mask, key) for value in values.to_pylist()], pa.string())


def _masked(value: Any, mask: Mask, key: bytes) -> str | None:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if text is None or text == "":
        return text
    text = str(text)
    if mask.how == "redact":
        return REDACTED
    if mask.how == "hash":
        return f"h_{keyed_hash(text, key)}"
    return text if len(text) <= mask.characters else text[: mask.characters] + "…"


def mask_key(key: bytes, number: int) -> bytes:
    """Return the key of the masks of a batch, different for each batch."""
    return opaque_name(key, "mask", number).encode()


def blind(batch: pa.Table, controls: pa.Table | None = None) -> pa.Table:
    """Return the table that annotators get: task, payload and an empty label, nothing else."""
    if controls is not None:
        common = [TASK, *payload_columns(batch)]
        both = pa.concat_tables([batch.select(common), controls.select(common)])
        own, added = batch[TASK].to_pylist(), controls[TASK].to_pylist()
        place = np.append(np.arange(len(own)), np.searchsorted(sorted(own), added) - 0.5)
        batch = both.take(pa.array(np.lexsort((both[TASK].to_pylist(), place))))
    shown = {TASK: batch[TASK]}
    for name in payload_columns(batch):
        shown[name.removeprefix(PAYLOAD_PREFIX)] = batch[name]
    return pa.table({**shown, LABEL: pa.array([""] * len(batch), pa.string())})


def payload_columns(batch: pa.Table) -> list[str]:
    """Return the names of the payload columns of a batch."""
    return [name for name in batch.column_names if name.startswith(PAYLOAD_PREFIX)]


def shown_columns(table: pa.Table) -> list[str]:
    """Return the names of the payload columns of what annotators get: see `blind`."""
    return [name for name in table.column_names if name not in (TASK, LABEL)]


# --- opaque names


def opaque_name(key: bytes, *parts: Any, check: bool = False) -> str:
    """Return a keyed hash of some values: ``t_``, 16 letters and digits, maybe a check character.

    No spreadsheet takes it for a number, and the values cannot be read from it.
    """
    name = _PREFIX + keyed_hash(":".join(map(str, parts)), key)
    return with_check(name) if check else name


def keyed_hash(text: str, key: bytes) -> str:
    """Return a hash of a text: 16 letters and digits."""
    digest = hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES, key=key).digest()
    return base64.b32encode(digest).decode().lower()


def with_check(name: str) -> str:
    """Return a name of a task with a check character: one wrong, and most swaps, are noticed."""
    return name + _check_character(name.removeprefix(_PREFIX))


def check_problem(name: str) -> str:
    """Return the end of a message about an unknown name, empty unless its check is wrong."""
    body = name.removeprefix(_PREFIX)
    if not name.startswith(_PREFIX) or not set(body) <= set(_ALPHABET):
        return ""
    if len(body) == _DIGITS + 1 and _check_character(body[:-1]) != body[-1]:
        return ": its check character is wrong, so it was mistyped or cut"
    return ""


def _check_character(text: str) -> str:
    """Return the check character of ISO/IEC 7064 MOD 37,36."""
    base = len(_ALPHABET)
    rest = base
    for letter in text:
        rest = (rest + _ALPHABET.index(letter)) % base or base
        rest = rest * 2 % (base + 1)
    return _ALPHABET[(1 - rest) % base]
