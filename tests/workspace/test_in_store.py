"""Workspaces, specs and labels in Google Cloud Storage, on an emulator of it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from google.cloud import storage

from evalsampling.workspace.prepared import PreparedPool
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
