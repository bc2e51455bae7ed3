"""`report`: a page and its twins, of evaluations of each kind."""

import contextlib
import csv
import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from evalsampling import Evaluation
from evalsampling.errors import InputError
from evalsampling.storage import local
from evalsampling.workspace.workspace import Workspace
from tests.averages import EACH_F1, MACRO_F1
from tests.faults.operations import CHANGES, Killed, faults
from tests.jobs import (
    LABEL_SET,
    Job,
    Jobs,
    Result,
    call,
    csv_rows,
    files_below,
    make_label_set_pool,
    make_pool,
    make_rich_pool,
)
from tests.slow import fast

DATA = re.compile(r'<data value="([^"]+)">')


def report(job: Job, *options: Any) -> tuple[Result, Path]:
    page = job.directory / "report.html"
    return call("report", job.workspace, "--json", "--to", page, *options), page


def numbers_in(content: Any) -> set[float]:
    """All numbers of a JSON object."""
    if isinstance(content, dict):
        return set().union(*map(numbers_in, content.values()), set())
    if isinstance(content, list):
        return set().union(*map(numbers_in, content), set())
    return {float(content)} if isinstance(content, int | float) else set()


def answered(job: Job, rounds: int, header: str = "task,label", who: tuple[str, ...] = ()) -> Job:
    """The job with some rounds drawn and answered."""
    assert job.prepare().status == 0
    for number in range(1, rounds + 1):
        assert job.sample().status == 0
        answers = [
            (*one, *name) for one in job.answers(number) for name in ([(n,) for n in who] or [()])
        ]
        assert job.take(answers, f"{number}.csv", header).done
    return job


def check(job: Job, *options: Any) -> tuple[str, dict[str, Any]]:
    """The page and its JSON twin, whose numbers are those of `estimate --json`."""
    done, path = report(job, *options)
    assert done.status == 0, done.err
    page, twin = path.read_text(), json.loads(path.with_suffix(".json").read_text())
    assert twin["estimate"] == job.estimate().json
    assert {float(value) for value in DATA.findall(page)} <= numbers_in(twin)
    with path.with_suffix(".csv").open(encoding="utf-8-sig", newline="") as file:
        latest = [line for line in csv.DictReader(file) if line["latest"] == "true"]
    for name in ("value", "low", "high"):
        written = [float(line[name]) if line[name] else None for line in latest]
        assert written == [one[name] for one in twin["estimate"]["measures"]]
    assert done.json["bytes"] == len(page.encode()) < 2_000_000
    return page, twin


@pytest.mark.slow
def test_two_classes_and_rounds(job: Jobs) -> None:
    one = answered(job(measure=["f1", "precision"]), 2)
    before = files_below(one.workspace)
    page, twin = check(one, "--title", "Pairs <of> 2026")
    assert files_below(one.workspace) == before
    assert "<h1>Pairs &lt;of&gt; 2026</h1>" in page
    assert [(told["round"], told["labels"]) for told in twin["rounds"]] == [(1, 20), (2, 40)]
    assert twin["rounds"][-1]["measures"] == twin["estimate"]["measures"]
    bands = twin["bands"][0]["bands"]
    assert sum(band["labelled"] for band in bands) == 40
    assert sum(band["rows"] for band in bands) == 2000


def test_before_any_label(job: Jobs) -> None:
    """The same state has the same page."""
    one = answered(job(), 0)
    page, twin = check(one)
    assert "Nothing is known yet" in page
    assert twin["rounds"] == []
    assert report(one)[1].read_bytes() == report(one)[1].read_bytes()


def test_systems_slices_and_curves(job: Jobs) -> None:
    systems = {f"s{n}": {"score": f"s{n}.score", "prediction": f"s{n}.prediction"} for n in (0, 1)}
    curve = {"name": "pr_curve", "system": "s0", "thresholds": [-4, -2, 0, 1, 2]}
    one = job(
        make_rich_pool(800),
        pool={"systems": systems, "slices": ["city"]},
        measure=[curve, "f1"],
        sampler={"name": "ais", "delta": 0.3},
        round_size=60,
    )
    page, twin = check(answered(one, 1))
    assert 'id="systems"' in page
    assert {part["slice"] for part in twin["slices"]} >= {"city=Genève", "city=null"}
    assert sum(part["rows"] for part in twin["slices"]) == 800
    assert 'id="curves"' in page


@pytest.mark.slow
def test_labels_of_which_a_row_may_have_several(job: Jobs) -> None:
    """Rates are those of labels, not of sets: a row counts for each label that it has."""
    pool = make_label_set_pool(300)
    one = job(pool, labels={"multilabel": [*LABEL_SET]}, sampler="poisson", round_size=60,
              pool={"prediction": {name: f"is_{name}" for name in LABEL_SET},
                    "probability": {name: f"p_{name}" for name in LABEL_SET}},
              measure=[MACRO_F1, EACH_F1])  # fmt: skip
    page, twin = check(answered(one, 1))
    assert [told["label"] for told in twin["bands"]] == [*LABEL_SET]
    asked = [pool.truth[id] for _, id in one.asked(1)]
    for told in twin["bands"]:
        met = sum(band["met"] for band in told["bands"])
        assert met == sum(told["label"] in text.split("+") for text in asked)
    assert "F1 for toxic" in page


def test_pictures_of_notebooks_are_those_of_the_page(job: Jobs) -> None:
    one = answered(job(measure=["f1", "precision"]), 2)
    page, _ = check(one)
    evaluation = Evaluation.open(one.workspace)
    assert evaluation.plot("intervals").body in page
    assert evaluation.plot("calibration", label="1").body in page
    assert page.count("<figure>") == 2
    words = "The scores are an order: they say which rows are more likely, not how likely."
    assert (words in page) == (evaluation.scores.kind == "order")
    assert evaluation.scores.kind == "order"


def test_numbers_of_the_spreadsheet_are_no_formulas(job: Jobs) -> None:
    systems = {name: {"score": f"s{n}.score", "prediction": f"s{n}.prediction"}
               for n, name in enumerate(("=1+1", "-b"))}  # fmt: skip
    one = answered(job(make_rich_pool(400), pool={"systems": systems}, measure="f1"), 1)
    done, page = report(one)
    assert done.status == 0, done.err
    lines = csv_rows(page.with_suffix(".csv"))
    assert {line["system"] for line in lines} == {"'=1+1", "'-b"}
    assert all(float(line["value"]) <= 1 for line in lines)


def test_a_stochastic_oracle(asked: Job) -> None:
    answers = [(task, str(asked.pool.truth[id])) for task, id in asked.asked(1)]
    assert asked.take(answers).status == 0
    page, _ = check(asked)
    assert "90 answers out of a pool" in page


def test_every_row_labelled(job: Jobs) -> None:
    page, _ = check(answered(job(make_pool(40), round_size=40, measure="accuracy"), 1))
    assert "every row that it depends on has a label" in page


def test_annotators_by_name_or_by_number(job: Jobs) -> None:
    one = answered(job(labels={"votes": 2}), 1, "task,label,annotator", ("Ann", "Ben"))
    page, twin = check(one)
    assert "Ann" in page
    assert [(told["annotator"], told["labels"]) for told in twin["annotators"]] == [
        ("Ann", 20),
        ("Ben", 20),
    ]
    page, twin = check(one, "--anonymous")
    assert "Ann<" not in page
    assert [told["annotator"] for told in twin["annotators"]] == ["annotator 1", "annotator 2"]
    page, twin = check(answered(job(), 1), "--anonymous")
    assert [told["annotator"] for told in twin["annotators"]] == [None], "nobody stays nobody"
    assert "annotator 1" not in page


def test_what_was_written_is_told_and_what_is_wrong(drawn: Job, tmp_path: Path) -> None:
    page = drawn.directory / "out.html"
    assert re.fullmatch(
        rf"report on 0 labels, \d+ kB, in {page}\n"
        rf"its numbers in {page.with_suffix('.json')} and {page.with_suffix('.csv')}\n",
        call("report", drawn.workspace, "--to", page).out,
    )
    told = call("report", drawn.workspace, "--to", tmp_path / "report.pdf")
    assert (told.status, told.out) == (2, "")
    assert "a report is written as .html" in told.err
    nowhere = tmp_path / "missing" / "report.html"
    told = call("report", drawn.workspace, "--to", nowhere)
    assert told.status == 1
    path = nowhere.with_suffix(".json")
    assert f"report: {path}: cannot be written: No such file or directory\n" in told.err
    assert call("report", tmp_path, "--to", tmp_path / "report.html").status == 1
    assert list(tmp_path.glob("*.html")) == []


@pytest.mark.parametrize(
    ("file", "folder", "inside"),
    [("gs://bucket/run/a.html", "gs://bucket/run", True), ("gs://bucket/run/a/b.html",
      "gs://bucket/run/", True), ("gs://bucket/running/a.html", "gs://bucket/run", False),
     ("gs://bucket/run.html", "gs://bucket/run", False), ("/data/run/x.html", "/data/run", True),
     ("/data/x.html", "/data/run", False), ("a.html", "gs://bucket/run", False)],
)  # fmt: skip
def test_what_is_inside_a_workspace(file: str, folder: str, inside: bool) -> None:
    told = pytest.raises(InputError, match=f"--to: {file}: is in the workspace")
    with told if inside else contextlib.nullcontext():
        Workspace(folder).check_outside(file)


@pytest.mark.stores
def test_from_and_to_a_bucket(job: Jobs, bucket: Any) -> None:
    job(make_pool(300), workspace=f"gs://{bucket.name}/run").prepared()
    to = f"gs://{bucket.name}/reports/report.html"
    assert call("report", f"gs://{bucket.name}/run", "--to", to, "--json").done
    names = {blob.name for blob in bucket.list_blobs(prefix="reports/")}
    assert names == {f"reports/report.{end}" for end in ("html", "json", "csv")}


@pytest.mark.parametrize("full", fast(1, [".json", ".csv", ".html"]))
def test_where_one_file_has_no_room_all_stay(
    job: Jobs, monkeypatch: pytest.MonkeyPatch, full: str
) -> None:
    one = answered(job(), 1)
    assert report(one, "--title", "old")[0].status == 0
    before = {path: path.read_bytes() for path in one.directory.glob("report.*")}
    assert len(before) == 3

    def no_room(path: Path) -> None:
        if f"{full}-" in path.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(local, "sync_file", no_room)
    result, page = report(one, "--title", "new")
    where = f"{page.with_suffix(full)}: cannot be written: No space left on device"
    assert (result.status, where in result.err) == (1, True), result.err
    assert {path: path.read_bytes() for path in one.directory.glob("*report.*")} == before
    assert not list(one.directory.glob(".*"))


def contents(page: Path) -> list[bytes | None]:
    """Content of JSON, CSV and page, None for one that is not there."""
    paths = [page.with_suffix(end) for end in (".json", ".csv", ".html")]
    return [path.read_bytes() if path.exists() else None for path in paths]


@pytest.mark.slow
def test_a_page_is_there_only_beside_its_own_numbers(job: Jobs) -> None:
    """Killed at any of its changes; the next one makes all three."""
    one = answered(job(), 1)
    _, page = report(one)
    old = contents(page)
    one.sample()
    one.answer(2, "2.csv")
    with faults(CHANGES, None) as counted:
        report(one)
    new, without = contents(page), 0
    assert not {*old} & {*new}
    for at in range(1, counted.done + 1):
        for path, content in zip((".json", ".csv", ".html"), old, strict=True):
            page.with_suffix(path).write_bytes(content or b"")
        with faults(CHANGES, at), contextlib.suppress(Killed):
            report(one)
        found = contents(page)
        assert found[2] is None or found in (old, new), at
        assert None not in found[:2], "these are replaced, and never away"
        without += found[2] is None
        assert report(one)[0].status == 0
        assert contents(page) == new
    assert without >= 3


@pytest.mark.stores
@pytest.mark.parametrize("after", range(4))
def test_a_page_in_a_bucket_is_there_only_beside_its_own_numbers(
    job: Jobs, bucket: Any, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    one = answered(job(), 1)
    to = f"gs://{bucket.name}/report.html"

    def held() -> dict[str, bytes]:
        return {blob.name: blob.download_as_bytes() for blob in bucket.list_blobs()}

    assert call("report", one.workspace, "--to", to, "--title", "new").status == 0
    new = held()
    assert call("report", one.workspace, "--to", to, "--title", "old").status == 0
    blob, done = type(bucket.blob("x")), list[str]()

    def die(name: str) -> Any:
        request = getattr(blob, name)

        def requested(self: Any, *given: Any, **named: Any) -> Any:
            if len(done) == after:
                raise Killed
            done.append(name)
            return request(self, *given, **named)

        return requested

    with monkeypatch.context() as patch:
        for name in ("delete", "upload_from_string"):
            patch.setattr(blob, name, die(name))
        with pytest.raises(Killed):
            call("report", one.workspace, "--to", to, "--title", "new")
    assert ("report.html" in held()) == (after == 0)
    assert call("report", one.workspace, "--to", to, "--title", "new").status == 0
    assert held() == new
