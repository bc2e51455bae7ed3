"""Pools of queries with known grades: read with the pool, and what is wrong with them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.errors import InputError
from evalsampling.evaluation.specs import load_spec
from evalsampling.measures.build import build_measures
from evalsampling.preparation.plan import stratify_pool
from evalsampling.simulation.graded_queries import KnownGrades
from evalsampling.simulation.truth import KnownPool
from tests.queries import CUT, make_queries

QUERIES = make_queries(60, seed=7)


def test_the_truth_is_that_of_all_queries(tmp_path: Path) -> None:
    spec = load_spec(QUERIES.write(tmp_path, files=2))
    stratification = stratify_pool(spec.reading)
    known = KnownPool.read(stratification, tmp_path / "truth.parquet")
    assert known.count.tolist() == [1] * len(QUERIES)
    assert np.bincount(known.cell, minlength=len(known.table)).tolist() == (
        known.table.count.tolist()
    )
    own = {name: [QUERIES.mean(ranker, name) for ranker in ("new", "old")]
           for name in ("dcg", "err")}  # fmt: skip
    expected = {
        f"difference(dcg@{CUT})": own["dcg"][0] - own["dcg"][1],
        f"difference(err@{CUT})": own["err"][0] - own["err"][1],
    }
    for requested in build_measures(spec.reading, stratification.ranges):
        measure = requested
        value = known.value(measure)[0]
        wanted = expected.get(measure.name, own["err"][measure.system])
        assert value == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"grade": [[1, 2], [0]]}, "column 'grade', row 1: 1 grades for 2 items"),
        ({"grade": [[1, 2], [0, 9]]}, "column 'grade', row 1: 9 is no grade"),
        ({"grade": [1, 2]}, "column 'grade', row 0: must be a list, got type int64"),
        ({"grade": [None, [1, 2]]}, "column 'grade', row 0: null; leave such rows out"),
    ],
)
def test_what_is_wrong_with_the_truth(
    tmp_path: Path, columns: dict[str, Any], message: str
) -> None:
    spec = load_spec(QUERIES.write(tmp_path))
    path = tmp_path / "wrong.parquet"
    good = {"query": ["q0", "q1"], "doc": [["d0", "d1"], ["d0", "d1"]], "grade": [[0, 1], [2, 0]]}
    pq.write_table(pa.table(good | columns), path)
    with pytest.raises(InputError) as caught:
        KnownGrades.read(path, spec)
    assert str(caught.value) == f"{path}: {message}"


def test_an_item_without_a_grade_is_named(tmp_path: Path) -> None:
    spec = load_spec(QUERIES.write(tmp_path))
    truth = pq.read_table(tmp_path / "truth.parquet").slice(1)
    pq.write_table(truth, tmp_path / "short.parquet")
    with pytest.raises(InputError, match=r"item 'q0/d[0-9]' has no grade"):
        KnownPool.read(stratify_pool(spec.reading), tmp_path / "short.parquet")
