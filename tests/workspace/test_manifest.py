"""What is kept and told of jobs."""

import hashlib
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
import yaml

from evalsampling.storage.checksums import sealed
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Job, Jobs, call, files_below

KEYS = [
    "version", "job", "runner", "beam", "options", "seed", "spec", "input", "counts", "started",
    "seconds", "versions",
]  # fmt: skip


def manifests(one: Job) -> dict[str, dict[str, Any]]:
    store = Workspace(one.workspace).store
    return {
        name.removesuffix(".json"): store.read_json(f"jobs/{name}") for name in store.names("jobs")
    }


def test_every_job_has_a_manifest(job: Jobs) -> None:
    one = job(files=2, seed=7)
    one.prepare("--check-ids", "--direct_num_workers=3")
    one.sample("--size", 5)
    labels = one.deliver([*one.answers(1), ("nobody's", "1")])
    estimated = one.estimate("--labels", labels, "--measure", "f1", "--close").json
    taken, prepared, sampled = manifests(one).values()
    marker = json.loads((one.workspace / "evaluation.json").read_text())
    spec = json.dumps(marker["spec"], sort_keys=True)
    pool = {
        "files": 2,
        "bytes": sum(path.stat().st_size for path in (one.directory / "pool").iterdir()),
        "sha256": hashlib.sha256(json.dumps(marker["pool"], sort_keys=True).encode()).hexdigest(),
    }
    for name, manifest in manifests(one).items():
        assert list(manifest) == [*KEYS, *(["closes"] if name.startswith("estimate-") else [])]
        assert (manifest["job"], manifest["seed"]) == (name, 7)
        assert manifest["spec"] == hashlib.sha256(spec.encode()).hexdigest()
        assert manifest["input"]["pool"] == pool
        assert manifest["versions"] == marker["versions"]
        assert datetime.fromisoformat(manifest["started"]).utcoffset() == timedelta(0)
        assert 0 <= manifest["seconds"] < 60
    assert (prepared["runner"], sampled["runner"], taken["runner"]) == ("FnApiRunner", None, None)
    assert prepared["beam"]["direct_num_workers"] == 3
    assert prepared["options"] == {"check_ids": True}
    assert one.prepare("--check-ids").status == 0, "they were checked"
    assert prepared["counts"] == {
        key: marker[key] for key in ("rows", "leaves", "cells", "reserve_rows")
    }
    assert sampled["options"] == {"size": 5, "next": False}
    assert sampled["counts"]["new_rows"] == 5
    assert taken["options"] == {"measures": ["f1"], "intervals": [], "close": True, "strict": False}
    assert taken["counts"] == {
        key: estimated[key] for key in ("round", "labels", "open", "rejects")
    }
    assert taken["input"]["deliveries"] == [
        {
            "file": "labels.csv",
            "replace": False,
            "bytes": labels.stat().st_size,
            "sha256": hashlib.sha256(labels.read_bytes()).hexdigest(),
        }
    ]
    (estimate,) = (one.workspace / "estimates").iterdir()
    assert taken["job"] == f"estimate-{estimate.stem}"


@pytest.mark.slow
def test_what_does_nothing_new_adds_nothing(job: Jobs) -> None:
    one = job().drawn()
    labels = one.deliver(one.answers(1)[:3])
    one.estimate("--labels", labels)
    before = files_below(one.workspace)
    one.drawn()
    one.estimate("--labels", labels)
    call("status", one.workspace)
    assert files_below(one.workspace) == before
    one.estimate("--measure", "recall")
    assert len(manifests(one)) == 4


def test_jobs_of_beam_tell_runner_and_options(job: Jobs) -> None:
    one = job().prepared()
    runner = ("--runner=BundleBasedDirectRunner", "--label=team=quality")
    one.sample(*runner, "--next")
    one.estimate(*runner, "--strict")
    estimated, _, sampled = manifests(one).values()
    for manifest in (estimated, sampled):
        assert manifest["runner"] == "BundleBasedDirectRunner"
        assert manifest["beam"] == {"labels": ["team=quality"]}
    assert sampled["options"] == {"size": None, "next": True}
    assert estimated["options"]["strict"] is True


@pytest.mark.slow
def test_a_top_up_has_a_manifest(job: Jobs) -> None:
    one = job(budget=30).prepared()
    held = one.prepare("--top-up", 60).json["reserve_rows"]
    made = manifests(one)["top-up-0001"]
    assert made["options"] == {"top_up": 60}
    assert made["counts"] == {"rows": 2000, "reserve_rows": held}
    assert made["input"] == manifests(one)["prepare"]["input"]
    one.prepare("--top-up", 1)
    assert len(manifests(one)) == 2, "nothing to do"


def test_status_tells_jobs_in_their_order(job: Jobs) -> None:
    one = job().prepared()
    for _ in range(2):
        one.sample("--next")
        one.estimate()
    told = call("status", one.workspace, "--json").json["jobs"]
    names = [name.partition("-")[0] for name in told]
    assert names == ["prepare", "sample", "estimate", "sample", "estimate"]
    assert told == manifests(one)


def test_a_round_that_is_lost_has_no_manifest(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    one = job().prepared()
    before = files_below(one.workspace)

    def die(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("evalsampling.commands.batches.write_tasks", die)
    assert one.sample().status == 1
    assert files_below(one.workspace) == before


def test_a_damaged_manifest_is_named(job: Jobs) -> None:
    one = job().prepared()
    (one.workspace / "jobs" / "prepare.json").write_text(json.dumps(sealed({"version": 1})))
    refused = call("status", one.workspace).refused
    assert "jobs/prepare.json: damaged, 'started' is missing" in refused


def test_spec_hash_is_of_the_spec_alone(job: Jobs) -> None:
    one = job().prepared()
    content = yaml.safe_load(one.spec.read_text())
    one.spec.write_text(yaml.safe_dump(content, sort_keys=True))
    assert one.prepare().status == 0
    assert len(manifests(one)) == 1
