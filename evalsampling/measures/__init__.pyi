import collections.abc

import evalsampling.parts.registry

from .agreement import ConfusionMatrix as ConfusionMatrix
from .agreement import Kappa as Kappa
from .agreement import MulticlassMatthews as MulticlassMatthews
from .averages import F1OfMacroAverages as F1OfMacroAverages
from .averages import MacroF as MacroF
from .averages import MicroF as MicroF
from .averages import PerClassF as PerClassF
from .averages import WeightedF1 as WeightedF1
from .base import Component as Component
from .base import Measure as Measure
from .binary import Accuracy as Accuracy
from .binary import BalancedAccuracy as BalancedAccuracy
from .binary import FalsePositiveRate as FalsePositiveRate
from .binary import FBeta as FBeta
from .binary import FowlkesMallows as FowlkesMallows
from .binary import MatthewsCorrelation as MatthewsCorrelation
from .binary import NegativePredictiveValue as NegativePredictiveValue
from .binary import Precision as Precision
from .binary import Prevalence as Prevalence
from .binary import Recall as Recall
from .binary import Specificity as Specificity
from .comparisons import Comparison as Comparison
from .comparisons import Difference as Difference
from .comparisons import MeanDifference as MeanDifference
from .comparisons import Quotient as Quotient
from .comparisons import difference as difference
from .curves import AveragePrecision as AveragePrecision
from .curves import PRCurve as PRCurve
from .curves import PrecisionAtRecall as PrecisionAtRecall
from .curves import ROCArea as ROCArea
from .curves import ROCCurve as ROCCurve
from .extremes import Greatest as Greatest
from .extremes import Least as Least
from .joint import Joint as Joint
from .regression import CoefficientOfDetermination as CoefficientOfDetermination
from .regression import MeanAbsoluteError as MeanAbsoluteError
from .regression import MeanError as MeanError
from .regression import MeanSquaredError as MeanSquaredError
from .regression import RootMeanSquaredError as RootMeanSquaredError
from .reweighted import Sliced as Sliced
from .reweighted import Weighted as Weighted
from .risks import Brier as Brier
from .risks import GeneralizedRisk as GeneralizedRisk
from .risks import LogLoss as LogLoss
from .risks import TableRisk as TableRisk

BY_NAME: evalsampling.parts.registry.Registry[collections.abc.Callable[..., Measure]]
