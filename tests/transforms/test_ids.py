"""Ids that repeat, wherever in the pool."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.bad_pools import assert_clean_failure
from tests.jobs import Pool, make_pool


@pytest.mark.slow
def test_duplicate_beyond_the_reserve_is_found_on_request(job: Any) -> None:
    pool = make_pool(rows=8000)
    ids = pool.table["id"].to_pylist()
    cell_mates = np.argsort(pool.table["score"].to_numpy())[:2]
    ids[cell_mates[1]] = ids[cell_mates[0]]
    doubled = Pool(pool.table.set_column(0, "id", pa.array(ids)), pool.truth)
    one = job(doubled, files=3, budget=1, strata={"leaves": 1}, round_size=1)
    assert one.prepare().status == 0
    other = job(doubled, files=3, budget=1, strata={"leaves": 1}, round_size=1)
    late = int(max(cell_mates))
    file = int(np.searchsorted([2666, 5333], late, side="right"))
    place = f"part-{file}.parquet: column 'id', row {late - [0, 2666, 5333][file]}: duplicate"
    assert_clean_failure(other, [place], "--check-ids")
    clean = job(pool, files=3)
    assert clean.prepare("--check-ids").status == 0
