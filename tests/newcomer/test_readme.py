"""README, by a newcomer: all it says to run, in an environment that has the wheel alone."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.examples import Installation, page_outputs

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text("utf-8")
SCREEN = 52
"""Lines of one screen."""


def test_readme_prints_what_it_shows(python: str, tmp_path: Path) -> None:
    pairs = page_outputs("README.md", tmp_path, Installation(python, source=None))
    assert len(pairs) == 3
    assert [printed for _, printed in pairs] == [shown for shown, _ in pairs]


def test_package_comes_from_the_wheel(python: str, tmp_path: Path) -> None:
    code = "import evalsampling; print(evalsampling.__file__)"
    told = Installation(python, source=None).script(code, tmp_path)
    assert Path(told.strip()).is_relative_to(Path(python).parents[1])


@pytest.mark.parametrize(
    "section", re.split(r"^## ", README, flags=re.M)[1:], ids=lambda text: text.splitlines()[0]
)
def test_a_section_is_one_screen(section: str) -> None:
    assert len(section.splitlines()) <= SCREEN


def test_demonstration_ends_as_readme_says(tmp_path: Path) -> None:
    pytest.importorskip("rapidfuzz", reason="the extra `examples` is not installed")
    script = ROOT / "examples" / "febrl" / "demo.py"
    done = subprocess.run(
        [sys.executable, script, "--build", tmp_path], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    [shown] = re.findall(r"^measure +estimate.*\n(?:\w+ .*\n)+", README, re.M)
    [printed] = re.findall(r"^measure +estimate.*\n(?:\w+ .*\n)+", done.stdout, re.M)
    assert printed == shown
