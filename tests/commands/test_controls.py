"""Gold rows and repeats: mixed in unseen, kept out of estimates, told of annotators."""

import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from evalsampling.labels.controls import records
from evalsampling.workspace.snapshot import Snapshot
from tests.commands.votes import deliver, exported_tasks, numbers, truth_of_tasks, votes, write_gold
from tests.jobs import Job, Jobs, Pool, call, csv_rows, make_pool
from tests.slow import fast

MEASURES = ["precision", "recall", "accuracy"]


def make(job: Jobs, tmp_path: Path, **keys: Any) -> Job:
    gold = {"path": str(write_gold(tmp_path / "gold")), "rows": 8}
    one = job(
        labels={"votes": 3, "gold": gold, "repeats": 4},
        measure=MEASURES,
        sampler={"name": "ais", "delta": 0.2},
        **{"round_size": 40, **keys},
    ).prepared()
    return one


@pytest.mark.slow
@pytest.mark.usefixtures("one_key")
def test_estimates_know_nothing_of_control_tasks(job: Jobs, tmp_path: Path) -> None:
    """The same rows are drawn and the same numbers come out as without them."""
    plain = job(labels={"votes": 3}, measure=MEASURES, round_size=40,
                sampler={"name": "ais", "delta": 0.2}).prepared()  # fmt: skip
    one = make(job, tmp_path)
    for number in (1, 2):
        assert plain.sample().json["controls"] == 0
        drawn = one.sample().json
        assert (drawn["rows"], drawn["controls"]) == (40, 8 if number == 1 else 12)
        assert one.batch(number) == plain.batch(number)
        rows = votes(plain, number, skipped=0)
        result = plain.estimate("--labels", deliver(plain, rows, f"{number}.csv")).json
        controls = [row for row in votes(one, number) if row[0] not in plain.batch(number)["task"]]
        mixed = one.estimate("--labels", deliver(one, rows + controls, f"{number}.csv")).json
        assert mixed["rejects"] == 0
        assert mixed["label_error"] is not None
        assert result["label_error"] is None
        for found in (mixed, result):
            del found["label_error"], found["warnings"]
        assert mixed == result
    assert call("status", "--verify", one.workspace).status == 0


def test_control_tasks_look_like_all_others(job: Jobs, tmp_path: Path) -> None:
    one = make(job, tmp_path)
    one.sample()
    tasks = exported_tasks(one, 1)
    assert tasks == sorted(tasks)
    assert len(tasks) == len({*tasks}) == 48
    assert {len(task) for task in tasks} == {18}
    rows = csv_rows(one.round_directory(1) / "batch.csv")
    assert all(row["name"].startswith("row ") and row["label"] == "" for row in rows)
    assert "g1" not in (one.round_directory(1) / "batch.csv").read_text()


def test_gold_rows_take_turns(job: Jobs, tmp_path: Path) -> None:
    one = make(job, tmp_path, round_size=5)
    shown: list[str] = []
    for number in range(1, 6):
        one.sample("--next")
        table = pq.read_table(one.round_directory(number) / "controls.parquet")
        shown += [
            id for id, kind in zip(table["id"].to_pylist(), table["kind"].to_pylist(), strict=True)
            if kind == "gold"
        ]  # fmt: skip
    assert len(shown) == len({*shown}) == 40


def test_gold_rows_swapped_between_rounds_are_refused(job: Jobs, tmp_path: Path) -> None:
    one = make(job, tmp_path, round_size=5)
    path, design = tmp_path / "gold/gold.parquet", one.round_directory(1) / "design.json"
    assert one.sample().status == 0
    assert len(json.loads(design.read_text())["gold"]) == 64
    table = pq.read_table(path)
    first, second, *others = table["label"].to_pylist()
    for other in (
        table.set_column(2, "label", [[second, first, *others]]),
        table.take([1, 0, *range(2, 40)]),
        table.slice(1),
        table.set_column(1, "name", [["another", *table["name"].to_pylist()[1:]]]),
    ):
        pq.write_table(other, path)
        told = one.sample("--next")
        assert told.status == 1
        assert told.err.endswith(
            "gold.parquet: has other gold rows than when the rounds so far were drawn; put the "
            "file back as it was\n"
        )
        assert not one.round_directory(2).exists()
        assert one.estimate().json["open"] == 5
    pq.write_table(table.append_column("note", [["x"] * 40]), path)
    assert one.sample("--next").json["controls"] == 12, "what nobody looks at may change"


def test_gold_rows_may_change_where_no_round_says_what_they_were(job: Jobs, tmp_path: Path) -> None:
    """Before the first round, and after it was withdrawn."""
    one = make(job, tmp_path, round_size=5)
    path = tmp_path / "gold/gold.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path)
    assert one.sample().status == 0
    assert one.sample("--withdraw", 1).status == 0
    pq.write_table(table.slice(2), path)
    assert one.sample().json["round"] == 2


@pytest.mark.slow
def test_annotators_are_told_by_gold_rows_and_repeats(job: Jobs, tmp_path: Path) -> None:
    one = make(job, tmp_path)
    right, asked, again, repeats = 0, 0, 0, 0
    for number in (1, 2):
        one.sample()
        rows = votes(one, number, wrong=0, skipped=0)
        truth = truth_of_tasks(one, number)
        table = pq.read_table(one.round_directory(number) / "controls.parquet").to_pylist()
        controls = {row["task"]: row for row in table}
        changed = []
        for place, (task, name, label, *rest) in enumerate(rows):
            said = label
            if name == "b" and place % 3 == 1 and task in controls and place % 2:
                said = str(1 - int(label))
            if name == "b" and task in controls:
                kind = controls[task]["kind"]
                asked += kind == "gold"
                right += kind == "gold" and said == truth[task]
                repeats += kind == "repeat"
                again += kind == "repeat" and said == label
            changed.append((task, name, said, *rest))
        one.estimate("--labels", deliver(one, changed, f"{number}.csv"))
    snapshot = Snapshot.at(one.workspace)
    told = {
        record.annotator: record for record in records(snapshot.tally, snapshot.control_subjects)
    }
    assert (told["b"].right, told["b"].gold) == (right, asked)
    assert (told["b"].same, told["b"].repeats) == (again, repeats)
    assert right < asked == 16
    assert repeats == 4
    assert told["a"].right == told["a"].gold == 16


@pytest.mark.slow
def test_wrong_labels_are_told_by_gold_rows(job: Jobs, tmp_path: Path) -> None:
    one = make(job, tmp_path)
    for number in (1, 2, 3):
        one.sample()
        rows = votes(one, number, seed=number, wrong=0.35, skipped=0)
        result = one.estimate("--labels", deliver(one, rows, f"{number}.csv")).json
    error = result["label_error"]
    assert sum(map(sum, error["gold"])) > 10
    assert [found["measure"] for found in error["measures"]] == MEASURES
    for found in error["measures"]:
        assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1
    dominated = [found["measure"] for found in error["measures"] if found["dominates"]]
    assert dominated
    assert sum("label error, not sampling, dominates" in w for w in result["warnings"]) > 0
    assert numbers(one.estimate().json) == numbers(result)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("name,label\nx,7\n", "column 'label', row 0: '7' is none of: 0, 1"),
        (None, "cannot be read: "),
        *fast(
            0,
            [
                ("label\n1\n", "row 0: column 'name' is missing"),
                ("name,label\n", "there are no gold rows"),
                ("name,answer\nx,1\n", "row 0: column 'label' is missing"),
            ],
        ),
    ],
)
def test_bad_gold_rows(job: Jobs, tmp_path: Path, content: str | None, words: str) -> None:
    path = tmp_path / "gold.csv"
    if content is not None:
        path.write_text(content)
    one = job(labels={"gold": {"path": str(path)}})
    for options in ((), ("--in-process",)):
        assert f"gold.csv: {words}" in call("prepare", one.spec, *options).refused
        assert not one.workspace.exists()
    path.write_text("name,label\nx,1\n")
    assert one.prepare().status == 0
    path.unlink()
    if content is not None:
        path.write_text(content)
    assert f"gold.csv: {words}" in one.sample().refused
    assert not (one.workspace / "rounds").exists()
    path.write_text("name,label\nx,1\n")
    assert one.sample().json["controls"] == 1


@pytest.mark.parametrize(
    ("file", "labels"),
    fast(2, [("gold.parquet", pa.array([False, True])), ("gold.csv", pa.array(["0.0", "1.0"])),
             ("gold.parquet", pa.array([0.0, 1.0])), ("gold.jsonl", pa.array([0.0, 1.0]))]),
)  # fmt: skip
def test_gold_labels_are_read_as_those_of_deliveries(
    job: Jobs, tmp_path: Path, file: str, labels: pa.Array
) -> None:
    path, table = tmp_path / file, pa.table({"name": ["x", "y"], "label": labels})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        path.write_text("\n".join(map(json.dumps, table.to_pylist())))
    one = job(labels={"gold": {"path": str(path), "rows": 2}}).prepared()
    assert call("prepare", "--check", one.spec).status == 0
    assert one.sample().json["controls"] == 2
    controls = pq.read_table(one.round_directory(1) / "controls.parquet")
    assert sorted(controls["label"].to_pylist()) == ["0", "1"]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "text", ["x" * 200_000, "a\u2028b\u2029c\x85d\x0ce"], ids=["long", "lines"]
)
def test_texts_of_gold_rows_may_be_any(job: Jobs, tmp_path: Path, suffix: str, text: str) -> None:
    path = tmp_path / f"gold.{suffix}"
    line = json.dumps({"name": text, "label": 1}, ensure_ascii=False)
    path.write_text({"csv": f'name,label\n"{text}",1\n', "jsonl": f"{line}\n\n"}[suffix])
    one = job(labels={"gold": {"path": str(path), "rows": 1}}).prepared()
    assert one.sample().json["controls"] == 1
    controls = pq.read_table(one.round_directory(1) / "controls.parquet")
    assert controls["payload.name"].to_pylist() == [text]


@pytest.mark.parametrize(
    ("own", "format"),
    fast(2, [("id", "vendor"), ("pair", "csv"), ("id", "csv"), ("pair", "vendor")]),
)
def test_a_batch_that_shows_the_ids_comes_back(
    job: Jobs, tmp_path: Path, own: str, format: str
) -> None:
    """Of gold rows too, and where an id looks like a formula."""
    table = make_pool(text_ids=True).table.select(["id", "score", "prediction"])
    ids = [f"-{id}" for id in table["id"].to_pylist()]
    table = table.append_column("pair", pa.array(ids)).drop_columns(["id"])
    table = table.rename_columns(["score", "prediction", own])
    gold = tmp_path / "gold.csv"
    gold.write_text(f"{own},label\n-g1,1\n0,0\n")
    one = job(
        Pool(table, {}),
        pool={"id": own, "payload": [own]},
        labels={"gold": {"path": str(gold), "rows": 2}},
        sink={"format": format},
    ).prepared()
    assert one.sample().json["controls"] == 2
    batch = one.round_directory(1) / "batch.csv"
    with batch.open(encoding="utf-8-sig", newline="") as file:
        rows = [list({**row, "label": "1"}.values()) for row in csv.DictReader(file)]
    header = batch.read_text(encoding="utf-8-sig").splitlines()[0]
    told = one.take(rows, header=header).json
    assert (told["labels"], told["rejects"]) == (20, 0)


def test_a_gold_row_nested_too_deeply(job: Jobs, tmp_path: Path) -> None:
    path = tmp_path / "gold.jsonl"
    path.write_text("[" * 100_000)
    one = job(labels={"gold": {"path": str(path)}})
    assert "gold.jsonl: line 1: not JSON: " in one.prepare().refused


def test_another_gold_file_is_told_by_its_key(job: Jobs, tmp_path: Path) -> None:
    one = make(job, tmp_path, workspace=str(tmp_path / "workspace"))
    other = write_gold(tmp_path / "other")
    two = job(
        labels={"votes": 2, "gold": {"path": str(other), "rows": 8}, "repeats": 4},
        pool={"path": str(one.directory / "pool/*.parquet")},
        measure=MEASURES,
        sampler={"name": "ais", "delta": 0.2},
        round_size=40,
        workspace=str(tmp_path / "workspace"),
    )
    told = "prepared with another labels.votes, labels.gold.path; choose another workspace"
    assert told in two.prepare().err
