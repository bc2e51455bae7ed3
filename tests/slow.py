"""Cases of a product of which `make test` has one of each kind, and `make test-slow` the rest."""

from typing import Any

import pytest


def slowly(*values: Any) -> list[Any]:
    """Parameters of a test that is slow with them."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
