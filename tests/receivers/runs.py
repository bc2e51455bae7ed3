"""A run of `estimate` that tests send to receivers."""

import dataclasses
import functools
import json
from pathlib import Path
from typing import Any

import numpy as np

from evalsampling import Evaluation
from evalsampling.receivers.run import Run
from evalsampling.spec.gates import GatesSpec

GATES = GatesSpec(
    at_least={"recall of new": 0.2, "f1 of new": 0.8, "f1 of old against new": 0.9},
    at_most={"recall of new": 0.9999},
)
"""One of them is reached, one surely is not."""


@functools.cache
def evaluation() -> Evaluation:
    """Two systems, a slice, and a curve, after a round."""
    rng = np.random.default_rng(1)
    truth = rng.random(1500) < 0.2
    columns: dict[str, Any] = {"city": rng.choice(["Bern", "Zürich"], 1500)}
    for name, worth in (("old", 1.0), ("new", 3.0)):
        columns[f"{name}.score"] = rng.normal(size=1500) + worth * truth
        columns[f"{name}.guess"] = (columns[f"{name}.score"] > worth / 2).astype(int)
    systems = {
        name: {"score": f"{name}.score", "prediction": f"{name}.guess"} for name in ("old", "new")
    }
    made = Evaluation.from_arrays(
        None,
        None,
        columns=columns,
        pool={"systems": systems, "slices": ["city"]},
        measure=["f1", "recall", {"name": "pr_curve", "thresholds": [0.0, 1.0]}],
        seed=5,
    )
    ids = made.sample(150)
    made.label(ids, truth[ids].astype(int))
    return made


@functools.cache
def run() -> Run:
    """The run of that evaluation, as if it were of a workspace."""
    pool = ({"path": "/data/pool/a.parquet", "size": 7, "blocks": "00"},)
    made = evaluation().state.run(GATES)
    source = dataclasses.replace(made.source, path="/data/pool/*.parquet")
    there = {"name": "pairs", "workspace": "/data/pairs", "source": source, "pool": pool}
    return dataclasses.replace(made, **there, page=lambda: b"<html>")


def lines_of(path: Path) -> list[dict[str, Any]]:
    """The objects of a file of JSON Lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]
