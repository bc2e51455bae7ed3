"""OASIS against its formulas stratum by stratum, row-level optima and the authors' package."""

import dataclasses

import numpy as np
import pytest

from evalsampling.measures import Accuracy, FBeta, Measure, Precision, Recall
from evalsampling.samplers import Oasis
from evalsampling.samplers.oasis import instrumental, plug_in_f
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.oracle import beta_by_stratum
from tests.samplers.pools import Pool, leaf_means, make_pool, with_second_system

WEIGHT = {"f1": 0.5, "precision": 1.0, "recall": 0.0, "f_beta(beta=2)": 0.2}
MEASURES = [FBeta(), FBeta(beta=2.0), Precision(), Recall()]
IDS = [measure.name for measure in MEASURES]


def slow_proposal(
    pool: Pool, sampler: Oasis, history: History, order: list[np.ndarray]
) -> np.ndarray:
    """Chances of all rows by the formulas of the paper, draw by draw and row by row."""
    measure = sampler.measure
    assert isinstance(measure, FBeta | Precision | Recall)
    a, total = WEIGHT[measure.name], len(pool)
    said = (pool.outputs.prediction[:, measure.system] == measure.positive).tolist()
    rows = pool.rows(history, order)
    yes, no = [0.0] * len(pool.table.leaves), [0.0] * len(pool.table.leaves)
    hits = found = claimed = 0.0
    for question, q in zip(history.question.tolist(), history.probability.tolist(), strict=True):
        label, row = history.label[question], rows[question]
        if label == NO_LABEL:
            continue
        positive = label == measure.positive
        (yes if positive else no)[pool.leaf[row]] += 1
        w = 1 / (total * q)
        hits += w * (positive and said[row])
        found += w * positive
        claimed += w * said[row]
    weights, rates, shares = [], [], []
    for k in range(len(pool.table.leaves)):
        inside = np.flatnonzero(pool.leaf == k)
        weights.append(len(inside) / total)
        shares.append(np.mean([said[x] for x in inside]) if len(inside) else 0.0)
        draws = yes[k] + no[k]
        s = sampler.strength / max(draws, 1)
        rates.append((s * leaf_means(pool)[k, measure.positive] + yes[k]) / (s + draws))
    if a * claimed + (1 - a) * found > 0:
        f = hits / (a * claimed + (1 - a) * found)
    else:
        top = sum(m * p * r for m, p, r in zip(weights, shares, rates, strict=True))
        bottom = sum(
            m * (a * p + (1 - a) * r) for m, p, r in zip(weights, shares, rates, strict=True)
        )
        f = top / bottom
    v = [
        m * ((1 - a) * (1 - p) * f * r**0.5 + p * (a**2 * f**2 * (1 - r) + (1 - f) ** 2 * r) ** 0.5)
        for m, p, r in zip(weights, shares, rates, strict=True)
    ]
    epsilon = sampler.epsilon
    q = [epsilon * m + (1 - epsilon) * x / sum(v) for m, x in zip(weights, v, strict=True)]
    size = np.bincount(pool.leaf, minlength=len(pool.table.leaves))
    return np.array([q[k] / size[k] for k in pool.leaf.tolist()])


@pytest.mark.parametrize("measure", MEASURES, ids=IDS)
@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
def test_proposals_follow_the_formulas(measure: Measure, oracle: str) -> None:
    """Before any label, with few and with many; draws count, rows drawn again included."""
    pool = make_pool(120, 6, seed=7, positive=0.3)
    for rounds in range(4):
        sampler = Oasis(measure, oracle, epsilon=0.05, strength=3.0)
        if oracle == "stochastic":
            history, order = pool.run_stochastic(sampler, pool.probability, rounds, 30, seed=2)
        else:
            history, order = pool.run(sampler, rounds, 25, seed=2)
        q = pool.row_probability(sampler.proposal(pool.table, history), history, order)
        expected = slow_proposal(pool, sampler, history, order)
        np.testing.assert_allclose(q, expected, rtol=1e-7)
        assert q.sum() == pytest.approx(1, abs=1e-12)
        assert q.min() >= 0.05 / 120 * (1 - 1e-12)


def three_classes(leaves: int, slots: int | None = None) -> Pool:
    pool = make_pool(200, leaves, seed=7, classes=3, positive=0.5)
    return with_second_system(pool, seed=1, slots=slots)


def with_empty_leaves() -> Pool:
    pool = make_pool(120, 3, seed=7, positive=0.3)
    return dataclasses.replace(pool, leaf=np.array([1, 2, 5])[pool.leaf], leaves=8)


@pytest.mark.parametrize(
    ("pool", "measure"),
    [
        (three_classes(5), FBeta(positive=2, system=1)),
        (three_classes(1, slots=4), FBeta(positive=2, system=1)),
        (with_empty_leaves(), FBeta()),
    ],
    ids=["class 2 of system 1", "rare signatures pooled", "empty leaves"],
)
def test_other_pools_with_and_without_all_answers(pool: Pool, measure: Measure) -> None:
    """Rows without an answer have no part in the rates; the others weigh more by one factor."""
    sampler = Oasis(measure)
    history, order = pool.run(sampler, 2, 30, seed=2)
    silent = history.with_labels(np.where(np.arange(60) % 3 == 0, NO_LABEL, history.label))
    for seen in (history, silent):
        q = pool.row_probability(sampler.proposal(pool.table, seen), seen, order)
        np.testing.assert_allclose(q, slow_proposal(pool, sampler, seen, order), rtol=1e-7)
        assert q.sum() == pytest.approx(1, abs=1e-12)


def test_no_positives_anywhere_falls_back_on_the_pool() -> None:
    """Nothing predicted, certain priors of 0: all v are 0, every row has the same chance."""
    pool = Pool(
        np.arange(30) // 10, np.zeros(30, int), np.repeat([[1.0, 0.0]], 30, 0), np.zeros(30, int)
    )
    sampler = Oasis(FBeta())
    history, order = pool.run(sampler, 1, 10, seed=2)
    q = pool.row_probability(sampler.proposal(pool.table, history), history, order)
    np.testing.assert_allclose(q, 1 / 30, rtol=1e-12)


@pytest.mark.parametrize("key", ["epsilon", "strength"])
@pytest.mark.parametrize("value", [0, -1.0, float("nan"), float("inf"), True, "1", None])
def test_parameters_are_checked(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=f"{key} must be"):
        Oasis(FBeta(), **{key: value})  # type: ignore[arg-type]


def test_epsilon_is_a_share_and_the_measure_an_f_measure() -> None:
    with pytest.raises(ValueError, match=r"epsilon must be above 0 and at most 1, got 1\.5"):
        Oasis(FBeta(), epsilon=1.5)
    with pytest.raises(ValueError, match="precision and recall, not for accuracy"):
        Oasis(Accuracy())
    pool = make_pool(50, 3, seed=1)
    proposal = Oasis(FBeta(), epsilon=1.0).proposal(pool.table, pool.start())
    np.testing.assert_allclose(proposal.cell_probability, 1 / 50, rtol=1e-12)


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
