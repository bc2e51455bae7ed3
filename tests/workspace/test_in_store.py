"""Workspaces, specs and labels in Google Cloud Storage, on an emulator of it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from google.cloud import storage

from evalsampling.commands import batches, deliveries
from evalsampling.labels.sinks import write_tasks
from evalsampling.labels.votes import check_votes
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Jobs, call, files_below
from tests.stores import answer, move, objects, prepare


@pytest.mark.usefixtures("one_key")
@pytest.mark.parametrize("scored", [False, True], ids=["columns", "scored"])
def test_an_evaluation_in_the_store_is_what_it_is_here(
    job: Jobs, bucket: storage.Bucket, scored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pool, spec, workspace and labels; each object is written once."""
    scorer = {"scorer": "tests.jobs:same"} if scored else {}
    one = job(files=3, budget=60, pool=scorer)
    url = move(one, bucket)
    here = call("prepare", one.spec, "--json", "--direct_num_workers=2").json
    there = prepare(bucket).json
    assert there["workspace"] == url
    compared = ("rows", "leaves", "cells", "reserve_rows", "runner")
    assert [there[key] for key in compared] == [here[key] for key in compared]
    assert prepare(bucket).json == there
    written = objects(bucket)
    for number in (1, 2, 3):
        local, remote = one.sample().json, call("sample", url, "--json").json
        assert (remote["round"], remote["rows"]) == (local["round"], local["rows"])
        folder, name = re.escape(f"{url}/rounds/{number:04d}"), r"[0-9a-f]{12}/batch\.csv"
        assert re.fullmatch(f"{folder}/{name}", remote["batch"])
        exported = bucket.blob(remote["batch"].removeprefix(f"gs://{bucket.name}/"))
        assert exported.download_as_bytes() == Path(local["batch"]).read_bytes()
        assert call("sample", url, "--json").json == remote | {"again": True}
        delivered = one.deliver(one.answers(number), f"{number}.csv")
        local = one.estimate("--labels", delivered).json
        labels = answer(url, number, one, bucket, f"labels/{number}.csv")
        for _ in range(2):
            assert call("estimate", url, "--labels", labels, "--json").json == local
        now = objects(bucket)
        assert {name: now[name] for name in written} == written
        written = now
    assert call("sample", url, "--json").json["reason"] == "budget"
    assert not [name for name in written if "/." in name], "no note is left"
    status = call("status", url, "--json").json
    assert (status["rounds"], status["labels"]) == (3, 60)
    names = {name.rpartition("/")[2] for name in files_below(one.workspace)}
    assert {name.rpartition("/")[2] for name in written if "specs/run" in name} >= {
        name for name in names if not re.match(r"part-|\d{5}-", name)
    }


def test_jobs_and_top_ups_in_the_store(job: Jobs, bucket: storage.Bucket) -> None:
    one = job(files=2, strata={"leaves": 2}, budget=50, pool={"scorer": "tests.jobs:same"})
    url = move(one, bucket)
    runner = "--runner=FnApiRunner"
    assert prepare(bucket).json["reserve_rows"] < 300
    assert "prepared without --check-ids" in prepare(bucket, "--check-ids", runner).err
    assert call("sample", url, "--json", runner).json["rows"] == 20
    labels = answer(url, 1, one, bucket, "labels.csv")
    assert call("estimate", url, "--labels", labels, "--json", runner).json["labels"] == 20
    assert prepare(bucket, "--top-up", 5000).json["reserve_rows"] == 2000
    assert not [name for name in objects(bucket) if "answer" in name]


def test_prepare_refuses_what_is_not_a_workspace(job: Jobs, bucket: storage.Bucket) -> None:
    one = job()
    url = move(one, bucket)
    bucket.blob("specs/run/thesis.tex").upload_from_string("important")
    before = objects(bucket)
    result = prepare(bucket)
    assert result.status == 1
    assert f"{url}: not empty and not a workspace, it holds thesis.tex" in result.err
    assert objects(bucket) == before


def test_prepare_that_fails_leaves_nothing(job: Jobs, bucket: storage.Bucket) -> None:
    """Of its own: what another one has written meanwhile stays."""
    one = job(pool={"scorer": "tests.jobs:same"}, labels={"classes": [0, 1, 2]})
    move(one, bucket)
    bucket.blob("specs/run/reserve/part-00000-theirs.parquet").upload_from_string("theirs")
    bucket.blob("pool/part-1.parquet").upload_from_string("PAR1")
    before = objects(bucket)
    assert prepare(bucket).status == 1
    assert objects(bucket) == before


def test_two_prepare_at_once(
    job: Jobs, bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another one, of another spec, ends first: this one is told, and theirs is whole."""
    one = job(files=2)
    url = move(one, bucket)
    from evalsampling.commands.prepare import Preparation

    commit, theirs = Preparation.commit, {}

    def late(self: Preparation, *arguments: object, **named: object) -> object:
        if not theirs:
            theirs["pending"] = None
            other = {**yaml.safe_load(one.spec.read_text()), "workspace": url, "seed": 6}
            one.spec.write_text(yaml.safe_dump(other))
            command = [sys.executable, "-m", "evalsampling", "prepare", str(one.spec), "--json"]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            theirs.update(json.loads(done.stdout))
            theirs["objects"] = objects(bucket)
        return commit(self, *arguments, **named)

    monkeypatch.setattr(Preparation, "commit", late)
    result = prepare(bucket)
    assert result.status == 1
    assert f"{url}: another prepare has finished there meanwhile" in result.err
    now = objects(bucket)
    assert {name: theirs["objects"][name] for name in now} == now
    pool = PreparedPool.read(Workspace(url))
    assert pool.marker["spec"]["seed"] == 6
    assert len(pool.reserve.places()) == theirs["reserve_rows"]


def test_two_writers_of_one_round(
    job: Jobs, bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One wins, the other is told, nothing is lost."""
    one = job()
    url = move(one, bucket)
    prepare(bucket)
    write, winner = write_tasks, {}

    def late(*arguments: object) -> None:
        command = [sys.executable, "-m", "evalsampling", "sample", url, "--size=7", "--json"]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        winner.update(json.loads(done.stdout), objects=objects(bucket))
        write(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(batches, "write_tasks", late)
        loser = call("sample", url, "--json")
    assert loser.status == 1
    assert f"{url}/rounds/0001: another command made this round meanwhile" in loser.err
    assert objects(bucket) == winner["objects"]
    assert call("sample", url, "--json").json["rows"] == winner["rows"] == 7


def test_writers_at_once_make_one_round(job: Jobs, bucket: storage.Bucket) -> None:
    """Whoever is late gets the same batch, or is told; the files of the round are of one."""
    one = job()
    url = move(one, bucket)
    prepare(bucket)
    command = [sys.executable, "-m", "evalsampling", "sample", url, "--json"]
    running = [
        subprocess.Popen([*command, f"--size={size}"], stdout=-1, stderr=-1, text=True)
        for size in (5, 9, 13)
    ]
    ends = [(*process.communicate(), process.returncode) for process in running]
    rows = {json.loads(out)["rows"] for out, _, code in ends if code == 0}
    assert len(rows) == 1
    assert all("another command made this round" in err for _, err, code in ends if code)
    files = Snapshot.at(url).rounds
    assert [{len(f.batch), f.design["new_rows"], *rows} for f in files] == [rows]
    assert not [name for name in objects(bucket) if "/." in name]


def test_two_deliveries_at_once(
    job: Jobs, bucket: storage.Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second is told; taken again it is judged with the first one known."""
    one = job()
    url = move(one, bucket)
    prepare(bucket)
    call("sample", url)
    labels = answer(url, 1, one, bucket, "labels.csv")
    content = bucket.blob("labels.csv").download_as_text().splitlines()
    changed = [content[0]] + [line[:-1] + str(1 - int(line[-1])) for line in content[1:]]
    bucket.blob("other.csv").upload_from_string("\n".join(changed))
    other = f"gs://{bucket.name}/other.csv"
    judge, done = check_votes, []

    def late(*arguments: object) -> object:
        if not done:
            done.append(None)
            done.append(call("estimate", url, "--labels", labels, "--json"))
        return judge(*arguments)

    monkeypatch.setattr(deliveries, "check_votes", late)
    loser = call("estimate", url, "--labels", other, "--json")
    assert done[1].json["labels"] == 20
    assert loser.status == 1
    assert "another command took labels meanwhile; run this one again" in loser.err
    again = call("estimate", url, "--labels", other, "--json").json
    assert (again["labels"], again["rejects"]) == (20, 20)


@pytest.mark.parametrize("workspace", ["gs://nobody/run", "s3://bucket/run", "gs:///run"])
def test_a_workspace_that_cannot_be(job: Jobs, bucket: storage.Bucket, workspace: str) -> None:
    one = job(workspace=workspace)
    result = one.prepare()
    assert result.status == 1
    assert result.err.count("\n") == 1
    told = {"gs://nobody/run": "no such bucket", "gs:///run": "gs://BUCKET"}
    printed = result.err
    assert told.get(workspace, "workspace: must be a path of this machine or of gs://") in printed


def test_labels_that_are_not_there(job: Jobs, bucket: storage.Bucket) -> None:
    one = job().prepared()
    refused = one.estimate("--labels", f"gs://{bucket.name}/none.csv").refused
    assert f"gs://{bucket.name}/none.csv: cannot be read" in refused
