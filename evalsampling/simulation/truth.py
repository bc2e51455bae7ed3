"""Pools with known labels, as counts of rows that samplers and measures treat alike."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import UNNAMED
from evalsampling.evaluation.graded import graded_outputs, item_ids
from evalsampling.label_spaces.base import FLAG, LABEL
from evalsampling.measures.base import Measure
from evalsampling.measures.build import build_gains, build_measures, thresholded_parts
from evalsampling.pool.batch import PoolBatch, whole_number_texts
from evalsampling.pool.columns import LabelColumns
from evalsampling.pool.lists import list_column, list_names
from evalsampling.pool.stored_columns import ID
from evalsampling.preparation.ids import check_unique_ids
from evalsampling.preparation.plan import SUM_CELLS, read_cells
from evalsampling.preparation.stages import RunningTotal
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import ReadingPlan
from evalsampling.spec.id_columns import IdColumns, columns_of
from evalsampling.stats.arrays import FloatArray, IntArray, distinct_rows
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from evalsampling.stats.outputs import Outputs
from evalsampling.storage.filesystems import readable

GRADE = "grade"
"""Column of a file of true grades: a list for each query, of one grade for every item."""

_FINEST = 1024
"""Steps to which probabilities are rounded: losses are then exact to one in a million."""


@dataclasses.dataclass(frozen=True)
class KnownPool:
    """A pool with its truth: rows alike in cell, label and outputs are one *kind*.

    Outputs are alike if no threshold of a measure lies between the scores, and probabilities,
    weights and rates are the same to one part in 1,024; the means stand for the kind.
    """

    table: CellTable
    cell: IntArray  # shape (kinds,), ascending: index into the table; `label`, `count` alike
    label: IntArray
    count: IntArray
    outputs: Outputs
    systems: tuple[str | None, ...] = (None,)
    # shape (kinds, classes): P(label | row) of a stochastic oracle, which `label` is the likeliest
    # of; None if a row has its label
    rate: FloatArray | None = None
    reading: ReadingPlan = UNNAMED  # what its labels and scores are; none of them is at hand

    @classmethod
    def read(cls, stratification: Stratification, truth: Path) -> "KnownPool":
        """Return a pool that is read from its files, with its truth."""
        plan = stratification.plan
        systems = tuple(system.name for system in plan.pool.systems)
        if plan.pool.lists is not None:
            table, cell, outputs = _read_graded(stratification, truth)
            ones = np.ones(len(cell), dtype=np.int64)
            return cls(table, cell, np.zeros_like(ones), ones, outputs, systems, reading=plan)
        labels = _Truth.read(truth, plan)
        unlabelled = dataclasses.replace(plan.labels, at_hand=None)
        edges, fine = _distinctions(stratification)
        sums = RunningTotal(SUM_CELLS)
        parts: list[_Kinds] = []
        for cells in read_cells(stratification):
            sums.add(cells)
            place = labels.places_of(cells.batch, cells.ids)
            label, rate = labels.codes[place], None if labels.rates is None else labels.rates[place]
            parts.append(_Kinds.of_rows(cells.cell, label, cells.outputs, edges, fine, rate))
            parts = [_Kinds.merged(parts)] if len(parts) > 64 else parts
        table = stratification.table(sums.total)
        kinds = _Kinds.merged(parts)
        return cls(
            table=table,
            cell=np.searchsorted(table.code, kinds.key[:, 0]),
            label=kinds.key[:, 1],
            count=kinds.count,
            outputs=kinds.outputs,
            systems=systems,
            rate=kinds.rate,
            reading=dataclasses.replace(plan, labels=unlabelled),
        )

    @functools.cached_property
    def labels(self) -> IntArray:
        """True labels in each cell, shape (cells, classes); the likeliest where answers differ."""
        labels = np.zeros((len(self.table), self.table.classes), dtype=np.int64)
        np.add.at(labels, (self.cell, self.label), self.count)
        return labels

    def value(self, measure: Measure) -> FloatArray:
        """Return the true values of a measure's components, NaN where they are undefined."""
        weight = self.count / self.table.rows
        if self.rate is None:
            return measure.value(measure.mean_loss(self.outputs, self.label, weight))
        risks = [
            measure.mean_loss(self.outputs, np.full(len(weight), y), weight * chance)
            for y, chance in enumerate(self.rate.T)
        ]
        return measure.value(np.sum(risks, axis=0))


class Urns:
    """An oracle for a known pool: an urn of the rows of each cell, drawn as questions come.

    Rows of a cell are exchangeable, so instead of ordering them at random, each question draws a
    kind of row from the urn of its cell. A stochastic oracle then draws its answers, ``votes`` of
    them, by the kind's rates.
    """

    def __init__(self, pool: KnownPool, seed: int, votes: int = 1) -> None:
        self._pool = pool
        self._left = pool.count.copy()
        self._first = np.searchsorted(pool.cell, np.arange(len(pool.table) + 1))
        self._rng = np.random.Generator(np.random.PCG64(seed))
        self._kind: dict[tuple[int, int], int] = {}
        self._kinds: list[int] = []
        self._shares = np.zeros((0, pool.table.classes))
        self.votes = votes

    def answer(self, history: History) -> History:
        """Return the history with the rows and labels of all its questions."""
        answered = len(self._kinds)
        cells, ranks = history.cell[answered:].tolist(), history.rank[answered:].tolist()
        uniforms = self._rng.random(len(cells)).tolist()
        for place, uniform in zip(zip(cells, ranks, strict=True), uniforms, strict=True):
            kind = self._kind.get(place)
            if kind is None:
                begin, end = self._first[place[0]], self._first[place[0] + 1]
                cumulated = np.cumsum(self._left[begin:end])
                at = np.searchsorted(cumulated, uniform * cumulated[-1], side="right")
                kind = int(begin + at)
                self._left[kind] -= 1
                self._kind[place] = kind
            self._kinds.append(kind)
        kinds = np.array(self._kinds, dtype=np.int64)
        history = history.with_rows(self._pool.outputs.take(kinds), history.slice)
        if self._pool.rate is None:
            return history.with_labels(self._pool.label[kinds])
        said = self._rng.multinomial(self.votes, self._pool.rate[kinds[answered:]]) / self.votes
        shares = self._shares = np.concatenate([self._shares, said])
        history = history.with_labels(shares.argmax(axis=1))
        if self.votes == 1:
            return history
        answers = np.full(len(shares), self.votes)
        return dataclasses.replace(history, shares=shares, answers=answers)


@dataclasses.dataclass(frozen=True)
class _Kinds:
    """Rows grouped by cell, label and distinguishable outputs, with means over those of each kind.

    The key, shape (kinds, columns), is cell code, label, then bins of outputs.
    """

    key: IntArray
    count: IntArray
    outputs: Outputs
    rate: FloatArray | None = None

    @classmethod
    def of_rows(
        cls,
        cell: IntArray,
        label: IntArray,
        outputs: Outputs,
        edges: Sequence[FloatArray],
        fine: Sequence[bool],
        rate: FloatArray | None = None,
    ) -> "_Kinds":
        columns = [cell, label, *outputs.prediction.T]
        columns += [] if outputs.slices is None else list(outputs.slices.code.T)
        columns += [] if outputs.cluster is None else [outputs.cluster]
        for system, (cuts, by_probability) in enumerate(zip(edges, fine, strict=True)):
            if len(cuts):
                columns.append(np.searchsorted(cuts, outputs.score[:, system], side="right"))
            if by_probability:
                steps = np.floor(outputs.probability[:, system] * _FINEST)
                columns += list(steps.astype(np.int64).T)
        if outputs.weight is not None:
            columns.append(np.floor(np.log(outputs.weight) * _FINEST).astype(np.int64))
        if rate is not None:
            columns += list(np.floor(rate * _FINEST).astype(np.int64).T)
        ones = np.ones(len(cell), dtype=np.int64)
        return cls._grouped(np.stack(columns, axis=1), ones, outputs, rate)

    @classmethod
    def merged(cls, parts: Sequence["_Kinds"]) -> "_Kinds":
        return cls._grouped(
            np.concatenate([part.key for part in parts]),
            np.concatenate([part.count for part in parts]),
            Outputs.concatenate([part.outputs for part in parts]),
            None if parts[0].rate is None else np.concatenate([p.rate for p in parts]),
        )

    @classmethod
    def _grouped(
        cls, key: IntArray, count: IntArray, outputs: Outputs, rate: FloatArray | None
    ) -> "_Kinds":
        first, place = distinct_rows(key)
        order = np.argsort(place, kind="stable")
        starts = np.searchsorted(place[order], np.arange(len(first)))
        weight = count[order]
        total = np.add.reduceat(weight, starts)

        def mean(values: FloatArray) -> FloatArray:
            shape = (-1, *(1 for _ in values.shape[1:]))
            with np.errstate(invalid="ignore"):  # unknown scores are infinite
                sums = np.add.reduceat(values[order] * weight.reshape(shape), starts, axis=0)
            return sums / total.reshape(shape)

        score = outputs.score[order]
        least, greatest = (end.reduceat(score, starts, axis=0) for end in (np.minimum, np.maximum))
        means = dataclasses.replace(
            outputs.take(first),
            # Rounding may put the mean of equal scores below them, and below a threshold.
            score=np.clip(mean(outputs.score), least, greatest),
            probability=mean(outputs.probability),
            magnitudes={name: mean(of) for name, of in outputs.magnitudes.items()},
        )
        return cls(key[first], total, means, None if rate is None else mean(rate))


def _distinctions(stratification: Stratification) -> tuple[list[FloatArray], list[bool]]:
    """Return, for each system, edges between distinct scores and whether probabilities matter.

    A measure of the user's own may look at any score, so for it edges are close.
    """
    plan = stratification.plan
    systems = range(len(plan.pool.systems))
    cuts: list[list[FloatArray]] = [[np.zeros(0)] for _ in systems]
    fine = [False for _ in systems]
    for measure in build_measures(stratification.scores.stated(plan)):
        for part in thresholded_parts(measure):
            cuts[part.system].append(np.array(part.thresholds))
        if "probability" in measure.looks_at:
            fine[measure.system] = True
        bounds = stratification.ranges[measure.system]
        if "score" in measure.looks_at and not thresholded_parts(measure) and bounds is not None:
            cuts[measure.system].append(np.linspace(*bounds, _FINEST))
    return [np.unique(np.concatenate(parts)) for parts in cuts], fine


@dataclasses.dataclass(frozen=True)
class _Truth:
    """True labels by id: codes, and rates (n, classes) where answers are at random."""

    path: Path
    id: IdColumns
    ids: pa.Array
    codes: IntArray
    rates: FloatArray | None = None

    @classmethod
    def read(cls, path: Path, plan: ReadingPlan) -> "_Truth":
        id = plan.pool.id
        read = pq.read_table
        if path.suffix.lower() == ".csv":
            text = {name: pa.string() for name in (*columns_of(id), LABEL)}
            convert = pyarrow.csv.ConvertOptions(column_types=text)
            read = functools.partial(pyarrow.csv.read_csv, convert_options=convert)
        batch = _read_batch(path, read)
        space, columns = plan.labels.space, LabelColumns.of(batch)
        ids = batch.ids(id) if isinstance(id, str) else batch.id_texts(id)
        check_unique_ids([batch], id)
        if plan.labels.oracle == "stochastic":
            rates = space.true_rates(columns)
            if np.all(rates.max(axis=1) == 1):
                raise InputError(
                    f"{path}: all labels are certain; labels.oracle: stochastic needs rates, "
                    f"in a column for each class ({FLAG}{space.names[0]}) or, of two, in {LABEL}"
                )
            return cls(path, id, ids, rates.argmax(axis=1), rates)
        try:
            return cls(path, id, ids, space.true_codes(columns))
        except InputError as error:
            try:
                space.true_rates(columns)
            except InputError:
                raise error from None
            words = "probabilities of labels need labels.oracle: stochastic"
            raise InputError(f"{error}; {words}") from error

    def places_of(self, batch: PoolBatch, ids: pa.Array) -> IntArray:
        """Return the places of the labels of rows, shape (n,)."""
        labelled = self.ids
        if not isinstance(self.id, str):
            ids = batch.id_texts(self.id)
        if labelled.type != ids.type:
            whole = any(pa.types.is_integer(kind) for kind in (ids.type, labelled.type))
            ids, labelled = ids.cast(pa.string()), labelled.cast(pa.string())
            if whole:
                ids, labelled = whole_number_texts(ids), whole_number_texts(labelled)
        place = pc.index_in(ids, value_set=labelled)
        if place.null_count:
            row = pc.index(place.is_null(), True).as_py()
            raise InputError(
                f"{batch.path}: row {batch.row_number(row)}: "
                f"id {ids[row].as_py()!r} has no label in {self.path}"
            )
        return np.asarray(place.to_numpy().astype(np.int64))


def _read_batch(path: Path, read: Callable[[Path], pa.Table]) -> PoolBatch:
    """Return the rows of a file of the truth, which has some."""
    with readable(str(path)):
        table = read(path).combine_chunks()
    if not len(table):
        raise InputError(f"{path}: no labels")
    return PoolBatch(table.to_batches()[0], str(path))


@dataclasses.dataclass(frozen=True)
class _Grades:
    """Codes of the true grades of items by their names (`item_ids`), in a file."""

    path: Path
    items: pa.Array
    grade: IntArray

    @classmethod
    def read(cls, path: Path, plan: ReadingPlan) -> "_Grades":
        """Return the grades of a Parquet file, with columns of ids, items and grades."""
        assert plan.pool.lists is not None
        assert isinstance(plan.pool.id, str), "queries have one column of ids"
        names = [plan.pool.id, plan.pool.lists.items, GRADE]
        batch = _read_batch(path, pq.read_table)
        id, items, grade = batch.column(names[0]), *(list_column(batch, name) for name in names[1:])
        lengths = [pc.list_value_length(column).to_numpy() for column in (items, grade)]
        wrong = np.flatnonzero(lengths[0] != lengths[1])
        if len(wrong):
            row = int(wrong[0])
            reason = f"{lengths[1][row]} grades for {lengths[0][row]} items"
            raise batch.error(GRADE, row, reason)
        stored = pa.table({ID: id, list_names(0)[0]: items})
        values = pc.list_flatten(grade)
        codes = pc.index_in(values.cast(pa.string()), value_set=pa.array(list(plan.labels.codes)))
        if codes.null_count:
            at = pc.index(codes.is_null(), True).as_py()
            row = int(np.searchsorted(np.cumsum(lengths[0]), at, side="right"))
            raise batch.error(GRADE, row, f"{values[at].as_py()!r} is no grade")
        return cls(path, pa.array(item_ids(stored), pa.string()), codes.to_numpy().astype(np.int64))

    def of(self, rows: pa.Table) -> IntArray:
        """Return the grades of the items of stored queries, in the order of `item_ids`."""
        items = pa.array(item_ids(rows), pa.string())
        place = pc.index_in(items, value_set=self.items)
        if place.null_count:
            missing = items[pc.index(place.is_null(), True).as_py()].as_py()
            raise InputError(f"{self.path}: item {missing!r} has no grade")
        return self.grade[place.to_numpy()]


def _read_graded(
    stratification: Stratification, truth: Path
) -> tuple[CellTable, IntArray, Outputs]:
    """Return the cells of a pool of queries, the cell of each query, and all grades by rank."""
    plan = stratification.plan
    grades = _Grades.read(truth, plan)
    depth = max(gain.cut for gain in build_gains(plan))
    systems = len(plan.pool.systems)
    sums = RunningTotal(SUM_CELLS)
    codes, parts = [], []
    for cells in read_cells(stratification):
        sums.add(cells)
        stored = pa.table({ID: cells.ids, **cells.stored(np.arange(len(cells)))})
        moments = cells.outputs.probability.shape[1]
        codes.append(cells.cell)
        parts.append(graded_outputs(stored, grades.of(stored), systems, moments, depth))
    table = stratification.table(sums.total)
    cell = np.searchsorted(table.code, np.concatenate(codes))
    order = np.argsort(cell, kind="stable")
    return table, cell[order], Outputs.concatenate(parts).take(order)
