"""Measures asked for later than the rows were drawn, and measures of the user's own."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.commands.rounds import labelled
from tests.jobs import Job, Pool, files_below, make_pool, make_rich_pool, strict_json


@pytest.mark.slow
def test_other_measures_later(drawn_by_ais: Job) -> None:
    drawn_by_ais.answer(1)
    (beta,) = drawn_by_ais.estimate("--measure", "f_beta").json["measures"]
    (f1,) = drawn_by_ais.estimate("--measure", "f1").json["measures"]
    assert beta == f1, "with its defaults"
    asked = drawn_by_ais.estimate("--measure", "mcc", "kappa", "specificity")
    mcc, kappa, specificity = asked.json["measures"]
    assert mcc["value"] is not None, "its loss is 0 where that of f1 is"
    assert kappa["value"] is not None
    assert specificity["value"] is None
    assert "specificity cannot be estimated from rows drawn for f1" in specificity["reason"]
    assert [specificity[key] for key in ("low", "high", "method")] == [0, 1, "no support"]
    curve = drawn_by_ais.estimate("--measure", "fowlkes_mallows", "pr_curve").json["measures"]
    assert len(curve) == 1 + 3 * 1024
    assert curve[0]["value"] is not None
    before = files_below(drawn_by_ais.workspace)
    assert (
        "no_such_module_at_all:x: No module"
        in drawn_by_ais.estimate("--measure", "no_such_module_at_all:x").refused
    )
    assert files_below(drawn_by_ais.workspace) == before


def test_other_measures_from_draws_that_support_them_all(job: Any) -> None:
    one = job(make_rich_pool(), sampler={"name": "ais", "delta": 0.3}, round_size=100,
              pool={"score": "s0.score", "prediction": "s0.prediction"}).prepared()  # fmt: skip
    labelled(one)
    names = ["mcc", "specificity", "npv", "brier", "prevalence", "balanced_accuracy"]
    told = one.estimate("--measure", *names).json["measures"]
    assert [m["measure"] for m in told] == names
    assert all(m["value"] is not None and m["reason"] is None for m in told)
    again = one.estimate("--measure", *names).json["measures"]
    assert again == told


def test_a_curve_later_needs_scores_whose_range_is_known(job: Any) -> None:
    table = make_pool().table
    p = 1 / (1 + np.exp(-table["score"].to_numpy()))
    rows = Pool(table.append_column("p", pa.array(p)), make_pool().truth)
    one = job(rows, pool={"probability": "p"}).prepared()
    labelled(one)
    assert (
        "the range of the scores is not known here" in one.estimate("--measure", "pr_curve").refused
    )


OWN_MEASURE = """
import dataclasses
from evalsampling.measures import Measure


@dataclasses.dataclass(frozen=True)
class Cost(Measure):
    miss: float = 10.0
    system: int = 0
    positive: int = 1
    name = "cost"
    bounds = (0.0, float("inf"))

    def loss(self, outputs, label):
        f = outputs.prediction[:, self.system] == self.positive
        y = label == self.positive
        return (self.miss * (y & ~f) + (f & ~y))[:, None].astype(float)

    def value(self, risk):
        return risk
"""


@pytest.mark.slow
def test_measure_of_the_users_own_beside_the_spec(job: Any, tmp_path: Path) -> None:
    """Found by every command, from whatever directory and process it is called."""
    module = f"own_{tmp_path.name.replace('-', '_')}"
    measure = [{"name": f"{module}:Cost", "miss": 5}, "f1"]
    one = job(make_pool(), measure=measure, round_size=100, budget=500)
    (one.directory / f"{module}.py").write_text(OWN_MEASURE)
    one.drawn()
    path = one.deliver(one.answers(1))
    command = [sys.executable, "-m", "evalsampling", "estimate", str(one.workspace), "--json"]
    elsewhere = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run(
        [*command, "--labels", str(path)], cwd="/", env=elsewhere, capture_output=True, check=True
    )
    cost, _ = strict_json(done.stdout.decode())["measures"]
    assert cost["measure"] == "cost"
    assert cost["value"] >= 0
    assert cost["high"] is None or cost["high"] >= cost["value"]
    assert one.estimate().json["measures"][0] == cost
    rows = one.pool.table.to_pylist()
    costs = [
        5 * (y > f) + (f > y)
        for f, y in ((row["prediction"], one.pool.truth[row["id"]]) for row in rows)
    ]
    cost = labelled(one, 2)["measures"][0]
    assert abs(cost["value"] - np.mean(costs)) <= 4 * cost["standard_error"] + 1e-12
