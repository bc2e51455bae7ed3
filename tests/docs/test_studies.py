"""Studies: pages of half a screen, with tables beside them that programs make."""

import argparse
import csv
import dataclasses
import importlib
import re
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
    """The tables that a page lists: the columns of each, by its place below the studies."""
    found = {}
    for link in re.findall(r"\]\(([\w./-]+\.csv)\)", page.read_text("utf-8")):
        with (page.parent / link).open(encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
        assert rows, link
        assert {len(row) for row in rows} == {len(header)}, link
        found[link] = header
    return found


def programs_of(page: Path) -> set[str]:
    """The programs that a page names."""
    return set(re.findall(r"benchmarks/(\w+)\.py", page.read_text("utf-8")))


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
    pages = [*(STUDIES / name for name in PAGES), *STUDIES.parent.glob("*.md")]
    listed = {(page.parent / link).resolve() for page in pages for link in tables_of(page)}
    assert listed == set(STUDIES.rglob("*.csv"))


def test_programs_that_pages_name_are_there() -> None:
    for page in STUDIES.glob("*.md"):
        for program in programs_of(page):
            assert (ROOT / "benchmarks" / f"{program}.py").exists(), f"{page.name}: {program}"


@pytest.mark.parametrize("name", PAGES)
def test_tables_of_a_page_are_made_by_the_programs_that_it_names(name: str) -> None:
    programs = [importlib.import_module(one) for one in sorted(programs_of(STUDIES / name))]
    made = {
        f"{table.name}.csv": table.header.split(",")
        for program in programs
        for table in getattr(program, "TABLES", ())
        if table.kept
    }
    listed = tables_of(STUDIES / name)
    assert {link: made.get(link) for link in listed} == listed


def test_a_table_is_written_whole_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import tables

    def rows(options: argparse.Namespace) -> Any:
        yield "one", str(options.repeats)
        if options.repeats > 3:
            raise ValueError("killed")

    table = tables.Table("a/b", "name,repeats", rows, repeats=3)
    table.make(argparse.Namespace(output=tmp_path, repeats=None))
    assert (tmp_path / "a" / "b.csv").read_text() == "name,repeats\none,3\n"
    with pytest.raises(ValueError, match="killed"):
        table.make(argparse.Namespace(output=tmp_path, repeats=4))
    assert (tmp_path / "a" / "b.csv").read_text() == "name,repeats\none,3\n"
    dataclasses.replace(table, name="c", kept=False).make(argparse.Namespace(output=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert "one,4\n" in capsys.readouterr().out


def a_trial(pool: str, sampler: str) -> Any:
    """A trial of the pool in a folder."""
    import pools
    import trials

    from evalsampling.simulation.simulate import Plan
    from evalsampling.spec import RoundSize

    ground = pools.Ground.read(Path(pool), "pool", measure="accuracy", sampler=sampler)
    plan = Plan((4,), RoundSize(4), 1, seed=1, confidence=0.95)
    return trials.Trial(ground.known, ground.sampler(), ground.measures, plan)


@pytest.mark.parametrize("name", ["corpus", "coverage_runs", "study"])
def test_studies_read_their_pools_and_sampler(tmp_path: Path, name: str) -> None:
    import corpus
    import coverage_runs
    import coverage_situations
    import study

    coverage_situations.write_made_up(
        tmp_path, {"tied": coverage_situations.SITUATIONS["tied"]}, seed=1
    )
    made = {
        "corpus": lambda: corpus._trial(tmp_path, ("f1",), corpus.PLAN, "tied", "ais"),
        "coverage_runs": lambda: coverage_runs._trial({"tied": tmp_path}, "tied", "ais, delta .1"),
        "study": lambda: study._trial(tmp_path, "tied", "f1", "ais-1"),
    }[name]()
    assert made.sampler.name == "ais"
    assert made.measures[0].name == "f1"
    assert 0 < made.truths[0][0] < 1


def rows_of(measure: Any, truth: Any, point: Any, at: dict[str, Any]) -> Any:
    """The name of a measure and its error."""
    yield {"measure": measure.name, "error": float(point.value[0] - truth[0])}


def test_runner_simulates_what_is_missing_and_notes_the_commit(tmp_path: Path) -> None:
    import pools
    import tables
    import trials

    columns = {"score": [4.0, 3.0, 2.0, 1.0], "prediction": [1, 1, 0, 0], "label": [1, 0, 0, 0]}
    columns |= {"probability": [0.8, 0.4, 0.1, 0.1]}
    pools.write(tmp_path / "pool", "pool", columns)
    types = {"repeat": pa.int64(), "budget": pa.int64(), "measure": pa.string()}
    schema = pa.schema(types | {"error": pa.float64()})
    names = (str(tmp_path / "pool"), "stratified")
    todo = [*trials.blocks([names], 5, 2)]
    assert [(one.first, one.end) for one in todo] == [(0, 2), (2, 4), (4, 5)]
    there = {"repeat": 7, "budget": 4, "measure": "accuracy", "error": 0.0}
    trials.write([there], schema, todo[1].path(tmp_path))
    options = argparse.Namespace(results=tmp_path, workers=2)
    study = trials.Study(a_trial, rows_of, schema)
    settings = a_trial(*names).plan
    trials.run(options, study, todo, settings)
    kept = [pq.read_table(one.path(tmp_path))["repeat"].to_pylist() for one in todo]
    assert kept == [[0, 1], [7], [4]]
    found = trials.columns(trials.read(tmp_path, *names))
    assert found["repeat"].tolist() == [0, 1, 7, 4]
    assert np.abs(found["error"]).max() < 1e-9  # All rows have labels.
    assert trials.commits(tmp_path) == [tables.commit()]
    with pytest.raises(SystemExit, match="other settings"):
        trials.run(options, study, todo, dataclasses.replace(settings, budgets=(3,)))


def test_settings_of_coverage_are_those_of_the_results(tmp_path: Path) -> None:
    import coverage
    import coverage_runs
    import trials

    rows = [
        {"repeat": repeat, "budget": 100, "measure": "f1", "interval": interval, "claims": True}
        | {"covers": repeat > 0, "warned": False, "error": 0.1, "width": 0.2, "score": 0.3}
        for repeat in range(20)
        for interval in coverage_runs.INTERVALS
    ]
    block = trials.Block(("tied", "ais, delta .1"), 0, 20)
    trials.write(rows, coverage_runs.SCHEMA, block.path(tmp_path))
    settings = coverage.settings_of(tmp_path)
    assert [one.interval for one in settings] == [*coverage_runs.INTERVALS]
    assert {(one.method, one.claims, one.covered) for one in settings} == {
        ("ais, delta .1", 20, 19)
    }
    assert coverage.broken(settings) == []
    few = [dataclasses.replace(one, covered=10) for one in settings]
    (line,) = coverage.broken(few)
    assert line.startswith("misleads: tied, ais, delta .1, f1, 100 labels: 10 of 20 claims cover")
    warned = [dataclasses.replace(one, warned=15) for one in few]
    assert coverage.broken(warned) == []
    (line,) = coverage.broken([dataclasses.replace(one, warned=15) for one in settings])
    assert line.startswith("false alarm: ")
