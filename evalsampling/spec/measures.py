"""The entries of a spec's ``measure``."""

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from evalsampling.errors import InputError
from evalsampling.spec.parameters import name_and_parameters
from evalsampling.spec.promise import Promise
from evalsampling.spec.sections import Section, given
from evalsampling.spec.slices import Where, read_slices, where_mapping
from evalsampling.spec.values import Number, Positive

JOINT = "joint"
COMPARISONS = ("difference", "ratio")
"""Ways to compare a measure of two systems: the names of `measures.comparisons.BY_KIND`."""
EXTREMES = ("least", "greatest")
"""Ways to sum up a measure of several slices: the names of `measures.extremes.BY_KIND`."""
CERTIFY = "certify"
"""Entry of a promise: least values of measures of the rows above some threshold."""
_BESIDE = {
    JOINT: (),
    CERTIFY: ("each", "by"),
    **dict.fromkeys(COMPARISONS, ("of", "against", "weight")),
    **dict.fromkeys(EXTREMES, ("over", "weight")),
}
"""Further keys of entries that combine measures, by the entry's own key."""
ROWS = "rows"
"""Value of ``by`` where rows all count the same, as in `stats.magnitudes`."""


@dataclasses.dataclass(frozen=True)
class MeasureSpec:
    """An entry of the spec's ``measure``; `measures.build` makes measures of it."""

    # name in `measures.BY_NAME`, `COMPARISONS` or `EXTREMES`, ``joint``, ``certify``, or
    # ``module:object``
    name: str
    # parameters given with the name; of ``certify`` its ``promise``
    parameters: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    system: str | None = None  # name of the system it is about; None for each of them
    # parts of a joint measure, or measures of a promise; for a comparison or an extreme its one
    # measure
    parts: tuple["MeasureSpec", ...] = ()
    of: str | None = None  # name of the system that is compared; None for the first
    against: str | None = None  # name of the system that it is compared with; None for the second
    # the slice that it is about; empty for the whole pool
    where: Where = dataclasses.field(default_factory=dict)
    # for an extreme the values by column, each of which is a slice
    over: Where = dataclasses.field(default_factory=dict)
    # how much its variance counts where rounds are drawn for several measures, above 0
    weight: float = 1.0
    # `ROWS` if its rows all count the same, where ``pool.weight`` names weights; else None
    by: str | None = None

    @property
    def slices(self) -> Iterator[Where]:
        """The slices that the entry names."""
        yield from (self.where, self.over)
        for part in self.parts:
            yield from part.slices

    @property
    def thresholds(self) -> Iterator[float]:
        """The thresholds that the entry lists."""
        listed = self.parameters.get("thresholds")
        for number in listed if isinstance(listed, list | tuple) else ():
            if isinstance(number, int | float) and not isinstance(number, bool):
                yield number
        for part in self.parts:
            yield from part.thresholds

    @property
    def is_by_rows(self) -> bool:
        """Whether it, or a part of it, says that rows all count the same."""
        return self.by is not None or any(part.is_by_rows for part in self.parts)

    @classmethod
    def parse(cls, item: Any) -> "MeasureSpec":
        """Return an entry, its form checked; names are checked by `measures.build`."""
        kinds = [kind for kind in _BESIDE if isinstance(item, Mapping) and kind in item]
        if not kinds:
            return cls._single(item)
        kind, section = kinds[0], Section("measure", item)
        section.check_keys(kind, *_BESIDE[kind])
        if kind == JOINT:
            if not isinstance(item[JOINT], list) or not item[JOINT]:
                raise InputError(f"measure.joint: must be a list of measures, got {item[JOINT]!r}")
            return cls(JOINT, parts=tuple(map(cls.parse, item[JOINT])))
        if kind == CERTIFY:
            goals = section.value(CERTIFY, dict[str, Number], {})
            by = section.value("by", Literal["labels", "model"], "labels")
            promise = Promise.of(goals, section.text("each"), by == "model")
            return cls(CERTIFY, {"promise": promise}, parts=tuple(map(cls, promise.goals)))
        part = cls.parse(item[kind])
        if part.parts or (kind in COMPARISONS and part.system is not None):
            problem = "must be one measure"
            if kind in COMPARISONS:
                problem += "; the systems are named by of and against"
            raise InputError(f"measure.{kind}: {problem}")
        if part.weight != 1:
            raise InputError(f"measure.{kind}: weight stands beside {kind}, not within it")
        over = section.get("over")
        if isinstance(over, str):
            raise InputError(
                f"measure.over: list the values of {over}, as {{{over}: [first, second]}}: a "
                "value that is not listed has no cells of its own"
            )
        return cls(
            kind,
            parts=(part,),
            of=section.text("of"),
            against=section.text("against"),
            over=read_slices("measure.over", over),
            weight=section.value("weight", Positive, 1.0),
        )

    @classmethod
    def _single(cls, item: Any) -> "MeasureSpec":
        """Return an entry of one measure: a name, or its parameters with it or below it."""
        if isinstance(item, Mapping) and "name" not in item and len(item) == 1:
            ((name, parameters),) = item.items()
            if isinstance(parameters, Mapping):  # As f1: {weight: 2}.
                item = {"name": name, **parameters}
        name, parameters = name_and_parameters("measure", item)
        section = Section("measure", parameters)
        by = ROWS if parameters.get("by") == ROWS else None  # Others are a measure's own.
        ours = ("system", "where", "weight", *(["by"] if by else []))
        return cls(
            name,
            {key: value for key, value in parameters.items() if key not in ours},
            system=section.text("system"),
            where=read_slices("measure.where", section.get("where")),
            weight=section.value("weight", Positive, 1.0),
            by=by,
        )

    def to_mapping(self) -> dict[str, Any]:
        """Return the entry as `parse` takes it."""
        if self.name == CERTIFY:
            promise = self.parameters["promise"]
            by = "model" if promise.by_model else None
            return {CERTIFY: promise.goals, **given({"each": promise.each, "by": by})}
        if self.name == JOINT:
            return {JOINT: [part.to_mapping() for part in self.parts]}
        beside = given(
            {
                "system": self.system,
                "of": self.of,
                "against": self.against,
                "where": where_mapping(self.where) or None,
                "over": where_mapping(self.over) or None,
                "by": self.by,
                "weight": None if self.weight == 1 else self.weight,
            }
        )
        if self.parts:
            return {self.name: self.parts[0].to_mapping(), **beside}
        return {"name": self.name, **self.parameters, **beside}
