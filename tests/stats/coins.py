"""Generators that tests decide: coins, each outcome of which is gone through, and given numbers."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

Outcome = TypeVar("Outcome")


class Uniforms:
    """A generator of given pairs of numbers, then of halves."""

    def __init__(self, numbers: Sequence[tuple[float, float]]) -> None:
        self._numbers = numbers

    def random(self, shape: tuple[int, int]) -> np.ndarray:
        filled = np.full(shape, 0.5)
        filled[: len(self._numbers)] = self._numbers
        return filled


class _Coin:
    def __init__(self, coins: "Coins") -> None:
        self._coins = coins

    def __lt__(self, chance: float) -> bool:
        return self._coins.toss(chance)


class Coins:
    """A generator whose single numbers are only compared; they fall as the script says, then true.

    Attributes:
        tossed: how they fell.
        chance: of that.
    """

    def __init__(self, script: list[bool]) -> None:
        self._script = script
        self.tossed: list[bool] = []
        self.chance = 1.0

    def toss(self, chance: float) -> bool:
        place = len(self.tossed)
        fell = self._script[place] if place < len(self._script) else True
        self.tossed.append(fell)
        self.chance *= chance if fell else 1 - chance
        return fell

    def random(self, size: int | None = None) -> _Coin | np.ndarray:
        """A coin; or, of several numbers, such as leave an order as it is."""
        return _Coin(self) if size is None else np.arange(size) / max(size, 1)


def every_outcome(run: Callable[[Coins], Outcome]) -> Iterator[tuple[float, Outcome]]:
    """All outcomes of something random with their chances, however many coins it tosses."""
    waiting: list[list[bool]] = [[]]
    while waiting:
        script = waiting.pop()
        coins = Coins(script)
        outcome = run(coins)
        if coins.chance:
            yield coins.chance, outcome
        waiting += [
            [*coins.tossed[:place], False] for place in range(len(script), len(coins.tossed))
        ]
