"""Estimates from folders of rounds and files of labels, on the command line."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling.evaluation.drawn_rows import estimate_drawn_rows
from evalsampling.spec import EvaluationSpec
from tests.commands.drawn import DrawnFolder
from tests.jobs import call


@pytest.fixture
def one(tmp_path: Path) -> DrawnFolder:
    folder = DrawnFolder(tmp_path)
    for _ in range(2):
        assert call("draw", folder.spec, folder.rounds, "--draws", 100).status == 0
    return folder


def test_estimates_are_those_in_python(one: DrawnFolder) -> None:
    labels = one.deliver(1), one.deliver(2)
    found = call("weigh", one.spec, one.rounds, "--labels", *labels, "--json").json
    rounds = [pq.read_table(one.rounds / f"draws-000{number}.parquet") for number in (1, 2)]
    ids = sorted({id for drawn in rounds for id in drawn["id"].to_pylist()})
    wanted = estimate_drawn_rows(EvaluationSpec.load(one.spec), rounds, ids, one.pool["label"][ids])
    assert (found["rounds"], found["draws"], found["labels"], found["open"]) == (
        2, 200, len(ids), 0
    )  # fmt: skip
    for one_number, other in zip(found["measures"], wanted, strict=True):
        assert one_number["measure"] == other.measure
        assert one_number["value"] == pytest.approx(other.value)
        assert one_number["intervals"][0]["low"] == pytest.approx(other.low)
        assert one_number["statement"] == other.statement


def test_labels_by_id_and_by_task_are_alike(one: DrawnFolder) -> None:
    by_task = [one.deliver(number) for number in (1, 2)]
    by_id = one.path / "by_id.csv"
    rows = [id for number in (1, 2) for id in one.rows_of(number)]
    by_id.write_text("\n".join(["id,label", *(f"{i},{one.pool['label'][i]}" for i in rows), ""]))
    texts = [
        call("weigh", one.spec, one.rounds, "--labels", *files).out for files in (by_task, [by_id])
    ]
    assert texts[0] == texts[1]
    assert "0 open, 200 draws in 2 rounds" in texts[0]
    assert "accuracy" in texts[0]


def test_missing_labels(one: DrawnFolder) -> None:
    labels = one.deliver(1), one.deliver(2, leave_out=3)
    result = call("weigh", one.spec, one.rounds, "--labels", *labels)
    assert result.status == 1
    assert "was drawn in round 2 and has no label, as 3 of " in result.err
    result = call("weigh", one.spec, one.rounds, "--labels", *labels, "--missing-at-random")
    assert result.status == 0
    assert "3 open" in result.out
    assert "note: 3 of " in result.err


def test_answers_that_disagree_are_no_rows_without_an_answer(one: DrawnFolder) -> None:
    labels, other = [one.deliver(1), one.deliver(2)], one.path / "others.csv"
    tasks = [task["task"] for task in one.batch(1)[:2]]
    rows = [f"{task},{label},{who}" for task in tasks for who, label in (("a", 0), ("b", 1))]
    other.write_text("\n".join(["task,label,annotator", *rows, ""]))
    later = one.path / "rest.csv"
    lines = labels[0].read_text().splitlines()
    later.write_text("\n".join(line for line in lines if line.split(",")[0] not in tasks))
    result = call("weigh", one.spec, one.rounds, "--labels", other, later, labels[1])
    assert result.status == 1
    assert "has answers that disagree, as 2 of " in result.err
    found = call(
        "weigh", one.spec, one.rounds, "--labels", other, later, labels[1], "--missing-at-random",
        "--json",
    ).json  # fmt: skip
    assert found["open"] == 2
    assert found["notes"][-1] == "rows whose answers disagree are among those without a label: 2"


def test_no_option_is_advised_that_is_not_there(one: DrawnFolder) -> None:
    task, label = one.deliver(1).read_text().splitlines()[1].split(",")
    wrong = one.path / "wrong.csv"
    wrong.write_text(f"task,label\n{task},{1 - int(label)}\n")
    result = call("weigh", one.spec, one.rounds, "--labels", one.deliver(1), wrong)
    assert result.err.rstrip().endswith(f"has {label!r} already; leave out the wrong one")


def test_an_answer_for_every_draw(tmp_path: Path) -> None:
    one = DrawnFolder(tmp_path, labels={"oracle": "stochastic"})
    assert call("draw", one.spec, one.rounds, "--draws", 80).status == 0
    assert len(one.batch(1)) == 80
    found = call("weigh", one.spec, one.rounds, "--labels", one.deliver(1), "--json").json
    assert (found["labels"], found["draws"]) == (80, 80)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("id,label\n7000,1\n", "line 2: unknown id '7000'"),
        ("task,label\nt_none,1\n", "line 2: "),
        ("task,label\n{task},maybe\n", "line 2: "),
        ("task,label\n{task},1\n{task},0\n", "line "),
        ("task\n{task}\n", "label"),
    ],
)
def test_bad_labels_are_told(one: DrawnFolder, line: str, words: str) -> None:
    bad = one.path / "bad.csv"
    bad.write_text(line.replace("{task}", one.batch(1)[0]["task"]))
    result = call("weigh", one.spec, one.rounds, "--labels", bad)
    assert (result.status, result.out) == (1, "")
    assert "bad.csv" in result.err
    assert words in result.err


def test_nothing_to_weigh(one: DrawnFolder, tmp_path: Path) -> None:
    calls: list[tuple[list[Any], str]] = [
        ([one.rounds], "--labels: names no file"),
        ([tmp_path / "nowhere", "--labels", one.deliver(1)], "nowhere: no round was drawn there"),
        ([one.rounds, "--labels", tmp_path / "none.csv"], "none.csv"),
    ]
    for arguments, words in calls:
        result = call("weigh", one.spec, *arguments)
        assert result.status == 1
        assert words in result.err


def test_slices_are_estimated_and_what_has_no_region_is_said(tmp_path: Path) -> None:
    pool = {"path": "*.parquet", "cost": "length", "payload": ["length"], "slices": ["site"]}
    one = DrawnFolder(tmp_path, pool=pool, measure=[{"joint": ["f1", "accuracy"]}])
    assert call("draw", one.spec, one.rounds, "--draws", 100).status == 0
    result = call("weigh", one.spec, one.rounds, "--labels", one.deliver(1), "--json").json
    assert [(each["measure"], each["slice"]) for each in result["measures"]] == [
        (measure, slice)
        for measure in ("f1", "accuracy")
        for slice in (None, "site=north", "site=south")
    ]
    assert all(each["value"] is not None for each in result["measures"])
    assert "no joint region: " in result["notes"][-1]
