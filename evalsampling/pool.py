"""The rows of a pool: checked columns of an Arrow batch, their cells, their permanent order."""

import dataclasses
import functools
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from scipy import special

from evalsampling.errors import InputError
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums, cell_codes
from evalsampling.stats.hashing import UInt64Array, hash_integers, hash_strings
from evalsampling.stats.histogram import ScoreHistogram
from evalsampling.stats.strata import BINS_PER_LEAF, LeafTable, csf_edges

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class PoolBatch:
    """Some rows of a pool as read, and where they stand.

    Attributes:
        rows: the columns.
        path: of the file, for messages; empty for rows in memory.
        file: the file's number in the pool.
        first_row: of the batch within the file, from 0.
    """

    rows: pa.RecordBatch
    path: str = ""
    file: int = 0
    first_row: int = 0

    def error(self, column: str, row: int, problem: str) -> InputError:
        """Return the error of one value, ``row`` being its place in this batch."""
        file = f"{self.path}: " if self.path else ""
        return InputError(f"{file}column {column!r}, row {self.first_row + row}: {problem}")

    def column(self, name: str) -> pa.Array:
        """Return a column without nulls, a dictionary decoded.

        Raises:
            InputError: if it is missing or has a null.
        """
        index = self.rows.schema.get_field_index(name)
        if index < 0:
            file = f"{self.path}: " if self.path else ""
            known = ", ".join(self.rows.schema.names)
            raise InputError(f"{file}column {name!r} is missing; there are: {known}")
        column = self.rows.column(index)
        if column.null_count:
            raise self.error(name, pc.index(column.is_null(), True).as_py(), "null")
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column

    def numbers(self, name: str) -> npt.NDArray[np.floating]:
        """Return a numeric column, shape (n,): float32 as it is, all else as float64.

        Raises:
            InputError: if it is not numeric, or has a null, a NaN or an infinity.
        """
        column = self.column(name)
        if pa.types.is_integer(column.type) or pa.types.is_float16(column.type):
            column = column.cast(pa.float64())
        if not pa.types.is_floating(column.type):
            raise self.error(name, 0, f"must be a number, got type {column.type}")
        values = column.to_numpy(zero_copy_only=False)
        bad = ~np.isfinite(values)
        if bad.any():
            row = int(np.argmax(bad))
            raise self.error(name, row, f"must be a finite number, got {values[row]}")
        return values

    def ids(self, name: str) -> pa.Array:
        """Return the ids: integers, or strings.

        Raises:
            InputError: for any other type, or a null.
        """
        column = self.column(name)
        if pa.types.is_integer(column.type):
            return column
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            return column
        raise self.error(name, 0, f"ids must be integers or strings, got type {column.type}")


def read_scores(batch: PoolBatch, spec: EvaluationSpec) -> npt.NDArray[np.floating]:
    """Return the scores of a batch, shape (n,)."""
    return batch.numbers(spec.pool.score)


def read_predictions(
    batch: PoolBatch, spec: EvaluationSpec, scores: npt.NDArray[np.floating]
) -> IntArray:
    """Return the class codes predicted, shape (n, systems)."""
    name, classes = spec.pool.prediction, spec.labels.classes
    if name is None:
        assert spec.pool.threshold is not None
        hit = scores >= spec.pool.threshold
        positive = spec.labels.positive
        return np.where(hit, positive, 1 - positive).astype(np.int64)[:, None]
    column = batch.column(name)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    numeric = all(isinstance(value, int) for value in classes)
    if numeric and pa.types.is_integer(column.type):
        column = column.cast(pa.int64())
    elif numeric or not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        raise batch.error(name, 0, f"type {column.type} holds none of the classes {[*classes]}")
    known = pa.array([value if numeric else str(value) for value in classes], type=column.type)
    codes = pc.index_in(column, value_set=known)
    if codes.null_count:
        row = pc.index(codes.is_null(), True).as_py()
        raise batch.error(name, row, f"{column[row].as_py()!r} is none of {[*classes]}")
    return codes.to_numpy().astype(np.int64)[:, None]


def hash_ids(ids: pa.Array, seed: int) -> UInt64Array:
    """Return the keyed hash of each id, shape (n,): see `stats.hashing`."""
    if pa.types.is_integer(ids.type):
        return hash_integers(ids.to_numpy(), seed)
    if ids.type == pa.string():
        ids = ids.cast(pa.large_string())
    _, offsets, data = ids.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
    text = np.frombuffer(data or b"", dtype=np.uint8)
    return hash_strings(text, bounds, seed)


@dataclasses.dataclass(frozen=True)
class Strata:
    """What the first pass decides and everything later reads.

    Attributes:
        edges: interior edges of the leaves, strictly increasing.
        probability: where prior probabilities come from: "column", "score" or "expit(score)".
        minimum: least score of the pool, None if it was not looked for.
        maximum: greatest score of the pool, None likewise.
    """

    edges: FloatArray
    probability: str
    minimum: float | None = None
    maximum: float | None = None

    @classmethod
    def given(cls, spec: EvaluationSpec) -> "Strata | None":
        """Return the strata of a spec that leaves nothing to find out, else None.

        With explicit edges and prior probabilities in columns the first pass is not needed.
        """
        if spec.strata.edges is None or spec.pool.probability is None:
            return None
        return cls(np.array(spec.strata.edges), "column")

    @classmethod
    def from_histogram(cls, histogram: ScoreHistogram, spec: EvaluationSpec) -> "Strata":
        """Cut the leaves and say what the scores are.

        Raises:
            InputError: if there are no rows.
        """
        if not histogram.rows:
            raise InputError("the pool is empty")
        if spec.strata.edges:
            edges = np.array(spec.strata.edges)
        else:
            edges = csf_edges(histogram.lower_ends, histogram.counts, spec.strata.leaves)
        is_probability = histogram.minimum >= 0 and histogram.maximum <= 1
        rule = "score" if is_probability else "expit(score)"
        if spec.pool.probability is not None:
            rule = "column"
        return cls(edges, rule, histogram.minimum, histogram.maximum)

    @functools.cached_property
    def leaf_table(self) -> LeafTable:
        """Finds the leaf of a score."""
        return LeafTable(self.edges)

    @property
    def leaves(self) -> int:
        """Number of leaves."""
        return len(self.edges) + 1

    def shape(self, spec: EvaluationSpec) -> tuple[int, ...]:
        """Return (leaves, classes predicted): the cells there can be."""
        return (self.leaves, len(spec.labels.classes))


def new_histogram(spec: EvaluationSpec) -> ScoreHistogram:
    """Return the empty histogram from which the spec's leaves are cut."""
    return ScoreHistogram.zero(BINS_PER_LEAF * spec.strata.leaves)


def score_histogram(batch: PoolBatch, spec: EvaluationSpec) -> ScoreHistogram:
    """First pass over a batch: its scores counted."""
    return ScoreHistogram.from_scores(read_scores(batch, spec), new_histogram(spec).limit)


@dataclasses.dataclass(frozen=True)
class CellBatch:
    """Rows with their cells.

    Attributes:
        batch: the rows as read.
        ids: their ids.
        cell: shape (n,): cell codes.
        probability: shape (n, classes): prior probabilities.
    """

    batch: PoolBatch
    ids: pa.Array
    cell: IntArray
    probability: FloatArray

    def sums(self, shape: tuple[int, ...]) -> CellSums:
        """Return the sums of the rows over the cells of a shape."""
        return CellSums.from_rows(shape, self.cell, self.probability)


def assign_cells(batch: PoolBatch, spec: EvaluationSpec, strata: Strata) -> CellBatch:
    """Second pass over a batch: check its columns and find each row's cell.

    Raises:
        InputError: naming file, column and row of the first bad value.
    """
    ids = batch.ids(spec.pool.id)
    scores = read_scores(batch, spec)
    predictions = read_predictions(batch, spec, scores)
    cell = cell_codes(strata.shape(spec), strata.leaf_table.find(scores), predictions)
    return CellBatch(batch, ids, cell, _probabilities(batch, spec, strata, scores))


def _probabilities(
    batch: PoolBatch, spec: EvaluationSpec, strata: Strata, scores: npt.NDArray[np.floating]
) -> FloatArray:
    named = spec.pool.probability
    if named is None or isinstance(named, str):
        if named is not None:
            values = _unit_interval(batch, named)
        else:
            values = scores.astype(np.float64, copy=False)
            values = values if strata.probability == "score" else special.expit(values)
        both = np.empty((len(values), 2))
        both[:, spec.labels.positive] = values
        both[:, 1 - spec.labels.positive] = 1 - values
        return both
    columns = list(named.values())
    matrix = np.stack([_unit_interval(batch, column) for column in columns], axis=1)
    wrong = np.abs(matrix.sum(axis=1) - 1) > 1e-3
    if wrong.any():
        row = int(np.argmax(wrong))
        raise batch.error(
            columns[0], row, f"probabilities of the classes sum to {matrix[row].sum():g}, not 1"
        )
    return matrix


def _unit_interval(batch: PoolBatch, name: str) -> FloatArray:
    values = batch.numbers(name).astype(np.float64, copy=False)
    wrong = (values < 0) | (values > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise batch.error(name, row, f"a probability lies in [0, 1], got {values[row]}")
    return values


def required_columns(spec: EvaluationSpec) -> list[str]:
    """Return the columns of the pool that preparing reads, each once."""
    pool = spec.pool
    named: list[Any] = [pool.id, pool.score, pool.prediction]
    if isinstance(pool.probability, str):
        named.append(pool.probability)
    elif pool.probability is not None:
        named.extend(pool.probability.values())
    return list(dict.fromkeys(name for name in [*named, *pool.payload] if name is not None))
