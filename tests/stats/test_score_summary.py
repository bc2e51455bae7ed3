"""What is said of the scores of a pool: by hand, on pools of few rows."""

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.stats.score_summary import ScoreSummary


def summary(probability: list[float]) -> ScoreSummary:
    """Of a pool whose rows are predicted positive from .5 on."""
    prior = np.array(probability)
    pool = {"p": prior, "says": prior >= 0.5}
    evaluation = Evaluation.from_frame(pool, score="p", probability="p", prediction="says", seed=1)
    found = evaluation.scores
    assert found is not None
    return found


def test_numbers_are_those_of_the_rows() -> None:
    found = summary([0.0] * 70 + [0.2] * 20 + [0.9] * 10)
    assert (found.rows, found.values, found.least) == (100, 3, 0.0)
    assert found.greatest == pytest.approx(0.9)
    assert found.expected == pytest.approx(13)
    assert (found.predicted, found.tied) == (10, 0.7)


def test_sentence_tells_values_and_ties() -> None:
    assert summary([0.0] * 70 + [0.2] * 20 + [0.9] * 10).words == (
        "100 rows, probability of a positive 0 to 0.9 in 3 steps. If it is right, 13 rows are "
        "positive; 10 are predicted so. 70 % of the rows have the same probability"
    )
    tied = summary([0.1] * 50 + [0.6] * 50).words
    assert tied.endswith("Rows with the same probability are drawn alike")
    many = summary(np.linspace(0.01, 0.99, 5000).tolist()).words
    assert many.endswith("are predicted so")


def test_class_that_is_positive_counts() -> None:
    table = Evaluation.from_frame(
        {"p": np.array([0.1, 0.8]), "says": np.array([0, 1])},
        score="p", probability="p", prediction="says", seed=1,
    ).analysis.table  # fmt: skip
    assert ScoreSummary.of_class(table, 1).expected == pytest.approx(0.9)
    assert ScoreSummary.of_class(table, 0).expected == pytest.approx(1.1)
