"""The pages: what they tell the reader to run prints what they show.

README's walk comes first. The others go on in its folder.
"""

import doctest
import itertools
import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?P<prose>.*?)^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
SAVE = re.compile(r"save\s+(?:it\s+)?as\s+`([^`]+)`", re.I)
GUARD = 'if __name__ == "__main__":'
SHELL = """
python() { "$PYTHON" "$@"; }
evalsampling() { python -m evalsampling "$@"; }
"""
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
    for page in ("README.md", "docs/cli.md", "docs/report.md", "docs/python.md"):
        text = (ROOT / page).read_text("utf-8")
        blocks = [match.groupdict() for match in BLOCK.finditer(text)]
        for block in blocks:
            if name := SAVE.search(block["prose"]):
                (folder / name[1]).write_text(block["text"], "utf-8")
        pairs += shell_outputs(blocks, folder)
        pairs += python_outputs(blocks, folder)
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


def shell_outputs(blocks: list[dict[str, str]], folder: Path) -> list[tuple[str, str]]:
    """Runs `sh` blocks and lines after `$`; pairs what is shown with what was printed.

    Lines before the first `$` are the last that were printed before.
    """
    pairs, printed = [], ""
    for block in blocks:
        before, *commands = re.split(r"^\$ ", block["text"], flags=re.M)
        if block["language"] == "sh":
            printed = shell(block["text"], folder)
        elif block["language"] == "" and commands:
            if before:
                last = printed.splitlines(keepends=True)[-before.count("\n") :]
                pairs.append(pair(before, "".join(last)))
            for command in commands:
                line, shown = command.split("\n", 1)
                printed = shell(line, folder)
                pairs.append(pair(shown, printed))
    return pairs


def python_outputs(blocks: list[dict[str, str]], folder: Path) -> list[tuple[str, str]]:
    """Runs `python` blocks as one script, but for those with a guard, and those to be saved."""
    found = [
        (block["text"], after["text"] if after["language"] == "" else "")
        for block, after in itertools.pairwise(blocks)
        if block["language"] == "python" and not SAVE.search(block["prose"])
    ]
    script = "\nprint('\\f', end='')\n".join(code for code, _ in found if GUARD not in code)
    printed = iter(python(script, folder).split("\f"))
    return [
        pair(shown, python(code, folder) if GUARD in code else next(printed))
        for code, shown in found
    ]


def shell(command: str, folder: Path) -> str:
    return run(["bash", "-ec", SHELL + command], folder)


def python(code: str, folder: Path) -> str:
    (folder / "script.py").write_text(code, "utf-8")
    return run([sys.executable, "script.py"], folder)


def run(command: list[str], folder: Path) -> str:
    # The package beside these pages, whichever one is installed.
    variables = {"PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def pair(shown: str, printed: str) -> tuple[str, str]:
    """Two texts that are alike if they differ in seconds only, or where `...` is shown."""
    shown, printed = (re.sub(r"\d+\.\d s\b", "- s", text) for text in (shown, printed))
    fits = doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)
    return shown, shown if fits else printed


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
