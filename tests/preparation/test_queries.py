"""Strata and cells of queries: what is expected of their gains."""

import dataclasses
import functools
import operator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.measures.build import build_gains
from evalsampling.measures.gains import GainMoments
from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import CellBatch, assign_cells
from evalsampling.preparation.plan import stratify_rows
from evalsampling.preparation.queries import ExpectedQueries
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import Wanted, summarize
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellTable
from tests.contracts import sent
from tests.queries import make_queries

QUERIES = make_queries(120, seed=6)
SPEC = EvaluationSpec.from_mapping(QUERIES.spec(), Path())
BATCH = PoolBatch(pa.record_batch(QUERIES.columns))


def parts(size: int) -> list[PoolBatch]:
    starts = range(0, len(QUERIES), size)
    return [PoolBatch(BATCH.rows.slice(begin, size), first_row=begin) for begin in starts]


def cells_of(batches: list[PoolBatch]) -> tuple[Stratification, list[CellBatch]]:
    """Make both passes over batches."""
    stratification = stratify_rows(batches, SPEC.reading)
    return stratification, [assign_cells(batch, stratification) for batch in batches]


def table_of(stratification: Stratification, cells: list[CellBatch]) -> CellTable:
    return stratification.table(functools.reduce(operator.add, [part.sums() for part in cells]))


def test_strata_are_cut_from_mean_deviation_and_cost_of_the_driver() -> None:
    found = ExpectedQueries.read(BATCH, SPEC.reading)
    assert [gain.name for gain in found.gains] == ["dcg@4", "err@4"]
    mean, square = found.moments.of(found.drivers[0])
    np.testing.assert_allclose(found.features[:, 0], np.log(QUERIES.columns["cost"]), atol=1e-9)
    np.testing.assert_allclose(found.features[:, 1], mean, atol=1e-9)
    np.testing.assert_allclose(found.features[:, 2], np.sqrt(square - mean**2), atol=1e-6)


@pytest.mark.parametrize("size", [7, 50])
def test_neither_strata_nor_cells_depend_on_how_the_pool_is_cut(size: int) -> None:
    (whole, one), (cut, several) = cells_of([BATCH]), cells_of(parts(size))
    assert whole.to_mapping() == cut.to_mapping()
    codes = [np.concatenate([cells.cell for cells in batches]) for batches in (one, several)]
    assert codes[0].tolist() == codes[1].tolist()
    tables = table_of(whole, one), table_of(cut, several)
    np.testing.assert_array_equal(tables[0].kinds.probability, tables[1].kinds.probability)


def test_a_batch_without_queries_adds_nothing() -> None:
    nothing = PoolBatch(BATCH.rows.slice(0, 0))
    cells = assign_cells(nothing, stratify_rows([BATCH], SPEC.reading))
    assert cells.sums().count.sum() == 0


def test_cells_hold_the_mean_moments_of_their_queries() -> None:
    stratification, (cells,) = cells_of([BATCH])
    table, gains = table_of(stratification, [cells]), build_gains(SPEC.reading)
    assert table.classes == 1
    of_cells = GainMoments.of_cells(gains, table)
    single = ExpectedQueries.read(BATCH, SPEC.reading).moments
    for name in ("mean", "second"):
        own = getattr(single, name)
        for place, code in enumerate(table.code):
            inside = own[cells.cell == code].mean(axis=0)
            np.testing.assert_allclose(getattr(of_cells, name)[place], inside, atol=1e-7)
    total = float(table.cost @ table.count)
    assert total == pytest.approx(sum(QUERIES.columns["cost"]), rel=1e-7)
    # Queries that are ranked alike have cells of their own.
    alike = table.kinds.prediction[:, 1] == 0
    agree = [QUERIES.ranked(q, "new") == QUERIES.ranked(q, "old") for q in range(len(QUERIES))]
    assert table.count[alike].sum() == sum(agree)


def test_the_summary_and_the_stratification_survive_being_stored() -> None:
    summary = summarize(BATCH, SPEC.reading, Wanted.of(SPEC.reading))
    again = sent(summary)
    assert again.scores == summary.scores
    assert again.magnitudes == {"cost": (3.0, 8.0)}
    stratification = Stratification.from_summary(again, SPEC.reading)
    stored = Stratification.from_mapping(stratification.to_mapping(), SPEC.reading)
    assert dataclasses.replace(stratification, min_rows=None).to_mapping() == stored.to_mapping()
    edges = stratification.magnitudes["cost"].edges.tolist()
    assert stored.magnitudes["cost"].edges.tolist() == edges
