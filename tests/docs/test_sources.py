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


KIND = "eq|figure|table|theorem|lemma|corollar|proposition|definition|algorithm|example|remark"
NUMBERED = re.compile(
    rf"\b({KIND}|section|appendi|footnote)|(?<![\w.^])((?:A\.)?\d[\d.]*)(?:-((?:A\.)?\d[\d.]*))?"
)
"""A kind of what is numbered, or a number, or the first and the last of some."""

WHOLE = {
    "MR": "eqs. 1-7, theorems 1-2, propositions 1-4, corollary 1, definitions 1-2, remarks 1-4, "
    "examples 1-3, algorithm 1, tables 1-2, figures 1-5",
    "TR": "eqs. 8-16, table 2, figures 5-8",
    "AE": "eqs. 2.1-2.34, 3.1-3.32, 4.1-4.31, 5.1-5.19, 6.1-6.12, A.1-A.21, theorems 4.1-4.2, 5.1, "
    "6.1, lemmas 3.1-3.4, 4.1-4.2, 5.1-5.2, corollaries 3.1, 4.1-4.4, 5.1-5.2, propositions "
    "2.1-2.3, 3.1, definitions 3.1-3.2, algorithms 1-3, tables 4.1, 5.1, A.1, figures 3.1-3.3, "
    "4.1-4.12, 5.1-5.4, 6.1-6.5, A.1-A.3",
    "Y": "eqs. 1-128, algorithms 1-3, figures 1-11",
    "SX": "eqs. 1-5, theorems 1-8, lemmas 1-4, corollary 1, definitions 1-2, algorithm 1, "
    "figures 1-4",
}
"""All that each source has numbered; of [TR] what it has beyond [MR]."""


class Row(NamedTuple):
    """A row of a table of the page."""

    source: str
    where: str
    what: str
    code: str
    proof: str

    @property
    def key(self) -> str:
        """The key of the source."""
        return self.source[1 : self.source.index("]")]

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


def numbered(text: str) -> set[tuple[str, str]]:
    """The kind and number of each item that a text names: all those of a range."""
    kind, found = "", set()
    for word, first, last in NUMBERED.findall(text):
        kind = word or kind
        if first and kind in KIND.split("|"):
            chapter, _, start = first.rstrip(".").rpartition(".")
            end = last.rpartition(".")[2] or start
            numbers = range(int(start), int(end) + 1)
            found |= {(kind, f"{chapter}.{number}".lstrip(".")) for number in numbers}
    return found


@functools.cache
def definitions(path: Path) -> frozenset[str]:
    """The functions of a file of tests."""
    tree = ast.parse(path.read_text("utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def check(name: str) -> None:
    """Check that there is a file, a test in it, or an object of the package."""
    if FILE.match(name):
        place, _, test = name.partition("::")
        if not (ROOT / place).exists() or (test and test not in definitions(ROOT / place)):
            raise LookupError(name)
    else:
        resolve(name)


def resolve(name: str) -> Any:
    """The object of the package that a dotted name means, without ``evalsampling``."""
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


def test_what_a_row_names_exists_or_it_says_why_there_is_nothing() -> None:
    for row in ROWS:
        for name in row.names:
            check(name)
        if not re.search(r"`[^`]+`", row.code):
            # Without code there is a reason, of more than a word.
            assert re.match(r"(?:not built|not needed|none): \w+(?: \S+){2,}", row.code), row


def test_every_source_has_its_rows_once() -> None:
    assert len({(row.source, row.where, row.what) for row in ROWS}) == len(ROWS)
    assert {row.key for row in ROWS} == set(WHOLE)


@pytest.mark.parametrize("key", WHOLE)
def test_nothing_that_a_source_has_numbered_is_left_out(key: str) -> None:
    named = set().union(*(numbered(row.where) for row in ROWS if row.key == key))
    assert named == numbered(WHOLE[key])


def test_items_of_a_range_are_told_apart() -> None:
    assert numbered("section 4.3, figures 4.7, right, and 4.8, eqs. A.1-A.2 by x^2") == {
        ("figure", "4.7"), ("figure", "4.8"), ("eq", "A.1"), ("eq", "A.2"),
    }  # fmt: skip


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
