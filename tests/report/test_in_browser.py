"""The page in a real browser: light, dark, on a phone and printed.

Run by `make test-report`, which puts axe-core and a driver of Chromium below `.venv/report`;
skipped where these, node or Chromium are missing. Pictures of the pages are kept in the directory
that REPORT_PICTURES names.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.jobs import Job
from tests.report.kinds import kinds, reported

ROOT = Path(__file__).resolve().parents[2]
MODULES = ROOT / ".venv" / "report"
"""Where the packages are; the variable REPORT_BROWSER names another place."""

SCRIPT = Path(__file__).parent / "browser" / "look.mjs"
LOOKS = {"light", "dark", "phone", "print"}
SECONDS = 900


def packages() -> Path | None:
    """The folder with the packages of the script, None if something is missing."""
    folder = Path(os.environ.get("REPORT_BROWSER", MODULES))
    there = (folder / "node_modules" / "axe-core").exists()
    return folder if there and shutil.which("node") and chromium() else None


def chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("google-chrome")


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(packages() is None, reason="no Chromium, node or axe-core"),
]


def test_every_kind_of_report_in_every_look(job: Callable[..., Job], tmp_path: Path) -> None:
    folder = packages()
    assert folder is not None
    pages = [
        reported(one, rounds, who, tmp_path / f"{name}.html")
        for name, (one, rounds, who) in kinds(job, tmp_path).items()
    ]
    pictures = Path(os.environ.get("REPORT_PICTURES", tmp_path / "pictures"))
    pictures.mkdir(exist_ok=True)
    # Node looks for packages beside the script.
    script = shutil.copy(SCRIPT, folder / SCRIPT.name)
    done = subprocess.run(
        ["node", script, str(chromium()), str(pictures), *map(str, pages)],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(done.stdout)
    assert set(seen) == {page.stem for page in pages}
    for page in pages:
        one = seen[page.stem]
        assert one["console"] == [], page.stem
        assert set(one["requests"]) == {page.as_uri()}, page.stem
        assert one["violations"] == {look: [] for look in LOOKS}, page.stem
        assert set(one["wide"].values()) == {0}, f"{page.stem} scrolls sideways"
        assert one["checked"] > 20, page.stem
        assert one["focus"][0][:2] == ["A", "Skip to the numbers"]
        # Behind the last stop the focus leaves the page.
        outlines = {outline for tag, _, outline in one["focus"] if tag != "BODY"}
        assert "none" not in outlines, page.stem
        for look in LOOKS:
            assert (pictures / f"{page.stem}-{look}.png").stat().st_size > 10_000


def test_the_browser_would_see_what_is_wrong(tmp_path: Path) -> None:
    """A page with every fault that the test above looks for: none of them goes unseen."""
    folder = packages()
    assert folder is not None
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><html><head><title>x</title></head><body><img src='missing.png'>"
        "<a href='#' style='outline:none'>x</a><p style='width:3000px;color:#ddd'>faint</p>"
        "<script>console.log('hello')</script></body></html>"
    )
    script = shutil.copy(SCRIPT, folder / SCRIPT.name)
    done = subprocess.run(
        ["node", script, str(chromium()), str(tmp_path), str(bad)],
        capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    one = json.loads(done.stdout)["bad"]
    assert any("hello" in line for line in one["console"])
    assert any(url.endswith("missing.png") for url in one["requests"])
    assert {"image-alt", "color-contrast", "html-has-lang"} <= {
        told[0] for told in one["violations"]["light"]
    }
    assert one["wide"]["light"] > 0
    assert one["focus"][0][2] == "none"
