"""Measures: how good a classifier is, as a function of the mean of a per-row loss.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack: Label-Efficient Evaluation under
    Extreme Class Imbalance*, KDD 2021, section 2.2 and table 1.
"""

from collections.abc import Callable, Mapping

from evalsampling.measures.base import Component as Component
from evalsampling.measures.base import Measure as Measure
from evalsampling.measures.binary import Accuracy as Accuracy
from evalsampling.measures.binary import BalancedAccuracy as BalancedAccuracy
from evalsampling.measures.binary import FalsePositiveRate as FalsePositiveRate
from evalsampling.measures.binary import FBeta as FBeta
from evalsampling.measures.binary import FowlkesMallows as FowlkesMallows
from evalsampling.measures.binary import MatthewsCorrelation as MatthewsCorrelation
from evalsampling.measures.binary import NegativePredictiveValue as NegativePredictiveValue
from evalsampling.measures.binary import Precision as Precision
from evalsampling.measures.binary import Prevalence as Prevalence
from evalsampling.measures.binary import Recall as Recall
from evalsampling.measures.binary import Specificity as Specificity
from evalsampling.measures.calibrated import Calibrated as Calibrated
from evalsampling.measures.calibrated import Requested as Requested
from evalsampling.measures.calibrated import measure_of as measure_of
from evalsampling.measures.comparisons import Comparison as Comparison
from evalsampling.measures.comparisons import Difference as Difference
from evalsampling.measures.comparisons import MeanDifference as MeanDifference
from evalsampling.measures.comparisons import Quotient as Quotient
from evalsampling.measures.comparisons import difference as difference
from evalsampling.measures.confusion import ConfusionMatrix as ConfusionMatrix
from evalsampling.measures.curve_points import PrecisionAtRecall as PrecisionAtRecall
from evalsampling.measures.curves import AveragePrecision as AveragePrecision
from evalsampling.measures.curves import PRCurve as PRCurve
from evalsampling.measures.curves import ROCArea as ROCArea
from evalsampling.measures.curves import ROCCurve as ROCCurve
from evalsampling.measures.f_alpha import FAlpha as FAlpha
from evalsampling.measures.f_alpha import FEta as FEta
from evalsampling.measures.f_alpha import MacroFAlpha as MacroFAlpha
from evalsampling.measures.f_alpha import MacroPrecision as MacroPrecision
from evalsampling.measures.f_alpha import MacroRecall as MacroRecall
from evalsampling.measures.f_alpha import MicroFAlpha as MicroFAlpha
from evalsampling.measures.f_alpha import MicroPrecision as MicroPrecision
from evalsampling.measures.f_alpha import MicroRecall as MicroRecall
from evalsampling.measures.f_alpha import PerClassF1 as PerClassF1
from evalsampling.measures.f_alpha import PerClassFAlpha as PerClassFAlpha
from evalsampling.measures.f_alpha import PerClassPrecision as PerClassPrecision
from evalsampling.measures.f_alpha import PerClassRecall as PerClassRecall
from evalsampling.measures.joint import Joint as Joint
from evalsampling.measures.loss_matrix import GeneralizedRisk as GeneralizedRisk
from evalsampling.measures.loss_matrix import TableRisk as TableRisk
from evalsampling.measures.multiclass import F1OfMacroAverages as F1OfMacroAverages
from evalsampling.measures.multiclass import MacroF1 as MacroF1
from evalsampling.measures.multiclass import MicroF1 as MicroF1
from evalsampling.measures.multiclass import WeightedF1 as WeightedF1
from evalsampling.measures.regression import MeanAbsoluteError as MeanAbsoluteError
from evalsampling.measures.regression import MeanError as MeanError
from evalsampling.measures.regression import MeanSquaredError as MeanSquaredError
from evalsampling.measures.regression import RootMeanSquaredError as RootMeanSquaredError
from evalsampling.measures.risks import Brier as Brier
from evalsampling.measures.risks import LogLoss as LogLoss

BY_NAME: Mapping[str, Callable[..., Measure]] = {
    "f1": FBeta,
    "f_beta": FBeta,
    "precision": Precision,
    "recall": Recall,
    "accuracy": Accuracy,
    "balanced_accuracy": BalancedAccuracy,
    "specificity": Specificity,
    "npv": NegativePredictiveValue,
    "false_positive_rate": FalsePositiveRate,
    "prevalence": Prevalence,
    "mcc": MatthewsCorrelation,
    "fowlkes_mallows": FowlkesMallows,
    "f_alpha": FAlpha,
    "f_eta": FEta,
    "micro_f_alpha": MicroFAlpha,
    "micro_precision": MicroPrecision,
    "micro_recall": MicroRecall,
    "macro_f_alpha": MacroFAlpha,
    "macro_precision": MacroPrecision,
    "macro_recall": MacroRecall,
    "class_f_alpha": PerClassFAlpha,
    "class_f1": PerClassF1,
    "class_precision": PerClassPrecision,
    "class_recall": PerClassRecall,
    "macro_f1": MacroF1,
    "micro_f1": MicroF1,
    "weighted_f1": WeightedF1,
    "f1_of_macro_averages": F1OfMacroAverages,
    "risk": TableRisk,
    "generalized_risk": GeneralizedRisk,
    "confusion_matrix": ConfusionMatrix,
    "brier": Brier,
    "log_loss": LogLoss,
    "pr_curve": PRCurve,
    "average_precision": AveragePrecision,
    "roc_curve": ROCCurve,
    "roc_auc": ROCArea,
    "precision_at_recall": PrecisionAtRecall,
    "mse": MeanSquaredError,
    "rmse": RootMeanSquaredError,
    "mae": MeanAbsoluteError,
    "mean_error": MeanError,
}
"""What a spec may name. Called with those of ``positive``, ``classes``, ``system`` and
``thresholds`` that are fields of the class, and the parameters given there."""
