"""Examples of a page: what it tells the reader to run, beside what it shows.

`python -m tests.docs.examples PAGE ...` runs the examples of pages, one page after the other in the
same folder, and puts what was printed into them.
"""

import dataclasses
import doctest
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.jobs import loaded

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(?P<prose>.*?)^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
SAVE = re.compile(r"save\s+(?:it\s+)?as\s+`([^`]+)`", re.I)
GUARD = 'if __name__ == "__main__":'
SHELL = """
python() { "$PYTHON" "$@"; }
evalsampling() { python -m evalsampling "$@"; }
"""


WALK = ("docs/start.md", "docs/cli.md", "docs/report.md", "docs/python.md")
"""Pages whose examples are run one after the other in one folder."""

JSON = {
    "prepare": "prepare evaluation.yaml",
    "estimate": "estimate run",
    "report": "report run",
    "status": "status run",
    "plan": "plan evaluation.yaml --sampler ais --budgets 200 --repeats 20",
    "simulate": (
        "simulate evaluation.yaml --truth truth.parquet --sampler ais --budgets 500 --repeats 20"
    ),
}
"""Commands whose objects docs/cli.md shows, each below the heading of its name."""

OF_THE_MACHINE = {"workspace", "seconds", "versions", "bytes"}
"""Keys whose values differ from run to run."""


@dataclasses.dataclass(frozen=True)
class Installation:
    """Where the examples find Python, and the folder of the package unless that Python has it."""

    python: str
    source: Path | None

    def shell(self, command: str, folder: Path) -> str:
        """Run a line of the shell; without a source with the programs that were installed."""
        return self._run(["bash", "-ec", (SHELL if self.source else "") + command], folder)

    def script(self, code: str, folder: Path) -> str:
        (folder / "script.py").write_text(code, "utf-8")
        return self._run([self.python, "script.py"], folder)

    def _run(self, command: list[str], folder: Path) -> str:
        variables = {"PYTHON": self.python}
        if self.source:
            variables["PYTHONPATH"] = str(self.source)
        else:
            variables["PATH"] = f"{Path(self.python).parent}:{os.environ['PATH']}"
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


HERE = Installation(sys.executable, ROOT)
"""The package beside these pages, whichever one is installed."""


def blocks_of(page: str) -> list[dict[str, str]]:
    """The blocks of code of a page, each with the prose before it."""
    text = (ROOT / page).read_text("utf-8")
    return [match.groupdict() for match in BLOCK.finditer(text)]


def saved_module(page: str, name: str, folder: Path) -> ModuleType:
    """The module that a page says to save under this name, saved to a folder and loaded."""
    [text] = [
        block["text"]
        for block in blocks_of(page)
        if (saved := SAVE.search(block["prose"])) and saved[1] == name
    ]
    path = folder / name
    path.write_text(text, "utf-8")
    return loaded(path)


def page_outputs(page: str, folder: Path, by: Installation = HERE) -> list[tuple[str, str]]:
    """Saves what a page says to save, then runs shell and Python: pairs of shown and printed."""
    blocks = blocks_of(page)
    for block in blocks:
        if name := SAVE.search(block["prose"]):
            (folder / name[1]).write_text(block["text"], "utf-8")
    scripts = [place for place, block in enumerate(blocks) if is_script(block)]
    behind = scripts[-1] + 1 if scripts else len(blocks)
    return [
        *shell_outputs(blocks[:behind], folder, by),
        *python_outputs(blocks, folder, by),
        *shell_outputs(blocks[behind:], folder, by),
    ]


def is_script(block: dict[str, str]) -> bool:
    """Tells whether a block is Python to run, and not to be saved."""
    return block["language"] == "python" and not SAVE.search(block["prose"])


def shell_outputs(
    blocks: list[dict[str, str]], folder: Path, by: Installation = HERE
) -> list[tuple[str, str]]:
    """Runs `sh` blocks and lines after `$`; pairs what is shown with what was printed."""
    pairs, printed = [], ""
    for block in blocks:
        before, *commands = re.split(r"^\$ ", block["text"], flags=re.M)
        if block["language"] == "sh":
            printed = by.shell(block["text"], folder)
        elif block["language"] == "" and commands:
            if before:
                last = printed.splitlines(keepends=True)[-before.count("\n") :]
                pairs.append(pair(before, "".join(last)))
            for command in commands:
                line, shown = command.split("\n", 1)
                printed = by.shell(line, folder)
                pairs.append(pair(shown, printed))
    return pairs


def python_outputs(
    blocks: list[dict[str, str]], folder: Path, by: Installation = HERE
) -> list[tuple[str, str]]:
    """Runs `python` blocks as one script, but for those with a guard, and those to be saved."""
    found = [
        (block["text"], after["text"] if after["language"] == "" else "")
        for block, after in itertools.pairwise(blocks)
        if is_script(block)
    ]
    script = "\nprint('\\f', end='')\n".join(code for code, _ in found if GUARD not in code)
    printed = iter(by.script(script, folder).split("\f"))
    return [
        pair(shown, by.script(code, folder) if GUARD in code else next(printed))
        for code, shown in found
    ]


def shell(command: str, folder: Path) -> str:
    return HERE.shell(command, folder)


def json_examples(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Name of each command of `JSON`, the object shown for it, and the one printed now."""
    page = (ROOT / "docs/cli.md").read_text("utf-8")
    for name, arguments in JSON.items():
        [example] = re.findall(rf"^## {name}$.*?^```json\n(.*?)^```$", page, re.M | re.S)
        yield name, example, shell(f"evalsampling {arguments} --json", folder)


def with_values(example: str, printed: Any) -> str:
    """An object as a page shows it, its values those printed now, rounded as they were."""
    values: list[str] = []

    def walk(shown: Any, now: Any) -> None:
        if isinstance(shown, dict):
            for key, value in shown.items():
                known = isinstance(now, dict) and key in now and key not in OF_THE_MACHINE
                walk(value, now[key] if known else None)
        elif isinstance(shown, list):
            for place, value in enumerate(shown):
                known = isinstance(now, list) and place < len(now)
                walk(value, now[place] if known else None)
        elif isinstance(shown, Decimal):
            is_number = isinstance(now, float | int)
            places = Decimal(1).scaleb(int(shown.as_tuple().exponent))
            values.append(f"{Decimal(now).quantize(places) if is_number else shown:f}")
        elif isinstance(shown, str | int) and not isinstance(shown, bool):
            values.append(json.dumps(now if type(now) is type(shown) else shown))

    walk(json.loads(example, parse_float=Decimal), printed)
    renewed = iter(values)
    key_string_or_number = r'("(?:[^"\\]|\\.)*"(?:\s*:)?|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)'
    return "".join(
        next(renewed) if place % 2 and not token.endswith(":") else token
        for place, token in enumerate(re.split(key_string_or_number, example))
    )


def pair(shown: str, printed: str) -> tuple[str, str]:
    """Two texts that are alike if they differ in seconds only, or where `...` is shown."""
    told = [re.sub(r"\d+\.\d s\b", "- s", text) for text in (shown, printed)]
    fits = doctest.OutputChecker().check_output(*told, doctest.ELLIPSIS)
    return shown, shown if fits else cut_like(shown, printed)


def cut_like(shown: str, printed: str) -> str:
    """What was printed, without the lines that a page leaves out with a line of `...`."""
    before, dots, after = shown.partition("\n...\n")
    if not dots:
        return printed
    lines = printed.splitlines(keepends=True)
    last = after.count("\n")
    return "".join([*lines[: before.count("\n") + 1], "...\n", *lines[len(lines) - last :]])


def rewrite(pages: Sequence[str]) -> None:
    """Put into pages what their examples print now."""
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top) / "build" / "walk"
        folder.mkdir(parents=True)
        for page in pages:
            before = text = (ROOT / page).read_text("utf-8")
            for shown, printed in page_outputs(page, folder):
                if shown != printed:
                    assert shown.strip(), f"{page}: nothing is shown of {printed!r}"
                    text = text.replace(shown, printed, 1)
            if page == "docs/cli.md":
                for _, example, printed in json_examples(folder):
                    text = text.replace(example, with_values(example, json.loads(printed)), 1)
            if text != before:
                (ROOT / page).write_text(text, "utf-8")
                print(f"{page}: written")


if __name__ == "__main__":
    rewrite(sys.argv[1:])
