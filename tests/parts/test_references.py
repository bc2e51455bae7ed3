"""What parts of the user's own raise is one line that names their file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from evalsampling.errors import InputError
from evalsampling.parts.references import blamed, load_object
from evalsampling.parts.registry import Registry
from tests.jobs import Job

RAISED = {
    "raise KeyError('left')": "line 2: KeyError: 'left'",
    "raise SystemExit(0)": "line 2: SystemExit: 0",
    "import json; json.loads('{')": "line 2: JSONDecodeError: Expecting property name",
}


@pytest.mark.parametrize("raised", RAISED)
def test_what_an_own_part_raises_names_its_file(tmp_path: Path, raised: str) -> None:
    name = f"own_{[*RAISED].index(raised)}"
    (tmp_path / f"{name}.py").write_text(f"def part():\n    {raised}\n")
    part = load_object("sampler", f"{name}:part", str(tmp_path))
    with pytest.raises(InputError) as caught, blamed():
        part()
    assert str(caught.value).startswith(f"{tmp_path / name}.py, {RAISED[raised]}")


def test_what_the_package_raises_stays_what_it_is() -> None:
    with pytest.raises(KeyError), blamed():
        Registry("samplers", {}, "")["passive"]


@pytest.mark.parametrize("raised", ["raise KeyError('left')", "raise SystemExit(0)"])
def test_a_sampler_that_fails_is_one_line_and_nothing_is_drawn(
    job: Callable[..., Job], tmp_path: Path, raised: str
) -> None:
    one = job(sampler={"name": f"own_sampler_{len(raised)}:Own"})
    (one.spec.parent / f"own_sampler_{len(raised)}.py").write_text(
        "from evalsampling.samplers import Passive\n\n\n"
        "class Own(Passive):\n"
        '    name = "own"\n\n'
        "    def design(self, *_, **__):\n"
        f"        {raised}\n"
    )
    assert one.prepare().status == 0
    result = one.sample()
    assert (result.status, result.out) == (1, "")
    assert "line 8: " in result.err
    assert len(result.err.splitlines()) == 1
    assert not (one.workspace / "rounds").exists()
