"""Labels in: which count, which are rejected and why."""

import shutil
from typing import Any

import pytest

from evalsampling.workspace.snapshot import Snapshot
from tests.commands.rounds import measures
from tests.jobs import Job, Pool, call, files_below, make_pool
from tests.labels.deliveries import written


def test_same_delivery_twice_is_one(drawn: Job) -> None:
    path = drawn.deliver(drawn.answers(1))
    first = drawn.estimate("--labels", path)
    before = files_below(drawn.workspace)
    again = drawn.estimate("--labels", path)
    assert again.json == first.json
    assert "taken before" in again.err
    copy = shutil.copy(path, path.with_name("renamed.csv"))
    assert drawn.estimate("--labels", copy).json == first.json
    assert files_below(drawn.workspace) == before


def test_any_order_of_deliveries_gives_the_same_numbers(job: Any) -> None:
    results = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        one = job().drawn()
        answers = one.answers(1)
        paths = [one.deliver(answers[i::3], f"{i}.csv") for i in range(3)]
        results.append([one.estimate("--labels", paths[i]).json for i in order][-1])
    assert results[0] == results[1] == results[2]
    together = job().drawn()
    answers = together.answers(1)
    paths = [together.deliver(answers[i::3], f"{i}.csv") for i in range(3)]
    assert together.estimate("--labels", *paths).json == results[0]


def reject(drawn: Job, rows: list[list[str]], header: str = "task,label") -> str:
    """Deliver bad rows: they are counted and listed, and no number changes; returns reasons."""
    drawn.take(drawn.answers(1)[:10], "good.csv")
    before = measures(drawn)
    path = drawn.deliver(rows, "bad.csv", header)
    assert "bad.csv: line" in drawn.estimate("--labels", path, "--strict").refused
    assert len(list((drawn.workspace / "labels").iterdir())) == 1
    result = drawn.estimate("--labels", path).done
    assert result.json["rejects"] == len(rows)
    assert result.json["measures"] == before
    found = drawn.rejects()
    assert list(found[0]) == ["file", "line", "task", "id", "label", "reason"]
    assert [int(row["line"]) for row in found] == list(range(2, len(rows) + 2))
    assert all(row["file"].endswith("bad.csv") for row in found)
    assert call("status", drawn.workspace, "--json").json["rejects"] == len(rows)
    return " | ".join(row["reason"] for row in found)


@pytest.mark.slow
def test_where_most_is_rejected_no_number_stands_in_front(drawn: Job) -> None:
    answers = drawn.answers(1)
    bad = [(task, "perhaps" if place % 3 else label) for place, (task, label) in enumerate(answers)]
    path = drawn.deliver(bad, "from vendor.csv")
    told = call("estimate", drawn.workspace, "--labels", path)
    count = sum(label == "perhaps" for _, label in bad)
    words = f"most answers of from vendor.csv were rejected: {count} of {len(bad)}."
    assert told.out.startswith(words)
    listed = [path.name for path in (drawn.workspace / "labels").glob("*.rejects.csv")]
    assert [name.startswith("from_vendor-") and len(name) < 40 for name in listed] == [True]
    assert listed[0] in told.err
    later = drawn.estimate().json
    rejected = {"file": "from vendor.csv", "rejected": count, "taken": len(bad) - count}
    assert later["mostly_rejected"] == [rejected]
    assert later["warnings"][0].startswith(words)
    mended = drawn.take(answers, "good.csv").json
    assert (mended["mostly_rejected"], mended["rejects"]) == ([], 0)


def test_rejects_have_what_was_given_whatever_is_wrong(drawn: Job) -> None:
    """Also where the row is no vote at all; a right answer makes up for it in a file that grew."""
    (first, label), (second, _), *_ = drawn.answers(1)
    ids = dict(zip(drawn.batch(1)["task"], drawn.batch(1)["id"], strict=True))
    bad = [(first, "", label, "maybe"), ("", str(ids[second]), "1.0", "maybe")]
    head, grown = "task,id,label,skipped", [(first, "", label, ""), bad[1]]
    assert drawn.take(bad, "bad.csv", head).json["rejects"] == 2
    told = [(row["task"], row["id"], row["label"]) for row in drawn.rejects()]
    assert told == [(first, "", label), (second, str(ids[second]), "1.0")]
    assert drawn.take(grown, "bad.csv", head).json["rejects"] == 1


def test_a_column_of_whole_numbers_is_classes_though_some_are_floats(drawn: Job) -> None:
    """As of two tables, one of which had empty cells. Beside 0.5 floats are scores."""
    rows = [(task, f"{label}.0") for task, label in drawn.answers(1)]
    assert drawn.take([(rows[0][0], "0.5"), *rows[1:3]], "scores.csv").json["rejects"] == 3
    told = drawn.take([drawn.answers(1)[0], *rows[1:]], "mixed.csv").json
    assert (told["labels"], told["rejects"]) == (20, 0)


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_the_id_column_may_be_called_as_in_the_pool(job: Any, suffix: str) -> None:
    pool = make_pool()
    names = ["uid" if name == "id" else name for name in pool.table.column_names]
    one: Job = job(Pool(pool.table.rename_columns(names), pool.truth), pool={"id": "uid"}).drawn()
    ids = one.batch(1)["id"]
    path = one.directory / f"labels.{suffix}"
    spelt = float if suffix == "parquet" else int
    rows = [(spelt(id), pool.truth[id]) for id in ids]
    path.write_bytes(written(path.name, rows, ["uid", "label"]))
    told = one.estimate("--labels", path).json
    assert (told["labels"], told["rejects"]) == (20, 0)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        (["01", "1.0", "1 ?"], "'1.0' is none of"),
        (["1", "0"], "two different labels for one row: '1' in line 2 and '0' in line 3"),
    ],
)
def test_what_is_no_answer_is_rejected(drawn: Job, labels: list[str], reason: str) -> None:
    task = drawn.answers(1)[15][0]
    assert reason in reject(drawn, [[task, label] for label in labels])


@pytest.mark.parametrize("mark", [";", "\t"])
def test_semicolons_and_tabs_separate_answers_too(drawn: Job, mark: str) -> None:
    """As a spreadsheet of many countries saves them, with a comma within a comment."""
    answers = drawn.answers(1)
    lines = [f'{task}{mark}{label}{mark}"so, so; or\tnot"' for task, label in answers]
    path = drawn.directory / "a.csv"
    path.write_text("\ufeff" + "\r\n".join([mark.join(["task", "label", "comment"]), *lines, ""]))
    result = drawn.estimate("--labels", path).json
    assert (result["labels"], result["rejects"]) == (len(answers), 0)


def test_a_correction_counts_and_may_be_taken_back(drawn: Job) -> None:
    answers = drawn.answers(1)
    before = drawn.take(answers).json["measures"]
    task = next(task for task, label in answers if label == "1")
    there = drawn.deliver([(task, "0")], "there.csv")
    back = drawn.deliver([(task, "1")], "back.csv")
    for path, same in [(there, False), (there, False), (back, True), (there, False), (back, True)]:
        result = drawn.estimate("--replace", path).json
        assert (result["labels"], result["rejects"]) == (20, 0)
        assert (result["measures"] == before) is same
    assert len(list((drawn.workspace / "labels").glob("*.parquet"))) == 5


def test_master_file_delivered_again_brings_the_labels_of_the_new_round(drawn: Job) -> None:
    """Labels of the whole pool in one file: rejected rows of round 1 count in round 2."""
    rows = [(str(id), str(label)) for id, label in drawn.pool.truth.items()]
    master = drawn.deliver(rows, "master.csv", "id,label")
    first = drawn.estimate("--labels", master).json
    assert (first["labels"], first["rejects"]) == (20, 1980)
    drawn.sample()
    second = drawn.estimate("--labels", master).json
    assert (second["labels"], second["open"], second["rejects"]) == (40, 0, 1960)
    assert "taken before" in drawn.estimate("--labels", master).err


def test_strict_also_sees_a_delivery_taken_before_and_files_of_one_call(drawn: Job) -> None:
    bad = drawn.deliver([("t_nobody", "1")], "bad.csv")
    assert drawn.estimate("--labels", bad).status == 0
    good = drawn.deliver(drawn.answers(1), "good.csv")
    assert drawn.estimate("--labels", good, bad, "--strict").status == 1
    assert drawn.estimate().json["labels"] == 0
    task = drawn.answers(1)[0][0]
    paths = [drawn.deliver([(task, label)], f"{label}.csv") for label in "01"]
    assert "1.csv: line 2" in drawn.estimate("--labels", *paths, "--strict").refused
    assert drawn.estimate().json["labels"] == 0


def test_unreadable_delivery_takes_nothing(drawn: Job) -> None:
    path = drawn.directory / "a.jsonl"
    path.write_text('{"task": "x", "label": 1}\n{oops\n')
    good = drawn.deliver(drawn.answers(1), "good.csv")
    before = files_below(drawn.workspace)
    result = drawn.estimate("--labels", good, path)
    assert result.status == 1
    assert len(result.err.splitlines()) == 1
    assert f"{path}: line 2: not JSON" in result.err
    assert files_below(drawn.workspace) == before


@pytest.mark.slow
def test_a_correction_is_known_with_the_rounds_before_it(drawn: Job) -> None:
    """Rounds between a wrong label and its correction could not draw the row for what it is."""
    answers = drawn.answers(1)
    (task, label), *_ = answers
    wrong = str(1 - int(label))
    drawn.take([(task, wrong), *answers[1:]], "first.csv")
    drawn.sample()
    drawn.answer(2, "second.csv")
    assert Snapshot.at(drawn.workspace).history.corrected == {}
    drawn.take([(task, label)], "correction.csv", option="--replace")
    drawn.sample()
    snapshot = Snapshot.at(drawn.workspace)
    assert snapshot.history.corrected == {snapshot.subject_of_task[task]: 2}
    assert snapshot.history.label[snapshot.subject_of_task[task]] == int(label)
