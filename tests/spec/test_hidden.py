"""The section ``hidden`` of a spec."""

from typing import Any

import pytest

from evalsampling.errors import InputError
from evalsampling.spec.hidden import HiddenPrior, read_hidden
from evalsampling.spec.sections import Section


def read(content: Any) -> HiddenPrior:
    return read_hidden(Section("hidden", content))


def test_defaults() -> None:
    assert read({}) == HiddenPrior() == HiddenPrior(0.075, 2.0, "overlap")
    assert read({"share": 0.2}) == HiddenPrior(0.2, 1.5, "positives")
    assert read({"share": 2, "spread": 0.5}) == HiddenPrior(2.0, 0.5, "positives")
    assert read({"relative_to": "overlap"}) == HiddenPrior()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"share": 0}, "hidden.share: must be above 0 and at most 10, got 0"),
        ({"share": -1}, "hidden.share: must be above 0"),
        ({"share": 11}, "hidden.share: must be above 0 and at most 10, got 11"),
        ({"share": "much"}, "hidden.share"),
        ({"share": True}, "hidden.share"),
        ({"share": float("nan")}, "hidden.share"),
        ({"share": float("inf")}, "hidden.share"),
        ({"spread": 0}, "hidden.spread: must be above 0 and at most 5, got 0"),
        ({"spread": 6}, "hidden.spread: must be above 0 and at most 5, got 6"),
        ({"spread": [1]}, "hidden.spread"),
        (
            {"relative_to": "rows"},
            "hidden.relative_to: must be one of positives, overlap, got 'rows'",
        ),
        ({"sd": 1}, "sd"),
    ],
)
def test_wrong_values_are_told(content: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as told:
        read(content)
    assert words in str(told.value)
