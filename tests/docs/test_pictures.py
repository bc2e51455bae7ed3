"""The pictures of the pages are those that their script draws."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.docs.examples import ROOT

DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text("utf-8")

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


@pytest.mark.slow
def test_readme_says_how_many_intervals_of_the_picture_hold_the_truth() -> None:
    known = pictures.labelled_pool()
    truth = pictures.true_values(known)
    intervals = {one.measure: one.intervals[0] for one in known.estimates}
    holding = [name for name, drawn in intervals.items() if drawn.low <= truth[name] <= drawn.high]
    words = {0: "none", 1: "one", 2: "two", 3: "all three"}
    [said] = re.findall(
        r"three intervals on the right; (.+?) holds? the truth", " ".join(README.split())
    )
    assert said == words[len(holding)]


def test_first_pages_have_one_example_with_one_f1() -> None:
    sentence = r"^F1 (0\.\d{2}) \((0\.\d{2}) to (0\.\d{2})\)"
    found = re.findall(sentence, README + (DOCS / "index.md").read_text("utf-8"), re.M)
    assert len(found) == 3, "in Python, on the command line and on the front page"
    assert {*found} == {found[0]}
    value, low, high = found[0]
    printed = r"^f1 (0\.\d{4}) (0\.\d{4}) to (0\.\d{4})$"
    [start] = re.findall(printed, (DOCS / "start.md").read_text("utf-8"), re.M)
    assert [f"{float(number):.2f}" for number in start] == [value, low, high]
    drawn = (pictures.FOLDER / "method.svg").read_text("utf-8")
    assert f">f1 {value}<" in drawn
    assert f">{low} to {high}<" in drawn


def test_bars_are_as_high_as_their_numbers() -> None:
    x = pictures.Scale(0.0, 3.0, 0.0, 300.0)
    bars = pictures._bars(x, np.arange(4.0), np.array([2, 0, 1]), 100, 80, "f-grey")
    assert re.findall(r'y="(\S+?)" width="(\S+?)" height="(\S+?)"', "".join(bars)) == [
        ("20", "98", "80"),
        ("60", "98", "40"),
    ]
