"""Files of another package are refused wherever they are read."""

import dataclasses
import itertools
import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.storage.checksums import Checksum, sealed
from evalsampling.workspace.workspace import _LATEST, latest_version
from tests.commands.votes import deliver, votes
from tests.jobs import Job, Jobs, call, files_below, make_pool

READ_BY = {
    "evaluation.json": "status", "rounds/0001/design.json": "status",
    "rounds/0001/closed.json": "estimate", "adjudications/0001/design.json": "estimate",
    "taken/0001.json": "estimate", "budgets/0001.json": "sample", "jobs/prepare.json": "status",
}  # fmt: skip
"""A file of each kind that is JSON, and a command that reads it; estimates are read by none."""


@pytest.fixture
def every(job: Jobs) -> Job:
    """A workspace with a file of each kind."""
    one = job(
        make_pool(300), pool={"payload": ["name"]}, labels={"votes": 2}, budget=30, round_size=10
    )
    assert one.prepare("--runner", "FnApiRunner").status == 0
    one.sample()
    rows = [(*row[:4], f"note {place}") for place, row in enumerate(votes(one, 1, "ab", wrong=0.5))]
    assert one.estimate("--labels", deliver(one, rows, "1.csv"), "--close").status == 0
    assert call("sample", one.workspace, "--adjudicate").status == 0
    assert call("sample", one.workspace, "--next", "--budget", 40).status == 0
    return one


def test_the_page_has_the_versions() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs/compatibility.md").read_text("utf-8")
    told = {}
    for cells, version in re.findall(r"^\| (`.*) \|.*\| (\d+) \|$", page, flags=re.MULTILINE):
        for name in re.findall(r"`([^`]+)`", cells.split("|")[0]):
            told[name.replace("*", "0001")] = int(version)
    assert told == {name: latest_version(name) for name in told}
    kinds = {
        pattern.replace("[^/]+", "0001").replace(".+", "0001").replace(r"\d+", "0001")
        for pattern, _ in _LATEST
    }
    assert {*told} == {kind.replace("\\", "") for kind in kinds}
    workspace = (Path(__file__).resolve().parents[2] / "docs/workspace.md").read_text("utf-8")
    assert f"| `version` | {latest_version('evaluation.json')}; of `cells.parquet`" in workspace


@pytest.mark.slow
def test_every_json_file_has_a_version(every: Job) -> None:
    names = [
        name
        for name in files_below(every.workspace)
        if name.endswith(".json") and not name.startswith(".")
    ]
    kinds = {name.split("/")[0] for name in names}
    assert kinds == {name.split("/")[0] for name in READ_BY} | {"estimates"}
    for name in names:
        content = json.loads((every.workspace / name).read_text())
        assert content["version"] == latest_version(name), name


@pytest.mark.slow
def test_another_version_is_refused(every: Job) -> None:
    for name, version in itertools.product(READ_BY, ("next", "2.0", None, 0)):
        path = every.workspace / name
        before, latest = path.read_text(), latest_version(name)
        later = latest + 1 if version == "next" else version
        content = json.loads(before) | {"version": later}
        del content["sha256"]
        path.write_text(json.dumps(sealed(content)))
        result = call(READ_BY[name], every.workspace)
        verified = call("status", "--verify", every.workspace)
        path.write_text(before)
        words = f"{path}: version {later!r} of this kind of file; this evalsampling reads"
        assert (result.status, result.err.count("\n")) == (1, 1), (name, result.err)
        assert f"{words} version {latest}: use the one that wrote it" in result.err
        assert (verified.status, words in verified.out + verified.err) == (1, True), name


def test_a_delivery_of_a_later_version_is_refused(drawn: Job) -> None:
    assert drawn.answer(1).done
    marker = drawn.workspace / "taken/0001.json"
    (path,) = (drawn.workspace / "labels").glob("*.parquet")
    table = pq.read_table(path)
    details = json.loads(table.schema.metadata[b"evalsampling"]) | {"version": 2}
    told = {"evalsampling": json.dumps(details)}
    pq.write_table(pa.table(table).replace_schema_metadata(told), path)
    own = {key: value for key, value in json.loads(marker.read_text()).items() if key != "sha256"}
    checksum = dataclasses.asdict(Checksum.of_file(path))
    marker.write_text(json.dumps(sealed(own | {"files": {f"labels/{path.name}": checksum}})))
    for line in (("status",), ("status", "--verify")):
        result = call(*line, drawn.workspace)
        assert result.status == 1
        assert f"{path}: version 2 of this kind of file" in result.err + result.out, line
