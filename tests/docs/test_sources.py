"""The page of sources: each row names code and a test that exist, or says why there is none."""

import ast
import functools
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "sources.md"

FILE = re.compile(r"(?:tests|docs|benchmarks|examples)/[\w./-]+")
"""What names a file and not an object of the package."""


class Row(NamedTuple):
    """A row of a table of the page."""

    source: str
    where: str
    what: str
    code: str
    proof: str

    @property
    def names(self) -> list[str]:
        """What it names in code and proof."""
        return re.findall(r"`([^`]+)`", f"{self.code} {self.proof}")


def rows(text: str) -> Iterator[Row]:
    """The rows of the tables of a page, each with the heading it is below."""
    source = ""
    for line in text.splitlines():
        if line.startswith("## "):
            source = line[3:]
        elif line.startswith("| ") and not line.startswith(("| where |", "| --- |")):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            assert len(cells) == 4, line
            yield Row(source, *cells)


@functools.cache
def definitions(path: Path) -> frozenset[str]:
    """The functions of a file of tests."""
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def check(name: str) -> None:
    """Check that there is a file, a test in it, or an object of the package.

    Raises:
        LookupError: naming what is not there.
    """
    if FILE.match(name):
        place, _, test = name.partition("::")
        if not (ROOT / place).exists() or (test and test not in definitions(ROOT / place)):
            raise LookupError(name)
    else:
        resolve(name)


def resolve(name: str) -> Any:
    """The object of the package that a dotted name means, without ``evalsampling``.

    Raises:
        LookupError: if there is none.
    """
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        module = ".".join(["evalsampling", *parts[:end]])
        try:
            thing = importlib.import_module(module)
        except ModuleNotFoundError:
            continue
        for part in parts[end:]:
            # A field of a dataclass without a default is no attribute of the class.
            if part in getattr(thing, "__annotations__", {}):
                return thing
            if not hasattr(thing, part):
                raise LookupError(name)
            thing = getattr(thing, part)
        return thing
    raise LookupError(name)


ROWS = list(rows(PAGE.read_text("utf-8")))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.source}: {row.where}")
def test_what_a_row_names_exists_or_it_says_why_there_is_nothing(row: Row) -> None:
    for name in row.names:
        check(name)
    if not re.search(r"`[^`]+`", row.code):
        # Without code there is a reason, of more than a word.
        assert re.match(r"(?:not built|not needed|none): \w+(?: \S+){2,}", row.code), row


def test_every_source_has_its_rows_once() -> None:
    assert len({(row.source, row.where, row.what) for row in ROWS}) == len(ROWS)
    assert {row.source[1 : row.source.index("]")] for row in ROWS} == {"MR", "TR", "AE", "Y", "SX"}


@pytest.mark.parametrize(
    "name",
    [
        "inference.no_such_module",
        "inference.sample.NoSuchClass",
        "inference.sample.WeightedSample.no_such_member",
        "tests/docs/test_sources.py::test_no_such_test",
        "tests/docs/no_such_file.py",
    ],
)
def test_a_name_that_does_not_exist_is_found_out(name: str) -> None:
    with pytest.raises(LookupError, match=re.escape(name)):
        check(name)
