"""Promises, and the tests that are said to show them."""

import re
from pathlib import Path

import pytest

from evalsampling.inference.evidence import FEWEST_EVIDENCE
from evalsampling.inference.model_based import FULL_EVIDENCE, share_held

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["SECURITY.md"])
def test_tests_that_it_names_are_there(page: str) -> None:
    named = re.findall(r"`(tests/[^`]+\.py)`", (ROOT / page).read_text("utf-8"))
    assert len(named) > 3
    assert [name for name in named if not (ROOT / name).exists()] == []


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_tables_have_a_head_and_rows_of_its_width(page: Path) -> None:
    """A blank line within a table makes text of the rows after it."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    for block in re.findall(r"(?:^\|.*\n?)+", text, re.M):
        lines = block.splitlines()
        assert re.fullmatch(r"[|\s:-]+", lines[1] if len(lines) > 1 else ""), lines[0]
        assert len({line.replace(r"\|", "").count("|") for line in lines}) == 1, lines[0]


def test_claims_about_papers_go_no_further_than_what_was_read() -> None:
    text = " ".join(page.read_text("utf-8") for page in PAGES)
    assert "[MR] section 6" not in text, "its experiments are section 5"
    guide = (ROOT / "docs/guides/choose-sampler.md").read_text("utf-8")
    assert "| as published |" not in guide
    readme = (ROOT / "README.md").read_text("utf-8")
    assert "on a cluster" not in readme, "it was run on one machine"
    assert "list is not public" not in text
    assert "which are not to be had" not in text


@pytest.mark.parametrize("page", ["methods", "calibrated"])
def test_both_pages_say_the_same_of_the_default_interval(page: str) -> None:
    share = f"{share_held(0.95, FULL_EVIDENCE):.2f}".lstrip("0")
    text = " ".join((ROOT / f"docs/{page}.md").read_text("utf-8").split())
    assert (
        "the weighted mean, end by end, of the design-based interval and of the shortest one that "
        f"holds {share} of the model's draws, widened to hold the estimate"
    ) in text


def test_few_labelled_rows_are_held_more_as_the_page_says() -> None:
    text = " ".join((ROOT / "docs/calibrated.md").read_text("utf-8").split())
    share = f"{share_held(0.95, FEWEST_EVIDENCE):.3f}".lstrip("0")
    assert f"= {share} of the draws with {FEWEST_EVIDENCE} rows" in text
    assert f"up to {FULL_EVIDENCE}, from where" in text
