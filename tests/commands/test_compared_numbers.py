"""Systems that predict numbers, from the command line to the end, beside Python."""

import json
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling import Evaluation
from tests.compared_numbers import make_compared_numbers, spec_of
from tests.jobs import Job, call


def labelled(one: Job) -> Job:
    """With a first round, and the labels that are true."""
    one.drawn()
    labels = [(task, repr(one.pool.truth[row])) for task, row in one.asked(1)]
    assert call("estimate", one.workspace, "--labels", one.deliver(labels)).done
    return one


@pytest.mark.slow
def test_the_command_line_says_what_python_says(job: Any) -> None:
    """Three systems: values, differences, who beats whom; the same rows and the same numbers."""
    both = {"name": "compare", "variant": "active_risk"}
    pool = {"cost": "cost", "slices": ["low"]}
    spec = spec_of(3, measure=["mse", "mae"], pool=pool, sampler=both, round_size=150)
    one = labelled(job(make_compared_numbers(700, 3), files=2, group_rows=100, **spec))
    said = one.estimate().json
    table = pq.read_table(one.spec.parent / "pool")
    columns = {name: table[name] for name in table.column_names if name not in ("id", "name")}
    full = yaml.safe_load(one.spec.read_text())
    keys = {key: full[key] for key in ("labels", "measure", "sampler", "seed", "strata", "budget")}
    pool = {key: value for key, value in full["pool"].items() if key not in ("path", "payload")}
    evaluation = Evaluation.from_arrays(
        None, None, id=table["id"], columns=columns, pool=pool, round_size=150, **keys
    )
    ids = evaluation.sample(150)
    assert sorted(ids.tolist()) == sorted(row for _, row in one.asked(1))
    evaluation.label(ids, [one.pool.truth[row] for row in ids.tolist()])
    here = [estimate.value for estimate in evaluation.estimate()]
    there = [each["value"] for each in said["measures"]]
    np.testing.assert_allclose(there, here, rtol=1e-9)
    opened = Evaluation.open(one.workspace).estimate()
    np.testing.assert_allclose([each.value for each in opened], here, rtol=1e-9)


def test_a_report_and_the_stop_at_a_fixed_test(job: Any) -> None:
    spec = spec_of(2, stop={"significance": 0.999, "test": "fixed"}, round_size=120)
    one = labelled(job(make_compared_numbers(), **spec))
    difference = one.estimate().json["measures"][0]
    assert difference["significance"]["p_value"] is not None
    assert "anytime_p_value" not in difference["significance"] or (
        difference["significance"]["anytime_p_value"] is None
    )
    assert "significant" in call("sample", one.workspace).out
    page = one.directory / "report.html"
    result = call("report", one.workspace, "--output", page)
    assert result.status in (0, 2)
    assert result.status == 2 or page.exists()


@pytest.mark.slow
def test_plans_of_power_need_the_difference(job: Any) -> None:
    one = job(make_compared_numbers(), **spec_of(2))
    arguments = ("plan", one.spec, "--budgets", 60, "--repeats", 3, "--power", 0.8)
    refused = call(*arguments)
    assert refused.status != 0
    assert "--effect" in refused.err
    planned = call(*arguments, "--effect", 20, "--json").done
    powers = [one for one in json.loads(planned.out) if one.get("power") == 0.8]
    needed = {one["sampler"]: one["labels"] for one in powers}
    assert needed.keys() == {"passive", "compare"}
    assert needed["compare"] > 2
