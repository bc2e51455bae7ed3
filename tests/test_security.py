"""Credentials are not written, what others deliver names no file, and no code is loaded unasked."""

import ast
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.telemetry import logs
from evalsampling.telemetry.redaction import without_credentials, without_values
from tests.jobs import Job, Pool, call, files_below, make_pool

ROOT = Path(__file__).resolve().parents[1]
SECRET = "hunter2-marker"

# --- credentials


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
    results += [one.prepare("--top-up", 10_000, *options), call("status", one.workspace, "--jobs")]
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


# --- names

HOSTILE = [
    "../../escaped", "/escaped", "..", "-rf", "--next", "a/b\\c", "'quo\"te`", "new\nline\r",
    "nul\0nul", "$(touch escaped)", "; touch escaped", "=1+1", "x" * 5000, " ", "ünï\u202ecode",
]  # fmt: skip

CLASSES = ["..", "--next"]

KNOWN = re.compile(
    r"evaluation\.json|(cells|slices)\.parquet|reserve/(part-\d{5}|top-up-\d{4}-\d{5})\.parquet"
    r"|rounds/\d{4}/((design|closed)\.json|(draws|batch)\.parquet|batch\.(csv|jsonl)|tasks\.parquet)"
    r"|labels/[0-9a-f]{64}(-\d+)?(\.parquet|\.rejects\.csv)|taken/\d{4}\.json"
    r"|estimates/[0-9a-f]{64}\.json|steps/(prepare|top-up-\d{4})\.json"
    r"|jobs/(prepare|sample-\d{4}|top-up-\d{4}|estimate-[0-9a-f]{64})\.json"
)
"""Every name a workspace may have in it."""


def hostile_pool() -> Pool:
    pool = make_pool(rows=len(HOSTILE) * 4, text_ids=True)
    ids = [f"{text}{i or ''}" for i in range(4) for text in HOSTILE]
    predicted = [CLASSES[value] for value in pool.table["prediction"].to_pylist()]
    table = pool.table.set_column(0, "id", pa.array(ids))
    table = table.set_column(2, "prediction", pa.array(predicted))
    table = table.set_column(3, "name", pa.array(HOSTILE * 4)).append_column("city", table["name"])
    return Pool(table, dict.fromkeys(ids, 1))


@pytest.mark.parametrize("sink", ["csv", "jsonl", "parquet"])
def test_what_others_deliver_names_no_file(job: Callable[..., Job], sink: str) -> None:
    one = job(
        hostile_pool(), pool={"slices": ["city"]}, sink={"format": sink},
        labels={"classes": CLASSES, "positive": CLASSES[1]},
    )  # fmt: skip
    prepared = one.prepare()
    assert prepared.status == 0, prepared.err
    assert one.sample().json["rows"] == 20
    batch = one.batch(1)
    rows = [
        {"task": task, "label": "..", "annotator": text, "time": text}
        for task, text in zip(batch["task"], HOSTILE, strict=False)
    ]
    rows += [{"task": text, "label": text} for text in HOSTILE]
    rows += [{"id": id, "label": "--next"} for id in batch["id"][len(HOSTILE) :]]
    deliveries = one.directory / "deliveries"
    deliveries.mkdir()
    names = [text for text in HOSTILE if not {"/", "\0"} & set(text) and len(text) < 99]
    assert len(names) > 8
    for number, name in enumerate(names):
        path = deliveries / f"{name}.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in rows[number:]))
        result = one.estimate("--labels", path)
        assert result.status == 0, (name, result.err)
    assert result.json["labels"] == 20
    path = deliveries / os.fsdecode(b"latin-\xfc.jsonl")
    path.write_text("{}")
    refused = one.estimate("--labels", path)
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "its name is not UTF-8" in refused.err
    for command in ("status", "diagnose"):
        assert call(command, one.workspace).status == 0
    assert one.sample().json["round"] == 2
    written = [name for name in files_below(one.workspace) if not KNOWN.fullmatch(name)]
    assert written == []
    there = {path.name for path in one.directory.iterdir()}
    assert there == {"pool", "evaluation.yaml", "workspace", "deliveries"}


# --- code


def modules(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@pytest.mark.parametrize(
    "path",
    modules("evalsampling", "pipelines", "deployment"),
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_yaml_is_loaded_safely_and_there_is_no_shell(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name = f"{node.value.id}.{node.attr}"
            assert node.value.id != "yaml" or node.attr in ("safe_load", "safe_dump", "YAMLError")
            assert name not in ("os.system", "os.popen", "pickle.load")
        elif isinstance(node, ast.ImportFrom):
            assert node.module not in ("yaml", "pickle", "subprocess")
        elif isinstance(node, ast.Call):
            assert getattr(node.func, "id", None) not in ("eval", "exec")
            assert not [keyword for keyword in node.keywords if keyword.arg == "shell"]


def test_nothing_here_starts_programs() -> None:
    for path in modules("evalsampling", "pipelines"):
        assert "subprocess" not in path.read_text(), path


def test_a_spec_makes_no_objects(job: Callable[..., Job], tmp_path: Path) -> None:
    one = job()
    one.spec.write_text(f'pool: !!python/object/apply:os.system ["touch {tmp_path}/escaped"]\n')
    result = one.prepare()
    assert result.status == 1
    assert result.err.count("\n") == 1
    assert not (tmp_path / "escaped").exists()


def test_no_scorer_is_imported_but_by_prepare(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever `evaluation.json` says it is."""
    one = job(pool={"scorer": "scorer_of_theirs:score"})
    module, trace = one.directory / "scorer_of_theirs.py", one.directory / "imported"
    module.write_text("def score(batch):\n    return batch\n")
    assert one.prepare().status == 0
    module.write_text(f"open({str(trace)!r}, 'w').close()\n")
    marker = one.workspace / "evaluation.json"
    content = json.loads(marker.read_text())
    del content["sha256"]
    content["spec"]["pool"]["scorer"] = "scorer_of_others:score"
    content["directory"] = str(one.directory)
    marker.write_text(json.dumps(content))
    module.rename(one.directory / "scorer_of_others.py")
    monkeypatch.delitem(sys.modules, "scorer_of_theirs")
    assert call("status", one.workspace, "--jobs").status == 0
    assert one.sample().status == 0
    assert one.sample("--next", "--runner=FnApiRunner").status == 0
    assert one.estimate("--labels", one.deliver(one.answers(1))).status == 0
    assert call("diagnose", one.workspace).status == 0
    assert one.prepare("--top-up").status == 1, "another spec"
    assert not trace.exists()


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
