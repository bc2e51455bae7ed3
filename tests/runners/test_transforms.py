"""Rounds and estimates as transforms: on each runner what the commands say."""

from pathlib import Path
from typing import Any

import pytest

from evalsampling.transforms import AssignCells, EstimateMeasures, JoinLabels, SampleRound
from tests.in_pipelines import created, keep, kept, pipeline, two_rounds
from tests.runners.portable import Server

pytestmark = [
    pytest.mark.runners,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@pytest.mark.parametrize("parts", [1, 7])
def test_a_round_and_its_estimates_are_those_of_the_commands(
    job: Any, server: Server, tmp_path: Path, parts: int
) -> None:
    one = job(sampler="poisson", measure=["f1", "recall"])
    answers, said = two_rounds(one)
    with pipeline(*server.options) as root:
        rows = created(root, "rows", one.pool.table.to_pylist(), parts)
        picked = rows | AssignCells(one.workspace) | SampleRound(one.workspace, 2)
        keep(picked["rows"], tmp_path / "drawn")
        joined = created(root, "labels", answers, parts) | JoinLabels(one.workspace)
        keep(joined["counts"] | EstimateMeasures(one.workspace), tmp_path / "estimates")
    (made,) = kept(tmp_path / "estimates")
    assert (made["measures"], made["warnings"]) == (said["measures"], said["warnings"])
    drawn = {row["task"]: row["id"] for row in kept(tmp_path / "drawn")}
    assert drawn == dict(one.asked(2))
    assert len(drawn) > 5
