"""Items of queries and their grades: names of items, and outputs of graded queries."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.evaluation.answers import questions_of
from evalsampling.measures.build import build_gains
from evalsampling.pool.lists import list_names
from evalsampling.pool.stored_columns import ID, magnitudes_of
from evalsampling.spec import ReadingPlan
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.gains import NO_ITEM
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.outputs import Outputs

_ITEMS = list_names(0)[0]


def item_ids(rows: pa.Table) -> list[str]:
    """Return the names of items, ``QUERY/ITEM``, query by query."""
    ids, items = rows[ID].to_pylist(), rows[_ITEMS].to_pylist()
    return [f"{id}/{item}" for id, listed in zip(ids, items, strict=True) for item in listed]


def graded_outputs(
    rows: pa.Table, label: IntArray, systems: int, moments: int, depth: int
) -> Outputs:
    """Return the outputs of queries whose items are graded: the grades by rank."""
    length = pc.list_value_length(rows[_ITEMS].combine_chunks()).to_numpy(zero_copy_only=False)
    query = np.repeat(np.arange(len(rows)), length)
    grades = np.full((len(rows), systems, depth), NO_ITEM, dtype=np.int64)
    for system, name in enumerate(list_names(systems)[1:]):
        rank = pc.list_flatten(rows[name].combine_chunks()).to_numpy().astype(np.int64)
        ranked = np.flatnonzero((rank > 0) & (rank <= depth))
        grades[query[ranked], system, rank[ranked] - 1] = label[ranked]
    differs = [rows[f"prediction.{system}"].to_numpy() for system in range(systems)]
    return Outputs(
        np.stack(differs, axis=1),
        np.zeros((len(rows), systems)),
        np.zeros((len(rows), moments, 1)),
        grades,
        magnitudes=magnitudes_of(rows),
    )


def empty_history(reading: ReadingPlan, table: CellTable) -> History:
    """Return the history of an evaluation before its first round, with the kinds of its outputs."""
    outputs = table.kinds.no_rows
    if reading.pool.cluster is not None:
        outputs = dataclasses.replace(outputs, cluster=np.zeros(0, dtype=np.int64))
    history = History.start(len(reading.pool.systems), table.classes, len(reading.pool.slices))
    return dataclasses.replace(history, outputs=outputs)


def known_outputs(
    rows: pa.Table, history: History, reading: ReadingPlan, table: CellTable
) -> Outputs:
    """Return the outputs for the queries of a history, with the grades that it has already."""
    none = np.full(len(item_ids(rows)), NO_LABEL)
    outputs, graded = _graded_rows(rows, none, reading, table), history.labelled
    if len(graded):
        assert outputs.grades is not None
        assert history.outputs.grades is not None
        outputs.grades[graded] = history.outputs.grades[graded]
    return outputs


def read_grades(asked: Sequence[Any], id: Any, grades: Any) -> list[tuple[int, Any, Sequence[Any]]]:
    """Return question, id and grades of each query that is graded."""
    if grades is not None and len(grades) != len(id):
        raise InputError(f"{len(grades)} labels for {len(id)} ids")
    given = id if grades is None else dict(zip(np.asarray(id).tolist(), grades, strict=True))
    if not isinstance(given, Mapping) or len(given) != len(id):
        raise InputError("grades of queries are one list for each id, or a mapping from ids")
    asked_about = zip(questions_of(list(given), asked), given, strict=True)
    return [(question, query, given[query]) for question, query in asked_about]


def take_grades(
    rows: pa.Table,
    history: History,
    grades: Sequence[tuple[int, Any, Sequence[Any]]],
    reading: ReadingPlan,
    table: CellTable,
) -> History:
    """Return a history to which the grades of all items of some queries are added."""
    codes, labels = reading.labels.codes, history.label.copy()
    assert history.outputs.grades is not None
    all_grades = history.outputs.grades.copy()
    for question, id, given in grades:
        row = rows.slice(question, 1)
        if not isinstance(given, Iterable) or isinstance(given, str | Set | Mapping):
            got = f"got {type(given).__name__}"
            raise InputError(f"grades of id {id!r} are a list, one for each of its items, {got}")
        items, texts = len(item_ids(row)), [str(grade) for grade in given]
        if len(texts) != items:
            raise InputError(f"{len(texts)} grades for the {items} items of id {id!r}")
        if wrong := [grade for grade in texts if grade not in codes]:
            raise InputError(f"grade {wrong[0]} of id {id!r} is not one of {[*codes]}")
        label = np.array([codes[grade] for grade in texts], dtype=np.int64)
        of_query = _graded_rows(row, label, reading, table)
        assert of_query.grades is not None
        all_grades[question], labels[question] = of_query.grades[0], 0
    outputs = dataclasses.replace(history.outputs, grades=all_grades)
    return history.with_rows(outputs, history.slice).with_labels(labels)


def _graded_rows(
    rows: pa.Table, label: IntArray, reading: ReadingPlan, table: CellTable
) -> Outputs:
    """Return the outputs of queries, given the grades of items: see `graded_outputs`."""
    systems, moments = len(reading.pool.systems), table.kinds.probability.shape[1]
    depth = max(gain.cut for gain in build_gains(reading))
    return graded_outputs(rows, label, systems, moments, depth)
