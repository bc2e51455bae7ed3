"""The only CombineFn of the package."""

import functools
import operator
from collections.abc import Iterable
from typing import Any

import apache_beam as beam


class SumFn(beam.CombineFn):
    """Sums mergeable states: anything with an associative and commutative ``+``.

    States know their own shape, so the sum of no state is None. `CombinePerKey`, and
    `CombineGlobally` without defaults, never output it.
    """

    def create_accumulator(self) -> Any:
        """Return the sum of no states: None."""
        return None

    def add_input(self, accumulator: Any, element: Any) -> Any:
        """Return the sum of an accumulator and a state."""
        return element if accumulator is None else accumulator + element

    def merge_accumulators(self, accumulators: Iterable[Any]) -> Any:
        """Return the sum of accumulators."""
        sums = [accumulator for accumulator in accumulators if accumulator is not None]
        return functools.reduce(operator.add, sums) if sums else None

    def extract_output(self, accumulator: Any) -> Any:
        """Return the sum."""
        return accumulator
