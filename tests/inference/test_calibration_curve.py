"""The posterior of a calibration curve: derivatives, exact integrals, long runs."""

import dataclasses

import numpy as np
import pytest
from scipy import optimize, special

from evalsampling.inference import curve_coordinates
from evalsampling.inference.calibration_curve import (
    HIDDEN,
    STEPS,
    CalibrationCurve,
    CurveDraws,
    GroupLabels,
    PosteriorAt,
)
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.hamiltonian import Schedule
from tests.slow import fast

FloatArray = np.ndarray

LONG = Schedule(chains=120, burn_in=10, kept=80)


def example(hidden: HiddenPrior = HIDDEN) -> CalibrationCurve:
    """Forty cells of falling probability, rare positives, and an effect."""
    probability = special.expit(np.linspace(3, -9, 40))
    count = np.geomspace(10, 10**6, 40).astype(np.int64)
    effect = 5 * (np.arange(40) % 2)[:, None] - 2.5
    return CalibrationCurve.from_cells(probability, count, 500, effect, hidden)


def some_labels(curve: CalibrationCurve, seed: int = 1, most: int = 30) -> tuple[FloatArray, ...]:
    """Labels of the cells at rates drawn from the prior."""
    rng = np.random.default_rng(seed)
    rate = CurveDraws(curve.at(rng.standard_normal((1, curve.dimensions)))).rates()[0]
    labelled = rng.integers(0, most, len(rate))
    return labelled, rng.binomial(labelled, rate)


def by_the_words(curve: CalibrationCurve, z: FloatArray, count: FloatArray, predicted: float):
    """The rates of cells by the model of the docstring, given their rows from the top down."""
    below = (np.cumsum(count[::-1])[::-1] - count / 2) / count.sum()
    x = np.log(below / (1 - below))
    apart = np.abs(np.subtract.outer(np.arange(STEPS), np.arange(STEPS)))
    covariance = np.exp(-curve_coordinates.STEP_DECAY * apart) + 1e-9 * np.eye(STEPS)
    s = curve_coordinates.STEP_SPREAD * np.linalg.cholesky(covariance) @ z[2 : 2 + STEPS]
    b = curve_coordinates.SLOPE_SPREAD * z[1]
    corners, step = [0.0], (x[0] - x[-1]) / STEPS
    for j in range(STEPS):
        corners.append(corners[-1] - np.exp(b + s[j]) * step)
    of_cut = np.log((count.sum() - predicted) / predicted)
    at_cut = np.interp((x[0] - of_cut) / step, np.arange(STEPS + 1), corners)
    eta = np.interp((x[0] - x) / step, np.arange(STEPS + 1), corners) - at_cut
    eta += curve_coordinates.CUT_SPREAD * z[0]
    sigma = special.expit(eta)
    over = {"positives": sigma, "overlap": sigma * (1 - sigma)}[curve.hidden.relative_to]
    m = curve.hidden.share * np.exp(curve.hidden.spread * z[-1]) * (over @ count) / count.sum()
    return (m + sigma) / (1 + m)


@pytest.mark.parametrize("predicted", [1, 7000, 40_000])
@pytest.mark.parametrize("relative_to", ["positives", "overlap"])
def test_rates_are_those_of_the_model(relative_to: str, predicted: int) -> None:
    """At corners and between: on the line in the log-odds of the rank."""
    count = np.random.default_rng(4).integers(1, 2000, 60)
    hidden = HiddenPrior(0.2, 0.7, relative_to)
    curve = CalibrationCurve.from_cells(np.linspace(1, 0, 60), count, predicted, hidden=hidden)
    z = np.random.default_rng(1).standard_normal((5, curve.dimensions))
    found = CurveDraws(curve.at(z)).rates()
    wanted = [by_the_words(curve, one, count, predicted) for one in z]
    assert found == pytest.approx(np.array(wanted), rel=1e-9)
    assert np.all(np.diff(found, axis=1) <= 0), "monotone"


@pytest.mark.parametrize(
    "change", [lambda p: p**10, lambda p: 100 * p, special.expit, lambda p: -1 / (p + 1e-9)]
)
def test_only_the_order_of_the_scores_matters(change) -> None:
    rng = np.random.default_rng(3)
    probability, count = rng.random(50).round(1), rng.integers(1, 99, 50)
    one, other = (
        CalibrationCurve.from_cells(p, count, 100) for p in (probability, change(probability))
    )
    for name in ("group", "weight", "share", "effect", "step", "cut"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert len(np.unique(one.group)) == len(np.unique(probability)), "equal scores, equal rates"


def test_rates_may_fall_within_a_tenth_of_the_ranks() -> None:
    """As they do where the predictions of a good system end, however large the pool."""
    count = np.array([1, 899, 100, 100, 1900, 2_996_999, 1])
    curve = CalibrationCurve.from_cells(np.linspace(1, 0, 7), count, 1000)
    labelled, positive = np.array([1, 20, 50, 50, 20, 20, 1]), np.array([1, 20, 48, 2, 0, 0, 0])
    _, _, above, below, *_ = curve.fit(labelled, positive).at_mode.rates()[0]
    assert above > 0.9 > 0.1 > below


@pytest.mark.parametrize("slope", [-3.0, 0.0, 3.0, 8.0])
def test_likelihood_is_binomial_however_steep_the_curve(slope: float) -> None:
    """From log-odds that hardly fall to such as are cut at -700, where a rate is no number > 0.

    The rates of the model with scipy's functions; what is below 1e-300 counts as that.
    """
    curve = example(HiddenPrior(1e-3, 0.5))
    labelled, positive = some_labels(curve)
    labels = GroupLabels.from_cells(curve, labelled, positive)
    z = np.random.default_rng(4).standard_normal((3, curve.dimensions))
    z[:, 1], z[2, -1] = slope, -2000  # the last one has no background
    curves = curve.at(z)
    eta = -curves.odds_against
    assert (eta.min() == -700) == (slope == 8.0)
    m = curves.background[:, None]
    hit = np.log(np.maximum(special.expit(eta) + m, 1e-300)) - np.log1p(m)
    miss = special.log_expit(-eta) - np.log1p(m)
    hits = np.bincount(curve.group, positive)
    misses = np.bincount(curve.group, labelled - positive)
    assert PosteriorAt(curves, labels).log_likelihood == pytest.approx(
        hit @ hits + miss @ misses, rel=1e-9
    )


def log_posterior(curve: CalibrationCurve, labels: GroupLabels, z: FloatArray) -> float:
    return float(PosteriorAt(curve.at(z[None]), labels).logarithm[0])


@pytest.mark.parametrize(
    "hidden", [HiddenPrior(), HiddenPrior(3.0, 2.0), HiddenPrior(0.5, 1.5, "positives")]
)
def test_gradient_and_information_are_numerical_ones(hidden: HiddenPrior) -> None:
    """The gradient at random points; the information is the mean of its square over labels."""
    curve = example(hidden)
    labels = GroupLabels.from_cells(curve, *some_labels(curve))
    rng = np.random.default_rng(3)
    for z in rng.standard_normal((5, curve.dimensions)) / 2:
        here = curve.at(z[None])
        steps = np.eye(len(z)) * 1e-5
        numerical = [
            (log_posterior(curve, labels, z + h) - log_posterior(curve, labels, z - h)) / 2e-5
            for h in steps
        ]
        assert PosteriorAt(here, labels).gradient[0] == pytest.approx(
            np.array(numerical), rel=1e-4, abs=1e-3
        )
        # Fisher: sum of n p'p'^T / (p (1 - p)), with numerical derivatives of the rates.
        rows = labels.positive + labels.negative

        def rates(z: FloatArray) -> FloatArray:
            return curve.at(z[None]).rates[0][labels.group]

        slope = np.array([(rates(z + h) - rates(z - h)) / 2e-5 for h in steps])
        p = rates(z)
        wanted = np.eye(len(z)) + (slope * (rows / (p * (1 - p)))) @ slope.T
        assert PosteriorAt(here, labels).information[0] == pytest.approx(wanted, rel=1e-3, abs=1e-3)


@pytest.mark.parametrize("seed", range(2))
def test_mode_is_that_of_a_general_optimiser(seed: int) -> None:
    """Its height is at least that of BFGS from the middle of the prior, less .05."""
    curve = example()
    labelled, positive = some_labels(curve, seed, most=60)
    labels = GroupLabels.from_cells(curve, labelled, positive)
    fit = curve.fit(labelled, positive)
    assert fit.height == pytest.approx(log_posterior(curve, labels, fit.mode))
    assert any(np.array_equal(fit.mode, one) for one in fit.modes)
    found = optimize.minimize(
        lambda z: -log_posterior(curve, labels, z),
        np.zeros(curve.dimensions),
        jac=lambda z: -PosteriorAt(curve.at(z[None]), labels).gradient[0],
    )
    assert fit.height > -found.fun - 0.05


def votes_of_trees(rng: np.random.Generator) -> tuple[FloatArray, ...]:
    """Cells of a forest of 100 trees: rates of 3 % in the mean, most votes exactly 0, some 100."""
    logit = rng.normal(-6, 3.5, 20_000)
    votes = rng.binomial(100, special.expit(1.5 * logit))
    label = rng.random(len(logit)) < special.expit(logit)
    count = np.bincount(votes, minlength=101)
    positive = np.bincount(votes, label, minlength=101).astype(np.int64)
    kept = count > 0
    return (np.arange(101) / 100)[kept], count[kept], positive[kept]


def test_mode_is_found_where_probabilities_are_exactly_0_and_1() -> None:
    """A climb from the middle of the prior alone ends where the background takes all positives."""
    probability, count, positive = votes_of_trees(np.random.default_rng(2))
    curve = CalibrationCurve.from_cells(probability, count, 100)
    labelled = np.minimum(count, 60)
    met = np.rint(labelled * positive / count).astype(np.int64)
    fit = curve.fit(labelled, met)
    rate = fit.at_mode.rates()[0]
    assert rate @ count == pytest.approx(positive.sum(), rel=0.25)
    draws = fit.draw(np.random.default_rng(3))
    assert draws.r_hat < 1.2
    assert np.median(draws.rates() @ count) == pytest.approx(positive.sum(), rel=0.25)


def test_chains_that_disagree_are_told() -> None:
    """Two modes that no chain leaves: draws of one of them would be half of what there is."""
    curve = example()
    labelled, positive = some_labels(curve)
    fit = curve.fit(labelled, positive)
    assert fit.draw(np.random.default_rng(1)).r_hat < 1.1
    far = fit.mode + 40.0 * np.eye(curve.dimensions)[-1]
    stuck = Schedule(chains=16, burn_in=0, kept=2, step=1e-3)
    apart = dataclasses.replace(fit, modes=np.stack([fit.mode, far]))
    assert apart.draw(np.random.default_rng(1), stuck).r_hat > 1.2


def one_group(hidden: HiddenPrior, labelled: int, positive: int) -> tuple[CalibrationCurve, ...]:
    """A pool whose scores are all equal, and its curve given labels."""
    curve = CalibrationCurve.from_cells(np.full(3, 0.1), np.array([5, 10, 100]), 5, None, hidden)
    return curve, curve.fit(np.array([0, labelled, 0]), np.array([0, positive, 0]))


@pytest.mark.parametrize(
    ("hidden", "labelled", "positive"),
    fast(
        2,
        [
            (HiddenPrior(), 40, 3),
            (HiddenPrior(0.5, 1.0), 200, 0),
            (HiddenPrior(0.05, 3.0), 12, 12),
            (HiddenPrior(), 1, 0),
        ],
    ),
)
def test_rate_of_one_group_is_the_integral(
    hidden: HiddenPrior, labelled: int, positive: int
) -> None:
    """Scores all equal, so the level and rho alone count: integrated over 601 x 601 points.

    Mean, and chance of a rate below each of five quantiles, to .03 with 9,600 draws.
    """
    z = np.linspace(-7, 7, 601)
    sigma = special.expit(np.hypot(3, 5) * z)[:, None]
    m = hidden.share * np.exp(hidden.spread * z) * sigma * (1 - sigma)
    rate = np.minimum((m + sigma) / (1 + m), 1 - 1e-16)
    log = special.xlogy(positive, rate) + special.xlog1py(labelled - positive, -rate)
    weight = np.exp(log - (z[:, None] ** 2 + z**2) / 2)
    weight /= weight.sum()
    _, fit = one_group(hidden, labelled, positive)
    found = fit.draw(np.random.default_rng(4), LONG).rates()[:, 0]
    assert found.mean() == pytest.approx(np.sum(weight * rate), rel=0.05, abs=1e-3)
    order = np.argsort(rate, axis=None)
    cumulated = np.cumsum(weight.ravel()[order])
    for share in (0.025, 0.25, 0.5, 0.75, 0.975):
        quantile = rate.ravel()[order][np.searchsorted(cumulated, share)]
        assert np.mean(found <= quantile) == pytest.approx(share, abs=0.03)


LIMITS = {
    "scores all equal": (np.full(5, 0.3), np.full(5, 100)),
    "priors 0": (np.zeros(4), np.full(4, 10)),
    "priors 1": (np.ones(4), np.full(4, 10)),
    "priors 0 and 1": (np.array([0.0, 1.0, 0.0, 1.0]), np.array([10**6, 5, 10**6, 1])),
    "one cell": (np.array([0.2]), np.array([7])),
    "one row": (np.array([0.2]), np.array([1])),
    "cells of 10^9 rows": (special.expit(np.linspace(5, -15, 64)), np.full(64, 10**9)),
    "4,096 cells": (np.sort(np.random.default_rng(1).random(4096) ** 8), np.full(4096, 250)),
    "outlying scores": (
        special.expit(np.array([700.0, 2, 1, 0, -1, -2, -700])),
        np.array([1, *[10**5] * 5, 1]),
    ),
    "one outlying score": (np.array([1.0, 1e-6, 1e-6]), np.array([1, 10**6, 10**6])),
}


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("answer", fast(1, ["contrary", "no", "none", "yes", "all no", "all yes"]))
def test_rates_are_numbers_at_the_limits(name: str, answer: str) -> None:
    probability, count = LIMITS[name]
    labelled = np.zeros(len(count), dtype=np.int64)
    if answer != "none":
        labelled = count.copy() if answer.startswith("all") else np.minimum(count, 50)
    positive = labelled * 0
    if answer.endswith("yes"):
        positive = labelled
    elif answer == "contrary":
        positive = np.where(probability < np.median(probability), labelled, 0)
    for hidden in (HiddenPrior(), HiddenPrior(10, 5), HiddenPrior(1e-9, 0.01)):
        curve = CalibrationCurve.from_cells(probability, count, 1, None, hidden)
        fit = curve.fit(labelled, positive)
        assert np.isfinite(fit.log_evidence)
        rates = fit.draw(np.random.default_rng(1), Schedule(8, 2, 2)).rates()
        assert rates.shape == (16, len(count))
        assert np.all((rates >= 0) & (rates <= 1))


def test_draws_do_not_hang_on_the_signs_of_eigenvectors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which linear algebra chooses: the same seed draws the same on all machines."""
    curve = example()
    labelled, positive = some_labels(curve)
    usual = curve.fit(labelled, positive).draw(np.random.default_rng(5))
    eigh = np.linalg.eigh

    def flipped(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
        values, vectors = eigh(matrix)
        return values, vectors * np.resize([1, -1, -1], len(values))

    monkeypatch.setattr(np.linalg, "eigh", flipped)
    other = curve.fit(labelled, positive).draw(np.random.default_rng(5))
    assert other.z == pytest.approx(usual.z, abs=1e-6)


def test_two_groups_by_weighting_draws_of_the_prior() -> None:
    """Where few labels are known, 200,000 draws of the prior weighted by their likelihood.

    Means to a tenth of a standard deviation, standard deviations to a tenth.
    """
    curve = CalibrationCurve.from_cells(np.array([0.6, 0.02]), np.array([50, 5000]), 50)
    labelled, positive = np.array([12, 30]), np.array([9, 1])
    labels = GroupLabels.from_cells(curve, labelled, positive)
    rng = np.random.default_rng(5)
    total, sums = 0.0, np.zeros((2, 2))
    for _ in range(20):
        z = rng.standard_normal((10_000, curve.dimensions))
        weight = np.exp(PosteriorAt(curve.at(z), labels).log_likelihood)
        rates = CurveDraws(curve.at(z)).rates()
        total += weight.sum()
        sums += weight @ rates, weight @ rates**2
    mean, square = sums / total
    spread = np.sqrt(square - mean**2)
    draws = curve.fit(labelled, positive).draw(rng, LONG).rates()
    assert np.max(np.abs(draws.mean(axis=0) - mean) / spread) < 0.1
    assert draws.std(axis=0) == pytest.approx(spread, rel=0.1)


@pytest.mark.slow
def test_posterior_is_calibrated_by_simulation() -> None:
    """Rank of the true number of positives among 63 draws, of 400 pools drawn from the prior.

    In 8 bins; chi-square of 7 degrees of freedom below 24.3, its .999 quantile. The schedule is
    the product's own, of which every twelfth draw is taken.
    """
    curve = example()
    count = np.geomspace(10, 10**6, 40)
    ranks = []
    for seed in range(400):
        rng = np.random.default_rng([9, seed])
        truth = CurveDraws(curve.at(rng.standard_normal((1, curve.dimensions))))
        labelled = rng.integers(0, 20, 40)
        positive = rng.binomial(labelled, truth.rates()[0])
        draws = curve.fit(labelled, positive).draw(rng).rates()
        chosen = draws[rng.permutation(len(draws))[:63]]
        ranks.append(np.sum(chosen @ count < truth.rates()[0] @ count))
    bins = np.bincount(np.array(ranks) // 8, minlength=8)
    assert np.sum((bins - 50) ** 2 / 50) < 24.3, bins
