"""Labels by the model of Dawid and Skene: how often each annotator takes one class for another.

    A. P. Dawid and A. M. Skene, *Maximum Likelihood Estimation of Observer Error-Rates Using the EM
    Algorithm*, Applied Statistics 28, 1979.

Fitted by crowd-kit, an extra: ``pip install 'evalsampling[votes]'``.
"""

from evalsampling.errors import InputError
from evalsampling.labels.tally import Tally

_ITERATIONS = 100


def fit_labels(tally: Tally) -> dict[int, int]:
    """Return the most likely class code of each subject that has a vote for a class.

    All votes are one fit, gold rows among them; nothing of what is known of these is used. The
    result depends on no order.

    Raises:
        InputError: if crowd-kit is not installed.
    """
    rows = sorted(
        (subject, annotator or "", code)
        for subject, given in tally.answers.items()
        if subject not in tally.subjects.settles
        for annotator, code in given.items()
        if code >= 0
    )
    if not rows:
        return {}
    try:
        import pandas as pd
        from crowdkit.aggregation import DawidSkene
    except ImportError as error:
        raise InputError(
            f"labels.rule: dawid-skene needs crowd-kit: pip install 'evalsampling[votes]' ({error})"
        ) from error
    votes = pd.DataFrame(rows, columns=["task", "worker", "label"])
    found = DawidSkene(n_iter=_ITERATIONS).fit_predict(votes)
    return {int(subject): int(code) for subject, code in found.items()}
