"""Files of Beam YAML that users start from: their folder, their variables, and Beam's command."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.jobs import Job

ROOT = Path(__file__).resolve().parents[1]
FILES = ROOT / "examples" / "beam_yaml"


def variables(one: Job, labels: Path, round: int = 1) -> dict[str, Any]:
    """The variables of the files of the examples."""
    made = {name: one.directory / name for name in ("tasks", "estimates", "rejects")}
    kept = one.directory / "kept"
    return {
        "workspace": one.workspace,
        "round": round,
        "pool": one.directory / "pool" / "*.parquet",
        "kept": kept / "rows",
        "labels": labels,
        **made,
    }


def command(
    folder: Path,
    name: str,
    given: dict[str, Any],
    options: Sequence[str] = ("--runner=FnApiRunner",),
    **environment: str,
) -> None:
    """Run a file by Beam's own command."""
    texts = {key: value if isinstance(value, int) else str(value) for key, value in given.items()}
    arguments = [f"--yaml_pipeline_file={folder / name}", *options]
    arguments.append(f"--jinja_variables={json.dumps(texts)}")
    done = subprocess.run(
        [sys.executable, "-m", "apache_beam.yaml.main", *arguments],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
