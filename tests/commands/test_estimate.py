"""Estimates over the command line: what they hold, of systems, slices, curves and regions."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsampling.commands.estimate_result import EstimateResult
from evalsampling.inference.predictive import LabelModel
from evalsampling.measures import BY_NAME
from evalsampling.parts.records import read_record
from tests.averages import EACH_F1, MACRO_F1, MICRO_F1
from tests.commands.rounds import labelled, rich_job
from tests.jobs import Job, call, make_pool, make_rich_pool, strict_json
from tests.measures.pools import NEEDING_MORE


def test_closing_by_hand(drawn: Job) -> None:
    answers = drawn.answers(1)
    result = drawn.estimate("--labels", drawn.deliver(answers[:12]), "--close").json
    assert result["open"] == 0
    assert any("8 of 20 rows drawn have no label" in warning for warning in result["warnings"])
    assert drawn.sample().json["round"] == 2


@pytest.mark.slow
def test_an_estimate_of_another_budget_is_kept_too(job: Any) -> None:
    one: Job = job(budget=20).drawn()
    told = [one.answer(1).json]
    assert one.sample("--budget", "40").json["rows"]
    told.append(one.estimate().json)
    assert [one["done"] for one in told] == [True, False]
    kept = [json.loads(path.read_text()) for path in (one.workspace / "estimates").iterdir()]
    assert sorted(one["done"] for one in kept) == [False, True]


@pytest.mark.slow
def test_estimate_json(drawn: Job) -> None:
    result = drawn.answer(1).json
    assert list(result) == [
        "round", "labels", "open", "rejects", "warnings", "done", "measures", "regions",
        "half_width", "awaited", "assumes", "hidden", "missing", "label_error",
        "guarantee", "sample_size", "half_width_reason", "cost", "label_likelihood", "notes",
        "mostly_rejected",
    ]  # fmt: skip
    assert result["regions"] == []
    assert result["guarantee"] is None, "of samplers that query ranks alone"
    assert result["sample_size"] is None, "of Poisson samples alone"
    keys = [
        "measure", "system", "against", "slice", "threshold", "value", "standard_error", "low",
        "high", "confidence", "method", "intervals", "reason",
    ]  # fmt: skip
    assert all(list(one)[: len(keys)] == keys for one in result["measures"])
    assert [one["measure"] for one in result["measures"]] == [
        "f1", "precision", "recall", "accuracy"
    ]  # fmt: skip
    for one in result["measures"]:
        assert one["low"] == one["intervals"][0]["low"]
        assert one["low"] <= one["value"] <= one["high"]
        kinds = {interval["kind"] for interval in one["intervals"]}
        assert kinds - {"model-based"} == {"design-based"}
    assert len(list((drawn.workspace / "estimates").iterdir())) == 1
    one = drawn.estimate("--measure", "recall").json["measures"]
    assert one == [result["measures"][2]]
    assert "unknown measure 'recal'" in drawn.estimate("--measure", "recal").err
    several = [["f1,recall"], ["f1", "recall"], ["f1,", "recall"], ["f1, recall"]]
    for names in several:
        told = drawn.estimate("--measure", *names).json["measures"]
        assert [one["measure"] for one in told] == ["f1", "recall"]


def test_json_tells_what_the_labels_leave_open(drawn_by_ais: Job) -> None:
    """Recall and F1 go by scores where no positive was met; a share of found rows does not."""
    told = {one["measure"]: one for one in drawn_by_ais.answer(1).json["measures"]}
    part = told["recall"]["unsearched"]
    assert 0 < part["positives"] <= part["rows"] - part["labelled"]
    assert part["value"] < told["recall"]["value"]
    same = ("rows", "labelled", "positives")
    assert [told["f1"]["unsearched"][key] for key in same] == [part[key] for key in same]
    assert told["precision"]["unsearched"]["value"] == told["precision"]["value"]
    other = drawn_by_ais.estimate("--measure", "specificity").json["measures"][0]
    assert (other["method"], other["unsearched"]) == ("no support", None)


def test_a_model_that_labels_contradict_is_noted(
    drawn: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No warning: the design's intervals, which stand in front then, rest on less."""
    monkeypatch.setattr(LabelModel, "contradiction", "of 9 labelled rows 0 are positive")
    said = call("estimate", drawn.workspace, "--labels", drawn.deliver(drawn.answers(1))).err
    assert "note: f1: scores and labels do not fit a curve, so value and interval are" in said
    result = drawn.estimate().json
    assert [note.partition(":")[0] for note in result["notes"]] == [
        "f1", "precision", "recall", "accuracy"
    ]  # fmt: skip
    assert not any("do not fit a curve" in warning for warning in result["warnings"])
    assert read_record(EstimateResult, result).notes == tuple(result["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("rows", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 5))])
def test_estimates_from_next_to_nothing_are_json(job: Any, rows: int) -> None:
    """Every measure with no label, with one, with a few: numbers or null with a reason."""
    names = [name for name in BY_NAME if name not in ("f_beta", "pr_curve", *NEEDING_MORE)]
    weighted = {"name": "generalized_risk", "weights": [[0, 1], [1, 2]]}
    listed = [*names, {"name": "pr_curve", "thresholds": 5}, weighted, MACRO_F1, MICRO_F1, EACH_F1]
    keys = {"score": "s0.score", "prediction": "s0.prediction", "slices": ["new"]}
    one = job(make_rich_pool(), pool=keys, measure=listed, sampler="passive", round_size=5).drawn()
    for label in ("0", "1"):
        answers = [(task, label) for task, _ in one.answers(1)[:rows]]
        result = one.take(answers, f"{label}.csv", option="--replace").json
        assert result["labels"] == rows
        for told in result["measures"]:
            assert (told["value"] is None) == (told["reason"] is not None)
            if told["value"] is not None and told["low"] is not None:
                assert told["low"] <= told["value"] <= told["high"]
    for path in (one.workspace / "estimates").iterdir():
        strict_json(path.read_text())


@pytest.mark.slow
def test_regions_of_joint_measures(job: Any) -> None:
    measure = [{"joint": ["accuracy", "recall"]}, "f1"]
    one = rich_job(job, sampler="ais", measure=measure, round_size=150)
    (none,) = one.estimate().json["regions"]
    assert (none["centre"], none["covariance"], none["radius"]) == (None, None, None)
    assert none["reason"]
    (region,) = labelled(one, 2)["regions"]
    assert region["measures"] == [
        {"measure": measure, "system": system}
        for measure in ("accuracy", "recall")
        for system in ("old", "new")
    ]
    assert region["reason"] is None
    told = [
        m for m in one.estimate().json["measures"] if m["slice"] is None and m["against"] is None
    ]
    names = [*region["measures"], *({"measure": "f1", "system": s} for s in ("old", "new"))]
    assert [{"measure": m["measure"], "system": m["system"]} for m in told] == names
    centre, error = np.array(region["centre"]), np.sqrt(np.diag(region["covariance"]))
    by_design = [i for m in told[:4] for i in m["intervals"] if i["method"] == "korn-graubard"]
    assert all(i["low"] < c < i["high"] for i, c in zip(by_design, centre, strict=True))
    reach = np.sqrt(region["radius"]) * error
    np.testing.assert_allclose(region["low"], centre - reach)
    np.testing.assert_allclose(region["high"], centre + reach)


# --- measures that are asked for later, and a measure of the user's own


def test_a_curve_later_needs_scores_whose_ranks_were_counted(job: Any) -> None:
    pool = make_pool()
    rows = pool.with_columns(p=1 / (1 + np.exp(-pool.table["score"].to_numpy())))
    one = job(rows, pool={"probability": "p"}, strata={"edges": [-1, 1]}).prepared()
    labelled(one)
    refused = one.estimate("--measure", "pr_curve").refused
    assert "the ranks of the scores, which were not counted" in refused


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
