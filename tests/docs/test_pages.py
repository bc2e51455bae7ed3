"""The pages: what they tell the reader to run prints what they show, docs/start.md first."""

import importlib.util
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.docs.examples import (
    OF_THE_MACHINE,
    ROOT,
    WALK,
    blocks_of,
    json_examples,
    page_outputs,
    pair,
    python_outputs,
    with_values,
)

NEEDS = {"docs/guides/linkage-with-splink.md": "splink"}
"""Packages of the extra `guides` that no other extra of the tests brings, by page."""

GUIDES = sorted(str(page.relative_to(ROOT)) for page in (ROOT / "docs/guides").glob("*.md"))


@pytest.mark.slow
def test_pages_print_what_they_show(tmp_path: Path) -> None:
    folder = tmp_path / "build" / "walk"
    folder.mkdir(parents=True)
    pairs = []
    for page in WALK:
        pairs += page_outputs(page, folder)
    assert len(pairs) >= 24
    assert [printed for _, printed in pairs] == [shown for shown, _ in pairs]
    for name, example, printed in json_examples(folder):
        compare(json.loads(example, parse_float=Decimal), json.loads(printed), name)


@pytest.mark.slow
def test_front_page_prints_what_it_shows(tmp_path: Path) -> None:
    [(shown, printed)] = python_outputs(blocks_of("docs/index.md"), tmp_path)
    assert printed == shown


EXAMPLES = {
    "poisson": 1, "slices": 2, "active_risk": 1, "adastrat": 1, "certify": 1, "costs": 1,
    "extending": 1, "rankings": 1, "regression": 1, "weights": 1, "comparisons": 1,
}  # fmt: skip
"""Pages by themselves, each with how many examples it has."""


@pytest.mark.slow
@pytest.mark.parametrize("page", [*(f"docs/{name}.md" for name in EXAMPLES), *GUIDES])
def test_page_prints_what_it_shows(page: str, tmp_path: Path) -> None:
    if page in NEEDS and not importlib.util.find_spec(NEEDS[page]):
        pytest.skip("the extra `guides` is not installed")
    pairs = page_outputs(page, tmp_path)
    assert len(pairs) == EXAMPLES.get(Path(page).stem, len(pairs))
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


def test_values_of_an_object_are_written_anew_as_they_are_rounded() -> None:
    shown = (
        '{"a": 0.50, "seconds": 1.5, "b": [{"c": null, "d": 1.25e-3, "e": "1.5: \\"x\\""}],'
        ' "versions": {"x": "1"}, "done": true, "n": 3}'
    )
    now = {
        "a": 0.6789,
        "seconds": 9.0,
        "b": [{"c": 7.5, "d": 0.00251, "e": '2.5: "y"'}, {}],
        "versions": {"x": "2"},
        "done": False,
        "n": 4,
    }
    assert with_values(shown, now) == (
        '{"a": 0.68, "seconds": 1.5, "b": [{"c": null, "d": 0.00251, "e": "2.5: \\"y\\""}],'
        ' "versions": {"x": "1"}, "done": true, "n": 4}'
    )


def test_lines_that_a_page_leaves_out_are_left_out_of_what_is_put_in() -> None:
    shown, printed = "head\n1 0.1\n...\n9 0.9\n", "head\n1 0.2\n2 0.3\n3 0.4\n9 0.8\n"
    assert pair(shown, printed)[1] == "head\n1 0.2\n...\n9 0.8\n"
    assert pair("1\n...\n", "2\n3\n")[1] == "2\n...\n"
    assert pair("1\n", "2\n3\n")[1] == "2\n3\n"


def test_shell_runs_before_python_or_behind_the_last_of_it_as_the_page_has_it(
    tmp_path: Path,
) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "```\n$ echo 3 > number\n```\n\n"
        '```python\nnumber = int(open("number").read())\nprint(number)\n```\n\n```\n3\n```\n\n'
        '```python\nopen("number", "w").write(str(number + 1))\n```\n\n'
        "```\n$ cat number\n4\n```\n"
    )
    pairs = page_outputs(str(page), tmp_path)
    assert [printed.strip() for _, printed in pairs] == ["", "3", "", "4"]
