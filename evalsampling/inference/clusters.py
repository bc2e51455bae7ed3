"""What it costs that labelled rows share clusters, and whether few clusters decide."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import scipy

from evalsampling.inference.intervals import degrees_of_freedom
from evalsampling.inference.results import Estimate
from evalsampling.inference.sample import WeightedSample
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.counted import counted

FEWEST_CLUSTERS = 20
"""Clusters, equally large ones, below which a warning says that there are few."""

LARGEST_SHARE = 0.2
"""Share of a variance above which a warning names the one cluster that makes it up."""


def cluster_effect(
    sample: WeightedSample, influence: FloatArray, confidence: float
) -> FloatArray | None:
    """Return by how much clusters multiply a variance, shape (m,), at least 1; None without any.

    It is the squared ratio of two half-widths by Student, by clusters and as if each row were by
    itself, so it allows for a variance that few clusters tell of. The influence is (n, m).
    """
    if sample.cluster is None:
        return None
    alone = dataclasses.replace(sample, cluster=None)
    by_cluster, by_row = (_half_widths(each, influence, confidence) for each in (sample, alone))
    ratio = np.divide(by_cluster, by_row, out=np.ones_like(by_row), where=by_row > 0)
    return np.maximum(ratio, 1.0) ** 2


def _half_widths(sample: WeightedSample, influence: FloatArray, confidence: float) -> FloatArray:
    """Return the half-width of each number by Student, shape (m,)."""
    error = np.sqrt(np.maximum(sample.variance(influence), 0.0))
    terms = sample.contributions(influence).T ** 2
    degrees = [degrees_of_freedom(np.nan_to_num(each), sample.units) for each in terms]
    return np.asarray(error * scipy.special.stdtrit(degrees, (1 + confidence) / 2))


def doubts_about_clusters(sample: WeightedSample, estimates: Sequence[Estimate]) -> list[str]:
    """Return warnings where few clusters, or one, decide how wide intervals are."""
    if sample.cluster is None:
        return []
    worth, doubts = sample.units, []
    as_pool = ", as sizes vary in the pool" * (sample.together is not None)
    if worth < FEWEST_CLUSTERS:
        doubts.append(
            f"pool.cluster: the labels are of {counted(sample.clusters, 'cluster')}, worth {worth} "
            f"of equal size{as_pool}; with fewer than {FEWEST_CLUSTERS} intervals are rough"
        )
    shares = [(one.largest_share or 0.0, one.target.title) for one in estimates if one.claims]
    share, title = max(shares, default=(0.0, ""))
    if share > LARGEST_SHARE:
        doubts.append(
            f"pool.cluster: one cluster makes up {100 * share:.0f} % of the variance of {title}"
        )
    return doubts
