"""Control tasks: rows whose class is known, and rows asked about again, mixed into a batch.

They show how well annotators answer. Estimates do not use them.
"""

import dataclasses
import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.labels.formats import csv_cells, json_lines
from evalsampling.labels.tally import CONTRADICTED, SKIPPED, UNSURE, Tally
from evalsampling.labels.tasks import GOLD, ID, KIND, LABEL, QUESTION, REPEAT, TASK, opaque_name
from evalsampling.labels.vote import MOST_BYTES
from evalsampling.pool.arrow import is_text
from evalsampling.pool.rendering import rendered
from evalsampling.pool.stored_columns import PAYLOAD_PREFIX
from evalsampling.spec import LabellingPlan
from evalsampling.spec.id_columns import IdColumns
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.history import NO_LABEL
from evalsampling.storage import parse_parquet
from evalsampling.storage.filesystems import one_line, read_regular_file, readable

_SCHEMA = pa.schema(
    [(TASK, pa.string()), (ID, pa.string()), (KIND, pa.string()), (LABEL, pa.string()),
     (QUESTION, pa.int64())]
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Controls:
    """Control tasks of one or several batches: the columns of `_SCHEMA`, and maybe the payload.

    The label is the true class of a gold row, the question, from 1, the one that a repeat asks
    again.
    """

    table: pa.Table

    @classmethod
    def concatenate(cls, several: Sequence["Controls"]) -> "Controls":
        """Return the tasks of several batches, without payload."""
        tables = [controls.table.select(_SCHEMA.names) for controls in several]
        return cls(pa.concat_tables([_SCHEMA.empty_table(), *tables]))

    @property
    def tasks(self) -> list[str]:
        """Names of the tasks."""
        return list(self.table[TASK].to_pylist())

    @property
    def ids(self) -> list[str]:
        """Ids of their rows."""
        return list(self.table[ID].to_pylist())


@dataclasses.dataclass(frozen=True)
class Gold:
    """Rows whose class is known, as their file has them.

    The fingerprint is the SHA-256 of ids, labels and payload, in the order of the rows; it does not
    depend on the file's format and other columns.
    """

    path: str
    rows: list[dict[str, Any]]
    ids: list[str]
    labels: list[str | None]
    fingerprint: str

    @classmethod
    def read(cls, plan: LabellingPlan) -> "Gold | None":
        """Return the gold rows, checked; None if there are none."""
        if plan.labels.gold is None:
            return None
        path = plan.labels.gold.path
        rows = _read(path)
        labels = _check(path, rows, plan)
        ids = [_id(row, place, plan.pool.id) for place, row in enumerate(rows)]
        used = [
            [id, label, *(row[name] for name in plan.pool.payload)]
            for id, label, row in zip(ids, labels, rows, strict=True)
        ]
        text = json.dumps(used, default=str)
        return cls(path, rows, ids, labels, hashlib.sha256(text.encode()).hexdigest())

    def check_same(self, fingerprints: Collection[str | None]) -> None:
        """Check that earlier rounds had the same gold rows."""
        if {*fingerprints} - {None, self.fingerprint}:
            raise InputError(
                f"{self.path}: has other gold rows than when the rounds so far were drawn; put the "
                "file back as it was"
            )


def gold_rows(
    gold: Gold, plan: LabellingPlan, key: bytes, number: int, like: pa.Schema
) -> pa.Table:
    """Return the gold rows of a batch, which take turns in a random order, with their payload."""
    assert plan.labels.gold is not None
    wanted = plan.labels.gold.rows
    order = sorted(range(len(gold.rows)), key=lambda place: opaque_name(key, "gold", place))
    count = min(wanted, len(order))
    chosen = [order[((number - 1) * wanted + step) % len(order)] for step in range(count)]
    columns = {
        ID: pa.array([gold.ids[place] for place in chosen]),
        LABEL: pa.array([gold.labels[place] for place in chosen], pa.string()),
        QUESTION: pa.nulls(count, pa.int64()),
    }
    for name in plan.pool.payload:
        kind = like.field(PAYLOAD_PREFIX + name).type
        values = [gold.rows[place].get(name) for place in chosen]
        columns[PAYLOAD_PREFIX + name] = _like(gold.path, name, values, kind)
    return pa.table(columns)


def repeated(questions: int, wanted: int, key: bytes, number: int) -> list[int]:
    """Return a random choice of the questions of earlier rounds, to be asked again."""
    order = sorted(range(questions), key=lambda each: opaque_name(key, REPEAT, number, each))
    return sorted(order[:wanted])


def _read(path: str) -> list[dict[str, Any]]:
    content = read_regular_file(path, MOST_BYTES)
    suffix = PurePath(path).suffix.lower()
    with readable(path):
        if suffix == ".csv":
            header, *rows = [cells for _, cells in csv_cells(path, content) if cells] or [[]]
            return [dict(zip(header, row, strict=False)) for row in rows]
        if suffix == ".jsonl":
            return [row for _, row in json_lines(path, content)]
        if suffix == ".parquet":
            return list(parse_parquet(content).to_pylist())
    raise InputError(f"{path}: gold rows come as .csv, .jsonl, .parquet")


def _check(path: str, rows: list[dict[str, Any]], plan: LabellingPlan) -> list[str | None]:
    """Check gold rows, and return the texts of their classes."""
    if not rows:
        raise InputError(f"{path}: there are no gold rows")
    for place, row in enumerate(rows):
        if not isinstance(row, dict):
            raise InputError(f"{path}: row {place}: not an object")
        for name in (*plan.pool.payload, LABEL):
            if name not in row:
                raise InputError(f"{path}: row {place}: column {name!r} is missing")
    codes = plan.labels.codes
    texts = plan.labels.space.texts([row[LABEL] for row in rows])
    for place, text in enumerate(texts):
        if text not in codes:
            problem = f"{rows[place][LABEL]!r} is none of: {', '.join(codes)}"
            raise InputError(f"{path}: column 'label', row {place}: {problem}")
    return texts


def _id(row: dict[str, Any], place: int, own: IdColumns) -> str:
    """Return the id of a gold row: from the pool's columns of ids, else ``id``, else its place."""
    if not isinstance(own, str):
        return DeliveredIds(own).text(row) or f"gold {place}"
    given = (row[name] for name in (own, ID) if row.get(name) not in (None, ""))
    return str(next(given, f"gold {place}"))


def _like(path: str, name: str, values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return the values of a column in the type that the pool's column has."""
    try:
        if is_text(kind):
            texts = [None if value is None else str(value) for value in values]
            return pa.array(texts, pa.string()).cast(kind)
        if all(value is None or isinstance(value, str) for value in values):
            texts = [value or None for value in values]
            return rendered(pa.array(texts, pa.string())).cast(kind)
        return pa.array(values).cast(kind)
    except (pa.ArrowException, TypeError) as error:
        wanted = f"it must look like the pool's, which is {kind}"
        raise InputError(f"{path}: column {name!r}: {wanted}: {one_line(error)}") from error


# --- what they tell of annotators


@dataclasses.dataclass(frozen=True)
class ControlSubject:
    """A control task: a gold row of a class, or a repeat of a question (then of `NO_LABEL`)."""

    subject: int
    code: int
    question: int | None


def control_subjects(
    controls: Controls, first: int, codes: Mapping[str, int]
) -> list[ControlSubject]:
    """Return control tasks with the numbers of their subjects, which follow one another."""
    columns = (controls.table[name].to_pylist() for name in (KIND, LABEL, QUESTION))
    return [
        ControlSubject(
            first + place,
            codes[label] if kind == GOLD else NO_LABEL,
            None if question is None else question - 1,
        )
        for place, (kind, label, question) in enumerate(zip(*columns, strict=True))
    ]


@dataclasses.dataclass(frozen=True)
class AnnotatorRecord:
    """Counts of an annotator's answers: ``right`` of gold rows, the ``same`` of repeats."""

    annotator: str | None
    labels: int
    skipped: int
    unsure: int
    contradicted: int
    gold: int
    right: int
    repeats: int
    same: int


def records(tally: Tally, controls: Sequence[ControlSubject]) -> list[AnnotatorRecord]:
    """Return the record of each annotator, ordered by name."""
    by_annotator: dict[str | None, dict[int, int]] = {}
    for subject, answers in tally.answers.items():
        for annotator, code in answers.items():
            by_annotator.setdefault(annotator, {})[subject] = code
    ordered = sorted(by_annotator.items(), key=lambda item: (item[0] is not None, item[0] or ""))
    return [_record(name, codes, controls) for name, codes in ordered]


def _record(
    annotator: str | None, codes: Mapping[int, int], controls: Sequence[ControlSubject]
) -> AnnotatorRecord:
    classed = {subject: code for subject, code in codes.items() if code >= 0}
    answered = [control for control in controls if control.subject in classed]
    right = [each.code == classed[each.subject] for each in answered if each.code != NO_LABEL]
    same = [
        classed[each.question] == classed[each.subject]
        for each in answered
        if each.question in classed
    ]
    answers = list(codes.values())
    return AnnotatorRecord(
        annotator=annotator,
        labels=len(classed),
        skipped=answers.count(SKIPPED),
        unsure=answers.count(UNSURE),
        contradicted=answers.count(CONTRADICTED),
        gold=len(right),
        right=sum(right),
        repeats=len(same),
        same=sum(same),
    )


def gold_table(tally: Tally, controls: Sequence[ControlSubject], classes: int) -> IntArray:
    """Return the counts of decided gold rows, or of their answers, by true class and by label."""
    table = np.zeros((classes, classes), dtype=np.int64)
    for control in controls:
        if control.code != NO_LABEL:
            for label, answers in tally.labels(control.subject).items():
                table[control.code, label] += answers
    return table
