"""Fixtures that all tests share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.jobs import Job, Pool, make_pool


@pytest.fixture
def job(tmp_path: Path) -> Callable[..., Job]:
    """Make a job: `job(pool, files=3, budget=200, ...)`; keys go into the spec."""

    def make(
        rows: Pool | None = None, files: int = 1, group_rows: int = 1 << 20, **keys: Any
    ) -> Job:
        directory = tmp_path / f"job-{len(list(tmp_path.iterdir()))}"
        rows = rows or make_pool()
        pattern = rows.write(directory / "pool", files, group_rows)
        content = {
            "pool": {"path": str(pattern), "payload": ["name"], **keys.pop("pool", {})},
            "strata": {"leaves": 16},
            "budget": 200,
            "round_size": 20,
            "seed": 5,
            "workspace": "workspace",
            **keys,
        }
        spec = directory / "evaluation.yaml"
        spec.write_text(yaml.safe_dump(content, sort_keys=False))
        return Job(directory, rows, spec, directory / "workspace")

    return make
