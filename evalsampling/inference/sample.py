"""Labelled rows with their design weights: weighted means, their variances, the cost of weights.

References:
    L. Kish, *Survey Sampling*, Wiley 1965, sections 8.2 (design effect) and 11.7 (weights).
    M. H. Hansen, W. N. Hurwitz and W. G. Madow, *Sample Survey Methods and Theory*, Wiley 1953,
    volume 1, chapter 6 (ultimate clusters).
"""

import dataclasses
import functools
import math

import numpy as np
import scipy

from evalsampling.inference.intervals import degrees_of_freedom
from evalsampling.stats.arrays import FloatArray, IntArray


@dataclasses.dataclass(frozen=True)
class WeightedSample:
    """The design weights of labelled rows, for R^ = sum_j weight_j l_j and its covariance.

    The covariance of R^ is the sum over the groups h of
    scale_h [sum_j w2_j l_j l_j' - correction_h (sum_j w_j l_j)(sum_j w_j l_j)'], j running over the
    rows of the group. Draws with replacement form a single group; each stratum is a group.

    Where labelled rows share clusters, contributions of the rows of a cluster are added up before
    they are squared (the ultimate-cluster rule): products of two rows of a cluster are added, and
    c / (c - 1) takes the place of n / (n - 1), for c clusters of n rows.
    """

    question: IntArray  # (n,): the labelled questions of the history
    weight: FloatArray  # (n,): weight of each question in R^
    weight_square_sum: FloatArray  # (n,): w2
    weight_sum: FloatArray  # (n,): w
    group: IntArray  # (n,): group of each question, in [0, groups)
    scale: FloatArray  # (groups,): factor of the variance of each group
    mean_correction: FloatArray  # (groups,): correction
    draws: int  # number of independent draws
    answered: int  # number of draws whose row has a label
    # (n,): sum over the draws of a row of w times its weight under the latest proposal, in place of
    # w^2; None if it was not computed
    latest: FloatArray | None = None
    # why the labels have no weight, in words; None if they have weights
    empty_because: str | None = None
    # (n,): label code of each entry, where an entry is a class among the answers to a question, and
    # several may have the same question; None if an entry is a question
    answer: IntArray | None = None
    # (groups,): factor of the weighted sum of a group in the deviations that are its
    # `contributions`; None if it is the correction
    centre: FloatArray | None = None
    # (n,): number of the cluster of each question, in [0, `clusters`); None if no two share one
    cluster: IntArray | None = None
    # number of rows expected in the cluster of a drawn row where whole clusters were drawn, 1 or
    # more; None where rows were drawn by themselves. Samples without the largest clusters of a pool
    # have fewer. What the rows of a cluster add to the variance beside their own terms is in
    # proportion to this number, so it is scaled up to it, and as few clusters count as there would
    # be
    together: float | None = None

    @classmethod
    def with_replacement(
        cls, question: IntArray, weight: FloatArray, questions: int, known: FloatArray | None = None
    ) -> "WeightedSample":
        """Return the weights of N independent draws: R^ = (1/N) sum w l ([MR] eq. 1).

        The variance has the divisor N - 1. Draws, shape (N,), are of a ``question``, with the
        weight w = p / q, 0 without a label. What is ``known``, (questions,), adds to their weights
        without error.
        """
        draws = len(question)
        weight_sum, weight_square_sum = (
            np.bincount(question, each, questions).astype(np.float64)
            for each in (weight, weight**2)
        )
        kept = np.flatnonzero(weight_square_sum)
        share = weight_sum[kept] / max(draws, 1) + (0 if known is None else known[kept])
        return dataclasses.replace(
            cls.independent(kept, share, weight_square_sum[kept], weight_sum[kept], draws),
            scale=np.array([1 / (max(draws, 1) * max(draws - 1, 1))]),
            mean_correction=np.array([1 / max(draws, 1)]),
            answered=int(np.count_nonzero(weight)),
        )

    @classmethod
    def stratified(cls, question: IntArray, stratum: IntArray, rows: IntArray) -> "WeightedSample":
        """Return the weights of simple random samples, without replacement, of strata.

        R^ = sum_k (M_k / M) mean_k over the strata with a labelled row, renormalised. A stratum of
        several rows with a single labelled one has no variance of its own; all such strata are
        treated as one, which makes the variance too large rather than too small (W. G. Cochran,
        *Sampling Techniques*, 3rd edition, 1977, sections 5.3 and 5A.12).

        Questions, about different rows, are in a ``stratum`` of M_k ``rows``.
        """
        taken = np.bincount(stratum, minlength=len(rows))
        share = np.where(taken > 0, rows, 0) / max(rows[taken > 0].sum(), 1)
        # Single labelled rows of larger strata share a group, where their weights M_k / M replace
        # equal weights. A stratum of one row is fully labelled and has no variance.
        alone = (taken == 1) & (rows > 1)
        lonely = int(alone.sum())
        group = np.where(alone, len(rows), np.arange(len(rows)))[stratum]
        mean_correction = 1 / np.maximum(np.bincount(group, minlength=len(rows) + 1), 1)
        if lonely == 1:
            # Its deviation from a mean is unknown; its square is not smaller.
            mean_correction[-1] = 0.0
        weight = share[stratum] / taken[stratum]
        fraction = taken / np.maximum(rows, 1)
        scale = np.append(
            share**2 * (1 - fraction) / np.maximum(taken * (taken - 1), 1),
            lonely / max(lonely - 1, 1),
        )
        # The factor 1 - 1 / M_k of single rows of finite strata is in their spread already.
        factor = np.where(alone[stratum], weight, 1.0)
        return cls(
            question=question,
            weight=weight,
            weight_square_sum=factor**2,
            weight_sum=factor,
            group=group,
            scale=scale,
            mean_correction=mean_correction,
            draws=len(question),
            answered=len(question),
        )

    @classmethod
    def without_replacement(
        cls, question: IntArray, inclusion: FloatArray, rows: float, stratum: IntArray | None = None
    ) -> "WeightedSample":
        """Return Horvitz-Thompson weights of rows drawn independently: R^ = (1/M) sum l / pi.

        The variance is (1/M^2) sum (1 - pi) (l / pi)^2, that of Poisson sampling; too large if the
        number of rows is fixed (C.-E. Särndal, B. Swensson and J. Wretman, *Model Assisted Survey
        Sampling*, Springer 1992, section 3.5). In strata of which a fixed number was drawn it is
        that of deviations from their means.

        `inclusion`: shape (n,): pi, in (0, 1]. `rows`: M.
        `stratum`: shape (n,): stratum of each row, from 0, or -1 for none; None for no strata.
        """
        inclusion = np.minimum(inclusion, 1.0)  # rounding
        weight, missed = 1 / (inclusion * rows), 1 - inclusion
        square, total = missed * weight**2, np.sqrt(missed) * weight
        sample = cls.independent(question, weight, square, total, len(question))
        if stratum is None:
            return sample
        taken = np.bincount(stratum + 1)
        several = (taken > 1) & (np.arange(len(taken)) > 0)
        return dataclasses.replace(
            sample,
            group=stratum + 1,
            scale=np.where(several, taken / np.maximum(taken - 1, 1), 1.0),
            mean_correction=np.where(several, 1 / np.maximum(taken, 1), 0.0),
        )

    @classmethod
    def independent(
        cls,
        question: IntArray,
        weight: FloatArray,
        weight_square_sum: FloatArray,
        weight_sum: FloatArray,
        draws: int,
    ) -> "WeightedSample":
        """Return the weights of rows whose terms are independent, in one group."""
        return cls(
            question=question,
            weight=weight,
            weight_square_sum=weight_square_sum,
            weight_sum=weight_sum,
            group=np.zeros(len(question), dtype=np.int64),
            scale=np.ones(1),
            mean_correction=np.zeros(1),
            draws=draws,
            answered=draws,
        )

    def clustered(
        self, cluster: IntArray | None, together: float | None = None
    ) -> "WeightedSample":
        """Return the sample with the clusters of the history's questions, if any share one."""
        if cluster is None:
            return self
        names, number = np.unique(cluster[self.question], return_inverse=True)
        if len(names) == len(self.question):
            return self
        return dataclasses.replace(self, cluster=number, together=together)

    @functools.cached_property
    def clusters(self) -> int:
        """Number of clusters of the rows; of each row by itself the number of rows."""
        return len(self.question) if self.cluster is None else int(self.cluster.max()) + 1

    @functools.cached_property
    def units(self) -> int:
        """Number of draws whose row has a label; of clusters, of equally large ones, at least 2."""
        if self.cluster is None:
            return self.answered
        together = max(self._together, self.together or 1)
        return max(math.floor(len(self.question) / together + 1e-9), 2)

    @functools.cached_property
    def _together(self) -> float:
        """The mean number of labelled rows in the cluster of a labelled row; there are clusters."""
        assert self.cluster is not None
        rows = np.bincount(self.cluster)
        return float(rows @ rows) / len(self.question)

    def with_latest(self, weight: FloatArray) -> "WeightedSample":
        """Return the sample with weights by the latest proposal, 0 of rows that it never draws."""
        return dataclasses.replace(self, latest=self.weight_sum * weight[self.question])

    def mean(self, values: FloatArray) -> FloatArray:
        """Return the weighted sum of values, shape (n, ...)."""
        return np.tensordot(self.weight, values, axes=1)

    def variance(self, values: FloatArray) -> FloatArray:
        """Return the variance of the weighted sum of values, shape (n, m): shape (m,)."""
        return self.variance_of(values, values**2)

    def variance_of(self, values: FloatArray, squares: FloatArray) -> FloatArray:
        """Return the variance of the weighted sum, (m,), given mean values and mean squares."""
        squares = self._by_group(self.weight_square_sum[:, None] * squares)
        firsts = self._by_group(self.weight_sum[:, None] * values)
        variance = self.scale @ (squares - self.mean_correction[:, None] * firsts**2)
        if self.cluster is None:
            return variance
        rows = self._of_rows(values)
        within = (self.by_cluster(rows) ** 2).sum(axis=0) - (rows**2).sum(axis=0)
        return self._more * (variance + within) * self._missed(variance, within)

    def latest_variance(self, values: FloatArray) -> FloatArray | None:
        """Return the variance under the latest proposal, shape (m,); None if it is not known.

        Sigma / N with Sigma = (1/N) sum_j p^2 l l' / (q_N q_{j-1}) - R^ R^' ([MR] section 3).
        """
        if self.latest is None or not self.draws or self.cluster is not None:
            return None
        mean = self.mean(values)
        return np.maximum(self.latest @ values**2 / self.draws - mean**2, 0) / self.draws

    def covariance(self, values: FloatArray) -> FloatArray:
        """Return the covariance of the weighted sum of values, shape (n, m): shape (m, m)."""
        weighted = (self.scale[self.group] * self.weight_square_sum)[:, None] * values
        firsts = self._by_group(self.weight_sum[:, None] * values)
        covariance = values.T @ weighted
        covariance -= (firsts.T * (self.scale * self.mean_correction)) @ firsts
        if self.cluster is None:
            return covariance
        rows = self._of_rows(values)
        sums = self.by_cluster(rows)
        within = sums.T @ sums - rows.T @ rows
        missed = np.sqrt(self._missed(np.diag(covariance), np.diag(within)))
        return self._more * (covariance + within) * np.outer(missed, missed)

    def contributions(self, values: FloatArray) -> FloatArray:
        """Return the part of each row, or cluster, in the error of the weighted sum: (k, m).

        Their squares add up to the variance, apart from draws that have a weight and no label.
        """
        rows = self._of_rows(values)
        if self.cluster is None:
            return rows
        sums, own = self.by_cluster(rows), (rows**2).sum(axis=0)
        missed = self._missed(own, (sums**2).sum(axis=0) - own)
        return np.sqrt(self._more * missed) * sums

    def _missed(self, variance: FloatArray, within: FloatArray) -> FloatArray:
        """Return the factor of variances, at least 1, for clusters larger than those drawn."""
        larger = max((self.together or 1) / self._together - 1, 0.0)
        more, total = larger * np.maximum(within, 0.0), variance + within
        return 1 + np.divide(more, total, out=np.zeros_like(total), where=total > 0)

    def _of_rows(self, values: FloatArray) -> FloatArray:
        """Return the part of each row in the error, shape (n, m): see `contributions`."""
        centre = self.mean_correction if self.centre is None else self.centre
        mean = self._by_group(self.weight_sum[:, None] * values) * centre[:, None]
        root = np.sqrt(self.weight_square_sum)[:, None]
        # A row that was certain to be drawn adds nothing.
        of_mean = np.divide(self.weight_sum[:, None], root, out=np.zeros_like(root), where=root > 0)
        deviation = root * values - of_mean * mean[self.group]
        return np.sqrt(self.scale[self.group])[:, None] * deviation

    @property
    def _more(self) -> float:
        """The factor of the variance for as few clusters as there are."""
        rows = len(self.question)
        return self.clusters / max(self.clusters - 1, 1) * (rows - 1) / rows

    def by_cluster(self, values: FloatArray) -> FloatArray:
        """Return the sum of values, shape (n, ...), over each cluster, or as they are."""
        if self.cluster is None:
            return values
        sums = np.zeros((self.clusters, *values.shape[1:]))
        np.add.at(sums, self.cluster, values)
        return sums

    def by_question(self, values: FloatArray) -> FloatArray:
        """Return the sum of values, shape (k, ...), over the entries of each question."""
        if self.answer is None:
            return values
        return np.asarray(np.add.reduceat(values, np.unique(self.question, return_index=True)[1]))

    def _by_group(self, values: FloatArray) -> FloatArray:
        """Return the sum of values, shape (n, m), over each group: shape (groups, m)."""
        sums = np.zeros((len(self.scale), values.shape[1]))
        if len(self.scale) == 1:
            return values.sum(axis=0)[None]
        np.add.at(sums, self.group, values)
        return sums


def effective_size(weight: FloatArray) -> float:
    """Return Kish's effective sample size (sum w)^2 / sum w^2, in [0, n]; 0 without a weight."""
    largest = weight.max(initial=0.0)
    if largest == 0:
        return 0.0
    scaled = weight / largest
    return float(scaled.sum() ** 2 / (scaled @ scaled))


def design_effect(standard_error: float, unit_variance: float, draws: int) -> float | None:
    """Return the variance of an estimate divided by that of a simple random sample of equal size.

    The latter is unit_variance / draws, the ``unit_variance`` that of the residual of a random row:
    for accuracy value (1 - value), for recall value (1 - value) / E[d], a random row being in the
    denominator with probability E[d].
    """
    return standard_error**2 * draws / unit_variance if unit_variance > 0 else None


def largest_share(terms: FloatArray) -> float:
    """Return the share of the largest term in the sum, in [0, 1]; 0 if none is positive."""
    largest = terms.max(initial=0.0)
    return float(1 / (terms / largest).sum()) if largest > 0 else 0.0


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
