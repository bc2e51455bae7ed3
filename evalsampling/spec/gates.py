"""Gates: the least or greatest value that a number must have, for a job to go on."""

import dataclasses
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evalsampling.errors import InputError, UsageError
from evalsampling.spec.sections import Section

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""A number as people write it: Python's own rule takes ``1_0`` and digits of other scripts."""


@dataclasses.dataclass(frozen=True)
class Gate:
    """One target.

    Attributes:
        number: measure, or title of the estimate: ``recall of new where country=DE``.
        target: value to reach, finite.
        is_least: whether the number must be at least the target; else at most.
    """

    number: str
    target: float
    is_least: bool

    @property
    def bound(self) -> str:
        """``at_least`` or ``at_most``."""
        return "at_least" if self.is_least else "at_most"


@dataclasses.dataclass(frozen=True)
class GatesSpec:
    """The section ``gates`` of a spec: targets, all of which are to be reached.

    Attributes:
        at_least: the least value of each number.
        at_most: the greatest value of each number.
    """

    at_least: Mapping[str, float] = dataclasses.field(default_factory=dict)
    at_most: Mapping[str, float] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the targets."""
        for key, targets in (("at_least", self.at_least), ("at_most", self.at_most)):
            if not isinstance(targets, Mapping):
                raise InputError(f"gates.{key}: must be a mapping like {{recall: 0.9}}")
            for number, target in targets.items():
                if not isinstance(number, str):
                    raise InputError(f"gates.{key}: must be names of numbers, got {number!r}")
                is_number = isinstance(target, int | float) and not isinstance(target, bool)
                if not is_number or not math.isfinite(target):
                    raise InputError(f"gates.{key}.{number}: must be a number, got {target!r}")

    def __iter__(self) -> Iterator[Gate]:
        """Yield the gates in order."""
        yield from (Gate(number, float(x), True) for number, x in self.at_least.items())
        yield from (Gate(number, float(x), False) for number, x in self.at_most.items())

    def __bool__(self) -> bool:
        """Tell whether there is any gate."""
        return bool(self.at_least or self.at_most)

    @classmethod
    def read(cls, section: Section) -> "GatesSpec":
        """Return the section ``gates``, checked."""
        section.check_keys("at_least", "at_most")
        return cls(section.get("at_least", {}), section.get("at_most", {}))

    @classmethod
    def parse(cls, at_least: Sequence[str], at_most: Sequence[str]) -> "GatesSpec":
        """Return the gates of texts like ``recall=0.9``, as options have them."""
        return cls(_targets("--at-least", at_least), _targets("--at-most", at_most))

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a spec that say the same: none without a gate."""
        if not self:
            return {}
        mapping = {"at_least": dict(self.at_least), "at_most": dict(self.at_most)}
        return {"gates": {key: targets for key, targets in mapping.items() if targets}}


def _targets(option: str, texts: Sequence[str]) -> dict[str, float]:
    """Return the target of each number; a title of a slice has an equals sign of its own."""
    targets: dict[str, float] = {}
    for text in texts:
        name, mark, value = text.rpartition("=")
        number, target = name.strip(), math.nan
        if NUMBER.fullmatch(value.strip()):
            target = float(value)
        if not mark or not number or not math.isfinite(target):
            raise UsageError(f"{option}: must be like recall=0.9, got {text!r}")
        if targets.setdefault(number, target) != target:
            raise UsageError(
                f"{option}: {number} is there twice, with {targets[number]:g} and {target:g}"
            )
    return targets
