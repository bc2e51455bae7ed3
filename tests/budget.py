"""How large each part of the project may be; `python -m tests.budget` lowers what became smaller.

Lines of Python of each room of the package, of the tests and of the benchmarks; words of the pages.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TABLE = Path(__file__).with_suffix(".csv")

MOST_UNUSED = 0.02
"""Of a budget: a part that is smaller has its budget lowered."""


def sizes(root: Path) -> dict[str, int]:
    """Return the size of each part: lines of Python, and words of `docs` without its studies."""
    package = root / "evalsampling"
    rooms = [path for path in package.iterdir() if path.is_dir() and not path.is_symlink()]
    folders = [*rooms, root / "pipelines", root / "tests", root / "benchmarks"]
    found = {str(folder.relative_to(root)): _lines(folder.rglob("*.py")) for folder in folders}
    found["evalsampling"] = _lines(package.glob("*.py"))
    apart = {root / "docs" / "studies", root / "docs" / "reference"}
    pages = [page for page in (root / "docs").rglob("*.md") if not apart & {*page.parents}]
    found["docs"] = sum(len(page.read_text("utf-8").split()) for page in pages)
    return {part: size for part, size in sorted(found.items()) if size}


def read(table: Path) -> dict[str, int]:
    """Return the budget of each part."""
    with table.open(newline="") as file:
        return {row["part"]: int(row["most"]) for row in csv.DictReader(file)}


def wrong(budgets: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    """Return a line for each part that is above its budget, far below it, or has none."""
    lines = [f"{part} is no more: lower" for part in budgets.keys() - found.keys()]
    for part, size in found.items():
        most = budgets.get(part, 0)
        if size > most:
            lines.append(f"{part} has {size}, {size - most} more than its budget: cut")
        elif size < (1 - MOST_UNUSED) * most:
            lines.append(f"{part} has {size} of its budget of {most}: lower")
    return sorted(lines)


def lowered(budgets: Mapping[str, int], found: Mapping[str, int]) -> dict[str, int]:
    """Return the budgets, with no part's above its size; none is raised and none is added."""
    return {part: min(most, found[part]) for part, most in budgets.items() if part in found}


def write(table: Path, budgets: Mapping[str, int]) -> None:
    """Write the budget of each part."""
    with table.open("w", newline="") as file:
        rows = [("part", "most"), *sorted(budgets.items())]
        csv.writer(file, lineterminator="\n").writerows(rows)


def _lines(files: Iterator[Path]) -> int:
    return sum(len(path.read_text("utf-8").splitlines()) for path in files)


if __name__ == "__main__":
    write(TABLE, lowered(read(TABLE), sizes(ROOT)))
