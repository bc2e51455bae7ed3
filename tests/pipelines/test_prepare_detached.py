"""The pipeline that prepares: jobs that nobody waits for."""

import pytest

from evalsampling.commands.prepare import Preparation
from evalsampling.pipelines import prepare
from evalsampling.spec import EvaluationSpec
from evalsampling.workspace.manifest import HERE
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Jobs, call, files_below
from tests.reference import assert_same, reference


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
    assert (told["counts"]["rows"], told["steps"]) == (2000, {})
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
