"""A promise: least values that measures of the rows above some threshold are to have."""

import dataclasses
import re
from collections.abc import Mapping

from evalsampling.errors import InputError
from evalsampling.spec.gates import GatesSpec

MEASURES = ("precision", "recall", "f1", "accuracy")
"""What a promise may be about."""

BELOW = ("recall", "f1")
"""Those that depend on positives below the threshold, where labels are few beside the rows."""

_BY_MODEL = re.compile(r"(.*\S)\s+by model\s*")
_EACH = re.compile(r"(.*\S)\s+in each\s+(\S.*?)\s*")
_STRICT = re.compile(r"[<>](?!=)")


@dataclasses.dataclass(frozen=True)
class Promise:
    """Least values of measures of the rows above a threshold."""

    goals: Mapping[str, float]  # by measure, each in (0, 1)
    each: str | None = None  # column of slices in each of which it is to hold; None for the pool
    # whether positives below the threshold may be taken to be as the calibration curve says
    by_model: bool = False

    @classmethod
    def read(cls, text: str) -> "Promise":
        """Return the promise of a text like ``precision >= 0.95 and f1 >= 0.8 in each shop``."""
        if not isinstance(text, str):
            raise InputError(f"certify: must be a text like 'precision >= 0.95', got {text!r}")
        model = _BY_MODEL.fullmatch(text)
        rest = text if model is None else model[1]
        found = _EACH.fullmatch(rest)
        claims, each = (rest, None) if found is None else found.groups()
        strict = _STRICT.search(claims)
        if strict is not None:
            raise InputError(f"certify: {claims}: write {strict[0]}= in place of {strict[0]}")
        try:
            claimed = GatesSpec.claimed([claims])
        except InputError as error:
            raise InputError(str(error).replace("claims:", "certify:", 1)) from error
        return cls.of(claimed.at_least, each, model is not None, claimed.at_most)

    @classmethod
    def of(
        cls,
        goals: Mapping[str, float],
        each: str | None = None,
        by_model: bool = False,
        at_most: Mapping[str, float] = {},
    ) -> "Promise":
        """Return the promise of least values by measure, named in any case of letters, checked."""
        named, goals = goals, {name.lower(): goal for name, goal in goals.items()}
        if len(goals) < len(named):
            raise InputError(f"certify: a measure is there twice: {', '.join(named)}")
        for name in at_most:
            raise InputError(f"certify: {name} <=: a promise is a least value, as {name} >= 0.9")
        for name, goal in goals.items():
            if name not in MEASURES:
                raise InputError(f"certify: {name!r} is none of {', '.join(MEASURES)}")
            if not 0 < goal < 1:
                hint = f"; for {goal:g} % give {goal / 100:g}" if 1 < goal < 100 else ""
                raise InputError(f"certify: {name} >= {goal:g}: must be between 0 and 1{hint}")
        if not goals:
            raise InputError("certify: names no measure")
        if by_model and not {*BELOW} & {*goals}:
            raise InputError(f"certify: by model: is about {' and '.join(BELOW)} alone")
        return cls(dict(goals), each, by_model)

    def __str__(self) -> str:
        """Return it as it is written."""
        text = " and ".join(f"{name} >= {goal:g}" for name, goal in self.goals.items())
        text += f" in each {self.each}" * (self.each is not None)
        return text + " by model" * self.by_model

    @property
    def goes_up(self) -> bool:
        """Whether the highest threshold is wanted: recall falls as the threshold rises."""
        return [*self.goals] == ["recall"]
