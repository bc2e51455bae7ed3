"""Simulation: how a sampler would have done on a pool whose truth is known.

Rows of a cell are exchangeable, so the labels that a random order would bring are drawn from
the cell's urn of true labels as they are asked for. A repeat costs the same whatever the size
of the pool.
"""

import concurrent.futures
import dataclasses
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from evalsampling.errors import InputError
from evalsampling.evaluation import Evaluation
from evalsampling.io.parquet import list_pool, read_batches, work_items
from evalsampling.io.scorer import Scorer
from evalsampling.measures.base import Measure
from evalsampling.pool import (
    PoolBatch,
    Strata,
    assign_cells,
    new_histogram,
    required_columns,
    score_histogram,
)
from evalsampling.samplers.base import Sampler
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums, CellTable
from evalsampling.stats.draws import DRAWS_PER_NEW_ROW
from evalsampling.stats.history import NO_LABEL
from evalsampling.stats.intervals import Interval, interval_score

IntArray = npt.NDArray[np.int64]


@dataclasses.dataclass(frozen=True)
class KnownPool:
    """A pool with its truth, as far as any sampler can tell rows apart.

    Attributes:
        table: the cells.
        labels: shape (cells, classes): true labels in each cell.
    """

    table: CellTable
    labels: IntArray

    @classmethod
    def read(cls, spec: EvaluationSpec, truth: Path) -> "KnownPool":
        """Read a pool and its truth.

        Args:
            spec: of the evaluation.
            truth: Parquet or CSV file with the spec's id column and ``label``.

        Raises:
            InputError: for anything wrong with either.
        """
        labels = _Truth.read(truth, spec)
        histogram = new_histogram(spec)
        for batch in _batches(spec, [spec.pool.score]):
            histogram += score_histogram(batch, spec)
        strata = Strata.from_histogram(histogram, spec)
        shape, classes = strata.shape(spec), len(spec.labels.classes)
        sums = CellSums.zero(shape, classes)
        counts = np.zeros((len(sums.count), classes), dtype=np.int64)
        for batch in _batches(spec, required_columns(spec)):
            cells = assign_cells(batch, spec, strata)
            sums += cells.sums(shape)
            np.add.at(counts, (cells.cell, labels.of(batch, cells.ids)), 1)
        table = sums.table()
        return cls(table, counts[table.code])

    def value(self, measure: Measure) -> float:
        """Return the true value of a measure, NaN if it is undefined."""
        cells, classes = self.labels.shape
        signature = np.repeat(self.table.signature, classes, axis=0)
        losses = measure.loss(signature, np.tile(np.arange(classes), cells))
        return measure.value(self.labels.ravel() @ losses / self.table.rows)


def _batches(spec: EvaluationSpec, columns: Sequence[str]) -> Iterator[PoolBatch]:
    if spec.pool.scorer is None:
        for item in work_items(list_pool(spec.pool.path, columns)):
            yield from read_batches(item, columns)
    else:
        scorer = Scorer(spec.pool.scorer, spec.pool.scorer_path)
        for item in work_items(list_pool(spec.pool.path, None)):
            yield from map(scorer.score, read_batches(item, None))


@dataclasses.dataclass(frozen=True)
class _Truth:
    """True labels by id."""

    path: Path
    ids: pa.Array
    codes: IntArray

    @classmethod
    def read(cls, path: Path, spec: EvaluationSpec) -> "_Truth":
        name = spec.pool.id
        try:
            if path.suffix.lower() == ".csv":
                text = {name: pa.string(), "label": pa.string()}
                convert = pyarrow.csv.ConvertOptions(column_types=text)
                table = pyarrow.csv.read_csv(path, convert_options=convert)
            else:
                table = pq.read_table(path)
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
        if not len(table):
            raise InputError(f"{path}: no labels")
        batch = PoolBatch(table.combine_chunks().to_batches()[0], str(path))
        column = batch.column("label")
        if not (pa.types.is_integer(column.type) or pa.types.is_string(column.type)):
            raise batch.error("label", 0, f"must be whole numbers or text, got {column.type}")
        given = column.cast(pa.string())
        codes = pc.index_in(given, value_set=pa.array(list(spec.labels.codes)))
        if codes.null_count:
            row = pc.index(codes.is_null(), True).as_py()
            raise batch.error("label", row, f"{given[row].as_py()!r} is no class")
        ids = batch.ids(name)
        if pc.count_distinct(ids).as_py() < len(ids):
            raise InputError(f"{path}: column {name!r}: an id is there twice")
        return cls(path, ids, codes.to_numpy().astype(np.int64))

    def of(self, batch: PoolBatch, ids: pa.Array) -> IntArray:
        """Return the label codes of rows."""
        known = self.ids
        if known.type != ids.type:
            ids, known = ids.cast(pa.string()), known.cast(pa.string())
        place = pc.index_in(ids, value_set=known)
        if place.null_count:
            row = pc.index(place.is_null(), True).as_py()
            raise InputError(
                f"{batch.path}: row {batch.first_row + row}: "
                f"id {ids[row].as_py()!r} has no label in {self.path}"
            )
        return self.codes[place.to_numpy()]


@dataclasses.dataclass(frozen=True)
class Plan:
    """What to simulate.

    Attributes:
        budgets: numbers of distinct labels at which estimates are taken, increasing.
        round_size: most new rows of a round.
        repeats: how often.
        seed: of the draws and labels.
        confidence: level of the intervals.
    """

    budgets: tuple[int, ...]
    round_size: int
    repeats: int
    seed: int
    confidence: float


def simulate(
    known: KnownPool,
    samplers: Sequence[Sampler],
    measures: Sequence[Measure],
    plan: Plan,
    workers: int | None = None,
    report: Callable[[int], None] = lambda repeats: None,
) -> dict[str, Any]:
    """Repeat evaluations of a pool whose truth is known.

    Args:
        known: the pool.
        samplers: to try, each with its own measure to drive it.
        measures: to estimate.
        plan: what to do.
        workers: processes; one a core by default. The result does not depend on it.
        report: called with the number of repeats that were just finished.

    Returns:
        The object `simulate --json` prints.

    Raises:
        InputError: if the truth of a measure is undefined.
    """
    truth = {measure.name: known.value(measure) for measure in measures}
    for name, value in truth.items():
        if not np.isfinite(value):
            raise InputError(f"{name} of this pool is undefined (0/0): nothing to compare with")
    with concurrent.futures.ProcessPoolExecutor(workers or os.cpu_count()) as pool:
        jobs = {
            (number, repeat): pool.submit(_repeat, known, sampler, measures, plan, repeat)
            for number, sampler in enumerate(samplers)
            for repeat in range(plan.repeats)
        }
        for _ in concurrent.futures.as_completed(jobs.values()):
            report(1)
    results = []
    for number, sampler in enumerate(samplers):
        runs = [jobs[number, repeat].result() for repeat in range(plan.repeats)]
        for m, measure in enumerate(measures):
            for b, budget in enumerate(plan.budgets):
                points = [run[b][m] for run in runs]
                results.append(
                    {
                        "sampler": sampler.name,
                        "measure": measure.name,
                        "budget": budget,
                        **_summary(points, truth[measure.name], plan.confidence),
                    }
                )
    return {"truth": truth, "results": results}


@dataclasses.dataclass(frozen=True)
class _Point:
    """One estimate of one repeat, with the draws and seconds up to it."""

    value: float | None
    intervals: tuple[Interval, ...]
    draws: int
    seconds: float


def _repeat(
    known: KnownPool, sampler: Sampler, measures: Sequence[Measure], plan: Plan, repeat: int
) -> list[list[_Point]]:
    """One evaluation from the first label to the last budget; a list of points a budget."""
    seeds = np.random.SeedSequence([plan.seed, repeat]).generate_state(2, np.uint64)
    evaluation = Evaluation(known.table, sampler, measures, int(seeds[0]), plan.confidence)
    oracle = _Urns(known.labels, int(seeds[1]))
    started, stuck, points = time.process_time(), 0, []
    for budget in plan.budgets:
        while len(evaluation.history.cell) < budget:
            if evaluation.exhausted or stuck > DRAWS_PER_NEW_ROW * plan.round_size:
                break
            missing = budget - len(evaluation.history.cell)
            rows = evaluation.draw(plan.round_size, budget=missing)
            labels = evaluation.history.label.copy()
            labels[rows] = oracle.ask(evaluation.history.cell[rows])
            evaluation.history = evaluation.history.with_labels(labels)
            stuck = 0 if len(rows) else stuck + len(evaluation.history.rounds[-1].row)
        seconds = time.process_time() - started
        draws = len(evaluation.history.row)
        points.append([_Point(e.value, e.intervals, draws, seconds) for e in evaluation.estimate()])
    assert NO_LABEL not in evaluation.history.label
    return points


class _Urns:
    """The true labels of each cell in random order, drawn as they are asked for."""

    def __init__(self, labels: IntArray, seed: int) -> None:
        self._left = labels.copy()
        self._rng = np.random.Generator(np.random.PCG64(seed))

    def ask(self, cells: IntArray) -> IntArray:
        """Return the label codes of the next row of each cell."""
        answers = np.empty(len(cells), dtype=np.int64)
        for i, (cell, uniform) in enumerate(zip(cells, self._rng.random(len(cells)), strict=True)):
            cumulated = np.cumsum(self._left[cell])
            answers[i] = np.searchsorted(cumulated, uniform * cumulated[-1], side="right")
            self._left[cell, answers[i]] -= 1
        return answers


def _summary(points: Sequence[_Point], truth: float, confidence: float) -> dict[str, Any]:
    errors = np.array([(point.value or 0.0) - truth for point in points])
    first = [point.intervals[0] for point in points]
    wald = [point.intervals[-1] for point in points]
    return {
        "rmse": float(np.sqrt(np.mean(errors**2))),
        "bias": float(np.mean(errors)),
        **_interval_summary(first, truth, confidence),
        "undefined": sum(point.value is None for point in points),
        "draws": float(np.mean([point.draws for point in points])),
        "seconds": float(np.sum([point.seconds for point in points])),
        "wald": _interval_summary(wald, truth, confidence),
    }


def _interval_summary(
    intervals: Sequence[Interval], truth: float, confidence: float
) -> dict[str, Any]:
    scores = [interval_score(interval, truth, confidence) for interval in intervals]
    return {
        "coverage": float(np.mean([i.low <= truth <= i.high for i in intervals])),
        "median_width": float(np.median([i.high - i.low for i in intervals])),
        "interval_score": float(np.mean(scores)),
    }
