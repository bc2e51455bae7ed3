"""The transforms of rounds and estimates for Beam YAML: rows with a schema in, and out.

A file of YAML names them by a provider of type ``python`` or ``pythonPackage``, as
`examples/beam_yaml/providers.yaml` does. Batches of rows with their cells, and counts of labels,
are no tables: they go from one transform to the next as bytes.
"""

import json
import keyword
import pickle
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Optional

import apache_beam as beam
import pyarrow as pa
from apache_beam.typehints import schemas
from apache_beam.typehints.row_type import RowTypeConstraint

from evalsampling.errors import InputError
from evalsampling.evaluation.counted import nothing_drawn
from evalsampling.evaluation.round_rows import CHANCE, ROUND
from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.labels.tasks import ID, LABEL, TASK
from evalsampling.pool.columns import required_columns
from evalsampling.pool.row_batches import mapping_of
from evalsampling.pool.stored_columns import CELL, SLICE_PREFIX, output_columns
from evalsampling.preparation.assignment import CellBatch
from evalsampling.stats.round_chances import RoundChances
from evalsampling.transforms import estimates, rounds
from evalsampling.transforms.coders import packed
from evalsampling.transforms.passes import CountSlices, SumCells
from evalsampling.workspace.pool_facts import PoolFacts

ROWS, CELLS, COUNTS, JSON, PATH = "rows", "cells", "counts", "json", "path"
"""Columns of what transforms give: how many rows, their bytes, an object as text, a file."""

_TEXT, _NUMBER = Optional[str], Optional[float]  # noqa: UP045 - Beam knows this spelling alone
_BATCH = {ROWS: int, CELLS: bytes}
_STATE = {COUNTS: bytes}
_OBJECT = {JSON: str}
_FILE = {PATH: str}

MEASURE: Mapping[str, Any] = {
    "window_start": _TEXT,
    "window_end": _TEXT,
    "measure": str,
    "system": _TEXT,
    "against": _TEXT,
    "slice": _TEXT,
    "threshold": _NUMBER,
    "value": _NUMBER,
    "standard_error": _NUMBER,
    "low": _NUMBER,
    "high": _NUMBER,
    "confidence": float,
    "method": str,
    "statement": str,
}
"""Columns and types of the rows ``measures`` of `EstimateMeasures`."""


class AssignCells(beam.PTransform):
    """Rows of a table to batches of rows with their cells: columns ``rows`` and ``cells``."""

    def __init__(self, workspace: str) -> None:
        """Choose the workspace: see `transforms.AssignCells`."""
        super().__init__()
        self._facts = PoolFacts.read(workspace)

    def expand(self, rows: beam.PCollection[Any]) -> beam.PCollection[beam.Row]:
        check_columns(rows, required_columns(self._facts.pool.spec), "AssignCells")
        return rows | rounds.AssignCells(self._facts) | "Pack" >> _to_rows(_packed_cells, _BATCH)


class SampleRound(beam.PTransform):
    """Batches of `AssignCells` to the rows of a round: ``tasks``, ``rows`` and ``chances``.

    ``tasks`` is what annotators get: task, payload as text, and an empty label. ``rows`` are for
    `JoinLabels`; scores are among them. ``chances`` has a row for each window of a budget.
    """

    def __init__(
        self, workspace: str, round: int | str | list[str], budget: float | None = None
    ) -> None:
        """Choose the round, by its number or files of chances, and the budget of a window."""
        super().__init__()
        _check_round(round)
        _check_kind("budget", budget, int | float | None, "a number")
        facts = PoolFacts.read(workspace)
        self._task = {TASK: str, **dict.fromkeys(facts.pool.spec.pool.payload, _TEXT), LABEL: str}
        self._columns = RoundColumns.of(facts)
        self._sample = rounds.SampleRound(facts, round, budget)

    def expand(self, cells: beam.PCollection[Any]) -> dict[str, beam.PCollection[beam.Row]]:
        picked = unpacked(cells, "SampleRound") | "Sample" >> self._sample
        columns = self._columns
        return {
            "tasks": picked["tasks"] | "Tasks" >> _to_rows(_shown, self._task),
            "rows": picked["rows"] | "Rows" >> _to_rows(columns.fields_of, columns.types),
            "chances": picked["chances"] | "Chances" >> _to_column(_chances_text, _OBJECT),
        }


class WriteTasks(beam.PTransform):
    """Tasks of `SampleRound` to files in the format of the spec's sink, their paths as ``path``."""

    def __init__(self, workspace: str, folder: str) -> None:
        """Choose the workspace, and the folder to write to."""
        super().__init__()
        self._write = rounds.WriteTasks(workspace, folder)

    def expand(self, tasks: beam.PCollection[Any]) -> beam.PCollection[beam.Row]:
        check_columns(tasks, [TASK], "WriteTasks")
        written = tasks | "ToMappings" >> beam.Map(mapping_of) | self._write
        return written | "Paths" >> _to_column(str, _FILE)


class JoinLabels(beam.PTransform):
    """Labels to ``counts``, for `EstimateMeasures` and `DesignRound`, and ``rejects``.

    The input is labels alone, of rows of the workspace's rounds; or ``labels`` and ``rows``, those
    of `SampleRound`, also when they were written to a table and read again.
    """

    def __init__(self, workspace: str, by: str = TASK) -> None:
        """Choose the workspace, and the column that names a row: ``task`` or ``id``."""
        super().__init__()
        facts = PoolFacts.read(workspace)
        self._join, self._by = estimates.JoinLabels(facts, by), by
        self._columns = RoundColumns.of(facts)
        self._ids = DeliveredIds(facts.pool.spec.pool.id).names

    def expand(self, given: Any) -> dict[str, beam.PCollection[beam.Row]]:
        given = _inputs(given, "labels", {"rows"}, "JoinLabels")
        named_by = self._ids if self._by == ID else [self._by]
        check_columns(given["labels"], named_by, "JoinLabels")
        labels = given["labels"] | "ToMappings" >> beam.Map(mapping_of)
        if "rows" in given:
            check_columns(given["rows"], list(self._columns.types), "JoinLabels")
            rows = given["rows"] | "ToTables" >> beam.Map(self._columns.table_of)
            joined = {"labels": labels, "rows": rows} | "Join" >> self._join
        else:
            joined = labels | "Join" >> self._join
        reject = dict.fromkeys((TASK, *self._ids, LABEL), _TEXT) | {"reason": str}
        return {
            "counts": joined["counts"] | "Pack" >> _to_column(packed, _STATE),
            "rejects": joined["rejects"] | "Rejects" >> _to_rows(_same, reject),
        }


class EstimateMeasures(beam.PTransform):
    """Counts of `JoinLabels` to ``measures``, a row for each number, and ``json``, whole objects.

    With ``cells`` of `AssignCells` beside ``counts``, the pool is that of these rows; windows with
    a budget need them, and ``chances`` of `SampleRound`.
    """

    def __init__(
        self,
        workspace: str,
        round: int | str | list[str] | None = None,
        budget: float | None = None,
    ) -> None:
        """Choose what rows were picked by: the arguments of `SampleRound`."""
        super().__init__()
        if round is not None:
            _check_round(round)
        _check_kind("budget", budget, int | float | None, "a number")
        self._estimate = estimates.EstimateMeasures(workspace, round, budget)

    def expand(self, given: Any) -> dict[str, beam.PCollection[beam.Row]]:
        made = _states(given, "EstimateMeasures") | "Estimate" >> self._estimate
        return {
            "measures": made | "Measures" >> _to_rows(_measure_fields, MEASURE),
            "json": made | "Objects" >> _to_column(json.dumps, _OBJECT),
        }


class DesignRound(beam.PTransform):
    """Counts of `JoinLabels` to the chances of the next round, as ``json`` for a file."""

    def __init__(
        self, workspace: str, size: int, round: int | str | list[str] | None = None
    ) -> None:
        """Choose how many new rows are wanted, and what rows were picked by so far."""
        super().__init__()
        _check_kind("size", size, int, "a whole number")
        if round is not None:
            _check_round(round)
        self._design = estimates.DesignRound(workspace, size, round)

    def expand(self, given: Any) -> beam.PCollection[beam.Row]:
        made = _states(given, "DesignRound") | "Design" >> self._design
        return made | "Objects" >> _to_column(_chances_text, _OBJECT)


class RoundColumns:
    """The columns of rows of rounds, as fields of a schema: names without dots, fixed types."""

    def __init__(self, columns: Mapping[str, pa.DataType]) -> None:
        self._schema = pa.schema(list(columns.items()))
        self._fields = {name.replace(".", "_"): name for name in columns}
        self.types = {field: _type_of(columns[name], name) for field, name in self._fields.items()}

    @classmethod
    def of(cls, facts: PoolFacts) -> "RoundColumns":
        """Return the columns of rows of a workspace's rounds; what annotators see is left out."""
        outputs = nothing_drawn(facts.analysis).outputs
        return cls(
            {TASK: pa.string(), ID: pa.string()}
            | {ROUND: pa.int64(), CELL: pa.int64(), CHANCE: pa.float64()}
            | {name: _wide(column.type) for name, column in output_columns(outputs).items()}
            | {SLICE_PREFIX + name: pa.string() for name in facts.pool.slices.names}
        )

    def fields_of(self, rows: pa.Table) -> Iterator[dict[str, Any]]:
        """Yield the rows of a table as mappings of fields to values."""
        table = rows.select(self._schema.names).cast(self._schema)
        yield from table.rename_columns(list(self._fields)).to_pylist()

    def table_of(self, row: Any) -> pa.Table:
        """Return a row as a table."""
        given = mapping_of(row)
        values = {name: given[field] for field, name in self._fields.items()}
        return pa.Table.from_pylist([values], self._schema)


def _wide(kind: pa.DataType) -> pa.DataType:
    return pa.float64() if pa.types.is_floating(kind) else pa.int64()


def _type_of(kind: pa.DataType, name: str) -> Any:
    if kind == pa.string():
        return _TEXT if name.startswith(SLICE_PREFIX) else str
    return float if kind == pa.float64() else int


def row_type(fields: Mapping[str, Any]) -> RowTypeConstraint:
    """Return the type of rows with given fields.

    Raises:
        InputError: if a name is none that rows of Beam can have.
    """
    for name in fields:
        if not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
            raise InputError(
                f"column {name!r} cannot be a field of a row in Beam YAML; rename it in the pool, "
                "or build the pipeline in Python"
            )
    return RowTypeConstraint.from_fields(list(fields.items()))


def _to_rows(made: Any, fields: Mapping[str, Any]) -> beam.ParDo:
    """Return the transform to rows of what a function yields of each element, as mappings."""
    return beam.FlatMap(_rows_of, made, list(fields)).with_output_types(row_type(fields))


def _to_column(made: Any, column: Mapping[str, Any]) -> beam.ParDo:
    """Return the transform to rows of one column with what a function returns of each element."""
    [name] = column
    return beam.Map(_row_of, made, name).with_output_types(row_type(column))


def _row_of(element: Any, made: Any, name: str) -> beam.Row:
    return beam.Row(**{name: made(element)})


def _rows_of(element: Any, made: Any, fields: Sequence[str]) -> Iterator[beam.Row]:
    for values in made(element):
        yield beam.Row(**{field: values[field] for field in fields})


def check_columns(rows: beam.PCollection[Any], needed: Sequence[str], taker: str) -> None:
    """Check that rows have a schema with some columns.

    Args:
        rows: what a transform is given.
        needed: names of the columns.
        taker: name of the transform.

    Raises:
        InputError: if the rows have no schema, or lack a column.
    """
    try:
        columns = [name for name, _ in schemas.named_fields_from_element_type(rows.element_type)]
    except (TypeError, ValueError) as error:
        raise InputError(f"{taker} takes rows with a schema, got {rows.element_type}") from error
    for name in needed:
        if name not in columns:
            listed = ", ".join(columns)
            raise InputError(f"{taker}: column {name!r} is missing; there are: {listed}")


def _check_kind(key: str, value: Any, kind: Any, wanted: str) -> None:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise InputError(f"{key} must be {wanted}, got {value!r}")


def _check_round(round: Any) -> None:
    _check_kind("round", round, int | str | list, "a number, or paths of files of chances")
    for path in round if isinstance(round, list) else []:
        _check_kind("round", path, str, "a number, or paths of files of chances")


def unpacked(cells: beam.PCollection[Any], taker: str) -> beam.PCollection[CellBatch]:
    """Return the batches that `AssignCells` made rows of."""
    check_columns(cells, list(_BATCH), f"{taker} takes what AssignCells gives")
    return cells | "UnpackCells" >> beam.Map(_unpacked, CELLS).with_output_types(CellBatch)


def _states(given: Any, taker: str) -> Any:
    """Return what `transforms.EstimateMeasures` takes."""
    given = _inputs(given, "counts", {"cells", "chances"}, taker)
    check_columns(given["counts"], list(_STATE), f"{taker} takes what JoinLabels gives")
    counts = given["counts"] | "UnpackCounts" >> beam.Map(_unpacked, COUNTS)
    states = {"counts": counts}
    if "cells" in given:
        cells = unpacked(given["cells"], taker)
        states |= {"pool": cells | SumCells(), "slices": cells | CountSlices()}
    if "chances" in given:
        check_columns(given["chances"], list(_OBJECT), f"{taker} takes chances of SampleRound")
        states["chances"] = given["chances"] | "ReadChances" >> beam.Map(_read_chances)
    return states if len(states) > 1 else counts


def _inputs(given: Any, first: str, others: set[str], taker: str) -> dict[str, Any]:
    """Return the inputs by name; a single one without a name is the first."""
    named = {first: given} if isinstance(given, beam.PCollection) else dict(given)
    unknown = sorted(set(named) - others - {first})
    if unknown or first not in named:
        listed = ", ".join([first, *sorted(others)])
        problem = f"input {unknown[0]!r} is unknown" if unknown else f"input {first!r} is missing"
        raise InputError(f"{taker}: {problem}; its inputs are: {listed}")
    return named


def _same(fields: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield fields


def _shown(task: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {name: None if value is None else str(value) for name, value in task.items()}


def _packed_cells(cells: CellBatch) -> Iterator[dict[str, Any]]:
    yield {ROWS: len(cells), CELLS: packed(cells)}


def _unpacked(row: Any, column: str) -> Any:
    return pickle.loads(getattr(row, column))


def _chances_text(chances: RoundChances) -> str:
    return json.dumps(chances.to_mapping())


def _read_chances(row: Any) -> RoundChances:
    return RoundChances.from_mapping(json.loads(getattr(row, JSON)))


def _measure_fields(made: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for number in made["measures"]:
        yield dict(made) | number
