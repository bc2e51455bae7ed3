"""Pools read in as few passes as can be, and what transforms of the passes keep of them."""

from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.transforms.util import Reshuffle

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.formats import registry as formats
from evalsampling.preparation.reserve_builder import ReserveBuilder
from evalsampling.preparation.with_replacement import sample_with_replacement
from evalsampling.transforms import ReplacementSample
from tests.jobs import Pool, make_pool
from tests.preparation.row_pools import make_spec, write_pool
from tests.reference import assert_same, reference
from tests.slow import fast, slowly


@pytest.mark.parametrize("prior", ["column", *slowly("score")])
def test_explicit_edges(job: Any, prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves as given, one of them empty; with prior probabilities given too, one pass."""
    pool = make_pool()
    p = 1 / (1 + np.exp(-pool.table["score"].to_numpy()))
    named = {"probability": "p"} if prior == "column" else {}
    edges = {"edges": [-3.0, -1.5, 0.0, 2.0, 900.0]}
    table = Pool(pool.table.append_column("p", pa.array(p)), pool.truth)
    one = job(table, files=3, pool=named, strata=edges, budget=300)
    read = []
    fetch = formats.read_batches

    def counting(item: Any, columns: Any, payload: Any) -> Any:
        read.append(item.rows)
        return fetch(item, columns, payload)

    monkeypatch.setattr("evalsampling.preparation.plan.read_batches", counting)
    assert one.prepare().json["leaves"] == 6
    assert sum(read) == (2000 if prior == "column" else 4000)
    assert_same(one.workspace, reference(one), budget=300)
    assert one.sample().json["rows"] == 20
    assert one.estimate("--labels", one.deliver(one.answers(1))).json["labels"] == 20
    assert one.sample().json["rows"] == 20


@pytest.mark.slow
def test_limits_from_the_first_pass_change_nothing(job: Any, monkeypatch: Any) -> None:
    """Most rows fall at once, and the reserve is what it is without limits."""
    one = job(make_pool(20_000), files=3, group_rows=1000, budget=15)
    taken: list[int] = []
    add = ReserveBuilder.add

    def counting(self: ReserveBuilder, cells: Any) -> int:
        taken.append(add(self, cells))
        return taken[-1]

    monkeypatch.setattr(ReserveBuilder, "add", counting)
    assert one.prepare().status == 0
    with_limits, taken = sum(taken), []
    assert_same(one.workspace, reference(one), budget=15)
    assert with_limits < 0.6 * 20_000


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "rounds"), fast(1, [(113, 1), (37, 0), (600, 0)]))
def test_draws_are_those_of_one_process(tmp_path: Path, rows: int, rounds: int) -> None:
    """Batches of their own bundles, so that the draws of each are merged with the others'."""
    write_pool(tmp_path)
    spec = make_spec(tmp_path, budget={"cost": 40})
    before = [sample_with_replacement(spec, draws=20)] * rounds
    wanted = sample_with_replacement(spec, before, 30)
    table = pq.read_table(tmp_path).combine_chunks()
    batches = [PoolBatch(part) for part in table.to_batches(max_chunksize=rows)]
    assert len(batches) == -(-600 // rows)
    out = tmp_path / "drawn"
    out.mkdir()
    with beam.Pipeline("FnApiRunner") as root:
        parts = root | beam.Create(batches) | Reshuffle()
        _ = (
            parts
            | ReplacementSample(spec, before, 30)
            | beam.Map(_write, str(out / "drawn.parquet"))
        )
    assert pq.read_table(out).select(wanted.column_names).equals(wanted)


def _write(drawn: pa.Table, path: str) -> None:
    pq.write_table(drawn, path)
