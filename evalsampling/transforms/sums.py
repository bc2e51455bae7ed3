"""The one CombineFn of the package."""

import functools
import operator
from collections.abc import Iterable
from typing import Any

import apache_beam as beam


class SumFn(beam.CombineFn):
    """Sums mergeable states: anything with an associative and commutative ``+``.

    States know their own shape, so the sum of none is None, which is never seen where
    `CombineGlobally` is used without defaults or `CombinePerKey`.
    """

    def create_accumulator(self) -> Any:
        """Return the sum of nothing."""
        return None

    def add_input(self, accumulator: Any, element: Any) -> Any:
        """Add a state."""
        return element if accumulator is None else accumulator + element

    def merge_accumulators(self, accumulators: Iterable[Any]) -> Any:
        """Add sums."""
        known = [accumulator for accumulator in accumulators if accumulator is not None]
        return functools.reduce(operator.add, known) if known else None

    def extract_output(self, accumulator: Any) -> Any:
        """Return the sum."""
        return accumulator
