"""Samplers that query ranks, from the command line and from Python."""

import json
import re
from typing import Any

import numpy as np
import pytest

from tests.jobs import Job, call
from tests.ranked_lists import ranked_pool

KEYS: dict[str, Any] = {
    "measure": [{"name": "pr_curve", "thresholds": 8}, "f1"],
    "sampler": {"name": "adastrat", "epsilon": 0.2, "beta": 1.3, "p_min": 0.25, "m": 5},
    "strata": {"method": "log_rank", "leaves": 64},
    "budget": 3000,
}

WIDE = {**KEYS["sampler"], "epsilon": 0.3, "beta": 1.5}


@pytest.mark.slow
def test_rounds_until_the_guarantee(job: Any) -> None:
    """At the end `sample` has nothing more to ask."""
    one: Job = job(ranked_pool(1200), **{**KEYS, "sampler": WIDE}).prepared()
    refused = call("estimate", one.workspace, "--at", 5).refused
    assert "no curve: that takes the sampler adastrat or logstrat (here: adastrat)" in refused
    told: list[Any] = []
    for number in range(1, 21):
        round = one.sample().json
        if not round["rows"]:
            break
        told.append(one.answer(number).json)
    assert round["reason"] == "exhausted"
    assert len(told) > 1
    assert not told[0]["done"]
    assert told[-1]["done"]
    guarantee = told[-1]["guarantee"]
    assert guarantee["settled"]
    assert guarantee["factor"] <= 1.5 * 1.3
    curve = [m for m in told[-1]["measures"] if m["measure"].startswith("pr_curve")]
    assert {m["method"] for m in curve} <= {"envelope", "undefined"}
    f1 = told[-1]["measures"][-1]
    assert f1["measure"] == "f1"
    [bounds] = [one for one in f1["intervals"] if one["method"] == "envelope"]
    assert bounds["low"] <= f1["value"] <= bounds["high"]

    shown = call("estimate", one.workspace, "--detail").done
    assert re.search(r"^rank +threshold +precision", shown.out, re.M)
    assert f"within a factor of {guarantee['factor']:.4g}, with confidence 0.95" in shown.out
    points = one.estimate().json["curve"]["points"]
    truth = np.array([one.pool.truth[id] for id in _by_score(one)])
    for point in points:
        true = truth[: point["rank"]].mean()
        bounds = point["measures"]["precision"]
        assert bounds["low"] - 1e-12 <= true <= bounds["high"] + 1e-12
    [at] = one.estimate("--at", "500").json["curve"]["points"]
    assert "average precision" in call("estimate", one.workspace, "--at", "500").out
    [kept, *_] = (one.workspace / "estimates").iterdir()
    assert "curve" not in json.loads(kept.read_text()), "it follows from the labels"
    assert at == next(point for point in points if point["rank"] >= 500)
    assert "sampler adastrat" not in call("estimate", one.workspace).out


def _by_score(one: Job) -> list[int]:
    table = one.pool.table.sort_by([("score", "descending")])
    ids: list[int] = table["id"].to_pylist()
    return ids


def test_why_nothing_is_guaranteed_is_told_once(job: Any) -> None:
    """By `estimate` for all points of both curves; no interval claims anything."""
    one: Job = job(ranked_pool(1200), **{**KEYS, "sampler": {**WIDE, "p_min": 0.9}}).prepared()
    for number in range(1, 20):
        if not one.sample().json["rows"]:
            break
        one.answer(number, f"{number}.csv")
    told = one.estimate().json
    assert told["guarantee"]["factor"] is None
    [why] = [words for words in told["warnings"] if "p_min is 0.9, but the labels say" in words]
    points = [m for m in told["measures"] if m["method"] == "envelope"]
    assert len(points) > 8
    assert {(m["low"], m["high"]) for m in points} == {(0, 1)}
    assert told["half_width"] is None
    shown = call("estimate", one.workspace, "--at", "5")
    assert "no precision is guaranteed" in shown.out
    assert " ".join(why.split()[:9]) in " ".join((shown.out + shown.err).split())


def test_another_sampler_has_no_curve(drawn: Job) -> None:
    assert "logstrat (here: " in call("estimate", drawn.workspace, "--at", "5").refused
