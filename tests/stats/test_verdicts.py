"""Cells of verdicts: a stratum for each combination, and what labels they make expect."""

import dataclasses

import numpy as np

from evalsampling.stats.cells import CellGrid, CellTable
from evalsampling.stats.signatures import Signatures
from evalsampling.stats.verdicts import GUESSED, by_verdict, named_verdicts


def _table(systems: int, counts: list[int]) -> CellTable:
    """Return cells of one leaf, one for each combination of verdicts of two classes."""
    grid = CellGrid(np.zeros(1, np.int64), np.zeros(1), 1, Signatures.every((2,) * systems))
    rows = np.array(counts)
    code = np.flatnonzero(rows)
    return grid.table(code, rows[code], np.full((len(code), 2), 0.5), classes=2)


def test_classes_have_as_many_rows_as_are_predicted() -> None:
    table = by_verdict(_table(1, [940, 60]))
    assert table.leaf.tolist() == [0, 1]
    assert table.leaves == 2
    assert table.exchangeable
    right = 1 - GUESSED
    assert np.allclose(table.prior[:, 1], [GUESSED * 0.06, right + GUESSED * 0.06])
    assert np.allclose(table.count @ table.prior, [940, 60])


def test_verdicts_of_several_systems_count_alike() -> None:
    """The second is never alone in saying 1, so that there are three strata."""
    table = by_verdict(_table(2, [800, 0, 100, 100]))
    assert table.leaf.tolist() == [0, 1, 2]
    expected = [(1 - GUESSED) * share + GUESSED * 0.15 for share in (0, 0.5, 1)]
    assert np.allclose(table.prior[:, 1], expected)
    assert named_verdicts(table, ["no", "yes"]) == [
        ["predicted no", "predicted no"],
        ["predicted yes", "predicted no"],
        ["predicted yes", "predicted yes"],
    ]


def test_cells_of_one_verdict_are_one_stratum() -> None:
    """As where slices or classes of costs divide it; a prior that is there is kept."""
    table = _table(1, [50, 50])
    twice = dataclasses.replace(
        table,
        outputs=dataclasses.replace(table.outputs, prediction=np.ones((2, 1), np.int64)),
    )
    alike = by_verdict(twice, None)
    assert alike.leaf.tolist() == [0, 0]
    assert alike.leaves == 1
    assert np.all(alike.prior == 0.5)
