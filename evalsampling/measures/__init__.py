"""Measures: how good a classifier is, as a function of the mean of a per-row loss.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack: Label-Efficient Evaluation under
    Extreme Class Imbalance*, KDD 2021, section 2.2 and table 1.
"""

import lazy_loader

from evalsampling.parts.registry import Registry

# A class is imported when it is first asked for: most evaluations need two or three.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

BY_NAME = Registry(
    "measures",
    {
        "f1": "evalsampling.measures.binary:FBeta",
        "f_beta": "evalsampling.measures.binary:FBeta",
        "precision": "evalsampling.measures.binary:Precision",
        "recall": "evalsampling.measures.binary:Recall",
        "accuracy": "evalsampling.measures.binary:Accuracy",
        "balanced_accuracy": "evalsampling.measures.binary:BalancedAccuracy",
        "specificity": "evalsampling.measures.binary:Specificity",
        "npv": "evalsampling.measures.binary:NegativePredictiveValue",
        "false_positive_rate": "evalsampling.measures.binary:FalsePositiveRate",
        "prevalence": "evalsampling.measures.binary:Prevalence",
        "mcc": "evalsampling.measures.binary:MatthewsCorrelation",
        "fowlkes_mallows": "evalsampling.measures.binary:FowlkesMallows",
        "kappa": "evalsampling.measures.agreement:Kappa",
        "multiclass_mcc": "evalsampling.measures.agreement:MulticlassMatthews",
        "f1_of_macro_averages": "evalsampling.measures.averages:F1OfMacroAverages",
        "risk": "evalsampling.measures.risks:TableRisk",
        "generalized_risk": "evalsampling.measures.risks:GeneralizedRisk",
        "confusion_matrix": "evalsampling.measures.agreement:ConfusionMatrix",
        "brier": "evalsampling.measures.risks:Brier",
        "log_loss": "evalsampling.measures.risks:LogLoss",
        "pr_curve": "evalsampling.measures.curves:PRCurve",
        "average_precision": "evalsampling.measures.curves:AveragePrecision",
        "roc_curve": "evalsampling.measures.curves:ROCCurve",
        "roc_auc": "evalsampling.measures.curves:ROCArea",
        "precision_at_recall": "evalsampling.measures.curves:PrecisionAtRecall",
        "mse": "evalsampling.measures.regression:MeanSquaredError",
        "rmse": "evalsampling.measures.regression:RootMeanSquaredError",
        "mae": "evalsampling.measures.regression:MeanAbsoluteError",
        "r2": "evalsampling.measures.regression:CoefficientOfDetermination",
        "mean_error": "evalsampling.measures.regression:MeanError",
    },
    "evalsampling.measures.base:Measure",
)
"""What a spec may name. Called with those of ``positive``, ``classes``, ``system`` and
``thresholds`` that are fields of the class, and the parameters given there."""
