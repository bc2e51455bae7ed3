"""What measures are called elsewhere, and which measure here says the same."""

from collections.abc import Collection, Mapping

_AT_RANK = (
    "the sampler adastrat with the measure average_precision gives {} at every rank, shown by "
    "`evalsampling estimate WORKSPACE --at K`. At one rank it is {} with prediction: "
    "{{threshold: the score of that rank}}"
)
_OF_CLASS = (
    "prevalence is the share of rows whose label is labels.positive, and 1 - accuracy the share of "
    "wrong predictions"
)
_WEIGHTED_KAPPA = "it is {name: kappa, weights: quadratic}, or linear"
_MATTHEWS = "it is mcc of the positive class, multiclass_mcc of all classes"
_HALF_BRIER = "of two classes it is half of brier, which adds up the errors of both"
_CORRECTED = "it is prevalence: its estimate takes the verdicts, and labels correct them"

MEANT: Mapping[str, str] = {
    **{
        f"{word}_{name}": f"it is {{name: {name}, average: {average}}}"
        for word, average in {"micro": "micro", "macro": "macro", "class": "each"}.items()
        for name in ("f1", "precision", "recall", "f_beta")
    },
    "weighted_f1": "it is {name: f1, average: weighted}",
    "f_alpha": "it is f_beta, which takes beta or alpha",
    "f_eta": "it is f_beta, with eta as its alpha",
    "precision_at_k": _AT_RANK.format("precision", "precision"),
    "recall_at_k": _AT_RANK.format("recall", "recall"),
    "failure_rate": _OF_CLASS,
    "pass_rate": _OF_CLASS,
    "success_rate": _OF_CLASS,
    "error_rate": "it is 1 - accuracy",
    "sensitivity": "it is recall",
    "true_positive_rate": "it is recall",
    "tpr": "it is recall",
    "fpr": "it is false_positive_rate",
    "tnr": "it is specificity",
    "true_negative_rate": "it is specificity",
    "false_negative_rate": "it is 1 - recall",
    "cohen_kappa": "it is kappa",
    "cohens_kappa": "it is kappa",
    "weighted_kappa": _WEIGHTED_KAPPA,
    "quadratic_weighted_kappa": _WEIGHTED_KAPPA,
    "matthews": _MATTHEWS,
    "matthews_corrcoef": _MATTHEWS,
    "r_k": "it is multiclass_mcc",
    "multiclass_balanced_accuracy": "it is {name: recall, average: macro}",
    "brier_score": _HALF_BRIER,
    "brier_score_loss": _HALF_BRIER,
    "rogan_gladen": _CORRECTED,
    "corrected_prevalence": _CORRECTED,
    "ppv": "it is precision",
    "positive_predictive_value": "it is precision",
    "r_squared": "it is r2",
    "r2_score": "it is r2",
    "coefficient_of_determination": "it is r2",
    "auc": "roc_auc and average_precision are areas under curves",
    "f1_score": "it is f1",
    "f_score": "it is f1, or f_beta",
    "f2": "it is {name: f_beta, beta: 2}",
    "f0.5": "it is {name: f_beta, beta: 0.5}",
    "acc": "it is accuracy",
    "jaccard": "it is f1 / (2 - f1)",
    "fnr": "it is 1 - recall",
    "fdr": "it is 1 - precision",
    "auroc": "it is roc_auc",
    "ap": "it is average_precision",
    "auprc": "it is average_precision",
    "pr_auc": "it is average_precision",
}
"""How to ask for it, by a name that is no measure's, in lower case with underscores."""


def meant_by(name: str, known: Collection[str]) -> str | None:
    """Return how to ask for what a name means elsewhere, None if that is not known."""
    plain = name.strip().lower().replace("@", "_at_").replace("-", "_").replace(" ", "_")
    return f"it is {plain}" if plain in known else MEANT.get(plain)
