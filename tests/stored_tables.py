"""Jobs whose pool is a table, compared with those whose pool is files."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from tests.jobs import Job, Pool

MILLION = 10**6


def of_table(job: Job, table: dict[str, Any], where: str | None = None) -> Job:
    """Return a job whose spec names a table in place of files, and a condition."""
    content = yaml.safe_load(job.spec.read_text())
    del content["pool"]["path"]
    content["pool"]["table"] = table
    content["pool"] |= {} if where is None else {"where": where}
    job.spec.write_text(yaml.safe_dump(content))
    return job


def million_rows() -> Pool:
    """A pool of a million rows, of which a hundredth is positive."""
    rng = np.random.default_rng(0)
    score = rng.normal(size=MILLION)
    columns = {
        "id": np.arange(MILLION),
        "score": score,
        "prediction": (score > 2).astype(np.int64),
        "name": np.arange(MILLION).astype(str),
    }
    truth = (score + rng.normal(size=MILLION) > 3.3).astype(int)
    return Pool(pa.table(columns), dict(enumerate(truth.tolist())))


def assert_same_as_files(one: Job, flat: Job) -> None:
    """Check that two workspaces have the same cells, reserve, drawn ids and estimates."""
    for name, keys in (("cells.parquet", ["cell"]), ("reserve", ["cell", "rank"])):
        here, there = (
            pq.read_table(job.workspace / name).sort_by([(key, "ascending") for key in keys])
            for job in (one, flat)
        )
        same = [column for column in here.column_names if column not in ("file", "row")]
        assert here.select(same).equals(there.select(same))
    drawn, estimates = [], []
    for job in (one, flat):
        assert job.sample().status == 0
        drawn.append(sorted(job.batch(1)["id"]))
        estimates.append(job.answer(1).json["measures"])
    assert drawn[0] == drawn[1]
    assert estimates[0] == estimates[1]
