"""Gates and receivers of the command `estimate`: exit codes, files, and what failure leaves."""

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evalsampling import Evaluation
from evalsampling.pipelines import estimate as by_job
from evalsampling.receivers import mlflow
from tests.jobs import Job, Jobs, call, files_below


@pytest.fixture
def labelled(job: Jobs) -> Job:
    """A workspace with a round and its labels; their file may be taken again."""
    one = job(measure=["f1", "recall", "precision"], round_size=100).drawn()
    one.answer(1)
    return one


def test_exit_codes(labelled: Job) -> None:
    for gates, code, reached in (
        (["--at-least", "recall=0.2", "f1=0.2"], 0, True),
        (["--at-most", "precision=0.2", "--at-least", "f1=0.97"], 10, False),
        (["--at-least", "f1=0.97"], 11, None),
    ):
        result = labelled.estimate(*gates)
        assert (result.status, result.json["gates"]["reached"]) == (code, reached), gates
        again = labelled.estimate(*gates, "--exit-zero")
        assert (again.status, again.json) == (0, result.json)
        text = call("estimate", labelled.workspace, *gates)
        assert text.status == code
        for gate in result.json["gates"]["gates"]:
            assert gate["statement"] in " ".join(text.out.split())
        detail = call("estimate", labelled.workspace, *gates, "--detail")
        assert gate["statement"] in " ".join(detail.out.split())
    job = [f"--workspace={labelled.workspace}", "--at-least=f1=0.97"]
    assert (by_job.main(job), by_job.main([*job, "--no-wait"])) == (11, 0)


def test_gates_of_a_spec_are_asked_without_an_option(job: Jobs) -> None:
    one = job(
        measure=["f1", "recall"], round_size=100, gates={"at_least": {"recall": 0.999}}
    ).drawn()
    first = one.answer(1)
    assert first.status in (10, 11)
    assert first.json["labels"] == 100, "labels are taken whatever gates say"
    [gate] = first.json["gates"]["gates"]
    assert (gate["number"], gate["target"]) == ("recall", 0.999)
    only_f1 = one.estimate("--measure", "f1")
    assert [each["measure"] for each in only_f1.json["measures"]] == ["f1"]
    assert only_f1.json["gates"]["gates"] == [gate], "of the spec's measures, shown or not"
    [gate] = one.estimate("--at-least", "f1=0.1").json["gates"]["gates"]
    assert (gate["number"], gate["target"]) == ("f1", 0.1)
    kept = [json.loads(path.read_text()) for path in (one.workspace / "estimates").iterdir()]
    assert len(kept) == 3
    assert all(each["gates"] for each in kept)
    assert Evaluation.open(one.workspace).gates().reached is not True


def test_gates_of_a_workspace_stay(labelled: Job) -> None:
    content = labelled.spec.read_text()
    labelled.spec.write_text(f"{content}gates: {{at_least: {{recall: 0.5}}}}\n")
    refused = labelled.prepare().refused
    assert "prepared with other gates, which stay; options of `evalsampling estimate`" in refused
    labelled.spec.write_text(content)
    assert labelled.prepare().status == 0


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        (["--at-least", "recal=0.9"], 1, "gates.at_least: no estimate 'recal'; there are: 'f1', "),
        (["--at-least", "recal=0.9"], 1, "; did you mean 'recall'?"),
        (["--at-most", "recall=90"], 1, "gates.at_most.recall: it lies between 0 and 1"),
        (["--at-most", "recall"], 2, "--at-most: must be like recall=0.9, got 'recall'"),
        (["--report-to", "tables:x"], 2, "--report-to: no receiver 'tables'; there are table, "),
        (["--report-to", "table:x.json"], 1, "must be a folder, or a file that ends in .parquet"),
        (["--report-to", "dagster"], 1, "Dagster Pipes has not started this process"),
    ],
)
def test_what_cannot_be_is_said_before_labels_are_taken(
    drawn: Job, options: list[str], code: int, problem: str
) -> None:
    result = drawn.estimate("--labels", drawn.deliver(drawn.answers(1)), *options)
    assert result.status == code
    assert problem in result.err
    assert drawn.estimate().json["labels"] == 0


def test_receivers_get_what_is_printed(labelled: Job, tmp_path: Path) -> None:
    latest, folder = tmp_path / "latest.parquet", tmp_path / "tables"
    line = ["--at-least", "recall=0.2", "--report-to", f"table:{folder}", f"table:{latest}"]
    result = labelled.estimate(*line).done
    assert "reports" not in result.json
    assert f"reported to {latest}" in result.err
    [file] = folder.iterdir()
    table = pq.read_table(file)
    assert table["value"].to_pylist() == [each["value"] for each in result.json["measures"]]
    assert table["gate"].to_pylist() == [None, "reached", None]
    assert table["run_id"][0].as_py() == file.stem
    assert pq.read_table(latest) == table
    assert labelled.estimate(*line).status == 0
    assert [*folder.iterdir()] == [file], "the same estimates again"
    evaluation = Evaluation.open(labelled.workspace)
    found = evaluation.results().drop_columns(["time", "run_id", "estimate_id", "gate", "at_least"])
    assert found == (table.drop_columns(["time", "run_id", "estimate_id", "gate", "at_least"]))


@pytest.mark.slow
def test_a_workspace_is_the_same_however_its_path_is_written(
    labelled: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = labelled.directory / "tables"
    monkeypatch.chdir(labelled.workspace)
    for path in (".", labelled.workspace, f"../{labelled.workspace.name}/", "./rounds/.."):
        assert call("estimate", path, "--report-to", f"table:{folder}").status == 0
    [file] = folder.iterdir()
    table = pq.read_table(file)
    assert set(table["evaluation"].to_pylist()) == {labelled.workspace.name}
    assert set(table["workspace"].to_pylist()) == {str(labelled.workspace)}


def test_a_receiver_that_fails_loses_nothing(drawn: Job, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = drawn.estimate(
        "--labels", drawn.deliver(drawn.answers(1)), "--at-least", "f1=0",
        "--report-to", f"table:{tmp_path}/file/x", f"table:{tmp_path}/good.csv",
    )  # fmt: skip
    assert result.status == 1
    assert f"not reported to table:{tmp_path}/file/x: " in result.err
    assert f"reported to {tmp_path}/good.csv" in result.err.splitlines()
    assert (tmp_path / "good.csv").exists()
    assert result.json["labels"] == 20
    assert drawn.estimate().json["labels"] == 20


@pytest.mark.slow
def test_as_a_job_of_beam(labelled: Job, tmp_path: Path) -> None:
    line: list[Any] = ["--at-least", "recall=0.2", "--report-to", f"table:{tmp_path}/a.csv"]
    here = labelled.estimate(*line)
    there = labelled.estimate(*line, "--runner", "DirectRunner")
    assert (there.status, there.json) == (0, here.json)
    assert labelled.estimate("--at-least", "f1=0.97", "--runner", "DirectRunner").status == 11


def test_a_gate_of_a_slice_without_rows_is_refused_once_the_pool_was_read(job: Jobs) -> None:
    good, bad = (f"f1 where prediction={value}" for value in (1, 7))
    one = job(measure="f1", pool={"slices": ["prediction"]}, gates={"at_least": {bad: 0.5}})
    before = files_below(one.directory)
    for result in (one.prepare(), call("prepare", "--check", one.spec)):
        assert result.status == 1
        problem = result.err or result.out
        assert f"gates.at_least: no estimate {bad!r}; there are: 'f1', " in problem
        assert f"'{good}'" in problem
    assert files_below(one.directory) == before
    one.spec.write_text(one.spec.read_text().replace(bad, good))
    assert call("prepare", "--check", one.spec).status == 0
    assert one.prepare().status == 0


def test_a_gate_of_no_slice_column_is_refused_before_the_pool_is_read(job: Jobs) -> None:
    one = job(measure="f1", gates={"at_least": {"f1 where city=Bern": 0.5}})
    for path in (one.directory / "pool").iterdir():
        path.unlink()
    for command in ("prepare", "plan"):
        refused = call(command, one.spec).refused
        assert "gates.at_least: no estimate 'f1 where city=Bern'; there are: 'f1'" in refused


def test_numbers_are_printed_before_they_are_sent(
    labelled: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []

    def send(*_: Any) -> str:
        order.append("sent")
        raise ConnectionError("no answer from http://me:secret@host")

    monkeypatch.setattr(mlflow, "check", lambda _: None)
    monkeypatch.setattr(mlflow, "send", send)
    monkeypatch.setattr(
        sys.modules["evalsampling.cli.main"], "_print", lambda _: order.append("printed")
    )
    result = labelled.estimate("--report-to", "mlflow:http://me:secret@host", "--quiet")
    assert order == ["printed", "sent"]
    assert result.status == 1
    [line] = result.err.splitlines()
    assert line.startswith("not reported to mlflow:http://...@host: ConnectionError: ")
    assert "secret" not in line


def test_a_failed_receiver_is_one_record(labelled: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVALSAMPLING_LOG", "json")
    (labelled.directory / "file").write_text("")
    result = labelled.estimate("--report-to", f"table:{labelled.directory}/file/x")
    assert result.status == 1
    records = [json.loads(line) for line in result.err.splitlines()]
    [failure] = [each for each in records if "not reported to" in each["message"]]
    assert failure["severity"] == "ERROR"
