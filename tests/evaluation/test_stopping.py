"""Reasons to stop: the wishes of a spec, over the rounds of an evaluation."""

from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.evaluation.cautions import reason_to_stop
from evalsampling.spec import EvaluationSpec


def parse(stop: dict[str, Any]) -> EvaluationSpec:
    pool = {"path": "pool.parquet", "score": "score", "prediction": "prediction"}
    return EvaluationSpec.from_mapping({"pool": pool, "measure": "f1", "stop": stop}, "/data")


@pytest.mark.parametrize(
    ("sampler", "stop", "rounds", "warns"),
    [
        ("ais", {"half_width": 0.4}, 2, True),
        ("poisson", {"half_width": 0.4}, 2, True),
        ("ais", {"half_width": 0.4}, 1, False),
        ("ais", {"half_width": 0.001}, 2, False),
        ("ais", {}, 2, False),
        ("calibrated", {"half_width": 0.4}, 2, False),
    ],
)
def test_a_width_that_ends_an_evaluation_is_said_to_cost_coverage(
    sampler: str, stop: dict[str, Any], rounds: int, warns: bool
) -> None:
    """By `calibrated` it costs next to nothing, as does the first look, which nothing chose."""
    rng = np.random.default_rng(4)
    score = rng.random(1000)
    label = (rng.random(1000) < score**2).astype(int)
    evaluation = Evaluation.from_arrays(
        score,
        (score > 0.6).astype(int),
        probability=score**2,
        measure="f1",
        sampler=sampler,
        seed=1,
        **({"stop": stop} if stop else {}),
    )
    for _ in range(rounds):
        ids = evaluation.sample(150)
        evaluation.label(ids, label[ids])
    said = [one for one in evaluation.estimate().warnings if one.startswith("stop.half_width")]
    assert bool(said) == warns
    assert all(f"in {rounds} rounds" in one for one in said)


def test_without_a_wish_nothing_stops() -> None:
    evaluation = Evaluation.from_arrays(np.arange(10) / 10, np.arange(10) % 2, seed=1)
    ids = evaluation.sample(5)
    evaluation.label(ids, np.zeros(5, dtype=int))
    assert reason_to_stop(parse({}), evaluation.estimate()) is None
