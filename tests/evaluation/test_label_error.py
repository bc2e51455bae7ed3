"""Numbers corrected for wrong labels, as gold rows tell of them."""

import numpy as np

from evalsampling import Evaluation
from evalsampling.evaluation.label_error import label_error


def test_gold_rows_correct_every_measure() -> None:
    """A quarter of the labels is wrong, of gold rows, too: the true values are 1."""
    rng = np.random.default_rng(2)
    score = rng.normal(size=2000)
    measures = ["precision", "accuracy"]
    evaluation = Evaluation.from_arrays(
        score, score > 1, measure=measures, sampler="passive", seed=1
    )
    ids = np.asarray(evaluation.sample(400))
    evaluation.label(ids, (score[ids] > 1) ^ (rng.random(400) < 0.25))
    analysis = evaluation.analysis
    error = label_error(analysis, np.array([[30, 10], [10, 30]]), analysis.estimate())
    assert error is not None
    assert [one.measure for one in error.measures] == measures
    for one, estimate in zip(error.measures, analysis.estimate(), strict=True):
        assert estimate.value < one.value <= one.high == 1  # type: ignore[operator]
        assert one.dominates
    assert label_error(analysis, np.zeros((2, 2), np.int64), []) is None
