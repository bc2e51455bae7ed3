"""The page in a real browser: light, dark, on a phone and printed.

Run by `make test-report`, which puts axe-core and a driver of Chromium below `.venv/report`;
skipped where these, node or Chromium are missing. Pictures of the pages are kept in the directory
that REPORT_PICTURES names.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser import LOOKS, look, needs_browser
from tests.jobs import Job
from tests.report.kinds import kinds, reported

pytestmark = [pytest.mark.slow, needs_browser]


def test_every_kind_of_report_in_every_look(job: Callable[..., Job], tmp_path: Path) -> None:
    pages = [
        reported(one, rounds, who, tmp_path / f"{name}.html")
        for name, (one, rounds, who) in kinds(job, tmp_path).items()
    ]
    pictures = Path(os.environ.get("REPORT_PICTURES", tmp_path / "pictures"))
    pictures.mkdir(exist_ok=True)
    seen = look(pages, pictures)
    for page in pages:
        one = seen[page.stem]
        assert one["console"] == [], page.stem
        assert set(one["requests"]) == {page.as_uri()}, page.stem
        assert one["violations"] == {key: [] for key in LOOKS}, page.stem
        assert set(one["wide"].values()) == {0}, f"{page.stem} scrolls sideways"
        assert one["checked"] > 20, page.stem
        assert one["focus"][0][:2] == ["A", "Skip to the numbers"]
        # Behind the last stop the focus leaves the page.
        outlines = {outline for tag, _, outline in one["focus"] if tag != "BODY"}
        assert "none" not in outlines, page.stem
        for name in LOOKS:
            assert (pictures / f"{page.stem}-{name}.png").stat().st_size > 10_000


def test_the_browser_would_see_what_is_wrong(tmp_path: Path) -> None:
    """A page with every fault that the test above looks for: none of them goes unseen."""
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<!doctype html><html><head><title>x</title></head><body><img src='missing.png'>"
        "<a href='#' style='outline:none'>x</a><p style='width:3000px;color:#ddd'>faint</p>"
        "<script>console.log('hello')</script></body></html>"
    )
    one = look([bad], tmp_path)["bad"]
    assert any("hello" in line for line in one["console"])
    assert any(url.endswith("missing.png") for url in one["requests"])
    assert {"image-alt", "color-contrast", "html-has-lang"} <= {
        told[0] for told in one["violations"]["light"]
    }
    assert one["wide"]["light"] > 0
    assert one["focus"][0][2] == "none"
