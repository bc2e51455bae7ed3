"""The command line: usage, exit codes, and what it prints for people."""

import json
import subprocess
import sys
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.jobs import Job, call


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["prepare"],
        ["launch", "x"],
        ["sample", "x", "--size", "0"],
        ["sample", "x", "--size", "many"],
        ["sample", "x", "--direct_num_workers=2"],
        ["status", "x", "--bogus"],
        ["simulate", "x"],
        ["simulate", "x", "--truth", "t", "--sampler", "magic"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    result = call(*arguments)
    assert result.status == 2
    assert result.out == ""
    assert "usage:" in result.err


def test_unknown_beam_option_exits_with_2(job: Any) -> None:
    result = job().prepare("--number_of_wrokers=3")
    assert result.status == 2
    assert "number_of_wrokers" in result.err


def test_unknown_runner_exits_with_2_even_when_prepared(job: Any) -> None:
    one = job()
    one.prepare()
    result = one.prepare("--runner=Nope")
    assert result.status == 2
    assert "--runner=Nope" in result.err


def test_pipelines_as_programs_tell_errors_in_one_line(tmp_path: Any) -> None:
    command = [sys.executable, "-m", "pipelines.prepare", f"--spec={tmp_path}/absent.yaml"]
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert "absent.yaml: cannot be read" in done.stderr


def test_output_of_a_pipeline_is_replaced(job: Any) -> None:
    one: Job = job()
    one.prepare()
    output = one.directory / "out.json"
    from pipelines import sample

    for options, number in [([], 1), (["--next"], 2)]:
        sample.main([f"--workspace={one.workspace}", f"--output={output}", *options])
        assert json.loads(output.read_text())["result"]["round"] == number


def test_reader_that_has_gone(job: Any) -> None:
    one: Job = job()
    one.prepare()
    command = f"{sys.executable} -m evalsampling status {one.workspace} | true"
    done = subprocess.run(command, shell=True, capture_output=True, check=False, text=True)
    assert "Traceback" not in done.stderr


def test_missing_files_exit_with_1(tmp_path: Any) -> None:
    for command in ("prepare", "sample", "estimate", "status"):
        result = call(command, tmp_path / "absent")
        assert result.status == 1
        assert len(result.err.splitlines()) == 1


def test_a_whole_evaluation_for_people(job: Any) -> None:
    one: Job = job()
    prepared = call("prepare", one.spec)
    assert "2,000 rows in" in prepared.out
    assert "on FnApiRunner" in prepared.out
    sampled = call("sample", one.workspace)
    assert sampled.out.startswith("round 1: 20 rows to label in\n")
    estimated = call("estimate", one.workspace, "--labels", one.deliver(one.answers(1)))
    assert estimated.out.startswith("20 labels, 0 open, 0 rejected\nf1 ")
    assert "labels.csv: 20 taken, 0 rejected" in estimated.err
    status = call("status", one.workspace)
    assert "1 rounds, 20 of 200 labels, 0 open, 0 rejected" in status.out


def test_prepare_json(job: Any) -> None:
    prepared = job().prepare().json
    assert list(prepared) == [
        "workspace", "rows", "leaves", "cells", "reserve_rows", "seconds", "runner"
    ]  # fmt: skip
    assert prepared["rows"] == 2000
    assert prepared["runner"] == "FnApiRunner"


def test_status_json(job: Any) -> None:
    one: Job = job()
    one.prepare()
    status = call("status", one.workspace, "--json").json
    assert list(status) == ["rounds", "labels", "open", "budget", "rejects", "prepared"]
    assert list(status["prepared"]) == ["rows", "seconds", "runner", "versions"]
    assert "apache-beam" in status["prepared"]["versions"]


def test_simulate(job: Any) -> None:
    one: Job = job(measure=["f1", "recall"])
    truth = one.directory / "truth.parquet"
    labels = {"id": list(one.pool.truth), "label": list(one.pool.truth.values())}
    pq.write_table(pa.table(labels), truth)
    options = ["--truth", truth, "--sampler", "passive", "ais", "--budgets", "60,30"]
    result = call("simulate", one.spec, *options, "--repeats", 6, "--json").json
    assert set(result["truth"]) == {"f1", "recall"}
    assert [(r["sampler"], r["measure"], r["budget"]) for r in result["results"]] == [
        (sampler, measure, budget)
        for sampler in ("passive", "ais")
        for measure in ("f1", "recall")
        for budget in (30, 60)
    ]
    wanted = {"rmse", "bias", "coverage", "median_width", "interval_score", "undefined", "seconds"}
    assert all(wanted <= set(r) for r in result["results"])
    assert not one.workspace.exists(), "simulate touches no workspace"
    text = call("simulate", one.spec, *options, "--repeats", 2).out
    assert "passive" in text

    as_csv = one.directory / "truth.csv"
    rows = [f"{id},{label}" for id, label in one.pool.truth.items()]
    as_csv.write_text("id,label\n" + "\n".join(rows) + "\n")
    options[1] = as_csv
    again = call("simulate", one.spec, *options, "--repeats", 6, "--json").json
    for here, there in zip(result["results"], again["results"], strict=True):
        assert here["rmse"] == there["rmse"]


def test_simulate_with_a_wrong_truth(job: Any) -> None:
    one: Job = job()
    truth = one.directory / "truth.parquet"
    for labels, words in [
        ({"id": list(one.pool.truth)[1:], "label": [0] * 1999}, "has no label in"),
        ({"id": list(one.pool.truth), "label": [3] * 2000}, "'3' is no class"),
        ({"id": [1] * 2000, "label": [0] * 2000}, "an id is there twice"),
        ({"id": list(one.pool.truth), "truth": [0] * 2000}, "column 'label' is missing"),
        ({"id": [], "label": []}, "no labels"),
        ({"id": list(one.pool.truth), "label": [0.5] * 2000}, "whole numbers or text"),
    ]:
        pq.write_table(pa.table(labels), truth)
        result = call("simulate", one.spec, "--truth", truth, "--repeats", 1)
        assert result.status == 1
        assert words in result.err


def test_a_call_as_a_process_prints_one_object_and_loads_no_beam(job: Any) -> None:
    one: Job = job()
    one.prepare()
    program = (
        "import sys\n"
        "from evalsampling.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "finally: assert 'apache_beam' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "sample", str(one.workspace), "--json"],
        capture_output=True,
        check=True,
        text=True,
    )
    assert json.loads(done.stdout)["rows"] == 20
    assert done.stderr == ""
