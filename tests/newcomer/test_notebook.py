"""The notebook, run without a screen, by what newcomers may have installed."""

import json
import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "notebook" / "first_evaluation.ipynb"
RUN = """
import sys, nbclient, nbformat
notebook = nbformat.read(sys.argv[1], as_version=4)
nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


@pytest.mark.parametrize(
    ("library", "requirement"),
    [("pandas", "pandas>=2.2,<3"), ("pandas", "pandas>=3"), ("polars", "polars>=1")],
)
def test_notebook(python: str, tmp_path: Path, library: str, requirement: str) -> None:
    extra = tmp_path / "packages"
    wanted = [requirement, "nbclient", "nbformat", "ipykernel"]
    install = [python, "-m", "pip", "install", "--quiet", "--target", extra, *wanted]
    if subprocess.run(install, capture_output=True).returncode:
        pytest.skip(f"{requirement} cannot be had")
    done = tmp_path / "done.ipynb"
    ran = subprocess.run(
        [python, "-c", RUN, NOTEBOOK, done], capture_output=True, text=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(extra), "LIBRARY": library},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    cells = json.loads(done.read_text("utf-8"))["cells"]
    shown = [output["data"] for cell in cells for output in cell.get("outputs", ())]
    assert sum("text/html" in one for one in shown) >= 3, "tables"
    assert sum("image/svg+xml" in one for one in shown) == 1
    lines = ["".join(one["text/plain"]) for one in shown if "text/html" not in one]
    assert any(line.startswith("<Evaluation of f1, precision, recall: 50,000") for line in lines)


def test_it_is_kept_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]
