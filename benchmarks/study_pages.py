"""Pages of studies: half a screen with the answer, and the whole tables as CSV beside it.

A page is made anew whole or left whole: `Page.write` writes it and all its tables, and the page
says of which commit its figures are.
"""

import argparse
import csv
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path

import pools

FOLDER = pools.PROJECT / "docs" / "studies"


@dataclasses.dataclass(frozen=True)
class Table:
    """A table that goes into a file of its own.

    Attributes:
        name: of the file; empty for the one table of a page, which has the page's name.
        about: what it holds, in a few words.
        header: names of the columns.
        rows: of cells; blank where there is no figure.
    """

    name: str
    about: str
    header: tuple[str, ...]
    rows: Sequence[Sequence[str]]

    def path(self, page: Path) -> Path:
        """Return its file, beside a page."""
        folder = page.with_suffix("")
        return folder / f"{self.name}.csv" if self.name else page.with_suffix(".csv")

    def write(self, page: Path) -> None:
        """Write its file."""
        path = self.path(page)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(self.header)
            writer.writerows(self.rows)


@dataclasses.dataclass(frozen=True)
class Page:
    """What a page says.

    Attributes:
        question: its heading.
        answer: with the main figures, in Markdown.
        commands: that make page and tables anew, whole.
        commits: whose figures they are; none if they were not noted.
        tables: each a file.
        picture: its file, from the page, and what it shows.
        note: what else a reader should know of these figures.
    """

    question: str
    answer: str
    commands: tuple[str, ...]
    commits: Sequence[str]
    tables: tuple[Table, ...]
    picture: tuple[str, str] | None = None
    note: str = ""

    def write(self, path: Path) -> None:
        """Write page and tables."""
        path.parent.mkdir(parents=True, exist_ok=True)
        for table in self.tables:
            table.write(path)
        path.write_text("\n".join(self._lines(path)) + "\n", encoding="utf-8")

    def _lines(self, path: Path) -> Iterator[str]:
        yield f"# {self.question}\n"
        yield f"{self.answer.strip()}\n"
        if self.picture is not None:
            yield f"![{self.picture[1]}]({self.picture[0]})\n"
        if self.note:
            yield f"{self.note.strip()}\n"
        yield f"All figures are of {of_commits(self.commits)}. What makes page and tables anew:\n"
        yield "\n".join(("```", *self.commands, "```\n"))
        yield from markdown(
            ("table", "what it holds"),
            [
                (f"[{file.name}]({file.relative_to(path.parent).as_posix()})", table.about)
                for table in self.tables
                for file in [table.path(path)]
            ],
        )


def of_commits(found: Sequence[str]) -> str:
    """Return the commits in words."""
    if not found:
        return "a commit that was not noted"
    return f"commit{'s' if len(found) > 1 else ''} {' and '.join(found)}"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table on the page: names to the left, numbers to the right."""
    left = [
        any(not cell.lstrip("-.").replace(",", "").replace(".", "").isdigit() for cell in column)
        for column in zip(*rows, strict=True)
    ] or [True] * len(header)
    yield f"| {' | '.join(header)} |"
    yield f"| {' | '.join('---' if one else '---:' for one in left)} |"
    yield from (f"| {' | '.join(row)} |" for row in rows)


def add_output(parser: argparse.ArgumentParser, name: str) -> None:
    """Let the page of a study be written elsewhere."""
    told = f"page; tables go beside it (default: docs/studies/{name}.md)"
    parser.add_argument(
        "--output", type=Path, default=FOLDER / f"{name}.md", metavar="FILE", help=told
    )


def add_note(parser: argparse.ArgumentParser) -> None:
    """Let the page say what else a reader should know of its figures."""
    parser.add_argument("--note", default="", metavar="TEXT", help="words for the page")
