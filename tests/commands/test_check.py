"""What is wrong with a spec, found without a pass over the pool."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tests.jobs import Job, call, files_below


def changed(one: Job, **keys: Any) -> None:
    content = yaml.safe_load(one.spec.read_text())
    pool = {**content["pool"], **keys.pop("pool", {})}
    one.spec.write_text(yaml.safe_dump({**content, "pool": pool, **keys}))


def test_nothing_is_wrong_and_nothing_is_changed(job: Any) -> None:
    one: Job = job(files=3)
    before = files_below(one.directory)
    result = call("check", one.spec, "--json")
    assert result.json == {"problems": [], "files": 3, "rows": 2000, "looked_at": 666}
    assert files_below(one.directory) == before
    one.prepare()
    assert call("check", one.spec).status == 0


@pytest.mark.parametrize(
    ("keys", "problems"),
    [
        (
            {"budgett": 5, "pool": {"scor": "x", "payload": ["nam"]}, "strata": {"n": 3}},
            [
                "unknown key budgett; did you mean budget?",
                "unknown key strata.n",
                "unknown key pool.scor; did you mean pool.score?",
                "column 'nam' is missing",
            ],
        ),
        (
            {"seedd": 1, "measure": "f3"},
            ["unknown key seedd; did you mean seed?", "unknown measure 'f3'; did you mean f1?"],
        ),
        ({"measure": "f3"}, ["unknown measure 'f3'; did you mean f1?"]),
        ({"pool": {"path": "none/*.parquet"}}, ["none/*.parquet: no such file"]),
        (
            {"pool": {"score": "scor", "payload": ["nam"]}},
            ["column 'scor' is missing; did you mean score?", "column 'nam' is missing"],
        ),
        ({"pool": {"prediction": "name"}}, ["column 'name', row 0: type string holds none of"]),
        (
            {"pool": {"slices": ["score"]}, "labels": {"gold": {"path": "gold.csv"}}},
            ["column 'score', row 0: slices are", "gold.csv: cannot be read: No such file"],
        ),
        ({"workspace": None}, ["the spec names no workspace"]),
    ],
)
def test_all_that_is_wrong_is_told_at_once(job: Any, keys: Any, problems: list[str]) -> None:
    one: Job = job()
    changed(one, **keys)
    result = call("check", one.spec, "--json")
    assert result.status == 1
    told = result.json["problems"]
    assert len(told) == len(problems), told
    for found, expected in zip(told, problems, strict=True):
        assert expected in found
    text = call("check", one.spec).out.splitlines()
    assert text[:-1] == told
    assert text[-1].endswith(f"{len(told)} problem{'s' * (len(told) > 1)}")


def test_values_of_the_first_rows(job: Any) -> None:
    one: Job = job()
    (path,) = (one.directory / "pool").iterdir()
    table = pq.read_table(path)
    ids = pa.array([3, *table["id"].to_pylist()[:-1]])
    score = pa.array([None, *table["score"].to_pylist()[1:]])
    pq.write_table(table.set_column(0, "id", ids).set_column(1, "score", score), path)
    told = call("check", one.spec).out
    assert "column 'score', row 0: null" in told
    assert ", row 0: id 3 comes again" in told or "comes again" in told


def test_a_workspace_of_another_spec(job: Any, tmp_path: Path) -> None:
    one: Job = job()
    one.prepare()
    changed(one, seed=6)
    assert "prepared with another seed" in call("check", one.spec).out
    assert "cannot be read: No such file" in call("check", tmp_path / "absent.yaml").out
