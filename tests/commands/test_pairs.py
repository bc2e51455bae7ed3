"""A pool whose rows are known by two columns: one id inside, two columns for people."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling.commands.export import table_of_votes
from evalsampling.workspace.snapshot import Snapshot
from tests.commands.votes import deliver, votes
from tests.jobs import Job, Jobs, Pool, call
from tests.labels.deliveries import FORMATS as DELIVERIES
from tests.labels.deliveries import written
from tests.pairs import IDS, flat_of, pair_pool
from tests.slow import slowly


@pytest.fixture(
    params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["texts", "numbers"]
)
def pairs(job: Jobs, request: pytest.FixtureRequest) -> Job:
    return job(pair_pool(numbers=request.param), files=3, pool={"id": IDS}).drawn()


def by_pair(job: Job, number: int) -> list[tuple[Any, ...]]:
    """Left id, right id and true label of the rows of a round."""
    return [(*json.loads(id), str(job.pool.truth[id])) for id in job.batch(number)["id"]]


@pytest.mark.parametrize("suffix", ["parquet", "csv", *slowly("jsonl", "avro")])
def test_a_pool_with_the_pasted_id_is_the_same(job: Jobs, suffix: str) -> None:
    pool, done = pair_pool(), []
    for rows, id in ((pool, IDS), (flat_of(pool), "id")):
        one = job(rows, 2, pool={"id": id})
        spec = yaml.safe_load(one.spec.read_text())
        if suffix != "parquet":
            spec["pool"]["path"] = str(rows.write_as(suffix, one.directory / suffix, 2))
        one.spec.write_text(yaml.safe_dump(spec))
        one.drawn()
        if suffix == "parquet":
            one.answer(1)
        estimated = one.estimate().json if suffix == "parquet" else {"measures": []}
        cells = pq.read_table(one.workspace / "cells.parquet")
        done.append(([id for _, id in one.asked(1)], estimated["measures"], cells))
    assert done[0] == done[1]


@pytest.mark.parametrize("name", DELIVERIES)
def test_labels_come_by_the_columns(pairs: Job, name: str) -> None:
    """Records change places in every second line."""
    rows = [(right, left, label) if place % 2 else (left, right, label)
            for place, (left, right, label) in enumerate(by_pair(pairs, 1))]  # fmt: skip
    path = pairs.directory / name
    path.write_bytes(written(name, rows, [*IDS, "label"]))
    by_columns = pairs.estimate("--labels", path)
    assert by_columns.json["labels"] == len(rows), by_columns.err
    assert by_columns.json["rejects"] == 0
    beside = [(task, *row) for task, row in zip(pairs.batch(1)["task"], rows, strict=True)]
    assert pairs.take(beside, header=",".join(["task", *IDS, "label"])).json["rejects"] == 0
    again = pairs.answer(1)
    assert again.json["measures"] == by_columns.json["measures"], "the same labels by task"


def test_a_delivery_with_one_of_the_columns_goes_by_task(pairs: Job) -> None:
    rows = [(task, "x", label) for task, label in pairs.answers(1)]
    assert pairs.take(rows, header="task,unique_id_l,label").json["labels"] == len(rows)
    failed = pairs.take([["a1", "1"]], "short.csv", "unique_id_l,label")
    assert "column 'task' (or 'unique_id_l' and 'unique_id_r') is missing" in failed.err


def test_rejects_name_the_columns(pairs: Job) -> None:
    first, *_ = by_pair(pairs, 1)
    task = pairs.batch(1)["task"][0]
    rows = [("", "zz", "q", "1"), ("", first[0], "", "1"), (task, "zz", "q", "1")]
    assert pairs.take(rows, header="task,unique_id_l,unique_id_r,label").json["rejects"] == 3
    lines = pairs.rejects()
    assert [*lines[0]] == ["file", "line", "task", *IDS, "label", "reason"]
    assert [(line[IDS[0]], line[IDS[1]]) for line in lines] == [("zz", "q"), ("", ""), ("zz", "q")]
    reasons = [line["reason"] for line in lines]
    assert reasons[0] == """unknown id '["zz","q"]': answer by the column `task`"""
    assert reasons[1] == "neither task nor unique_id_r is given"
    assert "is about id" in reasons[2]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "xlsx"])
def test_rows_that_lack_columns_of_the_id_say_which(pairs: Job, suffix: str) -> None:
    left, right, label = by_pair(pairs, 1)[0]
    rows = [(None, None, right, label), (None, left, None, label), (None, None, None, label)]
    path = pairs.directory / f"short.{suffix}"
    path.write_bytes(written(f"short.{suffix}", rows, ["task", *IDS, "label"]))
    assert pairs.estimate("--labels", path).json["rejects"] == 3
    reasons = [line["reason"] for line in pairs.rejects()]
    missing = ["unique_id_l", "unique_id_r", "unique_id_l and unique_id_r"]
    assert reasons == [f"neither task nor {names} is given" for names in missing]


@pytest.mark.parametrize("last", IDS)
def test_a_cut_file_is_noticed_in_either_column(pairs: Job, last: str) -> None:
    drawn = by_pair(pairs, 1)
    side = IDS.index(last)
    part = tuple(map(str, drawn[0]))
    first = IDS[1 - side]
    path = pairs.directory / "cut.csv"
    path.write_text(f"label,{first},{last}\n{part[2]},{part[1 - side]},{part[side]}")
    cut = pairs.estimate("--labels", path)
    assert (cut.json["labels"], cut.json["rejects"]) == (0, 1)
    (listed,) = (pairs.workspace / "labels").glob("*.rejects.csv")
    assert f"without the end of a line, so {last!r} may be cut" in listed.read_text("utf-8-sig")
    path.write_text(path.read_text() + "\n")
    assert pairs.estimate("--labels", path).json["labels"] == 1


@pytest.mark.slow
def test_votes_are_listed_by_the_columns_and_come_back(job: Jobs) -> None:
    one = job(pair_pool(), pool={"id": IDS}, labels={"votes": 2, "repeats": 5}).drawn()
    one.estimate("--labels", deliver(one, votes(one, 1, "ab"), "votes.csv"))
    table = table_of_votes(Snapshot.at(one.workspace))
    assert table.column_names[:4] == ["task", *IDS, "kind"]
    of_task = dict(zip(one.batch(1)["task"], one.batch(1)["id"], strict=True))
    for row in table.to_pylist():
        if row["kind"] == "sample":
            assert [row[name] for name in IDS] == json.loads(of_task[row["task"]])
    path = one.directory / "long.csv"
    assert call("export", one.workspace, "--to", path).status == 0
    again = one.estimate("--labels", path)
    assert again.json["rejects"] == 0, again.err
    # Those who settle disputes see no ids either, and their answers count by task.
    assert one.sample("--adjudicate").json["rows"] > 0
    tasks = pq.read_table(one.workspace / "adjudications/0001/tasks.parquet").to_pylist()
    settled = [(row["task"], str(one.pool.truth[row["id"]])) for row in tasks]
    assert one.take(settled, "s.csv").json["rejects"] == 0


def test_gold_rows_are_named_by_the_columns(job: Jobs) -> None:
    rows = [{"unique_id_l": "a1", "unique_id_r": "b9", "name": "x", "label": 1}]
    rows.append({"unique_id_l": "", "unique_id_r": "b9", "name": "y", "label": 0})
    one = job(pair_pool(), pool={"id": IDS})
    (one.directory / "gold.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    spec = yaml.safe_load(one.spec.read_text())
    spec["labels"] = {"gold": {"path": "gold.jsonl", "rows": 2}}
    one.spec.write_text(yaml.safe_dump(spec))
    one.drawn()
    controls = pq.read_table(one.round_directory(1) / "controls.parquet")
    assert sorted(controls["id"].to_pylist()) == ['["a1","b9"]', "gold 1"]


@pytest.mark.parametrize("suffix", ["parquet", *slowly("csv")])
def test_truth_is_named_by_the_columns(pairs: Job, suffix: str) -> None:
    truth = pa.table(
        {
            **{
                name: [str(json.loads(id)[place]) for id in pairs.pool.truth]
                for place, name in enumerate(IDS)
            },
            "label": list(pairs.pool.truth.values()),
        }
    )
    path = pairs.directory / f"truth.{suffix}"
    if suffix == "csv":
        pa.csv.write_csv(truth, path)
    else:
        pq.write_table(truth, path)
    options = ("--budgets", "50", "--repeats", "2", "--sampler", "passive")
    assert call("simulate", pairs.spec, "--truth", path, *options, "--json").done
    pq.write_table(truth.slice(1), pairs.directory / "short.parquet")
    short = call("simulate", pairs.spec, "--truth", pairs.directory / "short.parquet", *options)
    assert "has no label in" in short.err


def test_a_pair_that_is_there_twice_names_both_places(job: Jobs) -> None:
    pool = pair_pool(300)
    table = pa.concat_tables([pool.table, pool.table.slice(7, 1)])
    failed = call("prepare", job(Pool(table, pool.truth), pool={"id": IDS}).spec, "--in-process")
    assert failed.status == 1
    assert "columns 'unique_id_l', 'unique_id_r', row 300: duplicate id" in failed.err
    assert """'["a0","b7"]', also in row 7""" in failed.err


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"pool": {"id": ["a", "a"]}}, "pool.id: a is listed twice"),
        ({"pool": {"id": []}}, "pool.id: must be a list of columns, got []"),
        ({"pool": {"id": ["a", ""]}}, "pool.id: must be a list of columns, got ['a', '']"),
        ({"pool": {"id": ["a", 3]}}, "pool.id: must be a list of columns"),
        ({"pool": {"id": ["a", "label"]}}, "pool.id: label is a column of every delivery, rename"),
        ({"pool": {"id": ["unique_id_l", "nope"]}}, "column 'nope' is missing"),
        ({"pool": {"id": IDS, "payload": [{IDS[0]: "hash"}]}},
         "pool.payload: unique_id_l cannot be shown as sink.format is csv"),
        ({"pool": {"id": IDS}, "sink": {"format": "splink"}},
         "sink.records: missing, a table of Splink names two records a row"),
        ({"pool": {"id": IDS}, "sink": {"records": {"left": "a", "right": IDS[1]}}},
         "sink.records.left: a is no column of pool.payload"),
    ],
)  # fmt: skip
def test_wrong_specs_are_refused(job: Jobs, keys: dict[str, Any], words: str) -> None:
    one = job(pair_pool(100), **keys)
    checked = call("prepare", "--check", one.spec)
    assert words in checked.err + checked.out
    assert words in call("prepare", one.spec, "--in-process").err


def test_a_null_names_column_and_row(job: Jobs) -> None:
    pool = pair_pool(100)
    right = pool.table[IDS[1]].to_pylist()
    right[17] = None
    one = job(pool.with_columns(**{IDS[1]: right}), pool={"id": IDS})
    failed = call("prepare", one.spec, "--in-process")
    assert "part-0.parquet: column 'unique_id_r', row 17: null" in failed.err


@pytest.mark.parametrize("sources", [[], ["source_dataset_l", "source_dataset_r"]])
def test_splink_names_a_pair_in_either_order(job: Jobs, sources: list[str]) -> None:
    """The delivery has no data sets, whether the batch has or not."""
    pool = pair_pool()
    for name in sources:
        pool = Pool(pool.table.append_column(name, [[name[-1]] * 2000]), pool.truth)
    payload = [*sources, *IDS, "name"]
    one = job(pool, pool={"id": IDS, "payload": payload}, sink={"format": "splink"}).drawn()
    head = (one.round_directory(1) / "clerical-labels.csv").read_text().splitlines()[0]
    names = sorted([*sources, *IDS], key=lambda name: name[-1])
    assert head.startswith(",".join([*names, "task,clerical_match_score"]))
    rows = [(b, a, label) if a > "a2" else (a, b, label) for a, b, label in by_pair(one, 1)]
    taken = one.take(rows, header="unique_id_l,unique_id_r,clerical_match_score").json
    assert taken["labels"] == len(rows)
    target = one.directory / "clerical.csv"
    assert call("export", one.workspace, "--to", target, "--form", "splink").status == 0
    with target.open() as file:
        back = {(row[IDS[0]], row[IDS[1]]) for row in csv.DictReader(file)}
    assert back == {(a, b) for a, b, _ in by_pair(one, 1)}


def test_init_takes_the_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pair_pool(400).write(tmp_path / "pool")
    table = pq.read_table("pool/part-0.parquet")
    pq.write_table(table.drop_columns(["name"]), "pairs.parquet")
    assert call("init", "pairs.parquet").status == 0
    spec = yaml.safe_load(Path("evaluation.yaml").read_text())
    assert spec["pool"]["id"] == IDS
    sources = {"source_dataset_l": ["x", "y"] * 200, "source_dataset_r": ["z"] * 400}
    columns = {**sources, **{name: table[name] for name in (*IDS, "score", "prediction")}}
    pq.write_table(pa.table(columns), "two.parquet")
    assert call("init", "two.parquet", "--output", "two.yaml").status == 0
    spec = yaml.safe_load(Path("two.yaml").read_text())
    assert spec["pool"]["id"] == ["source_dataset_l", *IDS[:1], "source_dataset_r", *IDS[1:]]


def test_pairs_in_both_orders_are_told(job: Jobs) -> None:
    """By `check` and by `prepare`, which asks for nothing else; no word where there are none."""
    pool = pair_pool(600)
    again = pool.table.slice(0, 90)
    turned = again.set_column(0, IDS[0], again[IDS[1]]).set_column(1, IDS[1], again[IDS[0]])
    both = Pool(pa.concat_tables([pool.table, turned]), pool.truth)
    for rows, words in ((both, "90 of 600 pairs are in the pool in both orders"), (pool, "")):
        one = job(rows, files=3, pool={"id": IDS})
        said = call("prepare", "--check", one.spec).err, one.prepare().json["warnings"]
        assert all(words in str(told) for told in said), said
        assert bool(words) or all("orders" not in str(told) for told in said)
        tasks, drawn = one.drawn().batch(1)["task"], [*map(json.loads, one.batch(1)["id"])]
        others = [(task, *pair[::-1], "0") for task, pair in zip(tasks, drawn, strict=True)
                  if pair[::-1] not in drawn]  # fmt: skip
        for first in (1, 0):  # without the task, and beside it
            lines, names = [row[first:] for row in others], ["task", *IDS, "label"][first:]
            taken = one.take(lines, f"{first}.csv", ",".join(names)).json["labels"]
            assert taken == (0 if words else len(others)), "they may be of other rows"
