"""Answers of annotators as a notebook has them: columns of ids and labels, in one order or not."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import LABEL
from evalsampling.labels.vote import field_text, is_number
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.frames import Ids, Table, has_index, index_of, is_table, to_array
from evalsampling.pool.row_ids import as_columns, parts_of
from evalsampling.spec import EvaluationSpec, LabelsSpec
from evalsampling.spec.id_columns import IdColumns, columns_of
from evalsampling.stats.history import NO_LABEL


def codes_by_question(
    id: Any,
    label: Any,
    spec: EvaluationSpec,
    asked: Sequence[Any],
    known: Sequence[int],
    stochastic: bool = False,
    replace: bool = False,
) -> dict[int, int]:
    """Return the class code that each answered question gets.

    Ids and labels are in any of the forms that `Evaluation.label` takes. ``asked`` are the ids of
    the rows of all questions, ``known`` the codes of their labels so far.
    """
    ids, texts = _side_by_side(id, label, spec.labels, spec.pool.id)
    space = spec.labels.space
    waiting: dict[Any, list[int]] = {}
    for question, value in enumerate(asked):
        open_questions = waiting.setdefault(value, [])
        if not stochastic or known[question] == NO_LABEL:
            open_questions.append(question)
    answers: dict[int, int] = {}
    codes = space.codes
    asked_for = _as_asked(ids, asked)
    unknown = [text not in codes for text in texts]
    if any(unknown):
        first = unknown.index(True)
        raise InputError(
            f"label {texts[first]!r} of id {asked_for[first]!r} is not one of "
            f"{space.words}, as `labels` has them; {sum(unknown)} of {len(unknown)} labels are "
            "none of these. Give each one: rows that are left out are seldom missing at random"
        )
    for value, text in zip(asked_for, texts, strict=True):
        if value not in waiting:
            raise InputError(f"id {value!r} was not drawn")
        if not waiting[value]:
            raise InputError(f"id {value!r} has more labels than it was drawn")
        code = codes[text]
        question = waiting[value].pop(0) if stochastic else waiting[value][0]
        before = answers.setdefault(question, code)
        if before != code:
            words = f"{space.text(before)!r} and {text!r}"
            raise InputError(f"id {value!r} has two labels, {words}")
        if not replace and known[question] not in (NO_LABEL, code):
            words = f"{space.text(known[question])!r} already, not {text!r}"
            raise InputError(f"id {value!r} has label {words}; replace=True takes the new one")
    return answers


def _side_by_side(
    id: Any, label: Any, labels: LabelsSpec, id_columns: IdColumns
) -> tuple[list[Any], list[str]]:
    """Return ids and the label of each row as text, whether or not there is such a class."""
    if label is None:
        id, label = _apart(id, id_columns)
    elif isinstance(label, str) or not isinstance(label, Iterable):  # That of one row.
        if isinstance(id, str | tuple | np.void) or not isinstance(id, Iterable):
            id = [id]
        label = [label]
    elif not hasattr(label, "__len__"):
        label = list(label)
    ids = _listed_ids(id, id_columns)
    if has_index(label):
        named = ids if isinstance(id_columns, str) else [tuple(parts_of(id)) for id in ids]
        column = next(iter(id.values())) if isinstance(id, Mapping) else id
        label = _aligned(column, named, label)
    if len(ids) != len(label):
        raise InputError(f"{len(label)} labels for {len(ids)} ids")
    texts = labels.space.texts(_listed(label, labels.space.flags))
    for value, text in zip(ids, texts, strict=True):
        if text is None:
            raise InputError(f"id {value!r} has no label; leave its row out")
    return ids, [str(text) for text in texts]


def questions_of(ids: Sequence[Any], asked: Sequence[Any]) -> list[int]:
    """Return the index of the question about each of some rows."""
    drawn = {id: question for question, id in enumerate(asked)}
    ids = _as_asked(ids, asked)
    missing = [id for id in ids if id not in drawn]
    if missing:
        raise InputError(f"id {missing[0]!r} was not drawn")
    return [drawn[id] for id in ids]


def _as_asked(ids: Sequence[Any], asked: Sequence[Any]) -> Sequence[Any]:
    """Return ids as the pool has them, where whole numbers have become texts or texts numbers."""
    known = {*asked}
    if known.issuperset(ids):
        return ids
    by_text = {field_text(id): id for id in known}
    by_text |= {f"{id}.0": id for id in known if is_number(id)}
    return [id if id in known else by_text.get(field_text(id), id) for id in ids]


def _listed_ids(given: Any, id_columns: IdColumns) -> list[Any]:
    """Return ids as they are stored: of a column, or of a table or tuples of several."""
    if isinstance(id_columns, str):
        return list(to_array(given, "id").to_pylist())
    columns = [to_array(column, name) for name, column in _parts(given, id_columns).items()]
    return list(PoolBatch(pa.record_batch(columns, [*id_columns])).ids(id_columns).to_pylist())


def _parts(given: Any, id_columns: Sequence[str]) -> Mapping[str, Any]:
    """Return the columns of ids that are made of several."""
    fields = getattr(getattr(given, "dtype", None), "names", None)
    if fields is None and not is_table(given):
        given = [row.item() if isinstance(row, np.void) else row for row in given]
        rows = [tuple(row) if isinstance(row, tuple | list) else (row,) for row in given]
        wrong = next((row for row in rows if len(row) != len(id_columns)), None)
        if wrong is not None:
            words = ", ".join(id_columns)
            raise InputError(f"id: has {len(id_columns)} values, of {words}, got {wrong!r}")
        return {name: [row[place] for row in rows] for place, name in enumerate(id_columns)}
    table = Table.of({name: given[name] for name in fields} if fields else given, "id")
    return {name: table.column(name) for name in id_columns}


def shown_ids(ids: pa.Array | pa.ChunkedArray, id_columns: IdColumns) -> Ids:
    """Return ids as notebooks have them, shape (n,): of several columns with a field for each."""
    if isinstance(id_columns, str):
        return np.asarray(ids.to_numpy(zero_copy_only=False))
    columns = {
        name: column.to_numpy(zero_copy_only=False)
        for name, column in as_columns(ids, id_columns).items()
    }
    shown = np.empty(len(ids), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        shown[name] = column
    return shown


def _apart(answers: Any, id_columns: IdColumns) -> tuple[Any, Any]:
    """Return ids and labels from one table, mapping, or Series whose index is the ids."""
    if has_index(answers) and answers.ndim == 1:
        return answers.index.to_series(), answers
    names = columns_of(id_columns)
    if has_index(answers) and [*answers.index.names] == [*names]:
        answers = answers.reset_index()
    if isinstance(answers, Mapping) and not {*names, LABEL} <= set(answers):
        return list(answers.keys()), list(answers.values())
    table = Table.of(answers, "the answers")
    columns = {name: table.column(name) for name in names}
    return (columns if len(names) > 1 else columns[names[0]]), table.column(LABEL)


def _aligned(id: Any, ids: Sequence[Any], label: Any) -> Any:
    """Return labels of pandas in the order of the ids, matched by their index."""
    index = index_of(label)
    assert index is not None
    wanted: Sequence[Any] = ids
    if has_index(id):
        if id.index.equals(label.index):
            return label
        if set(id.index.tolist()) == set(index):
            wanted = id.index.tolist()
    if index == list(wanted):
        return label
    place = {name: row for row, name in enumerate(index)}
    for name in wanted:
        if name not in place:
            raise InputError(
                f"labels: their index does not hold {name!r}: give them an index of ids, or "
                "labels.to_numpy() if they stand in the order of the ids"
            )
    twice = [name for name in wanted if index.count(name) > 1] if len(place) < len(index) else []
    if twice:
        raise InputError(f"labels: their index holds {twice[0]!r} more than once")
    return label.iloc[[place[name] for name in wanted]]


def _listed(label: Any, flags: Sequence[str]) -> list[Any]:
    """Return labels as a list, a matrix of 0 and 1 as lists of the flags that are 1."""
    if flags and hasattr(label, "__array__") and np.ndim(label) == 2:
        rows = np.asarray(_by_name(label, flags))
        return [[name for name, is_set in zip(flags, row, strict=True) if is_set] for row in rows]
    if flags and isinstance(label, list | tuple):
        return list(label)
    return list(to_array(label, LABEL).to_pylist())


def _by_name(label: Any, names: Sequence[str]) -> Any:
    """Return a matrix with a column for each label; columns of a table are found by name."""
    if isinstance(label, np.ndarray):
        return label
    table = Table.of(label, "labels")
    if set(map(str, table.names)) != set(names):
        raise InputError(f"labels: must have a column for each of {list(names)}")
    columns = [to_array(table.column(name), name) for name in names]
    return np.stack([column.to_numpy(zero_copy_only=False) for column in columns], axis=1)
