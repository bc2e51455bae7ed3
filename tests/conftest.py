"""Fixtures that all tests share."""

import gc
import inspect
import secrets
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
import yaml
from google.cloud import storage

from evalsampling.telemetry import progress
from tests.emulator import emulator
from tests.jobs import DoneBefore, Job, Jobs, Pool, make_pool
from tests.spark import started_session

hypothesis.settings.register_profile(  # on a busy machine nothing is a fault that only takes long
    "busy", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("busy")

OF_BEAM = {"deployment", "faults", "pipelines", "runners", "telemetry", "transforms"}
"""Rooms whose tests are about jobs; those of others prepare without Beam, ten times as fast."""

COPYING = {"cli", "commands", "evaluation", "labels", "report"}
"""Rooms where what a job does is copied, if an earlier test did it in such a workspace.

Not of tests that change what is made, by `monkeypatch` or `one_key`.
"""

OF_WORKSPACES = {"bit_flips", "clean_up", "full_disk", "kills", "permissions"}
"""Tests of faults that are about what is prepared."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that need the emulator: they ask for it, or for a bucket of it."""
    for item in items:
        if {"cloud", "bucket"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.stores)


def pytest_collection() -> None:
    """Look for no garbage among what is imported and collected, which stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let the garbage collector pass over all that is there now."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def no_progress() -> None:
    """Let no line of progress come, as on a busy machine every ten seconds: stderr is compared."""
    progress._SECONDS_BETWEEN = 3600.0


@pytest.fixture(scope="module")
def cloud() -> Iterator[storage.Client]:
    """An emulator of Google Cloud Storage."""
    with emulator():
        yield storage.Client(project=None)


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """A session of Spark on this machine."""
    yield from started_session()


@pytest.fixture
def bucket(cloud: storage.Client) -> storage.Bucket:
    """An empty bucket."""
    return cloud.create_bucket(f"bucket-{uuid.uuid4().hex}")


@pytest.fixture
def one_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give all workspaces of a test the same key, so that their tasks have the same names."""
    monkeypatch.setattr(secrets, "token_hex", lambda size: "5a" * size)


@pytest.fixture(scope="session")
def done_before() -> DoneBefore:
    """What jobs of earlier tests made."""
    return DoneBefore()


@pytest.fixture(scope="session")
def of_jobs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where jobs are that copy: paths are part of what they make."""
    return tmp_path_factory.mktemp("jobs")


@pytest.fixture
def job(tmp_path: Path, request: pytest.FixtureRequest) -> Jobs:
    """Make a job: `job(pool, files=3, budget=200, ...)`; keys go into the spec."""
    room, name = request.path.parent.name, request.path.stem.removeprefix("test_")
    in_process = room not in OF_BEAM or (room == "faults" and name in OF_WORKSPACES)
    own = inspect.signature(request.function).parameters
    changes = "one_key" in request.fixturenames or "monkeypatch" in own
    before, folder = None, tmp_path
    if room in COPYING and not changes:
        before, folder = (request.getfixturevalue(name) for name in ("done_before", "of_jobs"))
        shutil.rmtree(folder)
        folder.mkdir()

    def make(
        rows: Pool | None = None, files: int = 1, group_rows: int = 1 << 20, **keys: Any
    ) -> Job:
        directory = folder / f"job-{len(list(folder.iterdir()))}"
        rows = rows or make_pool()
        pattern = rows.write(directory / "pool", files, group_rows)
        content = {
            "pool": {"path": str(pattern), "payload": ["name"], **keys.pop("pool", {})},
            "strata": {"leaves": 16},
            "budget": 200,
            "round_size": 20,
            "seed": 5,
            "workspace": "workspace",
            **keys,
        }
        spec = directory / "evaluation.yaml"
        spec.write_text(yaml.safe_dump(content, sort_keys=False))
        return Job(directory, rows, spec, directory / "workspace", in_process, before)

    return make


@pytest.fixture
def drawn(job: Jobs) -> Job:
    """A job with one open round."""
    return _drawn(job)


@pytest.fixture
def drawn_by_ais(job: Jobs) -> Job:
    """The same by adaptive importance sampling, which leaves rows that add nothing alone."""
    return _drawn(job, sampler="ais")


def _drawn(job: Jobs, **keys: Any) -> Job:
    one = job(measure=["f1", "precision", "recall", "accuracy"], **keys).prepared()
    assert one.sample().json["rows"] == 20
    return one
