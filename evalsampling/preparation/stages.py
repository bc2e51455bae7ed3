"""Stages of a pass over a pool, each written once, and what an engine does to run them.

A stage makes states of batches and merges them. States merge in any order, so it does not matter
how an engine deals out the rows. This process and PySpark are engines by `preparation.shares`, Beam
is by `transforms.engine`. Names of stages and steps are those they have in Beam.
"""

import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Protocol


@dataclasses.dataclass(frozen=True)
class Step:
    """A plain function and its name."""

    name: str  # of the step
    function: Callable[..., Any]  # of an element and the arguments
    # further arguments; a value that the plan works out stands here as its engine holds it
    arguments: tuple[Any, ...] = ()
    result: type = object  # type of what is returned, or yielded by a step that yields

    def __call__(self, element: Any) -> Any:
        """Return the result of the function for an element; arguments are plain values here."""
        return self.function(element, *self.arguments)


@dataclasses.dataclass(frozen=True)
class Reading:
    """How batches come from work items."""

    name: str  # of the stage
    step: Step  # yields the batches of one item
    # takes an item and returns the one that reads what the step has stored of it; None if it stores
    # nothing
    stored: Step | None = None


class Gatherer(Protocol):
    """Gathers batches that come one after another."""

    def add(self, batch: Any) -> Any:
        """Take one more batch."""

    def finish(self) -> Any:
        """Return the result over all batches."""


@dataclasses.dataclass(frozen=True)
class Total:
    """A stage that adds up a mergeable state of each batch."""

    name: str
    state: Step
    sum: str
    keys: ClassVar[int] = 1

    def gather(self, _: Any) -> "RunningTotal":
        """Return the running total of the batches of a share."""
        return RunningTotal(self)

    def pieces(self, total: Any, part: int) -> Iterable[tuple[int, Any]]:
        """Return the sum over a share, under the number of a part."""
        return ((part, total),)

    def merged(self, _: int, states: Iterable[Any]) -> Any:
        """Return the sum of states, of which there is at least one."""
        return functools.reduce(operator.add, states)

    def result(self, sums: Sequence[Any]) -> Any:
        """Return the sum of all sums, None if there are none."""
        return self.merged(0, sums) if sums else None


class RunningTotal:
    """The sum of a stage over the batches so far."""

    def __init__(self, stage: Total) -> None:
        """Start with no batch."""
        self._state = stage.state
        self.total: Any = None  # of the states; None before the first batch

    def add(self, batch: Any) -> None:
        """Add the state of a batch."""
        state = self._state(batch)
        self.total = state if self.total is None else self.total + state

    def finish(self) -> Any:
        """Return the sum."""
        return self.total


@dataclasses.dataclass(frozen=True)
class Keyed:
    """A stage whose results of batches are merged under keys, whole numbers."""

    name: str  # of the stage
    # each yields elements from one; the first takes a batch, or what is gathered, and the last
    # yields keys with states
    steps: tuple[Step, ...]
    group: str  # name of the step that brings the states of a key together
    merge: Step  # returns what is made of a key and its states
    # returns the `Gatherer` of the batches of a share, given the first of them; None to take each
    # batch by itself
    gather: Step | None = None
    finish: Step | None = None  # returns what remains of what was merged; None for all of it
    keys: int = 1  # how many there may be, if they are to be merged apart

    def pieces(self, element: Any, _: int) -> Iterable[tuple[int, Any]]:
        """Return keys and states of a batch, or of gathered states."""
        elements: Iterable[Any] = (element,)
        for step in self.steps:
            elements = itertools.chain.from_iterable(map(step, elements))
        return elements

    def merged(self, key: int, states: Iterable[Any]) -> Any:
        """Return the merged states of a key, after the step ``finish``."""
        merged = self.merge.function(key, states, *self.merge.arguments)
        return merged if self.finish is None else self.finish(merged)

    def result(self, merged: Sequence[Any]) -> list[Any]:
        """Return the merged states of all keys, in a list."""
        return list(merged)


Stage = Total | Keyed


class Engine(Protocol):
    """The calls by which a plan runs its stages on an engine.

    A *value* is one object, or a list, that an engine holds in a way of its own, until a step gets
    it among its arguments. *Rows* are batches that it goes over as often as it is asked to.
    """

    def value(self, name: str, value: Any) -> Any:
        """Return an object as a value."""

    def call(self, step: Step, value: Any) -> Any:
        """Return the value that a step makes of one."""

    def each(self, step: Step, values: Any) -> Any:
        """Return the list, as a value, of a step's results for the items of another list."""

    def expand(self, step: Step, value: Any) -> Any:
        """Return the list, as a value, of all that a step yields."""

    def inspect(self, source: Any) -> Any:
        """Return the list, as a value, of the files of a `PoolSource`, looked into."""

    def read(self, reading: Reading, items: Any) -> tuple[Any, Any]:
        """Return the rows of work items, and the items that read them again."""

    def map(self, rows: Any, step: Step) -> Any:
        """Return the rows that a step makes of each batch."""

    def run(self, rows: Any, *stages: Stage) -> list[Any]:
        """Return the result of each stage, as a value."""
