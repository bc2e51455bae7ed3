"""Apache Beam is where jobs are: everything else runs without it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PROGRAM = """
import sys


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "apache_beam":
            raise ModuleNotFoundError("it is blocked", name="apache_beam")


sys.meta_path.insert(0, Blocked())
from evalsampling.cli.main import main


def run(line):
    try:
        main(line.split())
    except SystemExit as ended:
        return ended.code


"""
COMMANDS = """
for line in (
    "init pool.parquet --output another.yaml",
    "prepare spec.yaml --check",
    "plan spec.yaml --repeats=2 --budgets=50",
    "simulate spec.yaml --truth=truth.parquet --repeats=2 --budgets=50",
    "prepare spec.yaml --in-process",
    "sample run --size=20",
    "estimate run",
    "status run",
    "status run --verify",
    "report run",
):
    assert run(line) == 0, line
"""


def ends_well(program: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", PROGRAM + program],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a pool, its truth and a spec."""
    score = np.linspace(-4, 4, 1000)
    rows = {"id": np.arange(1000), "score": score, "prediction": (score > 1).astype(int)}
    pq.write_table(pa.table(rows), tmp_path / "pool.parquet")
    truth = pa.table({"id": rows["id"], "label": rows["prediction"]})
    pq.write_table(truth, tmp_path / "truth.parquet")
    spec = "pool: {path: pool.parquet}\nround_size: 20\nworkspace: run\n"
    (tmp_path / "spec.yaml").write_text(spec)
    return tmp_path


@pytest.mark.slow
def test_everything_but_jobs_runs(folder: Path) -> None:
    done = ends_well(COMMANDS, folder)
    assert done.returncode == 0, done.stderr


def test_a_job_says_what_it_needs(folder: Path) -> None:
    done = ends_well("assert run('prepare spec.yaml --quiet --check-ids') == 1", folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "evalsampling prepare: this is a job of Apache Beam, which is not installed"
    ]
