"""Variances, intervals and warnings where labelled rows share clusters."""

import dataclasses
import itertools

import numpy as np
import pytest

from evalsampling.inference.estimates import by_weights
from evalsampling.inference.evidence import Evidence, doubts_about_clusters
from evalsampling.inference.intervals import Interval, covers
from evalsampling.inference.results import Estimate, Target
from evalsampling.inference.sample import WeightedSample, cluster_effect
from tests.slow import slowly

TARGET = Target("accuracy")


def sample_of(cluster: np.ndarray) -> WeightedSample:
    """Rows of equal weight, each drawn once."""
    rows = len(cluster)
    sample = WeightedSample.with_replacement(np.arange(rows), np.ones(rows), rows)
    return sample.clustered(cluster)


def estimated(label: np.ndarray, cluster: np.ndarray) -> Estimate:
    """The share of labels, by the design."""
    value = label.mean(keepdims=True)
    influence = (label - value)[:, None]
    return by_weights([TARGET], value, influence, sample_of(cluster), [Evidence("rows")], 0.95)[0]


def test_variance_over_all_samples_of_clusters() -> None:
    """Of two clusters of four, drawn with replacement, the mean variance is that of the mean."""
    pool = np.random.default_rng(1).normal(size=(4, 3))
    means, variances = [], []
    for drawn in itertools.product(range(4), repeat=2):
        values, cluster = pool[list(drawn)].reshape(6, 1), np.repeat([0, 1], 3)
        sample = sample_of(cluster)
        means.append(sample.mean(values)[0])
        variances.append(sample.variance(values - values.mean())[0])
    assert np.mean(variances) == pytest.approx(np.var(means), rel=1e-12)


def test_variance_of_clusters_of_unequal_sizes_is_cochrans() -> None:
    """That of the ratio-to-size estimate: W. G. Cochran, *Sampling Techniques*, 3rd ed., ch. 9A.

    It is c / (c - 1) sum M_i^2 (mean_i - mean)^2 / n^2, and also the cluster-robust variance of a
    regression on a constant.
    """
    rng = np.random.default_rng(2)
    size = np.array([1, 4, 2, 7, 3])
    cluster, values = np.repeat(np.arange(5), size), rng.normal(size=17)
    of_cluster = np.bincount(cluster, values) / size
    expected = 5 / 4 * np.sum(size**2 * (of_cluster - values.mean()) ** 2) / 17**2
    residual = (values - values.mean())[:, None]
    assert sample_of(cluster).variance(residual)[0] == pytest.approx(expected, rel=1e-12)


def shapes(rng: np.random.Generator) -> dict[str, WeightedSample]:
    """Every shape of a sample of 24 rows."""
    question, stratum = np.arange(24), np.repeat([0, 1, 2], 8)
    inclusion = rng.uniform(0.2, 0.9, 24)
    return {
        "with replacement": WeightedSample.with_replacement(question, rng.exponential(size=24), 24),
        "stratified": WeightedSample.stratified(question, stratum, np.array([30, 90, 200])),
        "without replacement": WeightedSample.without_replacement(question, inclusion, 70),
    }


@pytest.mark.parametrize("name", ["with replacement", "stratified", "without replacement"])
def test_variance_covariance_and_contributions_tell_the_same(name: str) -> None:
    rng = np.random.default_rng(3)
    alone, values = shapes(rng)[name], rng.normal(size=(24, 2))
    assert alone.clustered(np.arange(24) + 5) is alone, "each row is a cluster of its own"
    assert alone.clustered(None) is alone
    sample = alone.clustered(rng.integers(0, 9, 24))
    covariance, terms = sample.covariance(values), sample.contributions(values)
    assert terms.shape == (sample.clusters, 2)
    np.testing.assert_allclose(covariance, terms.T @ terms, rtol=1e-9)
    np.testing.assert_allclose(np.diag(covariance), sample.variance(values), rtol=1e-9)
    rows = np.zeros((sample.clusters, 2))
    np.add.at(rows, sample.cluster, alone.contributions(values))
    c = sample.clusters
    np.testing.assert_allclose(terms, rows * np.sqrt(c / (c - 1) * 23 / 24), rtol=1e-12)


def test_rows_of_a_cluster_that_are_one_count_as_one() -> None:
    """Each label of 60 twice: the variance doubles, and the interval is that of the 60."""
    label = np.repeat(np.arange(60) % 3 == 0, 2).astype(float)
    both = estimated(label, np.repeat(np.arange(60), 2))
    single = estimated(label[::2], np.arange(60))
    assert both.standard_error == pytest.approx(single.standard_error, rel=1e-9)
    # The ratio of Student's quantiles, of 119 degrees and of 59, takes 2 % of the effective size.
    assert (both.low, both.high) == pytest.approx((single.low, single.high), rel=0.01)
    assert both.cluster_effect == pytest.approx(2, rel=0.03), "and Student's quantiles differ"
    assert "times that of rows by themselves" in both.notes[0]
    assert single.cluster_effect is None
    assert not single.notes


def test_labels_that_are_not_alike_cost_nothing() -> None:
    label = np.tile([0.0, 1.0], 40)
    effect = cluster_effect(sample_of(np.repeat(np.arange(40), 2)), (label - 0.5)[:, None], 0.95)
    assert effect.tolist() == [1.0]


def test_samples_without_the_largest_clusters_of_a_pool() -> None:
    """What rows of a cluster add is in proportion to the rows expected in it, and so are units.

    Twenty clusters of three rows stand for clusters of which a row shares 12: what pairs add counts
    four times, and the 60 rows are worth five clusters.
    """
    rng = np.random.default_rng(6)
    values = rng.normal(size=(20, 1)).repeat(3, axis=0) + rng.normal(size=(60, 2))
    seen, pool = (
        sample_of(np.repeat(np.arange(20), 3)).clustered(np.repeat(np.arange(20), 3), together)
        for together in (3, 12)
    )
    alone = dataclasses.replace(seen, cluster=None)
    more = 20 / 19 * 59 / 60
    between = seen.variance(values) - more * alone.variance(values)
    expected = more * alone.variance(values) + 4 * between
    assert pool.variance(values) == pytest.approx(expected)
    np.testing.assert_allclose(np.diag(pool.covariance(values)), expected)
    terms = pool.contributions(values)
    np.testing.assert_allclose((terms**2).sum(axis=0), expected)
    correlation = [np.corrcoef(each.contributions(values).T)[0, 1] for each in (seen, pool)]
    assert correlation[0] == pytest.approx(correlation[1])
    assert (seen.units, pool.units) == (20, 5)
    fewer = sample_of(np.repeat(np.arange(20), 3)).clustered(np.repeat(np.arange(20), 3), 2.0)
    assert fewer.variance(values) == pytest.approx(seen.variance(values))


def test_warnings_where_few_clusters_decide() -> None:
    few, many = sample_of(np.arange(60) % 12), sample_of(np.arange(60) % 30)
    estimate = Estimate(TARGET, 0.5, 0.1, 0.95, (Interval(0.3, 0.7, "design-based", "wald"),))
    heavy = dataclasses.replace(estimate, largest_share=0.34)
    assert doubts_about_clusters(many, [estimate]) == []
    assert doubts_about_clusters(sample_of(np.arange(60)), [heavy]) == []
    assert doubts_about_clusters(few, [estimate]) == [
        "pool.cluster: the labels are of 12 clusters, worth 12 of equal size; with fewer than 20 "
        "intervals are rough"
    ]
    assert doubts_about_clusters(many, [estimate, heavy]) == [
        "pool.cluster: one cluster makes up 34 % of the variance of accuracy"
    ]


SIZES = {
    "equal": lambda rng: np.full(40, 10),
    "heavy-tailed": lambda rng: np.minimum(4 * (1 + rng.pareto(1.5, 40)), 60).astype(int),
}


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("correlation", [0.3, *slowly(0, 0.05)])
def test_intervals_hold_the_truth_where_clusters_are_drawn(sizes: str, correlation: float) -> None:
    """40 clusters whose rates are of a Beta distribution, so that labels correlate as they should.

    400 repeats tell a coverage of .95 to .011: .93 is two of these below. Heavy tails may cost .03.
    """
    rng, held, held_alone = np.random.default_rng(4), 0, 0
    for _ in range(400):
        size, rate = SIZES[sizes](rng), np.full(40, 0.7)
        if correlation:
            strength = 1 / correlation - 1
            rate = rng.beta(0.7 * strength, 0.3 * strength, 40)
        cluster = np.repeat(np.arange(40), size)
        label = (rng.random(len(cluster)) < rate[cluster]).astype(float)
        held += covers(estimated(label, cluster).intervals[0], 0.7)
        held_alone += covers(estimated(label, np.arange(len(cluster))).intervals[0], 0.7)
    assert held / 400 >= (0.93 if sizes == "equal" else 0.9)
    if correlation == 0.3:
        assert held_alone / 400 < 0.8
