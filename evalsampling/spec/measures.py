"""What a spec says of measures, and the measures built from it."""

import copy
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evalsampling import measures
from evalsampling.errors import InputError
from evalsampling.measures.base import Measure
from evalsampling.measures.calibrated import Calibrated, Requested, measure_of
from evalsampling.measures.curves import Thresholded
from evalsampling.measures.risks import Brier, LogLoss
from evalsampling.spec.references import load
from evalsampling.spec.sections import Section, build, named

DEFAULT_THRESHOLDS = 1024
"""L of [MR] section 6.3."""

JOINT = "joint"

Range = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class Setting:
    """What measures must know of the evaluation.

    Attributes:
        classes: texts of the classes.
        positive: code of the positive class.
        systems: names.
        scored: whether each system has a score.
        probable: whether each system has probabilities.
        ranges: least and greatest score of each system, None where it is not known.
        directory: of the spec, for modules.
    """

    classes: tuple[str, ...]
    positive: int
    systems: tuple[str | None, ...]
    scored: tuple[bool, ...]
    probable: tuple[bool, ...]
    ranges: tuple[Range | None, ...]
    directory: str


@dataclasses.dataclass(frozen=True)
class MeasureSpec:
    """An entry of the spec's ``measure``.

    Attributes:
        name: of `measures.BY_NAME`, ``joint``, or ``module:object``.
        parameters: given with it.
        system: name of the system it is about; None for each of them.
        calibrate: whether its known totals are used.
        parts: of a joint measure.
    """

    name: str
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    system: str | None = None
    calibrate: bool = False
    parts: tuple["MeasureSpec", ...] = ()

    @classmethod
    def parse(cls, item: Any) -> "MeasureSpec":
        """Check an entry.

        Raises:
            InputError: naming the key that is wrong.
        """
        if isinstance(item, Mapping) and JOINT in item:
            Section("measure", item).check_keys(JOINT)
            listed = item[JOINT]
            if not isinstance(listed, list) or not listed:
                raise InputError(f"measure.joint: must be a list of measures, got {listed!r}")
            return cls(JOINT, parts=tuple(cls.parse(part) for part in listed))
        content = dict(item) if isinstance(item, Mapping) else {"name": item}
        section = Section("measure", content)
        system, calibrate = section.text("system"), section.get("calibrate", False)
        if not isinstance(calibrate, bool):
            raise InputError(f"measure.calibrate: must be true or false, got {calibrate!r}")
        own = {k: v for k, v in content.items() if k not in ("system", "calibrate")}
        if isinstance(own.get("name"), str) and ":" in own["name"]:
            name = own.pop("name")
            return cls(name, {str(k): v for k, v in own.items()}, system, calibrate)
        name, parameters = named("measure", own, measures.BY_NAME)
        return cls(name, parameters, system, calibrate)

    def to_mapping(self) -> dict[str, Any]:
        """Return the entry as `parse` takes it."""
        if self.parts:
            return {JOINT: [part.to_mapping() for part in self.parts]}
        told: dict[str, Any] = {"name": self.name, **self.parameters}
        if self.system is not None:
            told["system"] = self.system
        return told | ({"calibrate": True} if self.calibrate else {})

    def build(self, setting: Setting) -> list[Requested]:
        """Return the measures it stands for: one for each system it is about.

        Raises:
            InputError: naming a parameter that is wrong, or what the pool lacks.
        """
        if self.parts:
            return [measure for part in self.parts for measure in part.build(setting)]
        if self.system is not None and self.system not in setting.systems:
            known = ", ".join(name for name in setting.systems if name) or "the spec has no systems"
            raise InputError(f"measure.system: unknown system {self.system!r}; known: {known}")
        chosen = [
            number
            for number, name in enumerate(setting.systems)
            if self.system is None or name == self.system
        ]
        built = [self._build(number, setting) for number in chosen]
        try:
            return [Calibrated(measure) if self.calibrate else measure for measure in built]
        except ValueError as error:
            raise InputError(f"measure.calibrate: {error}") from error

    def _build(self, system: int, setting: Setting) -> Measure:
        maker: Any = measures.BY_NAME.get(self.name)
        parameters = dict(self.parameters)
        if maker is None:
            return self._own(load("measure", self.name, setting.directory), system, setting)
        return self._made(maker, parameters, system, setting)

    def _own(self, found: Any, system: int, setting: Setting) -> Measure:
        """Return a measure of the user's own: an instance, or one of a class."""
        is_class = isinstance(found, type) and issubclass(found, Measure)
        if is_class and dataclasses.is_dataclass(found):
            return self._made(found, dict(self.parameters), system, setting)
        if not (is_class or isinstance(found, Measure)):
            raise InputError(f"measure: {self.name} is not a measure")
        if self.parameters:
            told = ", ".join(self.parameters)
            raise InputError(f"measure: {self.name} has no parameters, got {told}")
        measure: Measure = found() if is_class else copy.copy(found)
        object.__setattr__(measure, "system", system)
        return measure

    def _made(
        self, maker: Any, parameters: dict[str, Any], system: int, setting: Setting
    ) -> Measure:
        """Return a measure of a class that is a dataclass."""
        fields = {field.name for field in dataclasses.fields(maker)}
        given: dict[str, Any] = {
            "positive": setting.positive,
            "classes": len(setting.classes),
            "system": system,
        }
        if "thresholds" in fields:
            given["thresholds"] = self._thresholds(parameters, system, setting)
        if parameters.get("over") is not None:
            parameters["over"] = self._codes(parameters["over"], setting)
        if self.name == "f1":
            given["beta"] = 1.0
        measure: Measure = build("measure", maker, self.name, parameters, given)
        of = "" if setting.systems[system] is None else f" of system {setting.systems[system]}"
        if isinstance(measure, Thresholded) and not setting.scored[system]:
            raise InputError(f"measure: {self.name}{of} needs a score")
        if isinstance(measure, Brier | LogLoss) and not setting.probable[system]:
            raise InputError(f"measure: {self.name}{of} needs a probability")
        return measure

    @property
    def counts_thresholds(self) -> bool:
        """Whether it, or a part of it, has thresholds that depend on the range of the scores."""
        if self.parts:
            return any(part.counts_thresholds for part in self.parts)
        maker = measures.BY_NAME.get(self.name)
        return (
            isinstance(maker, type)
            and issubclass(maker, Thresholded)
            and not isinstance(self.parameters.get("thresholds"), list)
        )

    def _thresholds(
        self, parameters: dict[str, Any], system: int, setting: Setting
    ) -> tuple[float, ...]:
        """Return the thresholds: as given, or so many from the least score to the greatest."""
        asked = parameters.pop("thresholds", DEFAULT_THRESHOLDS)
        if isinstance(asked, list):
            numbers = [x for x in asked if isinstance(x, int | float) and not isinstance(x, bool)]
            if len(numbers) < len(asked):
                raise InputError(f"measure.thresholds: must be numbers, got {asked!r}")
            return tuple(float(x) for x in numbers)
        if isinstance(asked, bool) or not isinstance(asked, int) or not 1 <= asked <= 4096:
            raise InputError(
                "measure.thresholds: must be a list of numbers, or how many there are to be, "
                f"from 1 to 4096; got {asked!r}"
            )
        bounds = setting.ranges[system]
        if bounds is None:
            raise InputError(
                f"measure: {self.name}: the range of the scores is not known here, "
                "list the thresholds"
            )
        return tuple(np.unique(np.linspace(*bounds, asked)).tolist())

    def _codes(self, over: Any, setting: Setting) -> tuple[int, ...]:
        if not isinstance(over, list) or not over:
            raise InputError(f"measure.over: must be a list of classes, got {over!r}")
        for value in over:
            if str(value) not in setting.classes:
                raise InputError(f"measure.over: {value!r} is none of {list(setting.classes)}")
        return tuple(setting.classes.index(str(value)) for value in over)


def driver(built: Sequence[Requested]) -> Measure:
    """Return the measure whose variance is to be small: one, or several as one."""
    parts = [measure_of(requested) for requested in built]
    return parts[0] if len(parts) == 1 else measures.Joint(tuple(parts))


def thresholded_parts(measure: Measure) -> list[Thresholded]:
    """Return the parts of a measure that look at scores over thresholds."""
    if isinstance(measure, measures.Joint):
        return [t for part in measure.parts for t in thresholded_parts(part)]
    return [measure] if isinstance(measure, Thresholded) else []
