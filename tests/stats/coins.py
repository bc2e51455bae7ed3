"""Every outcome of what tosses coins by comparing a random number with a chance."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

Outcome = TypeVar("Outcome")


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
