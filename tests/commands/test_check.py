"""What is wrong with a spec, found without a pass over the pool."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
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
    told = call("prepare", "--check", one.spec, "--json").json
    scores = told.pop("scores")
    assert scores.startswith(
        "'score' is read as an order, of which only ranks count: it goes from "
    )
    assert told == {"problems": [], "files": 3, "rows": 2000, "looked_at": 2000, "warnings": []}
    assert f"scores of these: {scores}" in call("prepare", "--check", one.spec).out
    assert files_below(one.directory) == before
    one.prepare()
    assert call("prepare", "--check", one.spec).status == 0


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
            {
                "pool": {"score": "scor", "probability": dict.fromkeys("abc", "score")},
                "labels": {"classes": ["a", "b", "c"]},
                "measure": "accuracy",
            },
            [
                "column 'scor' is missing; pool.score names the column that strata are cut from: "
                "name another, or cut them from the probabilities by strata.method: kd and "
                "pool.features: [score, score, score]"
            ],
        ),
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
    result = call("prepare", "--check", one.spec, "--json")
    assert result.status == 1
    told = result.json["problems"]
    assert len(told) == len(problems), told
    for found, expected in zip(told, problems, strict=True):
        assert expected in found
    text = call("prepare", "--check", one.spec).out.splitlines()
    assert text[:-1] == told
    assert text[-1].endswith(f"{len(told)} problem{'s' * (len(told) > 1)}")


def test_values_of_the_first_rows(job: Any) -> None:
    one: Job = job()
    (path,) = (one.directory / "pool").iterdir()
    table = pq.read_table(path)
    ids = pa.array([3, *table["id"].to_pylist()[:-1]])
    score = pa.array([None, *table["score"].to_pylist()[1:]])
    pq.write_table(table.set_column(0, "id", ids).set_column(1, "score", score), path)
    told = call("prepare", "--check", one.spec).out
    assert "column 'score', row 0: null" in told
    assert ": duplicate id 3, also in row 0" in told


def written(folder: Path, files: dict[str, str | bytes], **keys: Any) -> Path:
    """A spec beside files of a pool."""
    for name, text in files.items():
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    spec = {"pool": {"path": "*.csv"}, "budget": 50, "round_size": 10, "workspace": "run"}
    content = {**spec, **keys, "pool": {**spec["pool"], **keys.get("pool", {})}}
    (folder / "evaluation.yaml").write_text(yaml.safe_dump(content))
    return folder / "evaluation.yaml"


HEAD = "id,score,prediction,text\n"


@pytest.mark.parametrize(
    ("files", "keys", "problem"),
    [
        (
            {"a.csv": f"{HEAD}1,0.5,1,x\n", "b.csv": f"{HEAD}2,0.5,0,x\n3,none,0,x\n"},
            {},
            "b.csv: column 'score', row 1: must be a number, got 'none'",
        ),
        (
            {"a.csv": f"{HEAD}1,0.5,1,x\n", "b.csv": f"{HEAD}2,0.5,0,x\n1,0.5,0,x\n"},
            {},
            "b.csv: column 'id', row 1: duplicate id '1', also in row 0",
        ),
        (
            {"a.csv": f"{HEAD}1,0.5,1,x\n2,0.5,1,\xe9\n".encode("latin-1")},
            {"pool": {"payload": ["text"]}},
            "a.csv: row 1: is not UTF-8",
        ),
        (
            {"a.csv": "id,score,prediction,p\n" + "".join(f"{i},0,1,{i / 4}\n" for i in range(6))},
            {"pool": {"probability": "p"}},
            "a.csv: column 'p', row 5: a probability lies in [0, 1], got 1.25",
        ),
        (
            {"a.csv": HEAD + "".join(f"{i},0.5,1,{i}\n" for i in range(1001))},
            {"pool": {"slices": ["text"]}},
            "pool.slices: column 'text' has 1001 values or more, at most 1000 are possible",
        ),
        (
            {"a.csv": "id,guess,v\n1,0.5,1\n2,0.5,-1\n"},
            {
                "pool": {"prediction": "guess", "variance": "v"},
                "labels": {"range": [0, 1]}, "measure": "mse", "sampler": "passive",
            },
            "a.csv: column 'v', row 1: a variance is at least 0, got -1",
        ),
        ({"a.csv": f"{HEAD}1,0.5,1,x\n"}, {"workspace": "a.csv/run"}, "a.csv: a file, where"),
        ({"a.jsonl": ""}, {"pool": {"path": "a.jsonl"}}, "a.jsonl: the pool is empty"),
        ({"a.csv": HEAD}, {}, "*.csv: the pool is empty"),
    ],
)  # fmt: skip
def test_what_prepare_refuses_of_the_rows_looked_at(
    tmp_path: Path, files: dict[str, str | bytes], keys: dict[str, Any], problem: str
) -> None:
    """Both say it in the same words."""
    spec = written(tmp_path, files, **keys)
    result = call("prepare", "--check", spec, "--json")
    [told] = result.json["problems"]
    assert result.status == 1
    assert problem in told
    assert told in call("prepare", spec, "--in-process").err


def test_rows_are_looked_at_over_batches_and_files(job: Any) -> None:
    """Up to 10,000 of them, however few a row group has."""
    one: Job = job(files=2)
    for path in (one.directory / "pool").iterdir():
        table = pa.concat_tables([pq.read_table(path)] * 6)
        ids = pa.array(range(len(table)), pa.int64())
        if path.name > "part-0":
            ids = pc.add(ids, len(table))
        pq.write_table(table.set_column(0, "id", ids), path, row_group_size=100)
    told = call("prepare", "--check", one.spec, "--json").json
    assert told["rows"] == 12_000
    assert told["looked_at"] == 10_000


@pytest.mark.parametrize("rows", [100, 10_100])
def test_scores_that_predictions_contradict(tmp_path: Path, rows: int) -> None:
    """The words are those of `prepare`; they say so if there are more rows."""
    lines = "".join(f"{i},{i % 100 / 100},0,x\n" for i in range(rows))
    spec = written(tmp_path, {"a.csv": HEAD + lines})
    result = call("prepare", "--check", spec).done
    seen = "by the first 10,000 rows, " if rows > 10_000 else ""
    assert f"warning: {seen}pool.score: 'score' expects " in result.err
    # Of some rows it would not follow: where positives are rare none of the first may be.
    assert ("pool.prediction: no row is predicted positive" in result.err) == (not seen)
    *told, shown = call("prepare", "--check", spec, "--json").json["warnings"]
    assert len(told) == (1 if seen else 2)
    assert shown == "pool.payload: names no column, so annotators are shown nothing of a row"


def test_a_slice_that_only_later_rows_are_of(tmp_path: Path) -> None:
    """No problem, as the pool may have such rows: files are often sorted by a column of slices."""
    lines = "".join(f"{i},0.5,1,{'DE' if i < 10_000 else 'FR'}\n" for i in range(10_100))
    measure = {"name": "f1", "where": {"text": "FR"}}
    spec = written(tmp_path, {"a.csv": HEAD + lines}, measure=measure)
    told = call("prepare", "--check", spec, "--json").json
    assert told["problems"] == []
    assert [line for line in told["warnings"] if "measure.where" in line] == [
        "by the first 10,000 rows, text: none of them has 'FR' there, and measure.where, "
        "measure.over or strata.slices names it"
    ]
    assert call("prepare", spec, "--in-process").done.status == 0


def test_a_workspace_of_another_spec(job: Any, tmp_path: Path) -> None:
    one: Job = job().prepared()
    changed(one, seed=6)
    assert "prepared with another seed" in call("prepare", "--check", one.spec).out
    told = call("prepare", "--check", tmp_path / "absent.yaml").out
    assert "cannot be read: No such file" in told


def test_match_weights_of_splink_are_recognised(job: Any) -> None:
    """They are log2 odds, and would be read as natural ones."""
    one: Job = job()
    path = next((one.directory / "pool").iterdir())
    table = pq.read_table(path)
    names = ["match_weight" if name == "score" else name for name in table.column_names]
    pq.write_table(table.rename_columns(names), path)
    changed(one, pool={"score": "match_weight"})
    told = call("prepare", "--check", one.spec).done
    words = "pool.score: 'match_weight' is a match weight of Splink by its name: log2 odds"
    assert words in told.err
    assert "match_probability, or multiply the weights by ln 2 = 0.6931" in told.err
    share = 1 / (1 + np.exp(-np.log(2) * table["score"].to_numpy()))
    with_share = table.rename_columns(names).append_column("match_probability", pa.array(share))
    pq.write_table(with_share, path)
    changed(one, pool={"score": "match_weight", "probability": "match_probability"})
    assert words not in call("prepare", "--check", one.spec).err
