"""No part of the project grows, and a budget falls with the size of its part."""

from pathlib import Path

from tests.budget import ROOT, TABLE, lowered, read, sizes, write, wrong


def test_every_part_is_within_its_budget() -> None:
    lines = wrong(read(TABLE), sizes(ROOT))
    assert lines == [], "`python -m tests.budget` lowers the budgets of tests/budget.csv"


def test_parts_are_rooms_tests_benchmarks_and_pages(tmp_path: Path) -> None:
    files = {
        "evalsampling/errors.py": "a\nb\n", "evalsampling/spec/pool.py": "a\n",
        "evalsampling/spec/deep/where.py": "a\nb", "pipelines/prepare.py": "a\n\n\n",
        "tests/stats/test_cells.py": "a\n", "tests/stats/cells.csv": "a\n",
        "benchmarks/bench.py": "a\n" * 5, "docs/guides/judge.md": "Two words.\n",
        "docs/studies/costs.md": "Not counted.\n", "docs/reference/stats.md": "Not counted.\n",
    }  # fmt: skip
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "evalsampling/pipelines").symlink_to("../pipelines")
    assert sizes(tmp_path) == {
        "benchmarks": 5,
        "docs": 2,
        "evalsampling": 2,
        "evalsampling/spec": 3,
        "pipelines": 3,
        "tests": 1,
    }


def test_a_part_fails_above_its_budget_and_far_below_it() -> None:
    budgets = {"above": 100, "at": 100, "near": 100, "below": 100, "gone": 100}
    found = {"above": 101, "at": 100, "near": 98, "below": 97, "new": 1}
    failed = [line.split()[0] for line in wrong(budgets, found)]
    assert failed == ["above", "below", "gone", "new"]


def test_budgets_only_fall(tmp_path: Path) -> None:
    budgets = {"above": 100, "at": 100, "near": 100, "below": 100, "gone": 100}
    found = {"above": 101, "at": 100, "near": 98, "below": 97, "new": 1}
    write(tmp_path / "budget.csv", lowered(budgets, found))
    assert read(tmp_path / "budget.csv") == {"above": 100, "at": 100, "near": 98, "below": 97}
