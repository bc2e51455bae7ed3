"""What a command loads: what it needs, and nothing that others need."""

import json
import subprocess
import sys
from typing import Any

import pytest

from evalsampling.cli.listing import COMMANDS
from tests.slow import fast

HEAVY = {
    "apache_beam", "evalsampling.evaluation.analysis", "evalsampling.inference",
    "evalsampling.measures", "evalsampling.samplers", "evalsampling.samplers.oasis",
    "evalsampling.samplers.ranked", "evalsampling.simulation", "fastavro",
    "google.cloud.storage", "importlib.metadata", "importlib.resources", "jinja2", "matplotlib",
    "numpy", "numpy.testing", "openpyxl", "pandas", "pyarrow", "pyarrow.compute",
    "pyarrow.dataset", "pythonjsonlogger", "scipy.linalg", "scipy.optimize",
    "scipy.special", "scipy.stats", "urllib.request", "yaml",
}  # fmt: skip
"""Modules that take long to load, or bring many."""

FILES = {"numpy", "pyarrow", "pyarrow.compute", "yaml"}
"""What reads a spec and a workspace."""

ESTIMATES = FILES | {
    "evalsampling.evaluation.analysis", "evalsampling.inference", "evalsampling.measures",
    "evalsampling.samplers",
}  # fmt: skip
SAMPLES = ESTIMATES | {"importlib.metadata", "importlib.resources", "pyarrow.dataset"}

SIMULATES = ESTIMATES | {"evalsampling.simulation", "fastavro"}

MAY_LOAD = {
    "estimate": ESTIMATES, "export": FILES, "init": SIMULATES, "plan": SIMULATES,
    "prepare": ESTIMATES | {"fastavro"}, "pull": FILES | {"urllib.request"},
    "push": FILES | {"urllib.request"}, "report": ESTIMATES | {"jinja2"}, "sample": ESTIMATES,
    "simulate": SIMULATES, "status": FILES,
}  # fmt: skip
"""The heavy modules that each command may load before it begins to work."""

OF_EACH_KIND = ["estimate", "prepare", "report", "status", "plan", "pull"]
"""Commands of which no two may load the same."""

PROGRAM = """
import json, sys
from evalsampling.__main__ import run
try:
    run()
finally:
    print(json.dumps(sorted(sys.modules)), file=sys.stderr)
"""


def loaded(*arguments: object) -> set[str]:
    """Return the heavy modules that a process of the command line has loaded when it ends."""
    call = [sys.executable, "-c", PROGRAM, *map(str, arguments)]
    done = subprocess.run(call, capture_output=True, check=True, text=True)
    return HEAVY & {*json.loads(done.stderr.splitlines()[-1])}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_what_needs_no_command_loads_nothing(option: str) -> None:
    assert loaded(option) == set()


def test_every_command_is_listed() -> None:
    assert {listed.name for listed in COMMANDS} == set(MAY_LOAD)


@pytest.mark.parametrize(
    "name", fast(4, [*OF_EACH_KIND, *sorted(MAY_LOAD.keys() - {*OF_EACH_KIND})])
)
def test_a_command_loads_what_it_needs(name: str) -> None:
    assert loaded(name, "--help") <= MAY_LOAD[name]


@pytest.mark.slow
def test_status_counts_without_measures(job: Any) -> None:
    one = job().drawn()
    one.answer(1)
    assert loaded("status", one.workspace) <= FILES


@pytest.mark.slow
def test_a_round_loads_neither_pandas_nor_parts_of_scipy(job: Any) -> None:
    assert loaded("sample", job().prepared().workspace) <= SAMPLES


def test_the_package_offers_names_without_loading_them() -> None:
    program = "import json, sys, evalsampling; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert not HEAVY & {*json.loads(done.stdout)}


def test_python_users_load_neither_beam_nor_scipy() -> None:
    program = (
        "import json, sys\n"
        "from evalsampling import Evaluation, EvaluationSpec, measures\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert HEAVY & {*json.loads(done.stdout)} <= SIMULATES
