"""Labels by the model of Dawid and Skene: how often each annotator takes one class for another.

    A. P. Dawid and A. M. Skene, *Maximum Likelihood Estimation of Observer Error-Rates Using the EM
    Algorithm*, Applied Statistics 28, 1979.

Fitted by crowd-kit, an extra: ``pip install 'evalsampling[votes]'``.
"""

from collections.abc import Sequence
from typing import Any

from evalsampling.errors import from_extra

_ITERATIONS = 100


class DawidSkene:
    """The most likely class of each row: a `labels.vote_rules.VoteRule`.

    All votes are one fit, gold rows among them; nothing of what is known of these is used. The
    result depends on no order.
    """

    def decide(self, votes: Sequence[tuple[int, str, int]]) -> dict[int, int]:
        """Return the class code of each row that has a vote for a class.

        Raises:
            InputError: if crowd-kit is not installed.
        """
        model = load_model()
        import pandas as pd

        table = pd.DataFrame(list(votes), columns=["task", "worker", "label"])
        classes = model(n_iter=_ITERATIONS).fit_predict(table)
        return {int(row): int(code) for row, code in classes.items()}


DAWID_SKENE = DawidSkene()


def load_model() -> Any:
    """Return the class of crowd-kit's model, an `InputError` if that is not installed."""
    with from_extra("votes", "crowd-kit", "labels.rule: dawid-skene"):
        from crowdkit.aggregation import DawidSkene
    return DawidSkene
