"""Studies: pages of half a screen, with tables beside them that programs make."""

import argparse
import csv
import dataclasses
import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
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
        f"{table.name}.csv": table.columns
        for program in programs
        for table in getattr(program, "TABLES", ())
        if table.kept
    }
    listed = tables_of(STUDIES / name)
    assert {link: made.get(link) for link in listed} == listed


def test_a_table_is_written_whole_or_not_at_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import runner

    def rows(options: argparse.Namespace) -> Any:
        yield "one", options.repeats, 0.25, float("nan")
        if options.repeats > 3:
            raise ValueError("killed")

    table = runner.Table("a/b", "name,repeats,share:.0%,error", rows, repeats=3, form=".3f")
    table.make(argparse.Namespace(output=tmp_path, repeats=None))
    made = "name,repeats,share,error\none,3,25%,\n"
    assert (tmp_path / "a" / "b.csv").read_text() == made
    with pytest.raises(ValueError, match="killed"):
        table.make(argparse.Namespace(output=tmp_path, repeats=4))
    assert (tmp_path / "a" / "b.csv").read_text() == made
    dataclasses.replace(table, name="c", kept=False).make(argparse.Namespace(output=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert "one,4,25%,\n" in capsys.readouterr().out


def names_of(options: argparse.Namespace) -> list[tuple[str, ...]]:
    """The trials of the pool beside the results."""
    return [(str(options.results / "pool"), name) for name in ("stratified", "passive")]


def a_trial(_: argparse.Namespace, pool: str, sampler: str) -> Any:
    """A trial of the pool in a folder."""
    import pools
    import runner

    from evalsampling.simulation.simulate import Plan
    from evalsampling.spec import RoundSize

    ground = pools.Ground.read(Path(pool), "pool", measure="accuracy", sampler=sampler)
    plan = Plan((4,), RoundSize(4), 1, seed=1, confidence=0.95)
    return runner.Trial(ground.known, ground.sampler(), ground.measures, plan)


@pytest.mark.parametrize("name", ["corpus", "coverage", "study"])
def test_studies_read_their_pools_and_sampler(tmp_path: Path, name: str) -> None:
    from coverage_situations import write_made_up

    write_made_up(tmp_path / "pools", "tied")
    options = argparse.Namespace(pools=tmp_path / "pools", results=tmp_path)
    names = {"corpus": ("ais",), "coverage": ("ais, delta .1",), "study": ("f1", "ais-1")}[name]
    made = importlib.import_module(name).STUDY.trial(options, "tied", *names)
    assert (made.sampler.name, made.measures[0].name) == ("ais", "f1")
    assert 0 < made.truths[0][0] < 1


def test_runner_simulates_what_is_missing_and_notes_the_commit(tmp_path: Path) -> None:
    import pools
    import runner

    columns = {"score": [4.0, 3.0, 2.0, 1.0], "prediction": [1, 1, 0, 0], "label": [1, 0, 0, 0]}
    columns |= {"probability": [0.8, 0.4, 0.1, 0.1]}
    pools.write(tmp_path / "pool", "pool", columns)
    options = argparse.Namespace(results=tmp_path, workers=2, repeats=6)
    options.only, options.samplers = [], ["stratified"]
    trial, *_ = names_of(options)
    plan = a_trial(options, *trial).plan
    study = runner.Study("study", plan, names_of, a_trial, block=2, most={"stratified": 5})
    files = [runner.path(tmp_path, trial, *block) for block in ((0, 2), (2, 4), (4, 5))]
    there = {"repeat": 7, "budget": 4, "measure": "accuracy", "truth": 0.0, "value": 0.0}
    runner.write([there], files[1])
    study.run(options)
    kept = [pq.read_table(file)["repeat"].to_pylist() for file in files]
    assert kept == [[0, 1], [7], [4]]
    assert {*(tmp_path / "runs").rglob("*.parquet")} == {*files}
    found = study.read(options)
    assert found["repeat"].tolist() == [0, 1, 7, 4]
    assert {*found["sampler"]} == {"stratified"}
    assert np.abs(found["value"] - found["truth"]).max() < 1e-9  # All rows have labels.
    assert runner.commits(tmp_path) == [runner.commit()]
    with pytest.raises(SystemExit, match="other settings"):
        dataclasses.replace(study, plan=dataclasses.replace(plan, budgets=(3,))).run(options)


def test_figures_of_the_readme_are_those_of_real_pools() -> None:
    page = (ROOT / "docs" / "real-pools.md").read_text("utf-8")
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    rows = re.findall(r"^\| f1 \|[^|]+\| (0\.\d+) \|.*?(0\.\d+) \(", page, re.M)
    for sentence, found in zip(
        (r"hold the truth in (\.\d+) to (\.\d+) of the runs", r"error is (\.\d+) to (\.\d+) of"),
        zip(*rows, strict=True),
        strict=True,
    ):
        said = re.search(sentence, readme)
        assert said
        assert [f"0{figure}" for figure in said.groups()] == [
            f"{end([float(figure) for figure in found]):.2f}" for end in (min, max)
        ]
    low = page.split("by more than two standard errors")[1].split("These err")[0]
    pools = {*re.findall(r"^\| ([\w-]+) \| (?!measure)", low, re.M)} - {"---"}
    assert f"On {['none', 'one', 'two', 'three', 'four'][len(pools)]} of the 53" in readme


def test_settings_of_coverage_are_those_of_the_results(tmp_path: Path) -> None:
    import coverage
    import runner

    rows = [
        {"repeat": repeat, "budget": 100, "measure": "f1", "interval": interval, "claims": True}
        | {"covers": repeat > 0, "warned": False, "error": 0.1, "width": 0.2, "score": 0.3}
        for repeat in range(20)
        for interval in coverage.INTERVALS
    ]
    runner.write(rows, runner.path(tmp_path, ("tied", "ais, delta .1"), 0, 20))
    options = argparse.Namespace(results=tmp_path, pools=tmp_path, only=[], samplers=[])
    settings = coverage.settings_of(options)
    assert settings["interval"].tolist() == [*coverage.INTERVALS]
    found = settings[["method", "claims", "covered"]].itertuples(index=False, name=None)
    assert {*found} == {("ais, delta .1", 20, 19)}
    assert settings["error"].tolist() == pytest.approx([0.1, 0.1])
    assert coverage.broken(settings) == []
    few = settings.assign(covered=10)
    (line,) = coverage.broken(few)
    assert line.startswith("misleads: tied, ais, delta .1, f1, 100 labels: 10 of 20 claims cover")
    assert coverage.broken(few.assign(warned=15)) == []
    (line,) = coverage.broken(settings.assign(warned=15))
    assert line.startswith("false alarm: ")
