"""What docs/platforms.md shows for dbt."""

import re
from pathlib import Path
from typing import Any

import yaml

PAGE = Path(__file__).resolve().parents[2] / "docs" / "platforms.md"


def dbt_tests() -> Any:
    """The sources with their tests."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)
    [shown] = [block for block in map(yaml.safe_load, blocks) if "sources" in block]
    return shown
