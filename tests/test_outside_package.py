"""The package in `examples/`, which has a part of every kind: installed, and used."""

import contextlib
import csv
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.parts.registry import KINDS, Registry
from evalsampling.spec.sink import SINKS
from evalsampling.spec.strata import CUT_METHODS
from evalsampling.storage import STORES, open_store
from evalsampling.storage.filesystems import locate
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parents[1]
SCORE = np.linspace(-4, 4, 1000)
GUESS = (SCORE > 1).astype(int)
BATCH = "rounds/0001/batch.tsv"
SPEC = """
pool: {path: pool.arrow, payload: [name]}
measure: [{name: cost, missed: 5}, f1]
sampler: {name: by_score, least: 0.1}
strata: {method: halving, leaves: 8}
labels: {votes: 2}
sink: {format: tabs}
round_size: 40
workspace: sqlite://kept/run
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
    with pa.ipc.new_file(tmp_path / "pool.arrow", rows.schema) as file:
        file.write_table(rows, max_chunksize=300)
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


@contextlib.contextmanager
def importable(outside: Path, folder: Path) -> Iterator[None]:
    """Let the package be installed in this process, and a folder hold its stores."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(outside)
        patch.setenv("SQLITE_STORES", str(folder))
        registries: list[Registry[Any]] = [SINKS, CUT_METHODS, STORES]
        for registry in registries:
            vars(registry).pop("_others", None)
        yield
        for registry in registries:
            vars(registry).pop("_others", None)


@pytest.mark.slow
def test_it_registers_a_part_of_every_kind(outside: Path) -> None:
    points = (outside / "outside_parts-1.0.dist-info" / "entry_points.txt").read_text()
    assert {f"[evalsampling.{kind}]" for kind in KINDS} <= set(points.splitlines())


def kept(outside: Path, folder: Path, name: str) -> bytes:
    """A file of the workspace in the package's own store."""
    with importable(outside, folder):
        store = open_store("sqlite://kept/run")
        own = r"[0-9a-f]{12}/"  # Rivals there have folders of their own.
        return store.read(next(n for n in sorted(store.sizes()) if re.sub(own, "", n) == name))


def answered(batch: bytes, path: Path, third: str = "1") -> Path:
    """A delivery in the package's own format: two annotators, who may differ on every third row."""
    rows = list(csv.DictReader(batch.decode().splitlines(), delimiter="\t"))
    assert [*rows[0]] == ["task", "name", "label"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t")
        writer.writerow(["task", "annotator", "label"])
        for place, row in enumerate(rows):
            writer.writerow([row["task"], "ann", "1"])
            writer.writerow([row["task"], "bea", third if place % 3 == 0 else "1"])
    return path


@pytest.mark.slow
def test_all_its_parts_in_one_evaluation_by_the_command_line(
    outside: Path, run: Run, tmp_path: Path
) -> None:
    assert said(run("prepare", "--check", "spec.yaml"))["problems"] == []
    assert said(run("prepare", "spec.yaml", "--in-process"))["rows"] == 1000
    assert (tmp_path / "kept.sqlite").exists()
    drawn = said(run("sample", "sqlite://kept/run"))
    batch = r"sqlite://kept/run/%s/0001/[0-9a-f]{12}/batch\.tsv"
    assert drawn["rows"] == 40
    assert re.fullmatch(batch % "rounds", drawn["batch"])
    path = answered(kept(outside, tmp_path, BATCH), tmp_path / "votes.tsv", third="0")
    estimated = said(run("estimate", "sqlite://kept/run", "--labels", path))
    assert [one["measure"] for one in estimated["measures"]] == ["cost", "f1"]
    assert 0 < estimated["measures"][0]["value"] <= 5
    assert (estimated["labels"], estimated["rejects"]) == (26, 0)
    line = "estimate", "sqlite://kept/run", "--interval", "agresti-coull", "wald"
    cost, f1 = said(run(*line))["measures"]
    methods = [one["method"] for one in cost["intervals"]]
    assert "wald" in methods
    assert "agresti-coull" not in methods
    assert {"agresti-coull", "wald"} <= {one["method"] for one in f1["intervals"]}
    assert said(run("status", "sqlite://kept/run"))["disputed"] == 14
    settled = said(run("sample", "sqlite://kept/run", "--adjudicate"))
    assert re.fullmatch(batch % "adjudications", settled["batch"])
    assert said(run("status", "--verify", "sqlite://kept/run"))["bad"] == []


@pytest.mark.slow
def test_a_model_of_the_labels(run: Run, tmp_path: Path) -> None:
    """Named in design.json; gone when the package is, with a sentence."""
    model = "outside_parts.label_model:by_prediction"
    spec = {
        "pool": {"path": "pool.arrow"},
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
    (tmp_path / "files.txt").write_text(f"{tmp_path}/pool.arrow\n")
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
def test_deliveries_and_specs_may_be_in_its_store(outside: Path, run: Run, tmp_path: Path) -> None:
    said(run("prepare", "spec.yaml", "--in-process"))
    said(run("sample", "sqlite://kept/run"))
    path = answered(kept(outside, tmp_path, BATCH), tmp_path / "votes.tsv")
    with importable(outside, tmp_path):
        store = open_store("sqlite://kept")
        store.create("drop/votes.tsv", path.read_bytes())
        pool = (tmp_path / "pool.arrow").read_bytes()
        spec = SPEC.replace("pool.arrow", "pools/*.arrow").replace("kept/run", "kept/second")
        store.create("pools/one.arrow", pool)
        store.create("spec.yaml", spec.encode())
    line = "estimate", "sqlite://kept/run", "--labels", "sqlite://kept/drop/"
    assert said(run(*line))["labels"] == 40
    done = said(run("prepare", "sqlite://kept/spec.yaml", "--in-process"))
    assert (done["rows"], done["workspace"]) == (1000, "sqlite://kept/second")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("workspace", "command", "message"),
    [
        ("sqlite://kept/run", "status", "sqlite://kept/run: no package that is installed here has"),
        ("run", "sample", "sampler: unknown sampler 'by_score'"),
        ("plain", "sample", "sink.format: tabs is of a package that is not installed here; there"),
        ("plain", "status", ""),
    ],
)
def test_a_workspace_whose_parts_are_not_installed_says_so(
    outside: Path, run: Run, tmp_path: Path, workspace: str, command: str, message: str
) -> None:
    """A part that a command does not need may be missing: leaves are cut, `status` has no sink."""
    spec = SPEC.replace("sqlite://kept/run", workspace)
    if workspace == "plain":
        spec = spec.replace("{name: by_score, least: 0.1}", "passive")
        spec = spec.replace("[{name: cost, missed: 5}, f1]", "f1")
    (tmp_path / "spec.yaml").write_text(spec)
    said(run("prepare", "spec.yaml", "--in-process"))
    done = run(command, workspace, installed=False)
    assert done.returncode == (1 if message else 0), done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == bool(message)


def test_its_parts_in_python(outside: Path, tmp_path: Path) -> None:
    with importable(outside, tmp_path):
        own = importlib.import_module("outside_parts.cut_method")
        for method in ("halving", "outside_parts.cut_method:HALVING"):
            strata, sink = {"method": method, "leaves": 4}, {"format": "tabs"}
            evaluation = Evaluation.from_arrays(SCORE, GUESS, strata=strata, sink=sink, seed=3)
            assert CUT_METHODS.find("strata.method", method) is own.HALVING
            table = evaluation.analysis.table
            assert table.leaf_count.tolist() == pytest.approx([500, 250, 125, 125], abs=2)
        ids = evaluation.sample(20)
        evaluation.label(ids, GUESS[ids])
        evaluation.save("sqlite://notebook/run")
        again = Evaluation.open("sqlite://notebook/run")
        assert again.sample(10).tolist() == evaluation.sample(10).tolist()
        spec = PreparedPool.read(Workspace("sqlite://notebook/run")).spec
        assert (spec.strata.method, spec.sink.format) == (method, "tabs")
        names = open_store("sqlite://notebook/run").sizes("rounds/0002/")
        assert [name for name in names if name.endswith("/batch.tsv")]


def test_the_store_is_a_file_system_of_arrow(outside: Path, tmp_path: Path) -> None:
    with importable(outside, tmp_path):
        for name, content in {"one": b"1", "b/two": b"22", "b/c/three": b"333"}.items():
            open_store("sqlite://files/a").create(name, content)
        filesystem, path, prefix = locate("sqlite://files/a/b/two")
        assert (path, prefix) == ("a/b/two", "sqlite://files/")
        assert filesystem.open_input_file(path).read() == b"22"
        found = filesystem.get_file_info(["a/one", "a/b", "a/gone"])
        kinds = pyarrow.fs.FileType
        assert [one.type for one in found] == [kinds.File, kinds.Directory, kinds.NotFound]
        listed = filesystem.get_file_info(pyarrow.fs.FileSelector("a"))
        assert sorted(one.path for one in listed) == ["a/b", "a/one"]
        deep = filesystem.get_file_info(pyarrow.fs.FileSelector("/", recursive=True))
        assert sum(one.size for one in deep if one.is_file) == 6
        with pytest.raises(OSError, match="written by the store itself"):
            filesystem.delete_file("a/one")


def test_an_odd_url_of_its_store_is_told(outside: Path, tmp_path: Path) -> None:
    with importable(outside, tmp_path), pytest.raises(InputError, match="must be sqlite://NAME"):
        open_store("sqlite://a.b/run")
