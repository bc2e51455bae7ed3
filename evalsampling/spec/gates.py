"""Gates: the least or greatest value that a number must have, for a job to go on."""

import dataclasses
import itertools
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from evalsampling.errors import InputError, UsageError
from evalsampling.spec.sections import Section, used
from evalsampling.spec.values import Number

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
"""A number as people write it: Python's own rule takes ``1_0`` and digits of other scripts."""

_CLAIM = re.compile(rf"\s*(.*?\S)\s*(>=|<=)\s*({NUMBER.pattern})\s*")
_OPTION = re.compile(rf"\s*(.*\S)\s*=\s*({NUMBER.pattern})\s*")
_AND = re.compile(r"(?<=[0-9.])\s+and\s+")


@dataclasses.dataclass(frozen=True)
class Gate:
    """One target."""

    number: str  # measure, or title of the estimate: ``recall of new where country=DE``
    target: float  # value to reach, finite
    is_least: bool  # whether the number must be at least the target; else at most

    @property
    def bound(self) -> str:
        """``at_least`` or ``at_most``."""
        return "at_least" if self.is_least else "at_most"


_Targets = Annotated[dict[str, Number], Meta(description="a mapping like {recall: 0.9}")]


class GatesSpec(msgspec.Struct, frozen=True):
    """The section ``gates`` of a spec: targets, all of which are to be reached."""

    at_least: _Targets = {}  # the least value of each number
    at_most: _Targets = {}  # the greatest value of each number

    def __iter__(self) -> Iterator[Gate]:
        """Yield the gates in order."""
        yield from (Gate(number, float(x), True) for number, x in self.at_least.items())
        yield from (Gate(number, float(x), False) for number, x in self.at_most.items())

    def __bool__(self) -> bool:
        """Tell whether there is any gate."""
        return bool(self.at_least or self.at_most)

    @classmethod
    def of(cls, at_least: Any, at_most: Any) -> "GatesSpec":
        """Return the gates that mappings of targets stand for, or None for none, checked."""
        return Section("gates", {"at_least": at_least, "at_most": at_most}).read(cls)

    @classmethod
    def claimed(cls, claims: Iterable[str]) -> "GatesSpec":
        """Return the gates of claims like ``recall >= 0.7``, several joined by ``and``."""
        targets: dict[str, dict[str, float]] = {">=": {}, "<=": {}}
        claims = [*claims]
        if not all(isinstance(claim, str) for claim in claims):
            raise InputError(f"claims: must be texts like 'recall >= 0.7', got {claims!r}")
        for claim in itertools.chain.from_iterable(map(_AND.split, claims)):
            found = _CLAIM.fullmatch(claim)
            if found is None:
                raise InputError(f"claims: must be like 'recall >= 0.7', got {claim!r}")
            number, sign, target = found.group(1, 2, 3)
            if targets[sign].setdefault(number, float(target)) != float(target):
                raise InputError(f"claims: {number} {sign} is there twice")
        return cls.of(targets[">="], targets["<="])

    @classmethod
    def parse(cls, at_least: Sequence[str], at_most: Sequence[str]) -> "GatesSpec":
        """Return the gates of texts like ``recall=0.9``, as options have them."""
        return cls(_targets("--at-least", at_least), _targets("--at-most", at_most))

    def to_mapping(self) -> dict[str, Any]:
        """Return the keys of a spec that say the same: none without a gate."""
        return used("gates", self)


def _targets(option: str, texts: Sequence[str]) -> dict[str, float]:
    """Return the target of each number; titles of slices hold an equals sign too."""
    targets: dict[str, float] = {}
    sign = ">" if option == "--at-least" else "<"  # recall>=0.9 is meant alike
    for text in texts:
        found = _OPTION.fullmatch(text)
        number = found[1].removesuffix(sign).strip() if found else ""
        if not found or not number or not math.isfinite(float(found[2])):
            raise UsageError(f"{option}: must be like recall=0.9, got {text!r}")
        target = float(found[2])
        if targets.setdefault(number, target) != target:
            raise UsageError(
                f"{option}: {number} is there twice, with {targets[number]:g} and {target:g}"
            )
    return targets
