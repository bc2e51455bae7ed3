"""Specs of tests."""

from pathlib import Path
from typing import Any

from evalsampling import EvaluationSpec

MINIMAL: dict[str, Any] = {"pool": {"path": "pairs/*.parquet"}}


def parse(**changes: Any) -> EvaluationSpec:
    content = {**MINIMAL, **changes}
    return EvaluationSpec.from_mapping(content, Path("/somewhere"))


def systems(**columns: Any) -> dict[str, Any]:
    """A pool of two systems, the first with a score, the second without."""
    both = {"old": {"score": "s", "prediction": {"threshold": 0.5}}, "new": {"prediction": "p"}}
    return {"path": "x", "systems": both, **columns}


def write_module(directory: Path, content: str) -> str:
    """Write a module beside the spec; another name each time, modules are cached."""
    name = f"own_{directory.name.replace('-', '_')}"
    (directory / f"{name}.py").write_text(content)
    return name
