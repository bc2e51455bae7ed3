"""More rows for cells whose reserve runs short."""

import dataclasses
import json
import shutil
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.pool.files import StoredFile, hash_of_blocks
from evalsampling.storage.checksums import sealed
from evalsampling.workspace.snapshot import Snapshot
from tests.jobs import files_below
from tests.slow import fast, slowly


@pytest.mark.parametrize("scored", [True, *slowly(False)], ids=["scored", "columns"])
def test_top_up(job: Any, scored: bool) -> None:
    one = job(
        budget=1000,
        strata={"leaves": 2},
        sampler="passive",
        round_size=90,
        pool={"scorer": "same_scorer:score"} if scored else {},
    )
    (one.directory / "same_scorer.py").write_text("def score(batch):\n    return batch\n")
    assert one.prepare().status == 0
    reserve = one.workspace / "reserve"
    whole = pq.read_table(reserve).sort_by([("cell", "ascending"), ("rank", "ascending")])
    kept = whole.filter(pa.array(whole["rank"].to_numpy() < 20))
    shutil.rmtree(reserve)
    reserve.mkdir()
    pq.write_table(kept, reserve / "part-00000.parquet")
    before = files_below(one.workspace)
    assert "--top-up 90`" in one.sample().refused
    assert files_below(one.workspace) == before

    assert one.prepare("--top-up").json["reserve_rows"] > len(kept)
    topped = pq.read_table(reserve).sort_by([("cell", "ascending"), ("rank", "ascending")])
    expected = whole.filter(pa.array(whole["rank"].to_numpy() < 20 + 2 * 90))
    columns = [name for name in whole.column_names if name != "file"]
    assert {"cell", "rank", "id", "score.0", "prediction.0", "payload.name"} <= set(columns)
    counts = np.bincount(expected["cell"].to_numpy())
    assert topped.select(columns) == expected.select(columns)
    assert counts.max() == 200
    assert one.sample().json["rows"] == 90
    assert one.prepare("--top-up").done


@pytest.mark.slow
def test_rows_that_two_top_ups_hold_count_once(job: Any) -> None:
    """Poisson rounds go by the numbers of all rows of the reserve, in the order of their cell."""
    one = job(budget=1000, strata={"leaves": 2}, sampler="poisson", round_size=90).prepared()
    reserve = one.workspace / "reserve"
    for path in reserve.iterdir():
        part = pq.read_table(path)
        path.unlink()
        pq.write_table(part.filter(pa.array(part["rank"].to_numpy() < 10)), path)
    held = one.prepare("--top-up").json["reserve_rows"]
    copy = dataclasses.replace(one, workspace=one.directory / "copy")
    shutil.copytree(one.workspace, copy.workspace)
    for added in [*(copy.workspace / "reserve").glob("top-up-0001-*")]:
        shutil.copy(added, added.with_name(added.name.replace("0001", "0002")))
    assert len(Snapshot.at(copy.workspace).pool.reserve.places()) == held
    for number in (1, 2):
        one.sample("--next")
        copy.sample("--next")
        assert copy.asked(number) == one.asked(number)


def test_top_up_refuses_a_changed_pool(job: Any) -> None:
    one = job(budget=100).prepared()
    path = one.directory / "pool" / "part-0.parquet"
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), path)
    assert "part-0.parquet: the pool has changed" in one.prepare("--top-up").refused


@pytest.mark.parametrize("change", fast(1, ["scores", "ids"]))
def test_top_up_refuses_a_pool_rewritten_at_the_same_size(job: Any, change: str) -> None:
    """Rows that moved to other cells, or ids to other rows, in files as long as before."""
    one = job(budget=20, round_size=5, strata={"leaves": 2}).drawn()
    (path,) = (one.directory / "pool").iterdir()
    table = pq.read_table(path)
    order = np.random.default_rng(1).permutation(len(table))
    column = {"scores": "score", "ids": "id"}[change]
    index = table.schema.get_field_index(column)
    mixed = table.set_column(index, column, table[column].take(pa.array(order)))
    if change == "scores":
        mixed = mixed.set_column(index, column, pa.array(table[column].to_numpy() * 1.5))
    size = path.stat().st_size
    pq.write_table(mixed, path)
    content = path.read_bytes()
    marker = one.workspace / "evaluation.json"
    text = marker.read_text().replace(f'"size": {size}', f'"size": {len(content)}')
    changed = {key: value for key, value in json.loads(text).items() if key != "sha256"}
    marker.write_text(json.dumps(sealed(changed)))
    result = one.prepare("--top-up", 1000)
    assert f"{path}: the pool has changed since it was prepared\n" in result.err
    changed["pool"][0]["blocks"] = hash_of_blocks(StoredFile(str(path), len(content)))
    marker.write_text(json.dumps(sealed(changed)))
    before = files_below(one.workspace)
    result = one.prepare("--top-up", 1000)
    assert result.status == 1
    assert result.err.count("\n") == 1
    words = {"scores": "rows and had", "ids": "other ids than it had"}[change]
    assert "the pool has changed since it was prepared: cell " in result.err
    assert words in result.err
    assert files_below(one.workspace) == before
