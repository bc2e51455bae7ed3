"""Numbers that JSON has."""

import math

import numpy as np

from evalsampling.stats.finite import finite


def test_numbers_that_json_does_not_have_are_none() -> None:
    given = {"a": [1.5, math.nan, (math.inf, "x")], "b": {"c": -np.float64("inf"), "d": 2}}
    assert finite(given) == {"a": [1.5, None, [None, "x"]], "b": {"c": None, "d": 2}}
