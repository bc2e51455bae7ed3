"""The command line: usage, exit codes, and what it prints for people."""

import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.cli.estimate import _tests_table, _thinned, estimate_table
from evalsampling.inference.intervals import Interval
from evalsampling.inference.results import Estimate, Target, as_json
from evalsampling.parts.records import read_record
from evalsampling.report.numbers import Number, two_digits
from tests.jobs import Job, call, files_below
from tests.report import contents
from tests.slow import fast, slowly


@pytest.mark.parametrize(
    "arguments",
    [
        ["prepare"],
        ["launch", "x"],
        ["sample", "x", "--size", "0"],
        ["sample", "x", "--direct_num_workers=2"],
        ["status", "x", "--bogus"],
        ["simulate", "x"],
        ["simulate", "x", "--truth", "t", "--sampler", "magic"],
        ["simulate", "x", "--truth", "t", "--budgets", "10,0"],
        ["export", "x", "--to", "y.csv", "--form", "nonsense"],
    ],
)
def test_wrong_usage_exits_with_2(arguments: list[str]) -> None:
    result = call(*arguments)
    assert result.status == 2
    assert result.out == ""
    assert "usage:" in result.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "{workspace}", "--to", "x.txt"], "a report is written as .html"),
        (["export", "{workspace}", "--to", "x.txt"], "votes are written as .csv or .parquet"),
        (["sample", "{workspace}", "--next", "--adjudicate"], "are three calls, not one"),
        (["sample", "{workspace}", "--adjudicate", "--size", "7"], "--size is of a round"),
        (["sample", "{workspace}", "--withdraw", "1", "--size", "7"], "--size is of a round"),
        (["prepare", "{spec}", "--in-process", "--check-ids"], "--in-process takes no"),
        (["prepare", "{spec}", "--in-process", "--top-up"], "--in-process takes no"),
        (["prepare", "{spec}", "--in-process", "--runner=Fn", "-q"], "takes no --runner=Fn -q"),
        (["prepare", "{spec}", "--number_of_wrokers=3"], "number_of_wrokers"),
        (["prepare", "{spec}", "--top-up", "--check-ids"], "are two calls, not one"),
        (["prepare", "{spec}", "--check", "--in-process"], "--check goes with no other option"),
        (["sample", "{workspace}", "--budget-labels", "7"], "goes with --budget"),
        (["sample", "{workspace}", "--budget", "70", "--adjudicate"], "--budget goes with neither"),
        (
            ["sample", "{workspace}", "--budget", "9000", "--number_of_wrokers=3"],
            "number_of_wrokers",
        ),
    ],
)
def test_options_that_do_not_go_together_exit_with_2_and_change_nothing(
    drawn: Any, arguments: list[str], message: str
) -> None:
    before = files_below(drawn.workspace)
    paths = {"workspace": drawn.workspace, "spec": drawn.spec}
    assert message in call(*(one.format(**paths) for one in arguments)).misused
    assert files_below(drawn.workspace) == before


def test_unknown_runner_exits_with_2_even_when_prepared(job: Any) -> None:
    assert "--runner=Nope" in job().prepared().prepare("--runner=Nope").misused


def test_reader_that_has_gone(job: Any) -> None:
    one: Job = job().prepared()
    command = f"{sys.executable} -m evalsampling status {one.workspace} | true"
    done = subprocess.run(command, shell=True, capture_output=True, check=False, text=True)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("form", [[], *slowly(["--json"])])
def test_a_closed_stdout_is_no_failure(job: Any, form: list[str]) -> None:
    """The work was done; there is nobody to tell."""
    one: Job = job().prepared()
    command = [sys.executable, "-m", "evalsampling", "status", str(one.workspace), *form]
    done = subprocess.run(
        ["sh", "-c", '"$@" >&-', "sh", *command], capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_missing_files_exit_with_1(tmp_path: Any) -> None:
    for command in ("prepare", "sample", "estimate", "status", "report"):
        result = call(command, tmp_path / "absent")
        assert result.status == 1
        assert len(result.err.splitlines()) == 1
    result = call("prepare", tmp_path / "absent.yaml")
    assert result.err.endswith("absent.yaml: cannot be read: No such file or directory\n")


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["estimate", "run", "--labls", "x"], "--labls; did you mean --labels?"),
        (["status", "run", "--verfy"], "--verfy; did you mean --verify?"),
        (["estimate", "run", "--zzz=secret"], "without --runner: --zzz\n"),
        (["plan", "s", "--sampler", "ais,passiv"], "'passiv'; did you mean passive?"),
    ],
)
def test_the_option_that_was_meant(arguments: list[str], meant: str) -> None:
    result = call(*arguments)
    assert result.status == 2
    assert meant in result.err
    assert "secret" not in result.err


def test_an_open_round_is_told_of(job: Any) -> None:
    one: Job = job().prepared()
    assert "still open" not in call("sample", one.workspace, "--size", "5").out
    again = " ".join(call("sample", one.workspace, "--size", "9").out.split())
    assert "still open (5 open), so --size 9 is not heeded. Deliver its labels" in again
    plain = " ".join(call("sample", one.workspace).out.split())
    assert "This round is still open (5 open). Deliver its labels with `estimate --labels`" in plain
    assert one.sample().json["again"]
    assert not one.sample("--next").json["again"]


@pytest.mark.slow
def test_the_half_width_or_why_there_is_none(job: Any) -> None:
    one: Job = job(measure=["f1", "recall"]).prepared()
    empty = call("estimate", one.workspace, "--detail").out
    assert "half-width not known: the interval of f1 claims nothing (no labels yet" in empty
    assert one.estimate().json["half_width_reason"].startswith("the interval of f1 claims")
    for number in (1, 2, 3):
        one.sample("--size", 60)
        one.answer(number)
    told = one.estimate().json
    printed = call("estimate", one.workspace, "--detail").out
    assert f"half-width {told['half_width']:.4f}: " in printed
    assert told["half_width_reason"] is None


def test_a_whole_evaluation_for_people(job: Any) -> None:
    one: Job = job()
    prepared = call("prepare", one.spec)
    assert "2,000 rows in" in prepared.out
    assert "on this process" in prepared.out
    assert call("sample", one.workspace).out.startswith("round 1: 20 rows to label in\n")
    estimated = call("estimate", one.workspace, "--labels", one.deliver(one.answers(1)))
    assert estimated.out.startswith("20 labels, 0 open, 0 rejected\nF1 ")
    said = one.estimate().json["measures"][0]["statement"]
    assert " ".join(said.split()) in " ".join(estimated.out.split())
    detail = call("estimate", one.workspace, "--detail").out
    assert detail.startswith("20 labels, 0 open, 0 rejected\n95 % intervals ")
    assert "\nf1 " in detail
    assert "labels.csv: 20 taken, 0 rejected" in estimated.err
    assert "1 round, 20 of 200 labels, 0 open, 0 rejected" in call("status", one.workspace).out


def test_points_of_a_curve_are_thinned_for_people() -> None:
    """At most eight of each axis, system and slice, evenly spaced; numbers below a heading each."""

    def number(*told: Any, **of: Any) -> Number:
        return read_record(Number, contents.number(*told, **of))

    parts, axes = (None, "new=true"), ("precision", "recall")
    f1 = [number("f1", system="old", against=other, slice=part)
          for other in (None, "new") for part in parts]  # fmt: skip
    curve = [number(f"pr_curve.{axis}", at / 20, system="new", slice=part, threshold=at / 20)
             for axis in axes for part in parts for at in range(20)]  # fmt: skip
    text = estimate_table(_thinned([*f1, *curve]), ["model-based"])
    headings = [line for line in text[1:] if not line.startswith(" ")]
    assert headings == ["f1", *(f"pr_curve.{axis}" for axis in axes)]
    titles = ["of old", "new=true", "of old against new", "new=true"]
    assert [title for title, _ in section(text, "f1")] == titles
    points = [(f"at {at / 20:g} {of}", f"{at / 20:.4f}")
              for of in ("of new", "new=true") for at in range(0, 20, 3)]  # fmt: skip
    for axis in axes:
        assert section(text, f"pr_curve.{axis}") == points


def test_estimate_says_what_intervals_rest_on_and_what_may_hide(job: Any) -> None:
    one: Job = job(sampler="calibrated", measure=["f1", "recall"], round_size=80).drawn()
    one.answer(1)
    told = one.estimate().json
    printed = call("estimate", one.workspace, "--detail").out
    assert max(map(len, printed.splitlines())) <= 80
    text = " ".join(printed.split())
    assert list(told["assumes"]) == ["model-based", "design-based"]
    for words in told["assumes"].values():
        assert words in text
    (hidden,) = told["hidden"]
    for quantiles in (hidden["prior"], hidden["posterior"]):
        assert ", ".join(two_digits(100 * one) for one in quantiles.values()) in text
    for measure in told["measures"]:
        half, twice = (f"{other['low']:.4f}\N{EN DASH}{other['high']:.4f}"
                       for other in measure["sensitivity"])  # fmt: skip
        words = f"{measure['measure']} if hidden positives were half as many: {half}, "
        assert words + f"twice as many: {twice}" in text


def section(text: list[str], measure: str) -> list[tuple[str, str]]:
    """Title and value of the rows below a heading."""
    begin = text.index(measure) + 1
    rows = list(itertools.takewhile(lambda line: line.startswith(" "), text[begin:]))
    return [tuple(re.split(r"\s{2,}", row.strip())[:2]) for row in rows]


def test_no_zero_has_a_minus() -> None:
    """However small a negative number is."""
    tiny = Target("accuracy", (-1.0, 1.0), system="a", against="b")
    interval = Interval(-1e-7, 2e-7, "design-based", "student")
    found = Estimate(tiny, -1e-9, 1e-7, 0.95, (interval,))
    text = estimate_table([read_record(Number, as_json(found))], ["design-based"])
    assert "-0.0000" not in "\n".join(text)


def test_tests_of_comparisons_have_a_table() -> None:
    alone, compared = (
        read_record(Number, contents.number("f1", system="a", against=against, significance=test))
        for against, test in ((None, None), ("b", {"p_value": 0.0312, "chance_above": None}))
    )
    assert _tests_table([alone]) == []
    head, row = (line.split() for line in _tests_table([alone, compared]))
    assert (head, row[-1]) == (["tests,", "of", "the", "first", "interval", "p"], "0.0312")


def test_simulate_with_a_wrong_truth(job: Any) -> None:
    one: Job = job()
    truth = one.directory / "truth.parquet"
    for labels, words in [
        ({"id": list(one.pool.truth)[1:], "label": [0] * 1999}, "has no label in"),
        ({"id": list(one.pool.truth), "label": [3] * 2000}, "'3' is no class"),
        ({"id": [1] * 2000, "label": [0] * 2000}, "row 1: duplicate id 1, also in row 0"),
        ({"id": list(one.pool.truth), "truth": [0] * 2000}, "column 'label' is missing"),
        ({"id": [], "label": []}, "no labels"),
        ({"id": list(one.pool.truth), "label": [0.5] * 2000}, "'0.5' is no class"),
    ]:
        pq.write_table(pa.table(labels), truth)
        assert words in call("simulate", one.spec, "--truth", truth, "--repeats", 1).refused


@pytest.mark.parametrize("encoding", fast(1, ["ascii", "latin-1", "utf-8"]))
def test_a_call_as_a_process_prints_one_object_and_loads_no_beam(job: Any, encoding: str) -> None:
    one: Job = job(workspace="Zürich-日本").prepared()
    program = (
        "import sys\n"
        "from evalsampling.__main__ import run\n"
        "try: run()\n"
        "finally: assert 'apache_beam' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "sample", str(one.directory / "Zürich-日本"), "--json"],
        capture_output=True,
        check=False,
        env={**os.environ, "PYTHONIOENCODING": encoding},
    )
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    told = json.loads(text)
    assert told["rows"] == 20
    assert "Zürich-日本" in told["batch"]
    assert text.isascii() == (encoding != "utf-8")


def test_quiet_and_verbose(job: Any) -> None:
    one: Job = job().prepared()
    assert "INFO" not in call("sample", one.workspace).err
    labels = one.deliver([("t_nobody", "1"), *one.answers(1)])
    assert call("estimate", one.workspace, "--labels", labels, "--quiet").err == ""
    loud = call("estimate", one.workspace, "--verbose")
    assert re.search(r"^\d\d:\d\d:\d\d estimated$", loud.err, re.M)
    failed = call("status", one.directory / "none", "--verbose")
    assert "Traceback" in failed.err
    assert failed.err.splitlines()[-1].startswith("evalsampling status: ")
    assert call("status", one.directory / "none", "--quiet").err.count("\n") == 1
    assert call("status", one.workspace, "--quiet", "--verbose").status == 2


def test_no_command_prints_the_help() -> None:
    told = call().done
    assert told.out.startswith("usage: evalsampling [-h] [--version] COMMAND")


def test_a_spec_in_place_of_its_workspace_is_told(tmp_path: Path) -> None:
    spec = tmp_path / "evaluation.yaml"
    spec.write_text("pool: {path: pool.parquet}\nworkspace: run\n")
    told = call("sample", spec)
    assert told.status == 1
    words = f"evalsampling sample: {spec}: a file, and no workspace: give the directory that a spec"
    assert told.err.startswith(words)
