"""Pages looked at in Chromium and by axe-core.

`make test-report` puts axe-core and a driver of Chromium below `.venv/report`; the variable
REPORT_BROWSER names another place.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
SCRIPT = ROOT / "tests" / "report" / "browser" / "look.mjs"
LOOKS = {"light", "dark", "phone", "print"}
SECONDS = 900


def packages() -> Path | None:
    """The folder with the packages of the script, None if something is missing."""
    folder = Path(os.environ.get("REPORT_BROWSER", ROOT / ".venv" / "report"))
    there = (folder / "node_modules" / "axe-core").exists()
    return folder if there and shutil.which("node") and chromium() else None


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome")


needs_browser = pytest.mark.skipif(packages() is None, reason="no Chromium, node or axe-core")


def look(
    pages: Sequence[Path], pictures: Path, widths: tuple[int, int] = (900, 360)
) -> dict[str, dict[str, Any]]:
    """What the browser saw of pages, by their stems, in every look, with pictures in a folder."""
    folder = packages()
    # Node looks for packages beside the script. Tests that run at once have a script each.
    script = shutil.copy(SCRIPT, folder / f"look-{os.getpid()}.mjs")
    arguments = [chromium(), pictures, *widths, *pages]
    try:
        done = subprocess.run(
            ["node", script, *map(str, arguments)],
            capture_output=True, text=True, timeout=SECONDS, check=False,
        )  # fmt: skip
    finally:
        Path(script).unlink()
    assert done.returncode == 0, done.stderr
    seen: dict[str, dict[str, Any]] = json.loads(done.stdout)
    assert set(seen) == {page.stem for page in pages}
    return seen
