"""Exporting the votes of a workspace in one table, or its labels as Splink reads them."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.commands.options import WorkspaceOptions, flag, option
from evalsampling.commands.outputs import OVERWRITE, check_outputs
from evalsampling.commands.result import Result
from evalsampling.errors import InputError, UsageError
from evalsampling.labels import splink
from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.labels.tasks import ADJUDICATION, KIND, SAMPLE, TASK
from evalsampling.labels.vendor import csv_text, escaped
from evalsampling.labels.vote import long_table
from evalsampling.storage import replace_file
from evalsampling.storage.outputs import Output, as_parquet
from evalsampling.workspace.snapshot import Snapshot

_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")


@dataclasses.dataclass(frozen=True)
class ExportOptions(WorkspaceOptions):
    """Which table, and where to."""

    to: str = option("file to write: .csv or .parquet", metavar="FILE", required=True)
    form: str = option(
        "a line a vote, or decided pairs for Splink", default="long", choices=("long", "splink")
    )
    overwrite: bool = flag(OVERWRITE)


@dataclasses.dataclass(frozen=True)
class ExportResult(Result):
    """The file that was written, and how many rows it has."""

    file: str
    rows: int


def export(options: ExportOptions) -> ExportResult:
    """Write all votes that were taken, or the decided pairs of records."""
    snapshot = Snapshot.at(options.workspace)
    names = long_table(DeliveredIds(snapshot.pool.spec.pool.id).names)
    heads = {"long": ",".join(names).encode(), "splink": splink.as_table([]).splitlines()[0]}
    check_outputs(snapshot.pool, [Output(options.to, heads[options.form])], options.overwrite)
    if options.form == "splink":
        return _write_splink(snapshot, Path(options.to))
    table, path = table_of_votes(snapshot), Path(options.to)
    written = {".parquet": as_parquet, ".csv": _as_csv}.get(path.suffix)
    if written is None:
        raise UsageError(f"--to: {path}: votes are written as .csv or .parquet")
    replace_file(str(path), written(table))
    return ExportResult(str(path), len(table))


def table_of_votes(snapshot: Snapshot) -> pa.Table:
    """Return votes in their order, each once until it changes: a row each, as `long_table` says."""
    ids = DeliveredIds(snapshot.pool.spec.pool.id)
    columns = long_table(ids.names)
    controls = snapshot.controls
    kinds = dict(zip(controls.tasks, controls.table[KIND].to_pylist(), strict=True))
    for batch in snapshot.adjudications:
        kinds |= dict.fromkeys(batch.tasks[TASK].to_pylist(), ADJUDICATION)
    rows: list[dict[str, Any]] = []
    last: dict[tuple[str, str | None], dict[str, Any]] = {}
    for delivery in snapshot.deliveries:
        for row in delivery.votes.to_pylist():
            kind = kinds.get(row["task"], SAMPLE)
            vote = {"unsure": False, "comment": None, **row, "kind": kind, **ids.values(row["id"])}
            told = {name: vote[name] for name in columns}
            if last.get((row["task"], row["annotator"])) != told:
                rows.append(told)
            last[row["task"], row["annotator"]] = told
    text = dict.fromkeys(columns, pa.string())
    schema = pa.schema((text | {"skipped": pa.bool_(), "unsure": pa.bool_()}).items())
    return pa.Table.from_pylist(rows, schema)


def _write_splink(snapshot: Snapshot, path: Path) -> ExportResult:
    """Write the labels of decided questions as Splink reads them: shares of votes for a match."""
    spec, workspace = snapshot.pool.spec, snapshot.pool.workspace
    if spec.sink.records is None:
        raise InputError(f"{workspace.path}: sink.records names no columns of two records")
    if len(spec.labels.classes) != 2:
        raise InputError(f"{workspace.path}: Splink knows match and no match, not more classes")
    if path.suffix != ".csv":
        raise UsageError(f"--to: {path}: a table of Splink is written as .csv")
    labels = []
    for files in snapshot.standing:
        pairs = splink.records_of(files.batch, spec.sink.records, spec.pool.id)
        for task, pair in zip(files.batch[TASK].to_pylist(), pairs, strict=True):
            answers = snapshot.tally.labels(snapshot.subject_of_task[task])
            if pair is not None and answers:
                labels.append((pair, answers.get(spec.labels.positive, 0) / sum(answers.values())))
    replace_file(str(path), splink.as_table(labels))
    return ExportResult(str(path), len(labels))


def _as_csv(table: pa.Table) -> bytes:
    """Return the long table as CSV that a spreadsheet opens: text is no formula, nor is -1 one."""
    rows = (
        [cell if _NUMBER.fullmatch(str(cell)) else escaped(cell) for cell in row.values()]
        for row in table.to_pylist()
    )
    return csv_text(table.column_names, rows).encode()
