"""The section ``hidden`` of a spec."""

from typing import Any

from evalsampling.spec.hidden import HiddenPrior, read_hidden
from evalsampling.spec.sections import Section


def read(content: Any) -> HiddenPrior:
    return read_hidden(Section("hidden", content))


def test_defaults() -> None:
    assert read({}) == HiddenPrior() == HiddenPrior(0.075, 2.0, "overlap")
    assert read({"share": 0.2}) == HiddenPrior(0.2, 1.5, "positives")
    assert read({"share": 2, "spread": 0.5}) == HiddenPrior(2.0, 0.5, "positives")
    assert read({"relative_to": "overlap"}) == HiddenPrior()
