"""`push` and `pull` on a server that answers as Label Studio does, and tables of Splink."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling.labels import label_studio_server
from evalsampling.labels.label_studio import TOKEN
from tests.jobs import Job, Jobs, call, csv_rows, files_below, make_pool
from tests.labels.label_studio_double import KEY, Double, double


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    monkeypatch.setenv(TOKEN, f"{KEY}\n")  # As a mounted secret ends.
    monkeypatch.setattr(label_studio_server, "_FIRST_WAIT", 0.001)
    with double() as one:
        yield one


def annotate(server: Double, truth: dict[str, str]) -> None:
    for task in server.tasks:
        value = {"choices": [truth[task["data"]["task"]]]}
        result = {"from_name": "label", "to_name": "x", "type": "choices", "value": value}
        task["annotations"] = [
            {"id": user, "completed_by": user, "was_cancelled": False, "result": [result]}
            for user in (1, 2, 3)
        ]


PAGE = b"<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>"


def test_of_a_server_that_dies_no_half_is_taken(job: Jobs, server: Double, tmp_path: Path) -> None:
    """`pull` leaves the file as it was; an export saved by other means is refused as a whole."""
    one = job(sink={"format": "label-studio"}, labels={"votes": 3}).drawn()
    call("push", one.workspace, "--url", server.url)
    annotate(server, dict(one.answers(1)))
    file = tmp_path / "votes.json"
    file.write_text("[]")
    for fault in ("cut", "unmeasured", "refused", 502, PAGE):
        server.fail["GET", "export"] = [fault] * 6
        told = call("pull", one.workspace, "--url", server.url, "--to", file)
        assert (told.status, told.err.count("\n")) == (1, 1), told.err
        assert file.read_text() == "[]"
    assert call("pull", one.workspace, "--url", server.url, "--to", file).status == 0
    whole, before = file.read_bytes(), files_below(one.workspace)
    for half in (whole[: len(whole) // 2], b"", PAGE, b'{"detail": "Bad Gateway"}'):
        file.write_bytes(half)
        told = one.estimate("--labels", file)
        assert (told.status, told.err.count("\n")) == (1, 1), told.err
        assert f"{file}: not " in told.err
        assert files_below(one.workspace) == before
    file.write_bytes(whole)
    result = one.estimate("--labels", file).json
    assert (result["labels"], result["open"], result["rejects"]) == (20, 0, 0)


def test_what_cannot_be_pushed(job: Jobs, server: Double) -> None:
    assert "sink.format is csv" in call("push", job().prepared().workspace, "--url", server.url).err
    one = job(sink={"format": "label-studio"}).prepared()
    to_server = ("push", one.workspace, "--url", server.url)
    assert "no batch to send or fetch: `evalsampling sample` makes one" in call(*to_server).err
    one.sample()
    second = call("push", one.workspace, "--url", server.url, "--round", 2)
    assert "there is no batch 2" in second.err
    folder = one.round_directory(1) / "label-studio"
    folder.rename(one.directory / "elsewhere")
    refused = call("push", one.workspace, "--url", server.url).refused
    assert "rounds/0001/label-studio: files of the batch are missing, and `push` sends" in refused
    one.sample("--withdraw", 1)
    assert "there is no batch" in call(*to_server).err
    assert "`evalsampling sample --adjudicate` makes" in call(*to_server, "--adjudication").err
    as_csv = call("pull", one.workspace, "--url", server.url, "--to", "x.csv")
    assert "must end in .json" in as_csv.err


def test_a_file_that_cannot_be_written_is_named(drawn: Job, tmp_path: Path) -> None:
    for options in (["--to", tmp_path / "no" / "v.csv"], ["--to", tmp_path / "no" / "v.parquet"]):
        refused = call("export", drawn.workspace, *options).refused
        assert f"export: {options[1]}: cannot be written: No such file or directory\n" in refused


def test_pairs_of_splink(job: Jobs, tmp_path: Path) -> None:
    """Pairs go out by their records, and come back with a score, left and right exchanged."""
    texts = {"l": "00{}", "r": "{}-r", "src_l": "a", "src_r": "b"}
    columns = {name: map(text.format, range(2000)) for name, text in texts.items()}
    records = {"left": "l", "right": "r", "left_source": "src_l", "right_source": "src_r"}
    one = job(
        make_pool().with_columns(**columns),
        pool={"payload": ["l", "r", "src_l", "src_r", "name"]},
        sink={"format": "splink", "records": records},
        measure=["f1", "accuracy"],
    ).prepared()
    batch = one.sample().json["batch"]
    truth = dict(one.answers(1))
    shown = csv_rows(batch)
    lines: list[list[Any]] = []
    for row in shown:
        lines.append([row["source_dataset_r"], row["unique_id_r"], row["source_dataset_l"],
                      row["unique_id_l"], "0.9" if truth[row["task"]] == "1" else "0"])  # fmt: skip
    lines.append(["a", "nobody", "b", "nobody", "1"])
    lines[0][4] = "0.5"
    head = "source_dataset_l,unique_id_l,source_dataset_r,unique_id_r,clerical_match_score"
    result = one.take(lines, "clerical.csv", head)
    assert (result.json["labels"], result.json["rejects"]) == (19, 1)
    assert result.json["missing"]["unsure"] == 1
    assert "unknown pair 'a:nobody' and 'b:nobody'" in result.err
    out = tmp_path / "labels.csv"
    assert (
        call("export", one.workspace, "--to", out, "--form", "splink", "--json").json["rows"] == 19
    )
    written = csv_rows(out)
    assert {row["unique_id_l"] for row in written} < {row["unique_id_l"] for row in shown}
    score = {row["unique_id_l"]: float(row["clerical_match_score"]) for row in written}
    for row in shown[1:]:
        assert score[row["unique_id_l"]] == float(truth[row["task"]])


def test_the_long_table_of_votes(job: Jobs, tmp_path: Path) -> None:
    one = job(labels={"votes": 2}).drawn()
    rows = [(task, name, label, "", "said") for task, label in one.answers(1) for name in "ab"]
    for until in (10, 40):  # a file that grows
        one.take(rows[:until], "1.csv", "task,annotator,label,skipped,comment")
    out = tmp_path / "long.csv"
    assert call("export", one.workspace, "--to", out).status == 0
    told = [(row["task"], row["annotator"], row["label"], row["kind"]) for row in csv_rows(out)]
    assert told == [(*row[:3], "sample") for row in rows]
    parquet = tmp_path / "long.parquet"
    assert call("export", one.workspace, "--to", parquet).status == 0
    again = one.estimate("--labels", parquet).json
    assert (again["labels"], again["rejects"]) == (20, 0)
    assert call("export", one.workspace, "--to", tmp_path / "x.txt").status == 2
    changed = [{"0": "1", "1": "0"}[rows[0][2]], rows[0][2]]
    for label in changed:
        vote = [(*rows[0][:2], label)]
        one.estimate("--replace", one.deliver(vote, header="task,annotator,label"))
    call("export", one.workspace, "--to", parquet)
    assert pq.read_table(parquet)["label"].to_pylist()[40:] == changed


def test_no_vote_is_a_formula(job: Jobs, tmp_path: Path) -> None:
    """What annotators typed is text to a spreadsheet, and comes back as they typed it."""
    one = job(labels={"votes": 4}).drawn()
    copy = tmp_path / "copy"
    shutil.copytree(one.workspace, copy)
    names = ("=1+1", "@anna", "'", "-5")
    rows = [(task, name, label, "+cmd|x") for task, label in one.answers(1) for name in names]
    one.take(rows, "1.csv", "task,annotator,label,comment")
    out = tmp_path / "long.csv"
    assert call("export", one.workspace, "--to", out).status == 0
    written = csv_rows(out)
    assert {row["annotator"] for row in written} == {"'=1+1", "'@anna", "''", "-5"}
    assert {row["comment"] for row in written} == {"'+cmd|x"}
    call("estimate", copy, "--labels", out)
    for workspace, name in ((one.workspace, "a"), (copy, "b")):
        call("export", workspace, "--to", tmp_path / f"{name}.parquet")
    first, second = (pq.read_table(tmp_path / f"{name}.parquet") for name in "ab")
    assert first == second
    assert {*first["annotator"].to_pylist()} == {*names}
