"""The pages: what they tell the reader to run prints what they show.

The walk of docs/start.md comes first. The others go on in its folder.
"""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.docs.examples import (
    BLOCK,
    ROOT,
    SAVE,
    page_outputs,
    python_outputs,
    shell,
    shell_outputs,
)

WALK = ("docs/start.md", "docs/cli.md", "docs/report.md", "docs/python.md")
"""Pages whose examples are run one after the other in one folder."""

GUIDES = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs/guides").glob("*.md"))

JSON = {
    "prepare": "prepare evaluation.yaml",
    "estimate": "estimate run",
    "report": "report run",
    "status": "status run",
    "diagnose": "diagnose run",
    "plan": "plan evaluation.yaml --sampler ais --budgets 200 --repeats 20",
    "simulate": (
        "simulate evaluation.yaml --truth truth.parquet --sampler ais --budgets 500 --repeats 20"
    ),
}
OF_THE_MACHINE = {"workspace", "seconds", "versions", "peak_mebibytes", "bytes"}


@pytest.mark.slow
def test_pages_print_what_they_show(tmp_path: Path) -> None:
    folder = tmp_path / "build" / "walk"
    folder.mkdir(parents=True)
    pairs = []
    for page in WALK:
        pairs += page_outputs(page, folder)
    assert len(pairs) >= 25
    assert [printed for _, printed in pairs] == [shown for shown, _ in pairs]
    page = (ROOT / "docs/cli.md").read_text("utf-8")
    for name, arguments in JSON.items():
        [example] = re.findall(rf"^## {name}$.*?^```json\n(.*?)^```$", page, re.M | re.S)
        printed = shell(f"evalsampling {arguments} --json", folder)
        compare(json.loads(example, parse_float=Decimal), json.loads(printed), name)


def test_page_of_poisson_prints_what_it_shows(tmp_path: Path) -> None:
    text = (ROOT / "docs/poisson.md").read_text("utf-8")
    blocks = [match.groupdict() for match in BLOCK.finditer(text)]
    [(shown, printed)] = python_outputs(blocks, tmp_path)
    assert printed == shown


def test_page_of_costs_prints_what_it_shows(tmp_path: Path) -> None:
    text = (ROOT / "docs/costs.md").read_text("utf-8")
    pairs = python_outputs([match.groupdict() for match in BLOCK.finditer(text)], tmp_path)
    assert len(pairs) == 2
    assert [printed for _, printed in pairs] == [shown for shown, _ in pairs]


@pytest.mark.slow
def test_comparisons_page_prints_what_it_shows(tmp_path: Path) -> None:
    text = (ROOT / "docs/comparisons.md").read_text("utf-8")
    blocks = [match.groupdict() for match in BLOCK.finditer(text)]
    for block in blocks:
        if name := SAVE.search(block["prose"]):
            (tmp_path / name[1]).write_text(block["text"], "utf-8")
    pairs = shell_outputs(blocks, tmp_path)
    assert len(pairs) >= 15
    assert [printed for _, printed in pairs] == [shown for shown, _ in pairs]


@pytest.mark.slow
def test_page_of_adastrat_prints_what_it_shows(tmp_path: Path) -> None:
    text = (ROOT / "docs/adastrat.md").read_text("utf-8")
    [(shown, printed)] = python_outputs([m.groupdict() for m in BLOCK.finditer(text)], tmp_path)
    assert printed == shown


@pytest.mark.slow
@pytest.mark.parametrize("page", GUIDES)
def test_guides_print_what_they_show(page: str, tmp_path: Path) -> None:
    pairs = page_outputs(page, tmp_path)
    assert [printed for _, printed in pairs] == [shown for shown, _ in pairs]


def compare(shown: Any, printed: Any, where: str) -> None:
    """Compares an object with what is shown of it: numbers rounded, lists from the beginning."""
    if isinstance(shown, dict):
        for key in shown:
            if key not in OF_THE_MACHINE:
                compare(shown[key], printed[key], f"{where}.{key}")
    elif isinstance(shown, list):
        for place, (one, other) in enumerate(zip(shown, printed, strict=False)):
            compare(one, other, f"{where}[{place}]")
    elif isinstance(shown, Decimal):
        assert shown == round(Decimal(printed), -int(shown.as_tuple().exponent)), where
    else:
        assert shown == printed, where
