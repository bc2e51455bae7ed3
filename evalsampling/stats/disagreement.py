"""How far systems that predict numbers are apart, row by row and on average over cells.

References:
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, University of Potsdam 2012,
    corollary 5.2 and equations 5.9 to 5.15.
"""

import dataclasses

import numpy as np

from evalsampling.stats.arrays import FloatArray

_POSITION, _ROOT, _DISTANCE = 4.0, 32.0, 4.0
"""Powers of two above the greatest width of positions, root and distance: sums are of shares."""


@dataclasses.dataclass(frozen=True)
class Disagreement:
    """Expected squared errors of pairs of systems, before a label is known.

    Predictions are positions: 0 is the least label and 1 the greatest. Those farther outside than
    the range is wide are taken at that distance, from -1 to 2. Variances are in units of the
    squared range, at most 1. The label is expected to be of the equal mixture of the systems'
    predictive distributions (eq. 5.11).
    """

    pairs: tuple[tuple[int, int], ...]  # the two systems of each pair, by number
    mixture: tuple[int, ...]  # the systems whose predictive distributions are mixed, at least one

    def distance(self, position: FloatArray) -> FloatArray:
        """Return |f_i - f_j| of each pair, shape (n, pairs), given positions (n, systems)."""
        return np.abs(self._columns(position, 0) - self._columns(position, 1))

    def root(self, position: FloatArray, variance: FloatArray) -> FloatArray:
        """Return sqrt(E d^2) of each pair, (n, pairs), d the difference of the squared errors.

        With F = f_i - f_j it is |F| sqrt(mean_k (f_i + f_j - 2 f_k)^2 + 4 t_k^2), k over the
        mixture: of two systems |F| sqrt(F^2 + 2 (t_1^2 + t_2^2)) (eq. 5.13 to 5.15).
        """
        total = self._columns(position, 0) + self._columns(position, 1)
        inner = sum(
            (total - 2 * position[:, k : k + 1]) ** 2 + 4 * variance[:, k : k + 1]
            for k in self.mixture
        ) / len(self.mixture)
        return np.asarray(self.distance(position) * np.sqrt(inner))

    def shares(self, position: FloatArray, variance: FloatArray) -> FloatArray:
        """Return the columns that cells sum up, shape (n, columns), in [0, 1]: see `means`."""
        distance = self.distance(position) / _DISTANCE
        root = self.root(position, variance) / _ROOT
        parts = ((position + 1) / _POSITION, variance, root, distance, distance**2)
        return np.clip(np.concatenate(parts, axis=1), 0.0, 1.0)  # rounding

    def means(
        self, shares: FloatArray, systems: int
    ) -> tuple[FloatArray, FloatArray, "CellDisagreement"]:
        """Return mean positions and variances of cells, (cells, systems) each, and of pairs."""
        pairs = len(self.pairs)
        ends = np.cumsum([systems, systems, pairs, pairs])
        position, variance, root, distance, square = np.split(shares, ends, axis=1)
        of_pairs = CellDisagreement(
            self.pairs, root * _ROOT, distance * _DISTANCE, square * _DISTANCE**2
        )
        return position * _POSITION - 1, variance, of_pairs

    def _columns(self, position: FloatArray, place: int) -> FloatArray:
        """Return the positions of the first or the second system of each pair, (n, pairs)."""
        return position[:, [pair[place] for pair in self.pairs]]


@dataclasses.dataclass(frozen=True)
class CellDisagreement:
    """Means over the rows of each cell, exact but for the rounding of each row to 2^-32.

    A proposal in proportion to one of them gives a cell the chance that the published one gives
    all of its rows together.
    """

    pairs: tuple[tuple[int, int], ...]  # the two systems of each pair
    root: FloatArray  # (cells, pairs): mean of sqrt(E d^2), in units of the squared range
    distance: FloatArray  # (cells, pairs): mean of |f_i - f_j|, in units of the range
    square: FloatArray  # (cells, pairs): mean of (f_i - f_j)^2, in units of the squared range

    def place(self, first: int, other: int) -> int | None:
        """Return the place of a pair of systems, in either order; None if it is not here."""
        places = (self.pairs.index(p) for p in ((first, other), (other, first)) if p in self.pairs)
        return next(places, None)
