"""Labels by the model of Dawid and Skene: how often each annotator takes one class for another.

    A. P. Dawid and A. M. Skene, *Maximum Likelihood Estimation of Observer Error-Rates Using the EM
    Algorithm*, Applied Statistics 28, 1979.

Fitted by crowd-kit, an extra: ``pip install 'evalsampling[votes]'``.
"""

from typing import Any

from evalsampling.errors import InputError
from evalsampling.labels.tally import Tally
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.labels import MODEL

_ITERATIONS = 100


def check_installed(spec: EvaluationSpec) -> None:
    """Check that crowd-kit is there, if labels are to be decided by the model.

    Raises:
        InputError: if it is not.
    """
    if spec.labels.rule == MODEL:
        _model()


def fit_labels(tally: Tally) -> dict[int, int]:
    """Return the most likely class code of each subject that has a vote for a class.

    All votes are one fit, gold rows among them; nothing of what is known of these is used. The
    result depends on no order.

    Raises:
        InputError: if crowd-kit is not installed.
    """
    rows = _rows(tally)
    if not rows:
        return {}
    model = _model()
    import pandas as pd

    votes = pd.DataFrame(rows, columns=["task", "worker", "label"])
    found = model(n_iter=_ITERATIONS).fit_predict(votes)
    return {int(subject): int(code) for subject, code in found.items()}


def voted_labels(tally: Tally) -> dict[int, int]:
    """Return a class code of each subject of `fit_labels`, one that was voted for.

    It tells which subjects the model decides, and nothing of how; crowd-kit is not needed.
    """
    return {subject: code for subject, _, code in _rows(tally)}


def _rows(tally: Tally) -> list[tuple[int, str, int]]:
    """Return subject, annotator and class code of each vote for a class, in their order."""
    return sorted(
        (subject, annotator or "", code)
        for subject, given in tally.answers.items()
        if subject not in tally.subjects.settles
        for annotator, code in given.items()
        if code >= 0
    )


def _model() -> Any:
    """Return the class of crowd-kit's model.

    Raises:
        InputError: if crowd-kit is not installed.
    """
    try:
        from crowdkit.aggregation import DawidSkene
    except ImportError as error:
        raise InputError(
            f"labels.rule: dawid-skene needs crowd-kit: pip install 'evalsampling[votes]' ({error})"
        ) from error
    return DawidSkene
