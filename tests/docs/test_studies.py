"""Studies: pages of half a screen with their tables beside them, and writers of the same shape."""

import csv
import dataclasses
import json
import operator
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]
STUDIES = ROOT / "docs" / "studies"
LOG = "calibrated-trials.md"
"""The one page that is a log of trials: no command makes it."""

MOST_WORDS = 650
"""Of a page with a table, commands and the list of its files."""

PAGES = sorted(page.name for page in STUDIES.glob("*.md") if page.name != LOG)


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))


def tables_of(page: Path) -> dict[str, list[str]]:
    """The tables that a page lists: the columns of each, by its place beside the page."""
    found = {}
    for link in re.findall(r"\]\(([\w./-]+\.csv)\)", page.read_text("utf-8")):
        with (page.parent / link).open(encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
        assert rows, link
        assert {len(row) for row in rows} == {len(header)}, link
        found[link] = header
    return found


def shape(page: Path) -> dict[str, Any]:
    """What two pages of one writer have in common."""
    text = page.read_text("utf-8")
    return {
        "question": re.findall(r"^# (.*)$", text, re.M),
        "pictures": re.findall(r"^!\[(.*)\]\((.*)\)$", text, re.M),
        "commands": re.search(r"^```\n(.*?)^```$", text, re.M | re.S)[1].count("\n"),
        "tables": tables_of(page),
    }


@pytest.mark.parametrize("name", PAGES)
def test_page_is_half_a_screen_with_question_commit_commands_and_tables(name: str) -> None:
    text = (STUDIES / name).read_text("utf-8")
    assert re.match(r"# .*\?\n", text)
    assert re.search(
        r"^All figures are of commits? [0-9a-f]{7}(, [0-9a-f]{7})*( and [0-9a-f]{7})?\. ",
        text,
        re.M,
    )
    assert "\npython benchmarks/" in text
    assert len(text.split()) <= MOST_WORDS
    assert tables_of(STUDIES / name)


def test_every_table_is_on_a_page() -> None:
    listed = {STUDIES / link for name in PAGES for link in tables_of(STUDIES / name)}
    assert listed == set(STUDIES.rglob("*.csv"))


def test_programs_that_pages_name_are_there() -> None:
    for page in STUDIES.glob("*.md"):
        for program in re.findall(r"benchmarks/\w+\.py", page.read_text("utf-8")):
            assert (ROOT / program).exists(), f"{page.name}: {program}"


@pytest.mark.slow
def test_coverage_writes_a_page_like_the_one_that_is_there(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `studies` is not installed")
    import blocks
    import coverage
    import coverage_runs

    def rows(repeat: int) -> list[dict[str, Any]]:
        same = {"repeat": repeat, "claims": True, "warned": False, "warning": None, "seconds": 1.0}
        return [
            same
            | {"budget": budget, "measure": measure, "interval": interval}
            | {"covers": repeat > 0, "error": 0.1, "width": 0.2, "score": 0.3}
            for budget in coverage_runs.PLAN.budgets
            for measure in ("f1", "brier")
            for interval in coverage_runs.INTERVALS
        ]

    results, page = tmp_path / "coverage", tmp_path / "coverage.md"
    blocks.commits.note(results)
    for method in coverage_runs.METHODS:
        if method.name in ("ais", "passive"):
            block = coverage_runs.Block("tied", method, 0, 2)
            told = [*rows(0), *rows(1)]
            blocks.write_rows(told, coverage_runs.SCHEMA, block.path(results))
    arguments = ["report", f"--results={results}", f"--output={page}", "--note=Few."]
    assert coverage.main(arguments) == 0
    assert shape(page) == shape(STUDIES / page.name)
    assert "\nFew.\n" in page.read_text("utf-8")
    assert f"All figures are of commit {blocks.commits.now()}." in page.read_text("utf-8")
    assert (tmp_path / "figures" / "coverage.svg").exists()


@pytest.mark.slow
def test_study_writes_a_page_like_the_one_that_is_there(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the extra `studies` is not installed")
    import blocks
    import study
    import study_runs

    settings = study_runs.Settings()
    blocks.keep_settings(tmp_path, dataclasses.asdict(settings))
    intervals = [{"method": name, "low": 0.2, "high": 0.7} for name in ("korn-graubard", "wald")]
    for measure in study_runs.MEASURES:
        whole = measure == study_runs.CURVE
        truth = {"rows": 10, "positives": 2, "value": [0.5] * (4 if whole else 1)}
        for method in study_runs.METHODS:
            if measure not in method.measures:
                continue
            rows = [
                {"repeat": repeat, "budget": budget, "value": None if whole else 0.4}
                | {"squared_error": 0.01 * (repeat + 1), "undefined": 0, "draws": budget}
                | {"seconds": 1.0, "divergence": 0.1, "claims": None if whole else True}
                | {"intervals": None if whole else intervals}
                | {"curve": [0.4] * 4 if whole and budget == settings.budgets[-1] else None}
                for repeat in range(2)
                for budget in settings.budgets
            ]
            block = study_runs.Block("abt-buy", measure, method, 0, 2)
            blocks.write_rows(rows, study_runs.SCHEMA, block.path(tmp_path))
        (tmp_path / "abt-buy" / measure / study_runs.TRUTH).write_text(json.dumps(truth))
    page = tmp_path / "study.md"
    assert study.main(["report", f"--results={tmp_path}", f"--output={page}"]) == 0
    assert shape(page) == shape(STUDIES / page.name)
    drawn = {path.name for path in (tmp_path / "figures").iterdir()}
    linked = set(re.findall(r"\(figures/([\w.-]+\.svg)\)", page.read_text("utf-8")))
    assert linked <= drawn


def test_reference_points_writes_a_page_like_the_one_that_is_there(tmp_path: Path) -> None:
    import reference_points

    interval = {"coverage": 0.9, "median_width": 0.1, "interval_score": 0.2}
    results = [
        {"sampler": sampler, "budget": budget, "rmse": 0.1, "undefined": 0, "draws": 300.0}
        | {"seconds": 1.0, "wald": interval}
        | interval
        for sampler in reference_points.SAMPLERS
        for budget in reference_points.BUDGETS
    ]
    run = reference_points.PoolRun("abt-buy", 10, 2, 0.5, results, 1.0)
    rows = [reference_points._cells(run, one) for one in results]
    page = tmp_path / "reference-points.md"
    sizes = {"abt-buy": (10, 0.5)}
    reference_points.page(rows, sizes, 3, ["1234567"], "").write(page)
    assert shape(page) == shape(STUDIES / page.name)
    assert "2 of 6 errors here are above 1.25 times" in page.read_text("utf-8")


def test_paper_settings_writes_a_page_like_the_one_that_is_there(tmp_path: Path) -> None:
    import paper_settings

    def outcome(error: float) -> Any:
        yes = np.ones((4, 2), dtype=bool)
        errors = np.array([[error], [-error]] * 2) * np.ones(2)
        return paper_settings.Outcome(256, errors, yes, yes, np.ones((4, 2)))

    found = {
        arm: outcome(0.1 * (place + 1))
        for place, arm in enumerate(paper_settings.arms_of("abt-buy"))
    }
    base = found[paper_settings.ARMS[0]]
    rows = [
        paper_settings.cells("abt-buy", arm, budget, place, one, base)
        for place, budget in enumerate(paper_settings.USUAL)
        for arm, one in found.items()
    ]
    page = tmp_path / "paper-settings.md"
    paper_settings.page(rows, (4, 4), ["1234567"], "").write(page)
    assert shape(page) == shape(STUDIES / page.name)
    assert "| abt-buy | 300 | 0.1000 | 2.00 (2.00, 2.00) |" in page.read_text("utf-8")


def test_many_labels_writes_a_page_like_the_one_that_is_there(tmp_path: Path) -> None:
    import many_labels

    tags = [
        (labels, sampler, measure, "0.5" if sampler == "poisson" else "1.0", "0.90", "0.1")
        for labels in ("500", "1500")
        for sampler in ("passive", "importance", "poisson")
        for measure in ("micro_f1", "macro_f1")
    ]
    cross = [
        ("a pool", design, driver, measure, "10", "0.1" if driver == "f1" else "0.2")
        for design in ("optimal_importance", "poisson")
        for driver in ("f1", "recall")
        for measure in ("f1", "recall")
    ]
    page = tmp_path / "many-labels.md"
    many_labels.page(tags, cross, (2, 3), ["1234567"], "").write(page)
    assert shape(page) == shape(STUDIES / page.name)
    text = page.read_text("utf-8")
    assert "RMSE of `poisson` is 0.50 of the passive one" in text
    assert "for 2 of 2 measures by `optimal_importance`" in text
    assert many_labels.drawn_for_others(cross, "poisson", 100) == (1, 2, 2.0)


def test_runner_simulates_what_is_missing_and_notes_the_commit(tmp_path: Path) -> None:
    import blocks

    schema = pa.schema({"repeat": pa.int64()})
    todo: Sequence[Any] = [blocks.Block("a pool", "ais", first, first + 1) for first in range(3)]
    todo[1].write([{"repeat": 7}], schema, tmp_path)
    simulate = operator.methodcaller("write", [{"repeat": 1}], schema, tmp_path)
    blocks.run_missing(todo, tmp_path, 2, simulate)
    tables = [pq.read_table(one.path(tmp_path))["repeat"].to_pylist() for one in todo]
    assert tables == [[1], [7], [1]]
    assert blocks.commits.of(tmp_path) == [blocks.commits.now()]
    assert todo[0].path(tmp_path) == tmp_path / "runs" / "a-pool" / "ais" / "00000-00001.parquet"


def test_results_of_other_settings_are_kept_apart(tmp_path: Path) -> None:
    import blocks

    blocks.keep_settings(tmp_path, {"budgets": (100, 300)})
    blocks.keep_settings(tmp_path, {"budgets": (100, 300)})
    with pytest.raises(blocks.SettingsError, match="other settings"):
        blocks.keep_settings(tmp_path, {"budgets": (100,)})
