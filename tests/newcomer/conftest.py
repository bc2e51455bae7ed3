"""What a newcomer has: a fresh environment, and the wheel of this project in it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOT_COPIED = shutil.ignore_patterns(".venv", "build", "dist", ".git", "*.egg-info", ".*_cache")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "tree", ignore=NOT_COPIED, symlinks=True)
    _pip(sys.executable, "wheel", "--no-deps", "--wheel-dir", folder, folder / "tree")
    [built] = folder.glob("evalsampling-*.whl")
    return built


@pytest.fixture(scope="session")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The interpreter of an environment that has the wheel and what it asks for, and no more."""
    folder = tmp_path_factory.mktemp("newcomer") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    _pip(folder / "bin" / "python", "install", wheel)
    return str(folder / "bin" / "python")


def _pip(interpreter: str | Path, *arguments: str | Path) -> None:
    command = [interpreter, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
