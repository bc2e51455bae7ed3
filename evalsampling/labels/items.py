"""What annotators are asked about: rows, or the items of queries, whose grades come back."""

import contextlib
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.lists import list_names
from evalsampling.pool.stored_columns import COST, ID, PAYLOAD_PREFIX
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.gains import NO_ITEM
from evalsampling.stats.history import NO_LABEL
from evalsampling.stats.outputs import Outputs

_ITEMS, _PLACES = list_names(0)


def subject_ids(rows: pa.Table) -> list[Any]:
    """Return the ids of rows, or of the items of queries, in order.

    Args:
        rows: as they are stored; those of queries have a column of lists.
    """
    return item_ids(rows) if _ITEMS in rows.column_names else rows[ID].to_pylist()


def subject_questions(rows: pa.Table, questions: Sequence[int]) -> list[int]:
    """Return the number that the task of each subject is named by, as `subject_ids` has them.

    Args:
        rows: as they are stored.
        questions: number of the question about each row. An item is asked about once, so its own
            is 0.
    """
    return [0] * len(item_ids(rows)) if _ITEMS in rows.column_names else list(questions)


def item_ids(rows: pa.Table) -> list[str]:
    """Return what items are called, ``QUERY/ITEM``, of one query after the other.

    Args:
        rows: queries as they are stored.
    """
    ids, items = rows[ID].to_pylist(), rows[_ITEMS].to_pylist()
    return [f"{id}/{item}" for id, listed in zip(ids, items, strict=True) for item in listed]


def subject_rows(rows: pa.Table, spec: EvaluationSpec) -> pa.Table:
    """Return a row for each subject: rows as they are, items of queries with id and payload.

    The payload of the query stands with each of its items; of `ListsSpec.payload` it is the value
    of the item.

    Args:
        rows: as they are stored, with their payload.
        spec: names the payload.

    Raises:
        ValueError: a column of the payload has no lists, or one that is shorter than that of the
            items: `prepare` refuses that, but did not always.
    """
    if spec.pool.lists is None:
        return rows
    places = rows[_PLACES].to_pylist()
    query = pa.array(np.repeat(np.arange(len(rows)), [len(items) for items in places]))
    columns: dict[str, Any] = {ID: pa.array(item_ids(rows), pa.string())}
    for name in spec.pool.payload:
        stored = rows[PAYLOAD_PREFIX + name]
        if name in spec.pool.lists.payload:
            columns[PAYLOAD_PREFIX + name] = _of_items(name, stored.to_pylist(), places)
        else:
            columns[PAYLOAD_PREFIX + name] = stored.take(query)
    return pa.table(columns)


def _of_items(name: str, lists: list[Any], places: list[list[int]]) -> pa.Array:
    """Return the values at some places of lists, which are stored as JSON."""
    texts: list[str | None] = []
    for listed, chosen in zip(lists, places, strict=True):
        values = _listed(name, listed)
        if chosen and len(values) <= max(chosen):
            raise ValueError(f"column {name!r} has {len(values)} values for more items")
        texts += [_text(values[place]) for place in chosen]
    return pa.array(texts, pa.string())


def _listed(name: str, stored: Any) -> list[Any]:
    """Return the list of one query, which is stored as JSON."""
    values = None
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        values = [] if stored is None else json.loads(stored)
    if not isinstance(values, list):
        raise ValueError(f"column {name!r} has no lists: {str(stored)[:40]}")
    return values


def _text(value: Any) -> str | None:
    is_text = value is None or isinstance(value, str)
    return value if is_text else json.dumps(value, ensure_ascii=False)


def graded_outputs(
    rows: pa.Table, label: IntArray, systems: int, moments: int, depth: int
) -> tuple[Outputs, IntArray]:
    """Return what is known of queries once items are graded.

    Args:
        rows: queries as they are stored.
        label: grades of their items, in the order of `item_ids`; `NO_LABEL` where there is none.
        systems: that rank.
        moments: numbers that cells have for each query.
        depth: ranks of a list that count.

    Returns:
        The grades by rank, and for each query 0 if all its items are graded, else `NO_LABEL`.
    """
    length = pc.list_value_length(rows[_ITEMS].combine_chunks()).to_numpy(zero_copy_only=False)
    query = np.repeat(np.arange(len(rows)), length)
    grades = np.full((len(rows), systems, depth), NO_ITEM, dtype=np.int64)
    for system, name in enumerate(list_names(systems)[2:]):
        rank = pc.list_flatten(rows[name].combine_chunks()).to_numpy().astype(np.int64)
        ranked = np.flatnonzero((rank > 0) & (rank <= depth))
        grades[query[ranked], system, rank[ranked] - 1] = label[ranked]
    open_items = np.bincount(query, label == NO_LABEL, minlength=len(rows))
    differs = [rows[f"prediction.{system}"].to_numpy() for system in range(systems)]
    outputs = Outputs(
        np.stack(differs, axis=1),
        np.zeros((len(rows), systems)),
        np.zeros((len(rows), moments, 1)),
        grades,
        cost=rows[COST].to_numpy() if COST in rows.column_names else None,
    )
    return outputs, np.where(open_items > 0, NO_LABEL, 0)
