"""Promises, and the tests that are said to show them."""

import re
from pathlib import Path

import pytest

from evalsampling.inference.evidence import FEWEST_EVIDENCE
from evalsampling.inference.model_based import FULL_EVIDENCE, share_held

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["docs/operations.md", "docs/scheduling.md", "SECURITY.md"])
def test_tests_that_it_names_are_there(page: str) -> None:
    named = re.findall(r"`(tests/[^`]+\.py)`", (ROOT / page).read_text("utf-8"))
    assert len(named) > 3
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", ["glossary", "methods", "calibrated", "concepts"])
def test_all_pages_say_the_same_of_the_default_interval(page: str) -> None:
    share = f"{share_held(0.95, FULL_EVIDENCE):.2f}".lstrip("0")
    text = " ".join((ROOT / f"docs/{page}.md").read_text("utf-8").split())
    assert (
        "the weighted mean, end by end, of the design-based interval and of the shortest one that "
        f"holds {share} of the model's draws, widened to hold the estimate"
    ) in text


def test_few_labelled_rows_are_held_more_as_the_page_says() -> None:
    text = (ROOT / "docs/calibrated.md").read_text("utf-8")
    share = f"{share_held(0.95, FEWEST_EVIDENCE):.3f}".lstrip("0")
    assert f"= {share} of\nthe draws with {FEWEST_EVIDENCE} rows" in text
    assert f"up to {FULL_EVIDENCE}, from where" in text
