"""Jobs on pools of every format."""

from typing import Any

import yaml

from tests.jobs import Job, Jobs, Pool

FORMATS = ["parquet", "csv", "jsonl", "avro"]


def formatted(job: Jobs, suffix: str, rows: Pool, files: int, **keys: Any) -> Job:
    """A job on a pool of some format."""
    one = job(rows, files, group_rows=100_000, **keys)
    if suffix == "parquet":
        return one
    pattern = rows.write_as(suffix, one.directory / suffix, files)
    spec = yaml.safe_load(one.spec.read_text())
    spec["pool"]["path"] = str(pattern)
    one.spec.write_text(yaml.safe_dump(spec, sort_keys=False))
    one.pool = rows.with_text_ids() if suffix == "csv" else rows
    return one
