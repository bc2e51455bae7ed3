"""Where the golden files are, and what is read and written there."""

import json
import re
from pathlib import Path
from typing import Any

from tests.golden.text import laid_out, rounded

HERE = Path(__file__).parent
ESTIMATES = HERE / "estimates"


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
