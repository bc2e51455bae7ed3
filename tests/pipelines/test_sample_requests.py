"""The pipeline that draws a round: however often a bundle is tried, it is one request."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from evalsampling.commands import sample as commands
from evalsampling.pipelines import sample
from evalsampling.workspace.rounds import RoundFiles
from evalsampling.workspace.snapshot import Snapshot
from tests.in_pipelines import RETRYING, failing_now_and_then
from tests.jobs import Job, Jobs, call


def rounds_of(one: Job) -> Sequence[RoundFiles]:
    return Snapshot.at(one.workspace).rounds


@pytest.mark.slow
def test_a_round_is_drawn_once_however_often_it_is_tried(
    job: Jobs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    one = job().prepared()
    log = tmp_path / "calls"
    failing = failing_now_and_then(commands.sample, log)
    with monkeypatch.context() as patch:
        patch.setattr(sample, "sample", failing)
        assert one.sample("--next", RETRYING).json["round"] == 1
        assert one.sample("--next", RETRYING).json["round"] == 2
    assert len(log.read_text()) == 4, "the third call did its work and failed"
    assert len(rounds_of(one)) == 2
    assert call("status", one.workspace, "--json").json["open"] == 20
    assert one.sample("--next").json["round"] == 3


@pytest.mark.slow
def test_every_launch_is_a_request_of_its_own(job: Jobs) -> None:
    one = job().prepared()
    for _ in range(2):
        sample.main([f"--workspace={one.workspace}", "--next"])
    one.sample("--next")
    requests = [files.design["request"] for files in rounds_of(one)]
    assert len({*requests}) == 3
    assert requests[2] is None
