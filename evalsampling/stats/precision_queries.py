"""Numbers of answers that estimates of precision at some ranks need, and bounds by answers.

A *query* asks for the precision p(r) of the r items ranked first. Its answer p~ is a
beta-approximation if p / beta <= p~ <= beta p.

References:
    [SX] A. Sabharwal and Y. Xue, *Adaptive Stratified Sampling for Precision-Recall Estimation*,
    UAI 2018: equation 5, theorem 1, footnotes 3 and 5; W. Hoeffding, *Probability inequalities for
    sums of bounded random variables*, JASA 58, 1963 (theorem 1, and theorem 4 for sampling without
    replacement); S. Zhao, E. Zhou, A. Sabharwal and S. Ermon, *Adaptive concentration inequalities
    for sequential decision problems*, NIPS 2016, corollary 1.
"""

import dataclasses
import math

import scipy

LARGEST_FACTOR = 1e6
"""A factor of approximation beyond this claims nothing."""


@dataclasses.dataclass(frozen=True)
class QueryBound:
    """The guarantee that all K answers are beta-approximations, except with chance delta."""

    beta: float  # factor of approximation, above 1 / (1 - eta)
    eta: float  # chance that an answer of an annotator is wrong, in [0, 1/2)
    delta: float  # chance that one of the K answers is not a beta-approximation, in (0, 1)

    def published(self, p_min: float, queries: int) -> int:
        """Return s of [SX] equation 5, the number of answers that a query takes."""
        margin = (self.beta - 1 - self.eta) * p_min / (1 + self.eta)
        return math.ceil(self._log(queries) / (2 * margin**2))

    def draws(self, p_min: float, queries: int) -> int:
        """Return the answers that a query takes: those of `published`, or more if they are too few.

        The paper's bound is for errors upwards; a p~ < p / beta is not excluded with that number.
        Chernoff's bound does if p_min is small; otherwise Chernoff's number is returned.
        """
        needed = self._log(queries) / self._rate(self.beta, p_min)
        return max(self.published(p_min, queries), math.ceil(needed))

    def supported(self, draws: float, p_min: float, queries: int) -> float:
        """Return the least beta that a number of answers a query supports, infinite if none."""
        if draws <= 0 or p_min <= 0:
            return math.inf
        needed = self._log(queries) / draws

        def excess(beta: float) -> float:
            return min(self._rate(beta, p_min), 1e3) - needed

        least = (1 + 1e-9) / (1 - self.eta)
        if excess(LARGEST_FACTOR) < 0:
            return math.inf
        if excess(least) >= 0:
            return least
        return float(scipy.optimize.brentq(excess, least, LARGEST_FACTOR, xtol=1e-12))

    def _log(self, queries: int) -> float:
        """Return ln(2 K / delta)."""
        return math.log(2 * queries / self.delta)

    def _rate(self, beta: float, p_min: float) -> float:
        """Return the exponent, for each answer, of the chance of an error beyond beta.

        An answer is positive with chance q = (1 - 2 eta) p + eta, at least (1 - eta) p.
        """
        q = (1 - 2 * self.eta) * p_min + self.eta
        above = min(q * beta / (1 + self.eta), 1.0 + q)
        below = q / (beta * (1 - self.eta))
        return min(relative_entropy(above, q), relative_entropy(below, q))


def relative_entropy(x: float, q: float) -> float:
    """Return KL(x || q), the exponent of Chernoff's bound; infinite for a share x above 1."""
    if x > 1:
        return math.inf
    return float(scipy.special.rel_entr(x, q) + scipy.special.rel_entr(1 - x, 1 - q))


def head_rank(epsilon: float, m: int, first: int) -> int:
    """Return l~, up to which all ranks get labels: max(ceil((1+e)^2 m / (2e + e^2)), r~)."""
    squared = (1 + epsilon) ** 2
    return max(math.ceil(squared * m / (squared - 1) - 1e-9), first)


def votes_of_head(rows: int, eta: float, delta: float) -> int:
    """Return how many answers each row of the head needs so that all majorities are right.

    The least odd n with rows P(Binomial(n, eta) > n / 2) <= delta ([SX] footnote 3).
    """
    votes = 1
    while rows * scipy.special.bdtrc((votes - 1) // 2, votes, eta) > delta:
        votes += 2
    return votes


def anytime_deviation(draws: float, delta: float) -> float:
    """Return by how much a mean may exceed its expectation, at every number of draws at once.

    sqrt((0.6 ln(log_1.1 n + 1) + ln(12 / delta) / 1.8) / n) (Zhao and others, corollary 1).
    """
    steps = math.log(draws) / math.log(1.1) + 1
    return math.sqrt((0.6 * math.log(steps) + math.log(12 / delta) / 1.8) / draws)


def logarithmic_ranks(rows: int, first: int, epsilon: float) -> tuple[int, list[float]]:
    """Return the ranks of LogStrat: the one up to which all rows get labels, and those queried.

    (1+e)^l with l = ceil(log_(1+e) r~), then (1+e)^i for i = l+1, ..., floor(log_(1+e) N), and N.
    """
    step = math.log1p(epsilon)
    begin = math.ceil(math.log(first) / step - 1e-9)
    end = math.floor(math.log(rows) / step + 1e-9)
    between = [(1 + epsilon) ** i for i in range(begin + 1, end + 1)]
    queried = [rank for rank in between if rank < rows]
    return math.ceil((1 + epsilon) ** begin - 1e-9), [*queried, float(rows)]


def most_m(first: int, epsilon: float) -> int:
    """Return the largest m of theorem 1: floor(e (1+e)^l - 1), l as in `logarithmic_ranks`."""
    begin = math.ceil(math.log(first) / math.log1p(epsilon) - 1e-9)
    return math.floor(epsilon * (1 + epsilon) ** begin - 1)
