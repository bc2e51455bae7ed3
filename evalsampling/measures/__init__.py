"""Measures: how good a classifier is, as a function of the mean of a per-row loss.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack: Label-Efficient Evaluation under
    Extreme Class Imbalance*, KDD 2021, section 2.2 and table 1.
"""

from collections.abc import Callable, Mapping

from evalsampling.measures.base import Measure as Measure
from evalsampling.measures.binary import Accuracy as Accuracy
from evalsampling.measures.binary import FBeta as FBeta
from evalsampling.measures.binary import Precision as Precision
from evalsampling.measures.binary import Recall as Recall

BY_NAME: Mapping[str, Callable[..., Measure]] = {
    "f1": FBeta,
    "f_beta": FBeta,
    "precision": Precision,
    "recall": Recall,
    "accuracy": Accuracy,
}
"""What a spec may name. Called with ``positive``, the code of the positive class, and the
parameters given there."""
