"""Neither credentials nor rows of the pool are written down."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from evalsampling.telemetry import logs
from evalsampling.telemetry.redaction import without_credentials, without_values
from tests.jobs import Job, call, files_below

SECRET = "hunter2-marker"


@pytest.mark.slow
@pytest.mark.parametrize("log", ["text", "json"])
def test_no_credentials_in_files_or_output(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, log: str
) -> None:
    monkeypatch.setenv(logs.VARIABLE, log)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    config = json.dumps({"command": "boot", "env": {"DB_PASSWORD": SECRET}})
    options = [
        "--runner=FnApiRunner",
        f"--s3_secret_access_key={SECRET}",
        "--s3_session_token",
        SECRET,
        f"--environment_config={config}",
        f"--environment_options=api_key={SECRET}",
        f"--artifact_endpoint=http://user:{SECRET}@host/",
    ]
    one = job()
    results = [one.prepare(*options), one.sample(*options)]
    results += [one.estimate("--labels", one.deliver(one.answers(1)), *options)]
    results += [one.prepare("--top-up", 10_000, *options), call("status", one.workspace)]
    assert [result.status for result in results] == [0] * 5
    results += [one.prepare(f"--tokne={SECRET}", *options), one.sample(*options[1:])]
    results += [call("status", one.workspace, "--token", SECRET)]
    assert [result.status for result in results[5:]] == [2] * 3
    assert not [result for result in results if SECRET in result.out + result.err]
    written = files_below(one.directory)
    assert len(written) > 10
    assert not [name for name, content in written.items() if SECRET.encode() in content]
    beam = json.loads((one.workspace / "jobs" / "prepare.json").read_text())["beam"]
    assert beam["s3_session_token"] == "..."
    assert json.loads(beam["environment_config"])["command"] == "boot"


@pytest.mark.parametrize("command", ["prepare --check", "prepare"])
def test_no_password_of_a_url_is_told(job: Callable[..., Job], command: str) -> None:
    """Of a spec that has one, though it should not."""
    one = job(pool={"path": f"hdfs://me:{SECRET}@nowhere/x.parquet"})
    told = call(*command.split(), one.spec)
    assert told.status == 1
    assert "hdfs://...@nowhere" in told.out + told.err
    assert SECRET not in told.out + told.err


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"pwd": "x", "n": 2, "on": True}, {"pwd": "...", "n": 2, "on": True}),
        ({"a": {"API-Key": ["x"]}, "b": None}, {"a": {"API-Key": "..."}, "b": None}),
        (["token=x", "y"], ["token=...", "y"]),
        ('{"credentials": ["x", "y"], "z": 1}', '{"credentials": "...", "z": 1}'),
        ("{password: 'x y', z: 1}", "{password: ..., z: 1}"),
        ("Protocol=https;AccountKey=x==;a=b", "Protocol=https;AccountKey=...;a=b"),
        ("Authorization: Bearer x", "Authorization: ..."),
        ("https://me:x@host/a?token=x&b=2", "https://...@host/a?token=...&b=2"),
        ("me@project.iam.gserviceaccount.com", "me@project.iam.gserviceaccount.com"),
        (Path("/a/b"), "/a/b"),
    ],
)  # fmt: skip
def test_what_is_kept_of_options(given: object, kept: object) -> None:
    assert without_credentials(given) == kept


@pytest.mark.parametrize(
    ("message", "logged"),
    [
        ("id 'o\\'x' is there twice", "id '...' is there twice"),
        ('label "it\'s" is none of: 0, 1', "label '...' is none of: 0, 1"),
        ("the spec's seed, got -1", "the spec's seed, got '...'"),
        ("pool/a.parquet: row 3: cannot be read", "pool/a.parquet: row 3: cannot be read"),
    ],
)
def test_what_is_logged_of_messages(message: str, logged: str) -> None:
    assert without_values(message) == logged


def test_payload_is_in_no_manifest_and_no_log(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(logs.VARIABLE, "json")
    one = job()
    told = [one.prepare(), one.sample()]
    told += [one.estimate("--labels", one.deliver(one.answers(1)))]
    names = [str(name) for name in pq.read_table(one.directory / "pool")["name"].to_pylist()]
    answers = [task for task, _ in one.answers(1)]
    kept = "".join(path.read_text() for path in (one.workspace / "jobs").iterdir())
    for text in [kept, *(result.err for result in told)]:
        assert not [name for name in [*names, *answers] if f"{name}" in text]


@pytest.mark.parametrize("value", ["Bern", "a: b", "where x=1", "it's", "", "two\nlines", "a=b: c"])
@pytest.mark.parametrize(
    ("message", "logged"),
    [
        ("f1 of a where city={}: only 2 rows", "f1 of a where city=...: only 2 rows"),
        ("f1 where city={} is undefined (0/0): no rows", "f1 where city=...: no rows"),
        ("no labelled row where city={}", "no labelled row where city=..."),
        ("f1 where city={}: one (and 3 more)", "f1 where city=...: one (and 3 more)"),
    ],
)  # fmt: skip
def test_values_of_slices_are_hidden(value: str, message: str, logged: str) -> None:
    assert without_values(message.format(value)) == logged
