"""A measure of rows that do not all count the same."""

import dataclasses

import numpy as np

from evalsampling.measures.base import Measure
from evalsampling.measures.reweighted import Reweighted
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.outputs import Outputs


@dataclasses.dataclass(frozen=True)
class Weighted(Reweighted):
    """A measure of the pool in which each row counts as often as its weight says: ``pool.weight``.

    With whole numbers it is the measure of a pool in which each row stands so often.

    Attributes:
        measure: of rows that all count the same, under the name that this one is to have.
    """

    measure: Measure
    __hash__ = Reweighted.__hash__

    def __post_init__(self) -> None:
        """Take the name of the measure."""
        self._set_up()

    def weight(self, outputs: Outputs) -> FloatArray:
        """Return the weights of the rows, shape (n,)."""
        if outputs.weight is None and len(outputs):
            raise ValueError(f"{self.name}: rows have no weights")
        return np.zeros(0) if outputs.weight is None else outputs.weight
