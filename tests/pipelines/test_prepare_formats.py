"""Pools of text: bad rows are named."""

import pytest
import yaml

from tests.jobs import Jobs


@pytest.mark.parametrize(
    ("suffix", "line", "words"),
    [
        ("csv", "7,high,1,x", ["column 'score'", "row 2", "must be a number, got 'high'"]),
        ("csv", "7,0.5,2,x", ["column 'prediction'", "row 2", "'2' is none of [0, 1]"]),
        ("csv", "7,,1,x", ["column 'score'", "row 2", "null"]),
        ("csv", ",0.5,1,x", ["column 'id'", "row 2", "null"]),
        ("csv", "7,0.5,1", ["row 2"]),
        ("csv", "1,0.5,1,x", ["column 'id'", "row 2", "duplicate id '1', also in row 0"]),
        ("jsonl", '{"id": 7, "score": "x", "prediction": 1}', ["column 'score'", "row 2"]),
        ("jsonl", '{"id": 7, "score": 1, "prediction": 3}', ["column 'prediction'", "row 2", "3"]),
        ("jsonl", '{"id": 7, "score": 1, ', ["row 2"]),
        ("jsonl", '{"id": 7, "score": 1, "prediction": 1, "n": 1' + "0" * 5000 + "}", ["row 2"]),
        ("jsonl", '{"id": 7, "score": 1, "\\ud800": 1}', ["row 2", "not Unicode"]),
        ("csv", "7," + "x" * 100_000 + ",1,x", ["column 'score'", "row 2", "'xxx"]),
        ("jsonl", '{"score": 1, "prediction": 1}', ["column 'id'", "row 2", "null"]),
    ],
)
def test_bad_rows_are_named(job: Jobs, suffix: str, line: str, words: list[str]) -> None:
    good = {
        "csv": ["1,0.5,1,a", "2,0.25,0,b", "3,0.125,0,c"],
        "jsonl": [f'{{"id": {n}, "score": 0.5, "prediction": 1, "name": "a"}}' for n in (1, 2, 3)],
    }[suffix]
    head = ["id,score,prediction,name"] if suffix == "csv" else []
    one = job()
    path = one.directory / f"pool.{suffix}"
    path.write_text("\n".join([*head, *good[:2], line, good[2]]) + "\n")
    spec = yaml.safe_load(one.spec.read_text())
    spec["pool"]["path"] = str(path)
    one.spec.write_text(yaml.safe_dump(spec))
    # Of the engines, tests/pipelines/test_prepare_bad_pools.py.
    result = one.prepare("--in-process")
    assert result.status == 1
    assert result.err.count("\n") == 1
    assert len(result.err) < 1000
    for word in (f"{path}: ", *words):
        assert word in result.err
    assert not one.workspace.exists()
