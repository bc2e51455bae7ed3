"""Online stratified sampling: more labels where the labels so far vary.

References:
    P. N. Bennett and V. R. Carvalho, *Online stratified sampling: evaluating classifiers at
    web-scale*, CIKM 2010.
    [AE] C. Sawade, *Active Evaluation of Predictive Models*, 2012, section 4.4.1 (its strat).
"""

import dataclasses

import numpy as np

from evalsampling.samplers.equal_count import EqualCountStrata
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History


@dataclasses.dataclass(frozen=True)
class OnlineStratified(EqualCountStrata):
    """Strata of equal counts with the Neyman allocation that the labels so far make best.

    The losses are those of the error rate: whether the system is wrong. A stratum's rate of errors
    is the posterior mean under an even prior, (errors + 1) / (labels + 2), so that no
    stratum is taken to have no errors. The published algorithm draws one row at a time; a round
    here draws several by the same allocation, and with ``round_size: 1`` it is as published.
    """

    name = "strat"

    def deviations(self, table: CellTable, history: History, stratum: IntArray) -> FloatArray:
        """Return sqrt(p (1 - p)) of each stratum, p being its rate of errors among the labels."""
        labelled = history.labelled
        prediction = history.outputs.prediction[labelled, self.measure.system]
        own, strata = stratum[history.cell[labelled]], int(stratum.max()) + 1
        wrong = np.bincount(own, prediction != history.label[labelled], strata)
        rate = (wrong + 1) / (np.bincount(own, minlength=strata) + 2)
        return np.asarray(np.sqrt(rate * (1 - rate)))
