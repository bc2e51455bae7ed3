"""The OASIS distribution against row-level optima and the authors' package."""

import dataclasses

import numpy as np
import pytest

from evalsampling.stats.oasis import instrumental, plug_in_f
from evalsampling.stats.oracle import beta_by_stratum


@dataclasses.dataclass(frozen=True)
class Case:
    """One state of the authors' sampler, strata of five, sizes and predictions given."""

    size: list[int]
    predicted: list[int]
    prior: list[float]
    positives: list[int]
    negatives: list[int]
    strength: float
    decaying: bool
    a: float
    epsilon: float
    f: float
    q: list[float]
    first_f: float
    first_q: list[float]

    @property
    def weight(self) -> np.ndarray:
        return np.array(self.size) / sum(self.size)

    @property
    def share(self) -> np.ndarray:
        return np.array(self.predicted) / self.size

    @property
    def rate(self) -> np.ndarray:
        drawn = np.add(self.positives, self.negatives)
        strength = self.strength / (np.maximum(drawn, 1) if self.decaying else np.ones(5))
        return beta_by_stratum(
            np.array(self.prior), strength, np.array(self.positives), np.array(self.negatives)
        )


# How these came about: the source distribution of oasis 0.1.3 under Python 3.11 and numpy 2.4,
# with empty modules for scikit-learn and tables (imported, not used) and numpy's older
# meaning of array(copy=False); 55 to 62 random rows in five strata given by hand, scores the
# probabilities, 40 draws; `_inst_pmf` before the first and after the last draw, counts from
# `_BB_model`, F from `_F_guess` and the last estimate.
PURE = Case(
    size=[10, 10, 14, 10, 16], predicted=[0, 0, 0, 10, 16],
    prior=[0.10172656126850785, 0.2967803193648785, 0.4985006179933983, 0.7027045625227529,
       0.8966900934315706],
    positives=[0, 2, 3, 4, 8], negatives=[3, 6, 10, 2, 2], strength=2, decaying=True, a=0.5,
    epsilon=0.001, f=0.7483229168785853,
    q=[0.04122518046506547, 0.15154552077552536, 0.2046475439169046, 0.24054043483383972,
       0.3620413200086649],
    first_f=0.7327651555241425,
    first_q=[0.08206937151695551, 0.1400605131444091, 0.25406274832879117, 0.21053827929317837,
       0.3132690877166659],
)  # fmt: skip
FROZEN = Case(
    size=[11, 12, 10, 16, 11], predicted=[0, 0, 0, 16, 11],
    prior=[0.10670937483108772, 0.31995397015268984, 0.5159483483502851, 0.6885160933849519,
       0.892006318550975],
    positives=[0, 0, 5, 6, 6], negatives=[3, 3, 3, 9, 5], strength=3, decaying=False, a=0.2,
    epsilon=0.05, f=0.6985765655839267,
    q=[0.10018233017762161, 0.18192821899108486, 0.28470277326368687, 0.24603158007115,
       0.1871550974964567],
    first_f=0.6896603138554909,
    first_q=[0.11832815942421354, 0.21620561679423755, 0.22654532149741874, 0.25011699491966866,
       0.1888039073644616],
)  # fmt: skip
MIXED = Case(
    size=[13, 14, 9, 13, 11], predicted=[3, 3, 4, 7, 11],
    prior=[0.09354135980681824, 0.3084354476788452, 0.4597160419755189, 0.6995642717588957,
       0.8900997412845109],
    positives=[0, 0, 1, 7, 7], negatives=[4, 9, 5, 5, 2], strength=2, decaying=True, a=0.5,
    epsilon=0.001, f=0.7168572844083015,
    q=[0.16095703886944135, 0.16653254500103135, 0.1639222000777279, 0.2739894257189805,
       0.23459879033281889],
    first_f=0.6270784587162319,
    first_q=[0.1425092153840863, 0.19119829007928751, 0.1564447949248629, 0.2573187175432257,
       0.2525289820685376],
)  # fmt: skip


@pytest.mark.parametrize("case", [PURE, FROZEN])
def test_equals_the_authors_package_on_strata_of_one_prediction(case: Case) -> None:
    prior = np.array(case.prior)
    first = plug_in_f(case.weight, prior, case.share, case.a)
    assert first == pytest.approx(case.first_f, rel=1e-14)
    for rate, f, q in ((prior, first, case.first_q), (case.rate, case.f, case.q)):
        found = instrumental(case.weight, rate, case.share, f, case.a, case.epsilon)
        np.testing.assert_allclose(found, q, rtol=1e-13)


def test_mixed_strata_of_the_authors_package_are_averaged_under_the_root() -> None:
    """Split by prediction, v_c = M_c m_c, and theirs is M_k sqrt(sum_c M_c m_c^2 / M_k).

    The published formula, which adds v_c, differs here by up to .05.
    """
    case = MIXED
    prior = np.array(case.prior)
    first = plug_in_f(case.weight, prior, case.share, case.a)
    assert first == pytest.approx(case.first_f, rel=1e-14)
    cells = np.stack([1 - case.share, case.share], axis=1) * case.weight[:, None]
    for rate, f, q in ((prior, first, case.first_q), (case.rate, case.f, case.q)):
        twice, label = np.repeat(rate, 2), np.tile([0.0, 1.0], 5)
        split = instrumental(cells.ravel(), twice, label, f, case.a, 0).reshape(5, 2)
        square = np.divide(split**2, cells, out=np.zeros_like(cells), where=cells > 0)
        pooled = np.sqrt(case.weight * square.sum(axis=1))
        pooled = case.epsilon * case.weight + (1 - case.epsilon) * pooled / pooled.sum()
        np.testing.assert_allclose(pooled, q, rtol=1e-13)
        published = instrumental(case.weight, rate, case.share, f, case.a, case.epsilon)
        np.testing.assert_allclose(
            published,
            case.epsilon * case.weight + (1 - case.epsilon) * split.sum(axis=1),
            rtol=1e-13,
        )
        assert 0.01 < np.abs(published - q).max() < 0.051


@pytest.mark.parametrize("a", [0, 0.25, 0.5, 1])
@pytest.mark.parametrize("f", [0.05, 0.6, 1])
def test_adds_the_optimal_weights_of_individual_rows(a: float, f: float) -> None:
    """sqrt(E ||Dg l||^2) of each row, with l = (yf, a f + (1 - a) y) and Dg = (1, -F)/R2."""
    rng = np.random.default_rng(3)
    stratum = np.concatenate([np.arange(6), rng.integers(0, 6, 60)])
    prediction = rng.integers(0, 2, 66)
    rate = rng.random(6)
    row = np.zeros(66)
    for i, (k, p) in enumerate(zip(stratum, prediction, strict=True)):
        for y, chance in ((0, 1 - rate[k]), (1, rate[k])):
            row[i] += chance * (y * p - f * (a * p + (1 - a) * y)) ** 2
    expected = np.bincount(stratum, np.sqrt(row))
    size = np.bincount(stratum)
    found = instrumental(size / 66, rate, np.bincount(stratum, prediction) / size, f, a, 0)
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-12)


@pytest.mark.parametrize("beta", [0.5, 1, 2])
def test_plug_in_f_of_pure_strata_is_f_beta_of_the_expected_confusions(beta: float) -> None:
    rng = np.random.default_rng(1)
    size, rate, predicted = rng.integers(1, 50, 8), rng.random(8), np.arange(8) % 2.0
    tp = np.sum(size * rate * predicted)
    fp, fn = np.sum(size * (1 - rate) * predicted), np.sum(size * rate * (1 - predicted))
    f_beta = (1 + beta**2) * tp / ((1 + beta**2) * tp + beta**2 * fn + fp)
    found = plug_in_f(size / size.sum(), rate, predicted, 1 / (1 + beta**2))
    assert found == pytest.approx(f_beta, rel=1e-13)


def test_plug_in_f_at_the_ends() -> None:
    weight, rate, predicted = np.array([0.6, 0.4]), np.array([0.1, 0.5]), np.array([0.0, 1.0])
    assert plug_in_f(weight, rate, predicted, 1) == pytest.approx(0.5)  # precision
    assert plug_in_f(weight, rate, predicted, 0) == pytest.approx(0.2 / 0.26)  # recall
    assert plug_in_f(weight, np.zeros(2), np.zeros(2), 0.5) == 0.5  # 0/0
    assert plug_in_f(weight, rate, np.zeros(2), 0.5) == 0


def test_epsilon_mixes_in_the_weights() -> None:
    weight, rate, predicted = np.array([0.9, 0.1]), np.array([0.0, 0.5]), np.array([0.0, 1.0])
    np.testing.assert_allclose(instrumental(weight, rate, predicted, 0.5, 0.5, 0), [0, 1])
    np.testing.assert_allclose(instrumental(weight, rate, predicted, 0.5, 0.5, 0.2), [0.18, 0.82])
    np.testing.assert_allclose(instrumental(weight, rate, predicted, 0.5, 0.5, 1), weight)


def test_nothing_to_learn_is_drawn_by_weight() -> None:
    """No predicted positive and F = 0: every loss has zero influence; also one stratum alone."""
    weight, rate = np.array([0.7, 0.3]), np.array([0.2, 0.4])
    found = instrumental(weight, rate, np.zeros(2), 0, 0.5, 1e-3)
    np.testing.assert_allclose(found, weight, rtol=1e-15)
    one = instrumental(np.ones(1), rate[:1], np.ones(1), 0.3, 0.5, 1e-3)
    np.testing.assert_allclose(one, [1], rtol=1e-15)


def test_no_distribution_over_pure_strata_has_less_variance() -> None:
    """sum_k p_k^2 h_k / q_k, the second moment of w Dg l, grows in every direction."""
    rng = np.random.default_rng(5)
    weight, rate, predicted = rng.dirichlet(np.ones(6)), rng.random(6), np.arange(6) % 2.0
    a, f = 1 / (1 + 2**2), plug_in_f(weight, rate, np.arange(6) % 2.0, 1 / (1 + 2**2))
    q = instrumental(weight, rate, predicted, f, a, 0)
    residual = predicted - f * (a * predicted + 1 - a), -f * a * predicted
    second = rate * residual[0] ** 2 + (1 - rate) * residual[1] ** 2
    best = np.sum(weight**2 * second / q)
    for _ in range(50):
        other = q * np.exp(rng.normal(0, 0.1, 6))
        assert np.sum(weight**2 * second / (other / other.sum())) > best
