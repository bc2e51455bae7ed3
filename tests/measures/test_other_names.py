"""Measures by the names that other fields have for them."""

import re

import pytest

from evalsampling import Evaluation, InputError
from evalsampling.measures import BY_NAME
from evalsampling.measures.other_names import MEANT, meant_by


def test_no_name_of_ours_is_among_them() -> None:
    assert not set(MEANT) & set(BY_NAME)
    assert meant_by("Precision@K") == meant_by("precision_at_k")
    assert meant_by("f11") is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("precision_at_k", "the sampler adastrat with the measure average_precision"),
        ("failure_rate", "prevalence is the share of rows whose label is labels.positive, and 1 - "
         "accuracy"),
        ("sensitivity", "it is recall"),
    ],
)  # fmt: skip
def test_message_says_how_to_ask_for_it(name: str, words: str) -> None:
    with pytest.raises(InputError, match=f"unknown measure '{name}': {re.escape(words)}"):
        Evaluation.from_arrays([0.1, 0.9], [0, 1], measure=name)
