"""The package in `examples/`, which has a part of every kind: installed, and used."""

import csv
import importlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import Evaluation
from evalsampling.measures import Accuracy
from evalsampling.parts.registry import KINDS
from evalsampling.spec.sink import SINKS
from evalsampling.stats.history import NO_LABEL
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.samplers.pools import make_pool

ROOT = Path(__file__).resolve().parents[1]
SCORE = np.linspace(-4, 4, 1000)
GUESS = (SCORE > 1).astype(int)
SPEC = """
pool: {path: pool.parquet, payload: [name]}
measure: [{name: cost, missed: 5}, f1]
sampler: {name: by_score, least: 0.1}
strata: {method: "outside_parts.cut_method:HALVING", leaves: 8}
labels: {votes: 2}
sink: {format: tabs}
round_size: 40
workspace: run
"""


@pytest.fixture(scope="module")
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the example of another package is installed."""
    source, target = (tmp_path_factory.mktemp(name) for name in ("source", "target"))
    shutil.copytree(ROOT / "examples" / "outside_package", source, dirs_exist_ok=True)
    line = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*line, "--target", str(target), str(source)], check=True)
    return target


Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(outside: Path, tmp_path: Path) -> Run:
    """Call the command line where the package is installed, or is not."""
    rows = pa.table(
        {"id": np.arange(1000), "score": SCORE, "prediction": GUESS, "name": list(map(str, SCORE))}
    )
    pq.write_table(rows, tmp_path / "pool.parquet", row_group_size=300)
    (tmp_path / "spec.yaml").write_text(SPEC)

    def call(*line: object, installed: bool = True) -> "subprocess.CompletedProcess[str]":
        path = f"{outside}{os.pathsep}{ROOT}" if installed else str(ROOT)
        command = [sys.executable, "-m", "evalsampling", *map(str, line), "--json"]
        environment = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    return call


def said(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture
def importable(outside: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the package be installed in this process."""
    monkeypatch.syspath_prepend(outside)
    vars(SINKS).pop("_others", None)
    yield
    vars(SINKS).pop("_others", None)


@pytest.mark.slow
def test_it_registers_a_part_of_every_kind(outside: Path) -> None:
    points = (outside / "outside_parts-1.0.dist-info" / "entry_points.txt").read_text()
    assert {f"[evalsampling.{kind}]" for kind in KINDS} <= set(points.splitlines())


def answered(batch: Path, path: Path, third: str) -> Path:
    """A delivery in the package's own format: two annotators, who may differ on every third row."""
    rows = list(csv.DictReader(batch.read_text().splitlines(), delimiter="\t"))
    assert [*rows[0]] == ["task", "name", "label"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["task", "annotator", "label"])
        for place, row in enumerate(rows):
            writer.writerow([row["task"], "ann", "1"])
            writer.writerow([row["task"], "bea", third if place % 3 == 0 else "1"])
    return path


@pytest.mark.slow
def test_all_its_parts_in_one_evaluation_by_the_command_line(run: Run, tmp_path: Path) -> None:
    assert said(run("prepare", "--check", "spec.yaml"))["problems"] == []
    assert said(run("prepare", "spec.yaml", "--in-process"))["rows"] == 1000
    drawn = said(run("sample", "run"))
    assert (drawn["rows"], drawn["batch"]) == (40, "run/rounds/0001/batch.tsv")
    path = answered(tmp_path / drawn["batch"], tmp_path / "votes.tsv", third="0")
    estimated = said(run("estimate", "run", "--labels", path))
    assert [one["measure"] for one in estimated["measures"]] == ["cost(5, 1)", "f1"]
    assert 0 < estimated["measures"][0]["value"] <= 5
    assert (estimated["labels"], estimated["rejects"]) == (26, 0)
    assert said(run("status", "run"))["disputed"] == 14
    settled = said(run("sample", "run", "--adjudicate"))
    assert settled["batch"] == "run/adjudications/0001/batch.tsv"
    assert said(run("status", "--verify", "run"))["bad"] == []


@pytest.mark.slow
def test_a_model_of_the_labels(run: Run, tmp_path: Path) -> None:
    """Named in design.json; gone when the package is, with a sentence."""
    model = "outside_parts.label_model:by_prediction"
    spec = {
        "pool": {"path": "pool.parquet"},
        "sampler": {"name": "ais", "model": model},
        "strata": {"columns": ["prediction"]},
        "workspace": "run",
    }
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    said(run("prepare", "spec.yaml", "--in-process"))
    chances = []
    for number in ("0001", "0002"):
        said(run("sample", "run"))
        design = json.loads((tmp_path / f"run/rounds/{number}/design.json").read_text())
        assert design["sampler"] == {"name": "ais", "model": model}
        chances.append(design["cell_probability"])
        ids = pq.read_table(tmp_path / f"run/rounds/{number}/batch.parquet")["id"].to_pylist()
        lines = [f"{id},{int(SCORE[id] > 2)}" for id in ids]
        (tmp_path / "labels.csv").write_text("\n".join(["id,label", *lines, ""]))
        estimated = said(run("estimate", "run", "--labels", "labels.csv"))
    assert chances[0] != chances[1]
    (f1,) = estimated["measures"]
    truth = 2 * np.sum(SCORE > 2) / (np.sum(SCORE > 2) + GUESS.sum())
    assert f1["intervals"][0]["low"] < truth < f1["intervals"][0]["high"]
    gone = run("sample", "run", installed=False)
    assert gone.returncode == 1
    assert f"sampler.model: {model}: No module named 'outside_parts'" in gone.stderr


@pytest.mark.slow
def test_a_table_of_its_own_kind(run: Run, tmp_path: Path) -> None:
    (tmp_path / "files.txt").write_text(f"{tmp_path}/pool.parquet\n")
    spec = {"pool": {"table": {"listed": "files.txt"}, "where": "score > 0"}, "workspace": "run"}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    assert said(run("prepare", "spec.yaml", "--in-process"))["rows"] == 500
    (tmp_path / "files.txt").write_text("elsewhere\n")
    assert said(run("prepare", "spec.yaml", "--in-process"))["rows"] == 500
    said(run("sample", "run", installed=False))


@pytest.mark.slow
@pytest.mark.parametrize("space", ["angles", "outside_parts.label_space:Angles"])
def test_labels_of_its_own_kind(run: Run, tmp_path: Path, space: str) -> None:
    """Angles, whose file also has the measure of them: scores are chances to be far off."""
    rows = 1000
    far = np.random.default_rng(5).random(rows) < (chance := np.linspace(0, 0.5, rows))
    predicted = np.arange(rows) % 360
    truth = (predicted + np.where(far, 90, 5)) % 360
    pool = {"id": np.arange(rows), "score": chance, "prediction": predicted}
    pq.write_table(pa.table(pool), tmp_path / "pool.parquet")
    spec = {"pool": {"path": "pool.parquet"}, "labels": {"space": space}, "workspace": "run"}
    (tmp_path / "spec.yaml").write_text(json.dumps(spec | {"round_size": 200, "budget": 400}))
    said(run("prepare", "spec.yaml", "--in-process"))
    for number in (1, 2):
        said(run("sample", "run"))
        ids = pq.read_table(tmp_path / f"run/rounds/000{number}/batch.parquet")["id"].to_pylist()
        lines = [f"{id},{truth[id]}" for id in ids] + [f"{ids[0]},north"]
        (tmp_path / "votes.csv").write_text("\n".join(["id,label", *lines, ""]))
        estimated = said(run("estimate", "run", "--labels", "votes.csv"))
    (one,) = estimated["measures"]
    turn = np.where(far, 90, 5).mean() / 180
    assert (one["measure"], estimated["labels"], estimated["rejects"]) == ("mean_turn", 400, 2)
    assert one["intervals"][0]["low"] < turn < one["intervals"][0]["high"]
    assert one["value"] == pytest.approx(turn, rel=0.1)
    assert said(run("status", "run"))["labels"] == 400


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workspace", "command", "message"),
    [
        ("run", "sample", "sampler: unknown sampler 'by_score'"),
        ("plain", "sample", "sink.format: tabs is of a package that is not installed here; there"),
        ("plain", "status", ""),
    ],
)
def test_a_workspace_whose_parts_are_not_installed_says_so(
    run: Run, tmp_path: Path, workspace: str, command: str, message: str
) -> None:
    """A part that a command does not need may be missing: leaves are cut, `status` has no sink."""
    spec = SPEC.replace("workspace: run", f"workspace: {workspace}")
    if workspace == "plain":
        spec = spec.replace("{name: by_score, least: 0.1}", "passive")
        spec = spec.replace("[{name: cost, missed: 5}, f1]", "f1")
    (tmp_path / "spec.yaml").write_text(spec)
    said(run("prepare", "spec.yaml", "--in-process"))
    done = run(command, workspace, installed=False)
    assert done.returncode == (1 if message else 0), done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == bool(message)


@pytest.mark.usefixtures("importable")
def test_its_sampler_without_replacement_is_unbiased() -> None:
    """Of its last round every other row has no label; 100 repeats, 4 standard errors."""
    sampler = importlib.import_module("outside_parts.margin").Margin(Accuracy())
    pool, values = make_pool(400, 8, seed=3, positive=0.3), []
    for seed in range(100):
        history, _ = pool.run(sampler, 2, 40, seed)
        label = np.where(np.arange(80) % 2 * np.arange(80) > 40, NO_LABEL, history.label)
        history = history.with_labels(label)
        values += sampler.value(pool.table, history, Accuracy(), 0.95).tolist()
    error = np.std(values, ddof=1) / np.sqrt(100)
    assert error < 0.02
    assert abs(np.mean(values) - pool.value(Accuracy())) < 4 * error


@pytest.mark.usefixtures("importable")
def test_its_parts_in_python(tmp_path: Path) -> None:
    method, run = "outside_parts.cut_method:HALVING", tmp_path / "run"
    strata, sink = {"method": method, "leaves": 4}, {"format": "tabs"}
    evaluation = Evaluation.from_arrays(SCORE, GUESS, strata=strata, sink=sink, seed=3)
    table = evaluation.analysis.table
    assert table.leaf_count.tolist() == pytest.approx([500, 250, 125, 125], abs=2)
    ids = evaluation.sample(20)
    evaluation.label(ids, GUESS[ids])
    evaluation.save(run)
    again = Evaluation.open(run)
    assert again.sample(10).tolist() == evaluation.sample(10).tolist()
    spec = PreparedPool.read(Workspace(run)).spec
    assert (spec.strata.method, spec.sink.format) == (method, "tabs")
    assert (run / "rounds" / "0002" / "batch.tsv").exists()
