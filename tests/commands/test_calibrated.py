"""The calibrated sampler and the key ``hidden``, from the command line and by pipelines."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.jobs import Job, call


def test_commands_and_pipelines_know_the_calibrated_sampler(job: Any) -> None:
    """Two rounds by either, the same numbers; the default interval is the model-based one."""
    results = []
    for runner in ([], ["--runner=FnApiRunner"]):
        one: Job = job(
            sampler="calibrated",
            hidden={"share": 0.1},
            measure=["f1", "recall"],
            strata={"leaves": 8},
        )
        assert one.prepare().status == 0
        for number in (1, 2):
            assert one.sample(*runner).status == 0
            delivery = one.deliver(one.answers(number), f"{number}.csv")
            estimated = one.estimate("--labels", delivery, *runner)
            assert estimated.status == 0
        results.append(estimated.json["measures"])
    assert results[0] == results[1]
    for told in results[0]:
        assert told["method"] == "calibration-curve"
        assert told["low"] <= told["value"] <= told["high"]
        assert [other["share"] for other in told["sensitivity"]] == pytest.approx([0.05, 0.2])


@pytest.mark.slow
def test_simulate_and_plan_know_the_calibrated_sampler(job: Any) -> None:
    one: Job = job(sampler="calibrated", strata={"leaves": 8})
    truth = one.directory / "truth.parquet"
    labels = {"id": list(one.pool.truth), "label": list(one.pool.truth.values())}
    pq.write_table(pa.table(labels), truth)
    options = ["--budgets", "40,80", "--repeats", 2, "--json"]
    found = call("simulate", one.spec, "--truth", truth, *options)
    assert found.status == 0, found.err
    assert {told["sampler"] for told in found.json["results"]} == {"calibrated"}
    planned = call("plan", one.spec, *options)
    assert planned.status == 0, planned.err
    assert "calibrated" in str(planned.json)


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"hidden": {"share": 0}}, "hidden.share: must be above 0 and at most 10, got 0"),
        ({"hidden": {"shares": 1}}, "unknown key hidden.shares"),
        ({"hidden": 0.1}, "hidden: must be a mapping, got 0.1"),
        ({"sampler": {"name": "calibrated", "hidden": 1}}, "unknown key sampler.hidden"),
        (
            {"sampler": "calibrated", "labels": {"oracle": "stochastic"}},
            "calibrated draws each row once, so it takes a deterministic oracle",
        ),
    ],
)
def test_wrong_values_are_told_in_one_line(job: Any, keys: dict[str, Any], words: str) -> None:
    told = job(**keys).prepare()
    assert told.status == 1
    assert words in told.err
    assert len(told.err.splitlines()) == 1
