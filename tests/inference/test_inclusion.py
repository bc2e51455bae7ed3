"""Estimates from labelled rows and their inclusion probabilities alone."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from evalsampling.inference.inclusion import estimate_from_inclusion
from evalsampling.label_spaces.sets import Sets
from evalsampling.measures import Accuracy, FBeta, MacroF, Measure, MicroF
from evalsampling.stats.outputs import Outputs
from tests.samplers.pools import make_pool

POOL = make_pool(3000, 30, seed=4, positive=0.1, strength=3)


@pytest.mark.parametrize("measure", [FBeta(), Accuracy()], ids=lambda m: m.name)
def test_estimates_are_right_on_average(measure: Measure) -> None:
    """200 samples of rows that have each its own probability: to 4 standard errors."""
    p, rng = POOL.probability[:, 1], np.random.default_rng(1)
    b = np.clip(0.03 + 0.4 * np.sqrt(p * (1 - p)), 0, 1)
    values, errors, held = [], [], 0
    true = POOL.value(measure)
    for _ in range(200):
        rows = np.flatnonzero(rng.random(len(b)) < b)
        (one,) = estimate_from_inclusion(
            measure, POOL.outputs.take(rows), POOL.label[rows], b[rows], 0.9
        )
        values.append(one.value)
        errors.append(one.standard_error)
        held += one.intervals[-1].low <= true <= one.intervals[-1].high
    assert np.mean(values) == pytest.approx(true, abs=4 * np.std(values) / np.sqrt(200))
    assert np.std(values) == pytest.approx(np.mean(errors), rel=0.25)
    assert 0.82 < held / 200 < 0.97


def test_whole_pool_is_exact_and_says_so() -> None:
    certain = np.ones(len(POOL))
    (one,) = estimate_from_inclusion(FBeta(), POOL.outputs, POOL.label, certain)
    assert one.value == pytest.approx(POOL.value(FBeta()))
    assert one.standard_error == 0


def test_correction_subtracts_the_bias() -> None:
    rows = np.arange(0, len(POOL), 7)
    given = POOL.outputs.take(rows), POOL.label[rows], np.full(len(rows), 1 / 7)
    (plain,) = estimate_from_inclusion(FBeta(), *given)
    (corrected,) = estimate_from_inclusion(FBeta(), *given, correct_bias=True)
    assert plain.bias is not None
    assert corrected.value == pytest.approx(plain.value - plain.bias.total)


def test_what_is_no_sample_is_refused() -> None:
    given = POOL.outputs.take([0, 1]), POOL.label[:2]
    with pytest.raises(ValueError, match="1 inclusions"):
        estimate_from_inclusion(FBeta(), *given, np.array([0.5]))
    for wrong in (0.0, 1.5, np.nan):
        with pytest.raises(ValueError, match=r"must lie in \(0, 1\]"):
            estimate_from_inclusion(FBeta(), *given, np.array([0.5, wrong]))


def test_variance_of_a_stochastic_oracle_counts_rows_that_are_certain() -> None:
    """[Y] eq. 27 without its second term: sum (f - F g)^2 / b^2 over the square of sum g / b."""
    rows = np.arange(0, len(POOL), 5)
    b = np.where(rows % 2, 0.3, 1.0)
    given = POOL.outputs.take(rows), POOL.label[rows], b
    (one,) = estimate_from_inclusion(FBeta(), *given, stochastic=True)
    loss = FBeta().loss(*given[:2])
    residual = (loss[:, 0] - one.value * loss[:, 1]) / b
    wanted = np.sqrt(np.sum(residual**2)) / np.sum(loss[:, 1] / b)
    assert one.standard_error == pytest.approx(wanted)
    (plain,) = estimate_from_inclusion(FBeta(), *given)
    assert plain.standard_error < one.standard_error


@pytest.mark.parametrize(("measure", "average"), [(MacroF, "macro"), (MicroF, "micro")])
def test_twenty_labels_a_row(measure: type[Measure], average: str) -> None:
    """More than an evaluation takes, whose classes are the sets: codes are sums of 2^i."""
    rng = np.random.default_rng(2)
    p = rng.beta(0.4, 1.5, (500, 20))
    f, y = p > 0.35, rng.random((500, 20)) < p
    predicted, label = (flags @ (1 << np.arange(20)) for flags in (f, y))
    outputs = Outputs(predicted[:, None], np.zeros((500, 1)), np.zeros((500, 1, 0)))
    b = rng.uniform(0.2, 1, 500)
    (one,) = estimate_from_inclusion(
        measure(20, sets=Sets(tuple("abcdefghijklmnopqrst"))),
        outputs,
        label,
        b,
        0.9,
        methods=["beta"],
    )
    assert one.value == pytest.approx(f1_score(y, f, average=average, sample_weight=1 / b))
    beta = next(each for each in one.intervals if each.method == "beta")
    assert 0 < one.value - beta.low < 0.1
