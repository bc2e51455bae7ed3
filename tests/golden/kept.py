"""Where the golden files are, and how they are written: small, and line by line."""

import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ESTIMATES = HERE / "estimates"

_WIDTH = 100

_DIGITS = 10
"""Significant digits of numbers: further ones differ between machines."""


def file_of(name: str) -> Path:
    """Return the file of a case."""
    return ESTIMATES / (re.sub(r"[^\w.]+", "-", name).strip("-") + ".json")


def read(path: Path) -> Any:
    """Return what a file holds."""
    return json.loads(path.read_text("utf-8"))


def write(path: Path, content: Any) -> None:
    """Write a file."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(laid_out(rounded(content)) + "\n", "utf-8")


def rounded(value: Any) -> Any:
    """Return JSON with its numbers rounded to `_DIGITS` digits."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, list | tuple):
        return [rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value


def laid_out(value: Any, depth: int = 0) -> str:
    """Return JSON with short or flat parts in a line each."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if len(line) + depth <= _WIDTH or _is_flat(value):
        return line
    inner, end = "\n" + " " * (depth + 1), "\n" + " " * depth
    if isinstance(value, list):
        return "[" + ",".join(inner + laid_out(one, depth + 1) for one in value) + end + "]"
    if isinstance(value, dict):
        parts = (f"{json.dumps(key, ensure_ascii=False)}: {laid_out(one, depth + 1)}"
                 for key, one in value.items())  # fmt: skip
        return "{" + ",".join(inner + part for part in parts) + end + "}"
    return line


def _is_flat(value: Any) -> bool:
    """Tell whether something is a list of single values other than texts, or a record of few."""
    if isinstance(value, list):
        return not any(isinstance(one, list | dict | str) for one in value)
    return isinstance(value, dict) and len(value) <= 6 and not any(
        isinstance(one, list | dict) for one in value.values()
    )  # fmt: skip
