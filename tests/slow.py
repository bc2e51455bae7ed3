"""Cases of a product of which `make test` has one of each kind, and `make test-slow` the rest."""

from collections.abc import Iterable
from typing import Any

import pytest


def slowly(*values: Any) -> list[Any]:
    """Values of one parameter, with which a test is slow."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]


def fast(count: int, cases: Iterable[Any]) -> list[Any]:
    """Cases of which only the first few are fast; a tuple has a value for each parameter."""
    marks = ((), pytest.mark.slow)
    return [
        pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=marks[place >= count])
        for place, case in enumerate(cases)
    ]
