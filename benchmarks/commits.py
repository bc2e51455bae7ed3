"""The commits that made results: noted beside them, and told on their pages."""

import subprocess
from pathlib import Path

NOTED = "commits.txt"
"""Beside results: the commits of their runs, one a line."""


def now() -> str:
    """Return the commit of these files; with a plus where they differ from it."""
    here = Path(__file__).parent

    def git(*words: str) -> str:
        return subprocess.run(
            ["git", "-C", here, *words], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        found = git("rev-parse", "--short=7", "HEAD")
        return found + ("+" if git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def note(results: Path) -> None:
    """Add the commit to those of results, once."""
    found = of(results)
    if now() not in found:
        results.mkdir(parents=True, exist_ok=True)
        text = "".join(f"{one}\n" for one in [*found, now()])
        (results / NOTED).write_text(text, encoding="utf-8")


def of(results: Path) -> list[str]:
    """Return the commits of results; none if they were not noted."""
    path = results / NOTED
    return path.read_text(encoding="utf-8").split() if path.exists() else []
