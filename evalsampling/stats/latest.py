"""States by name, of each the latest: sums that may be told to somebody more than once."""

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class Latest:
    """States by name, each with a version that grows whenever it does: a mergeable state.

    Of two states of a name the greater version counts. So a state that is told again, or told
    anew when more has come, is counted once.

    Attributes:
        states: version and state by name.
    """

    states: Mapping[Any, tuple[int, Any]]

    @classmethod
    def of(cls, name: Any, version: int, state: Any) -> "Latest":
        """Return a single state."""
        return cls({name: (version, state)})

    def __add__(self, other: "Latest") -> "Latest":
        """Return the states of both."""
        states = dict(self.states)
        for name, held in other.states.items():
            if name not in states or states[name][0] < held[0]:
                states[name] = held
        return Latest(states)

    @property
    def version(self) -> int:
        """Sum of the versions: it grows whenever a state does."""
        return sum(version for version, _ in self.states.values())

    def named(self, kind: Any) -> list[Any]:
        """Return the states whose name is (kind, key), in the order of their keys."""
        keys = sorted(key for of_kind, key in self.states if of_kind == kind)
        return [self.states[kind, key][1] for key in keys]
