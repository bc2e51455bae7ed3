"""What is to be said of scores, counted in parts of any size."""

import functools
import operator
from pathlib import Path

import numpy as np
import pyarrow as pa

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import read_scores
from evalsampling.preparation.scores import ScoreRemarks
from evalsampling.spec import EvaluationSpec

PLAN = EvaluationSpec.from_mapping(
    {"pool": {"path": "x", "prediction": {"threshold": 0.7}}, "budget": 5}, Path()
).reading


def remarks(scores: pa.Array) -> ScoreRemarks:
    batch = PoolBatch(pa.record_batch({"score": scores}))
    return ScoreRemarks.of(batch, PLAN, {"score": read_scores(batch, PLAN, "score")})


def test_counts_add_up() -> None:
    values = np.array([-np.inf, 0.7, 0.7, 0.5, np.inf, np.inf, 0.7, 0.1] * 3, np.float32)
    parts = [remarks(pa.array(part)) for part in np.array_split(values, 7)]
    whole = functools.reduce(operator.add, parts)
    assert whole == remarks(pa.array(values))
    assert whole.infinite
    assert whole.words == (
        "score: 3 rows with -inf, taken as the lowest score of all",
        "score: 9 rows within one rounding of 0.7: 9 counted as reaching it, 0 as below",
        "score: 6 rows with inf, taken as the highest score of all",
    )


def test_nothing_is_said_of_plain_scores() -> None:
    said = remarks(pa.array([0.1, 0.7, 0.9]))
    assert said == ScoreRemarks()
    assert said.words == ()
    assert not said.infinite
