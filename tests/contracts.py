"""Contracts that every implementation of a protocol keeps."""

import functools
import operator
import pickle
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np


class Mergeable(Protocol):
    """A state that machines sum in any order and grouping, and send to each other."""

    def __add__(self, other: Self) -> Self: ...

    def to_bytes(self) -> bytes: ...

    @classmethod
    def from_bytes(cls, data: bytes) -> Self: ...


State = TypeVar("State", bound=Mergeable)


def assert_mergeable(
    states: Sequence[State], zero: State, equal: Callable[[State, State], Any]
) -> None:
    """Check that states sum to the same whatever is done to them on the way.

    Args:
        states: at least three, at least two of them other than zero.
        zero: the state of no rows.
        equal: whether two states hold the same, or raises AssertionError if they do not.
    """

    def check(state: State, expected: State, way: str) -> None:
        agreed = equal(state, expected)
        assert agreed is None or agreed, f"{way}: {state} is not {expected}"

    before = [state.to_bytes() for state in states]
    empty = zero.to_bytes()
    assert len(before) >= 3, "two states have one grouping only"
    assert sum(data != empty for data in before) >= 2, "nothing is merged"
    kind = type(zero)
    total = functools.reduce(operator.add, states)

    rng = np.random.default_rng(0)
    orders = [range(len(states))[::-1], *(rng.permutation(len(states)) for _ in range(3))]
    for order in orders:
        permuted = functools.reduce(operator.add, [states[i] for i in order])
        check(permuted, total, f"in the order {[*order]}")
    check(functools.reduce(lambda a, b: b + a, states), total, "added from the left")
    for cut in range(1, len(states)):
        left, right = sum(states[:cut], start=zero), sum(states[cut:], start=zero)
        check(left + right, total, f"grouped {cut} and {len(states) - cut}")
    pairs = [sum(states[i : i + 2], start=zero) for i in range(0, len(states), 2)]
    check(functools.reduce(operator.add, pairs), total, "grouped by two")

    check(sum((state for state in states), start=zero), total, "from a generator")
    check(zero + total, total, "with zero before")
    check(total + zero, total, "with zero behind")
    check(zero + zero, zero, "zero with zero")
    interspersed = [part for state in states for part in (state, zero)]
    check(functools.reduce(operator.add, interspersed), total, "with zeros between")

    for state in (*states, zero, total):
        check(kind.from_bytes(state.to_bytes()), state, "through bytes")
        check(pickle.loads(pickle.dumps(state)), state, "pickled")
    sent = [kind.from_bytes(state.to_bytes()) for state in states]
    check(functools.reduce(operator.add, sent), total, "each through bytes")
    pickled = [pickle.loads(pickle.dumps(state)) for state in states]
    check(functools.reduce(operator.add, pickled), total, "each pickled")
    halves = sum(states[:2], start=zero), sum(states[2:], start=zero)
    left, right = (kind.from_bytes(half.to_bytes()) for half in halves)
    check(left + right, total, "partial sums through bytes")

    assert [state.to_bytes() for state in states] == before, "a state was changed by adding it"
    assert zero.to_bytes() == empty, "zero was changed by adding to it"
