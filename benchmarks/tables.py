"""Tables of studies: CSV files below docs/studies, each written whole by one command.

A program of tables calls `main` with what it has: --only, --repeats, --pools, --output. Pages say
in words what tables show, and of which commit they are; `main` prints that of a run at its end.
"""

import argparse
import csv
import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pools

FOLDER = pools.PROJECT / "docs" / "studies"

Row = Sequence[str]


@dataclasses.dataclass(frozen=True)
class Table:
    """A table of a study.

    Attributes:
        name: its file below the folder of studies, without the end.
        header: the first line of the file: names of the columns.
        rows: returns the rows, by the options of the command.
        repeats: unless others are asked for.
        kept: whether it has a file; else it is printed, for a page that has its figures.
    """

    name: str
    header: str
    rows: Callable[[argparse.Namespace], Iterable[Row]]
    repeats: int = 0
    kept: bool = True

    def make(self, options: argparse.Namespace) -> None:
        """Print the table row by row, then write its file, whole or not at all."""
        asked = vars(options) | {"repeats": getattr(options, "repeats", None) or self.repeats}
        printed, made = csv.writer(sys.stdout, lineterminator="\n"), [self.header.split(",")]
        printed.writerow(made[0])
        for row in self.rows(argparse.Namespace(**asked)):
            made.append(row)
            printed.writerow(row)
            sys.stdout.flush()
        if self.kept:
            path = options.output / f"{self.name}.csv"
            path.parent.mkdir(parents=True, exist_ok=True)
            draft = path.with_suffix(".tmp")
            with draft.open("w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(made)
            os.replace(draft, path)
            print(f"{path}: written, by commit {commit()}", file=sys.stderr)


def parser(about: str | None) -> argparse.ArgumentParser:
    """Return a parser of where pools are and where tables go."""
    made = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    pools.add_option(made)
    made.add_argument("--output", type=Path, default=FOLDER, metavar="DIR", help="default: studies")
    return made


def main(about: str | None, tables: Sequence[Table], **own: int | Path) -> None:
    """Make all tables of a program, or those that are asked for.

    Args:
        about: its first line is the help of the command.
        tables: that there are.
        **own: options beside those of all programs, with their defaults.
    """
    options = parser(about)
    names = [table.name.rpartition("/")[2] for table in tables]
    options.add_argument("--only", nargs="*", choices=names, default=names, metavar="TABLE")
    options.add_argument("--repeats", type=int, metavar="N", help="in place of a table's own")
    for name, usual in own.items():
        options.add_argument(f"--{name}", type=type(usual), default=usual, help=f"usual: {usual}")
    asked = options.parse_args()
    for name, table in zip(names, tables, strict=True):
        if name in asked.only:
            table.make(asked)


def commit() -> str:
    """Return the commit of these files; with a plus where they differ from it."""

    def git(*words: str) -> str:
        asked = ["git", "-C", str(pools.PROJECT), *words]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return git("rev-parse", "--short=7", "HEAD") + "+" * bool(changed)
