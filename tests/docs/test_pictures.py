"""The pictures of the pages are those that their script draws."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.docs.examples import ROOT

DOCS = ROOT / "docs"

sys.path.append(str(DOCS))
import pictures  # noqa: E402


@pytest.mark.slow
def test_pictures_are_those_of_the_script() -> None:
    drawn = pictures.pictures()
    assert {name for name in drawn if (pictures.FOLDER / name).read_text() != drawn[name]} == set()


def test_every_picture_of_a_page_is_there_and_described() -> None:
    found = 0
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        for words, path in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text("utf-8")):
            assert (page.parent / path).exists(), f"{page}: {path}"
            assert words, f"{page}: {path} says nothing to those who cannot see it"
            found += 1
    assert found > 5


def test_every_picture_of_the_script_is_shown_on_a_page() -> None:
    text = " ".join(page.read_text("utf-8") for page in DOCS.rglob("*.md"))
    made = set(re.findall(r'^        "([\w-]+\.svg)":', Path(pictures.__file__).read_text(), re.M))
    assert len(made) > 2
    assert {name for name in made if name not in text} == set()


def test_bars_are_as_high_as_their_numbers() -> None:
    x = pictures.Scale(0.0, 3.0, 0.0, 300.0)
    bars = pictures._bars(x, np.arange(4.0), np.array([2, 0, 1]), 100, 80, "f-grey")
    assert re.findall(r'y="(\S+?)" width="(\S+?)" height="(\S+?)"', "".join(bars)) == [
        ("20", "98", "80"),
        ("60", "98", "40"),
    ]
