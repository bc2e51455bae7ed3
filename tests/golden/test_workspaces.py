"""Workspaces of earlier packages open, say what they said, and go on."""

from pathlib import Path

import pytest

from tests.golden import kept
from tests.golden.compare import assert_same
from tests.golden.recipes import RECIPES, copied, said_of
from tests.jobs import call, files_below
from tests.slow import fast


@pytest.mark.parametrize("name", fast(2, RECIPES))
def test_commands_say_what_they_said(name: str, tmp_path: Path) -> None:
    before, now = kept.read(kept.SAID / f"{name}.json"), said_of(name, tmp_path)
    assert not now["verify"]["bad"]
    assert_same(before, now, f"workspace {name}")


@pytest.mark.parametrize("name", RECIPES)
def test_what_was_written_stays_as_it_is(name: str, tmp_path: Path) -> None:
    """A round and labels of today come beside the files of then, and change none."""
    job = copied(name, tmp_path)
    before = files_below(job.workspace)
    drawn = call("sample", job.workspace, "--next", "--json").json
    assert job.estimate("--labels", job.deliver(job.answers(drawn["round"]))).status == 0
    after = files_below(job.workspace)
    assert {path: after[path] for path in before} == before
    assert len(after) > len(before)


def test_every_recipe_is_kept() -> None:
    assert {path.name for path in kept.WORKSPACES.iterdir()} == {*RECIPES}
    assert {path.stem for path in kept.SAID.glob("*.json")} == {*RECIPES}
