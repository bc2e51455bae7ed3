"""Estimates from draws with replacement: by hand, over all outcomes, and beside the samplers'."""

import itertools

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.inference.importance_weights import estimate_from_draws
from evalsampling.measures import Accuracy, FBeta
from evalsampling.stats.outputs import Outputs

PREDICTION, LABEL = np.array([1, 1, 0, 0]), np.array([1, 0, 1, 0])
CHANCE = np.array([0.4, 0.3, 0.2, 0.1])


def outputs_of(prediction: np.ndarray) -> Outputs:
    shape = (len(prediction), 1)
    return Outputs(prediction[:, None], np.zeros(shape), np.zeros((*shape, 2)))


def test_value_and_error_are_those_of_the_thesis() -> None:
    """[AE] eq. 3.31 and 3.14 with divisor N - 1, draw by draw; row 0 was drawn twice."""
    question = np.array([0, 1, 0, 2, 3])
    v = 1 / (4 * CHANCE[question])
    (one,) = estimate_from_draws(Accuracy(), outputs_of(PREDICTION), LABEL, question, v)
    right = (PREDICTION == LABEL)[question]
    value = np.sum(v * right) / np.sum(v)
    variance = np.sum((v * (right - value)) ** 2) / np.sum(v) ** 2 * 5 / 4
    assert one.value == pytest.approx(value)
    assert one.standard_error == pytest.approx(np.sqrt(variance))
    f, y = PREDICTION[question], LABEL[question]
    w, hit = 0.5 * (f + y), f * y
    (one,) = estimate_from_draws(FBeta(), outputs_of(PREDICTION), LABEL, question, v)
    value = np.sum(v * hit) / np.sum(v * w)
    variance = np.sum((v * (hit - w * value)) ** 2) / np.sum(v * w) ** 2 * 5 / 4
    assert one.value == pytest.approx(value)
    assert one.standard_error == pytest.approx(np.sqrt(variance))


def test_plain_weights_are_unbiased_over_all_outcomes() -> None:
    """[MR] eq. 1: the mean of R^ is R, and that of its variance estimate is its variance."""
    total = square = estimated = 0.0
    for question in itertools.product(range(4), repeat=3):
        drawn = np.array(question)
        chance = float(np.prod(CHANCE[drawn]))
        asked, place = np.unique(drawn, return_inverse=True)
        (one,) = estimate_from_draws(
            Accuracy(),
            outputs_of(PREDICTION[asked]),
            LABEL[asked],
            place,
            1 / (4 * CHANCE[drawn]),
            self_normalised=False,
        )
        # Values beyond the range are cut, which the mean must not be.
        risk = np.mean((PREDICTION != LABEL)[drawn] / (4 * CHANCE[drawn]))
        assert one.value == pytest.approx(min(max(1 - risk, 0), 1))
        assert one.standard_error is not None
        total += chance * risk
        square += chance * risk**2
        estimated += chance * one.standard_error**2
    assert total == pytest.approx(0.5)
    assert estimated == pytest.approx(square - total**2)


@pytest.mark.parametrize("sampler", ["active_risk", "passive", "importance", "optimal_importance"])
def test_estimates_are_those_of_a_workspace_for_the_same_draws(sampler: str) -> None:
    rng = np.random.default_rng(4)
    score = rng.choice(np.linspace(0.05, 0.95, 12), 3000)
    label = (rng.random(3000) < score) * 1
    evaluation = Evaluation.from_arrays(
        score, (score > 0.5) * 1, measure=["f1", "recall"], sampler=sampler, seed=8
    )
    for _ in range(2):
        rows = evaluation.sample(150)
        evaluation.label(rows, label[rows])
    history = evaluation.history
    found = [
        estimate_from_draws(
            measure,
            history.outputs,
            history.label,
            history.question,
            1 / (3000 * history.probability),
            self_normalised=sampler not in ("passive", "importance"),
        )[0]
        for measure in evaluation.measures
    ]
    analysis = evaluation.analysis
    wanted = analysis.sampler.estimate(analysis.table, history, analysis.measures, 0.95)
    for one, other in zip(found, wanted, strict=True):
        assert one.value == pytest.approx(other.value)
        assert one.standard_error == pytest.approx(other.standard_error)
        ours, theirs = one.intervals[0], other.intervals[0]
        assert (ours.method, ours.low, ours.high) == (
            theirs.method,
            pytest.approx(theirs.low),
            pytest.approx(theirs.high),
        )


def test_weights_that_lack_most_of_the_pool_allow_no_claim() -> None:
    """Drawn for another measure, with weights of .2 on average: most rows had next to no chance."""
    rng = np.random.default_rng(0)
    prediction, label = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    weight = np.full(200, 0.2)
    asked = outputs_of(prediction), label, np.arange(200), weight
    (aimed,) = estimate_from_draws(Accuracy(), *asked)
    (other,) = estimate_from_draws(Accuracy(), *asked, aimed_at=False)
    assert aimed.claims
    assert not other.claims
    assert "sum to 0.20" in other.warnings[0]


@pytest.mark.parametrize("weight", [[0.0, 1.0], [np.inf, 1.0], [np.nan, 1.0], [-1.0, 1.0]])
def test_weights_are_above_0(weight: list[float]) -> None:
    outputs = outputs_of(np.array([0, 1]))
    with pytest.raises(ValueError, match="above 0 and finite"):
        estimate_from_draws(Accuracy(), outputs, np.zeros(2, int), np.arange(2), np.array(weight))


def test_numbers_of_rows_must_fit() -> None:
    outputs = outputs_of(np.array([0, 1]))
    with pytest.raises(ValueError, match="2 rows, 3 labels, 2 weights"):
        estimate_from_draws(Accuracy(), outputs, np.zeros(3, int), np.arange(2), np.ones(2))
