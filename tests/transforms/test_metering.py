"""What steps cost: metrics of Beam's, and what `status` says of them."""

from typing import Any

import apache_beam as beam
import pytest

from evalsampling.transforms.metering import MeteredMap, read_meters, resident_mebibytes
from tests.jobs import call
from tests.slow import slowly

STEPS = {
    "FetchScores/ReadBatches", "SummarizePool/Summarize", "FetchCells/ReadCells",
    "SumCells/SumBatches", "CountSlices/CountValues", "DrawReserve/KeepFirst",
    "DrawReserve/ReadPayload",
}  # fmt: skip


UNCOUNTED = {"BundleBasedDirectRunner": {"FetchCells/ReadCells"}}
"""That runner loses the metrics of the step that had to wait for its side input."""


@pytest.mark.parametrize(
    "runner", ["FnApiRunner", *slowly("BundleBasedDirectRunner", "DirectRunner")]
)
def test_status_tells_rows_time_and_memory_of_every_step(job: Any, runner: str) -> None:
    one = job(files=3, group_rows=300)
    assert one.prepare(f"--runner={runner}").status == 0
    steps = call("status", one.workspace, "--json").json["jobs"]["prepare"]["steps"]
    assert set(steps) == STEPS - UNCOUNTED.get(runner, set())
    for name, step in steps.items():
        assert step["rows"] == 2000 or name == "DrawReserve/ReadPayload"
        assert step["batches"] >= (9 if name != "DrawReserve/ReadPayload" else 1)
        assert 0 <= step["seconds"] < 60
        assert 50 < step["peak_mebibytes"] < 100_000
    text = call("status", one.workspace, "--jobs").out
    assert all(name in text for name in steps)


@pytest.mark.slow
def test_a_top_up_has_a_record_of_its_own(job: Any) -> None:
    one = job(budget=30)
    assert one.prepare().status == 0
    assert one.prepare("--top-up", 60).status == 0
    jobs = call("status", one.workspace, "--json").json["jobs"]
    assert list(jobs) == ["prepare", "top-up-0001"]
    assert jobs["top-up-0001"]["steps"]["FetchCells/ReadCells"]["rows"] == 2000


def test_time_between_batches_is_not_metered() -> None:
    """Only the work of the step itself: counters of a pipeline with known work."""
    pipeline = beam.Pipeline("FnApiRunner")
    sized = pipeline | beam.Create([[1] * 5, [2] * 7])
    _ = sized | "Count" >> beam.ParDo(MeteredMap(len))
    result = pipeline.run()
    result.wait_until_finish()
    (step,) = read_meters(result).values()
    assert (step["rows"], step["batches"]) == (12, 2)
    assert step["seconds"] < 1
    assert abs(step["peak_mebibytes"] - resident_mebibytes()) < 500
