"""A pool with a steep score, and evaluations of it, for tests of promises."""

from typing import Any

import numpy as np

from evalsampling import Evaluation
from evalsampling.evaluation.certificate import Certificate

ROWS = 4000


def frame(seed: int = 0, top: int = 0) -> tuple[dict[str, Any], np.ndarray]:
    """A pool of a steep score, and its labels; the `top` rows of greatest score are negative."""
    rng = np.random.default_rng(seed)
    score = rng.normal(size=ROWS)
    truth = (rng.random(ROWS) < 1 / (1 + np.exp(-6 * (score - 0.8)))).astype(int)
    truth[np.argsort(-score)[:top]] = 0
    shop = np.where(rng.random(ROWS) < 0.4, "north", "south")
    columns = {"score": score, "prediction": (score > 0.8).astype(int), "shop": shop}
    return {"id": np.arange(ROWS), **columns}, truth


def evaluated(
    labels: int = 400, rounds: int = 4, seed: int = 0, top: int = 0, **spec: Any
) -> tuple[Evaluation, dict[str, Any], np.ndarray]:
    """An evaluation after some rounds, its pool and the true labels."""
    pool, truth = frame(seed, top)
    spec = {"measure": [{"certify": {"precision": 0.9}}], "budget": labels, "seed": seed, **spec}
    evaluation = Evaluation.from_frame(pool, **spec)
    for _ in range(rounds):
        ids = evaluation.sample(labels // rounds)
        evaluation.label(ids, truth[ids])
    return evaluation, pool, truth


def true_precision(found: Certificate, pool: dict[str, Any], truth: np.ndarray) -> float:
    above = pool["score"] >= found.threshold
    assert found.rows == above.sum()
    return float(truth[above].mean())
