"""Contracts that every implementation of a protocol keeps."""

import dataclasses
import functools
import operator
import pickle
from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self, TypeVar

import numpy as np


class Mergeable(Protocol):
    """A state that machines sum in any order and grouping, and send to each other."""

    def __add__(self, other: Self) -> Self: ...


State = TypeVar("State", bound=Mergeable)


def same_state(one: Any, other: Any) -> bool:
    """Tell whether two states hold the same, to the last bit and with the same types."""
    if type(one) is not type(other):
        return False
    if dataclasses.is_dataclass(one):
        names = [field.name for field in dataclasses.fields(one)]
        return all(same_state(getattr(one, name), getattr(other, name)) for name in names)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and bool((one == other).all())
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same_state, one, other))
    if isinstance(one, dict):
        return same_state((*one.items(),), (*other.items(),))
    return bool(one == other)


def sent(state: State) -> State:
    """Return a state as another machine gets it."""
    received: State = pickle.loads(pickle.dumps(state, protocol=pickle.HIGHEST_PROTOCOL))
    return received


def assert_mergeable(
    states: Sequence[State], zero: State, equal: Callable[[State, State], Any]
) -> None:
    """Check that three states or more sum to the same whatever is done to them on the way.

    Zero is the state of no rows. Two states are equal if the function says so, or raises nothing.
    """

    def check(state: State, expected: State, way: str) -> None:
        agreed = equal(state, expected)
        assert agreed is None or agreed, f"{way}: {state} is not {expected}"

    before, empty = [sent(state) for state in states], sent(zero)
    assert len(before) >= 3, "two states have one grouping only"
    assert sum(pickle.dumps(state) != pickle.dumps(zero) for state in states) >= 2, "nothing merges"
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
        check(sent(state), state, "sent")
    check(functools.reduce(operator.add, map(sent, states)), total, "each sent")
    halves = sum(states[:2], start=zero), sum(states[2:], start=zero)
    check(sent(halves[0]) + sent(halves[1]), total, "partial sums sent")

    for state, same in zip((*states, zero), (*before, empty), strict=True):
        check(state, same, "changed by adding it")
