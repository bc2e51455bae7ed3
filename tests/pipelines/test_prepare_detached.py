"""The pipeline that prepares: jobs that nobody waits for, and its graph."""

import base64
import bz2
import zlib
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.portability import common_urns
from apache_beam.portability.api import beam_runner_api_pb2

from evalsampling.commands.prepare import Preparation
from evalsampling.commands.prepare_plan import plan_passes
from evalsampling.pipelines import prepare, running
from evalsampling.spec import EvaluationSpec
from evalsampling.transforms import BeamEngine
from evalsampling.workspace.manifest import HERE
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Jobs, call, files_below
from tests.reference import assert_same, reference

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_prepare_detached(job: Jobs, capsys: pytest.CaptureFixture[str]) -> None:
    """What one that died has left is not mixed with the next one's, and goes in the end."""
    one = job(files=2, budget=30, pool={"scorer": "tests.jobs:same"})
    expected = reference(one)
    died = Preparation.from_spec(EvaluationSpec.load(one.spec), HERE, detached=True)
    died.workspace.store.make()
    died.write_reserve(0, expected.reserve)
    prepare.main([f"--spec={one.spec}", "--no-wait"])
    assert capsys.readouterr().out == ""
    assert_same(one.workspace, expected, budget=30)
    attempt = PreparedPool.read(Workspace(one.workspace)).marker["attempt"]
    assert len(attempt) == 32
    assert attempt != died.attempt
    assert all(attempt in path.name for path in (one.workspace / "reserve").iterdir())
    assert all(attempt in str(path) for path in (one.workspace / "scored").rglob("*.parquet"))
    told = call("status", one.workspace, "--json").json["jobs"]["prepare"]
    assert told["counts"]["rows"] == 2000
    assert one.sample().json["rows"] == 20
    assert one.prepare("--top-up", 60).status == 0


def test_prepare_detached_refuses_what_is_not_a_workspace(job: Jobs) -> None:
    one = job()
    one.workspace.mkdir()
    (one.workspace / "thesis.tex").write_text("important")
    with pytest.raises(ValueError, match="not a workspace, it holds thesis"):
        prepare.main([f"--spec={one.spec}", "--no-wait"])
    assert list(files_below(one.workspace)) == ["thesis.tex"]


@pytest.mark.slow
def test_template_of_what_is_prepared_has_a_job(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    """The launcher of a Flex Template fails without one."""
    one = job().prepared()
    before, launched = files_below(one.workspace), []
    monkeypatch.setattr(prepare, "run", lambda pipeline, wait: launched.append((pipeline, wait)))
    prepare.main([f"--spec={one.spec}"])
    assert launched == []
    prepare.main([f"--spec={one.spec}", "--template_location=gs://bucket/template"])
    ((pipeline, wait),) = launched
    assert not wait
    pipeline.run().wait_until_finish()
    assert files_below(one.workspace) == before


def test_functions_are_pickled_by_name(job: Jobs) -> None:
    """A function that is pickled by value tells where its file was, and has to fit there."""
    preparation = Preparation.from_spec(EvaluationSpec.load(job().spec), HERE, check_ids=True)
    root = beam.Pipeline(options=running.parse_options([]))
    plan_passes(BeamEngine(root), preparation)
    steps = root.to_runner_api().components.transforms.values()
    functions = [
        beam_runner_api_pb2.ParDoPayload.FromString(step.spec.payload).do_fn.payload
        for step in steps
        if step.spec.urn == common_urns.primitives.PAR_DO.urn
    ]
    assert len(functions) > 20
    for function in functions:
        packed = base64.b64decode(function)
        content = zlib.decompress(packed) if packed[:1] == b"\x78" else bz2.decompress(packed)
        for folder in ("evalsampling", "pipelines"):
            assert str(ROOT / folder).encode() not in content
