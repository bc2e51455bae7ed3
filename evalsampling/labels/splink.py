"""Clerical labels as Splink has them: a pair of records and the chance that they match.

See ``Linker.evaluation`` of Splink 4: columns ``source_dataset_l``, ``unique_id_l``,
``source_dataset_r``, ``unique_id_r``, ``clerical_match_score``.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.labels.tasks import payload_columns
from evalsampling.labels.vendor import csv_text, write_csv
from evalsampling.labels.vote import Pair, Vote, field_text, vote_of
from evalsampling.pool.row_ids import as_columns
from evalsampling.pool.stored_columns import ID, PAYLOAD_PREFIX
from evalsampling.spec import LabellingPlan
from evalsampling.spec.id_columns import IdColumns
from evalsampling.spec.sink import RecordColumns

SCORE = "clerical_match_score"
IDS = ("unique_id_l", "unique_id_r")
_RECORDS = ("source_dataset_l", "unique_id_l", "source_dataset_r", "unique_id_r")
COLUMNS = (*_RECORDS, SCORE, "task", "id", "annotator", "time", "skipped", "comment")
"""Columns that are read; a table of Splink's own has the first five."""


def is_table(columns: Sequence[str]) -> bool:
    """Tell whether columns are those of a table of Splink, which has no ``label``."""
    return SCORE in columns and "label" not in columns


def read_row(line: int, row: Mapping[str, Any]) -> Vote:
    """Return the vote of a line; a line without a score is not answered yet."""
    left_source, left, right_source, right = (field_text(row.get(name)) for name in _RECORDS)
    pair = None
    if left is not None and right is not None:
        pair = make_pair(left_source, left, right_source, right)
    vote, score = vote_of(line, {**row, "label": None}), field_text(row.get(SCORE))
    try:
        probability = None if score is None else float(score)
        problem = "" if probability is None or 0 <= probability <= 1 else "not between 0 and 1"
    except ValueError:
        problem = "no number"
    if problem:
        problem = f"{SCORE} is {score!r}, which is {problem}"
    if vote.problem or problem:
        return dataclasses.replace(vote, pair=pair, label=score, problem=vote.problem or problem)
    return dataclasses.replace(vote, pair=pair, score=probability)


def make_pair(left_source: str | None, left: str, right_source: str | None, right: str) -> Pair:
    """Return two records as a pair, the lesser first, whichever of them was the left one."""
    first, second = sorted([(left_source or "", left), (right_source or "", right)])
    return first, second


Record = tuple[str, str]
"""Data set and id of a record."""


def records_of(
    batch: pa.Table, records: RecordColumns, id: IdColumns
) -> list[tuple[Record, Record] | None]:
    """Return the left and the right record of each task of a batch, None where neither is known."""
    known = {name.removeprefix(PAYLOAD_PREFIX): batch[name] for name in payload_columns(batch)}
    known |= {} if isinstance(id, str) else as_columns(batch[ID], id)
    columns = [
        [*map(field_text, known[name].to_pylist())] if name in known else [None] * len(batch)
        for name in records.in_order
    ]
    return [
        None
        if left is None or right is None
        else ((left_source or "", left), (right_source or "", right))
        for left_source, left, right_source, right in zip(*columns, strict=True)
    ]


def pairs_of(batch: pa.Table, records: RecordColumns, id: IdColumns) -> list[Pair | None]:
    """Return the pair of each task of a batch, None where it is not known: see `records_of`."""
    return [
        None if both is None else make_pair(*both[0], *both[1])
        for both in records_of(batch, records, id)
    ]


def write_tasks(table: pa.Table, path: Path, plan: LabellingPlan, _: str) -> None:
    """Write tasks as a table of Splink, with empty scores to fill in and a column of tasks."""
    assert plan.sink.records is not None
    columns = zip(_RECORDS, plan.sink.records.in_order, strict=True)
    named = {new: old for new, old in columns if old is not None} | {"task": "task", SCORE: "label"}
    others = [name for name in table.column_names if name not in (*named.values(), *named)]
    shown = table.select([*named.values(), *others]).rename_columns([*named, *others])
    write_csv(shown, path, plan.sink.escape)


def as_table(labels: Iterable[tuple[tuple[Record, Record], float]]) -> bytes:
    """Return labels as CSV that Splink reads."""
    rows = ((*left, *right, score) for (left, right), score in labels)
    return csv_text([*_RECORDS, SCORE], rows).encode()
