"""The measures that a spec asks for, and what they require of the cells of the pool."""

import copy
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import Confidences, LabelSpace
from evalsampling.label_spaces.numbers import Numbers
from evalsampling.label_spaces.sets import Sets
from evalsampling.measures import BY_NAME, Joint, gains
from evalsampling.measures.averages import ALPHA, Averaged, averaged
from evalsampling.measures.base import Measure, check_returns, is_ours, set_own
from evalsampling.measures.comparisons import BY_KIND, Comparison, are_comparable, difference
from evalsampling.measures.curves import Thresholded
from evalsampling.measures.extremes import BY_KIND as EXTREME_OF
from evalsampling.measures.extremes import Extreme
from evalsampling.measures.joint import OfParts, parts_of
from evalsampling.measures.other_names import meant_by
from evalsampling.measures.reweighted import Sliced, Weighted
from evalsampling.parts.references import load_object
from evalsampling.spec import MAX_CELLS, MeasureSpec, PoolSpec, ReadingPlan, SystemSpec
from evalsampling.spec.measures import CERTIFY, COMPARISONS, EXTREMES, JOINT
from evalsampling.spec.parameters import check_name, construct
from evalsampling.spec.slices import where_mapping
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.magnitudes import BY, ROWS
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.score_kinds import ORDER
from evalsampling.stats.slices import SliceCodes, UnknownSliceError

MOST_LEVELS = 1024
"""Most levels of a score: thresholds among which a measure chooses if it is given their number."""

MOST_LISTED = 64
"""Thresholds listed by a spec beyond which bins are cut at those of the driving measure alone."""

_ASSUMED = tuple(np.linspace(0.0, 1.0, MOST_LEVELS).tolist())
"""Levels of a score that are assumed until the pool has been read."""


class OrderedScoreError(InputError):
    """A measure needs probabilities of a system whose score is an order."""

    def __init__(self, problem: str, system: int) -> None:
        """Take the problem in words and the number of the system."""
        super().__init__(problem)
        self.system = system


def build_measures(plan: ReadingPlan) -> list[Measure]:
    """Return the measures to report, for every system; with differences from the first system."""
    reported = [item for entry in plan.measures for item in build_reported(entry, plan)]
    # Duplicates, such as a difference that is listed and also added here, keep their first place.
    return list({(item.name, item.systems): item for item in reported}.values())


def build_reported(entry: MeasureSpec, plan: ReadingPlan) -> list[Measure]:
    """Return the measures that are reported for an entry: see `build_measures`."""
    reported: list[Measure] = []
    for part in _flat([entry]):
        first, *others = build_entry(part, plan)
        compared = [other for other in others if are_comparable(first, other)]
        reported += [first, *others, *(difference(first, other) for other in compared)]
    return reported


GIVEN = (
    "positive", "rest", "numbers", "classes", "system", "sets", "titles", "label_space"
)  # fmt: skip
"""Fields of measures that are filled in from the spec."""


def entry_of(item: Any) -> Any:
    """Return an entry of a spec's ``measure`` for a measure or its class; other items unchanged.

    Fields that are filled in from the spec, such as the number of classes, are left out. Arrays,
    as of thresholds, are lists.
    """
    if isinstance(item, np.ndarray):
        return item.tolist()
    if isinstance(item, list | tuple):
        return [entry_of(part) for part in item]
    if isinstance(item, Mapping):
        return {key: entry_of(value) for key, value in item.items()}
    if isinstance(item, Joint):
        return {JOINT: entry_of(item.parts)}
    if isinstance(item, Comparison):
        raise InputError(f"measure: give {item.name} as {{'difference': measure}}, or 'ratio'")
    if isinstance(item, Extreme):
        return {item.kind: entry_of(item.measure), "over": where_mapping(item.over)}
    if isinstance(item, Weighted):
        return entry_of(item.measure)
    if isinstance(item, Sliced):
        inner = entry_of(item.measure)
        named = inner if isinstance(inner, dict) else {"name": inner}
        return {**named, "where": where_mapping(item.where)}
    if isinstance(item, type) and issubclass(item, Measure):
        return BY_NAME.references(item)[-1]
    if not isinstance(item, Measure):
        return item
    names, (name, _, by) = BY_NAME.references(type(item)), item.name.partition(BY)
    entry: dict[str, Any] = {"name": name if name in names else names[-1]}
    if isinstance(item, Averaged) and item.average:
        entry = {"name": item.family, "average": item.average}
    fields: Any = dataclasses.fields(item) if dataclasses.is_dataclass(item) else ()
    for field in fields:
        value = getattr(item, field.name)
        if field.init and field.name not in GIVEN and value != field.default:
            entry[field.name] = list(value) if isinstance(value, tuple) else value
    if by == ROWS:
        entry["by"] = ROWS
    if entry["name"] in ALPHA:
        entry.pop("alpha", None)
    return entry


def with_weights(measure: Measure, pool: PoolSpec, by: str | None = None) -> Measure:
    """Return a measure of rows that count by the weights of a pool, if it has any, or alike."""
    column = pool.weight
    if column is None or isinstance(measure, Weighted):
        return measure
    if isinstance(measure, Sliced):
        return Sliced(with_weights(measure.measure, pool, by), measure.where)
    if isinstance(measure, OfParts):
        raise InputError(f"{measure.name}: rows have weights, so give its name, not the object")
    measure = copy.copy(measure)
    set_own(measure, name=f"{measure.name}{BY}{by or column}")
    return measure if by == ROWS else Weighted(measure)


def choose_measures(entry: Any, listed: Sequence[Measure], plan: ReadingPlan) -> list[Measure]:
    """Return the listed measures of a name, or else the measure of that name with its defaults."""
    of_name = [item for item in listed if entry in (item.name, item.components[0].name)]
    return of_name or build_reported(MeasureSpec.parse(entry_of(entry)), plan)


def build_joints(plan: ReadingPlan) -> list[tuple[Measure, ...]]:
    """Return the measures of each entry ``joint``, for which regions are reported too."""
    return [tuple(build_entry(entry, plan)) for entry in plan.measures if entry.name == JOINT]


def build_driver(plan: ReadingPlan) -> Measure:
    """Return the measure that drives the sampling: the first entry, for all its systems."""
    return as_one([item.drawn_for for item in build_entry(plan.measures[0], plan)])


def build_drawn_for(plan: ReadingPlan) -> tuple[Measure, FloatArray]:
    """Return all measures that rounds are drawn for, as one, and the weights of its components.

    The first entry, and others but those whose labels cannot be expected, and those of thresholds.
    """
    drawn_for: list[Measure] = []
    weights: list[float] = []
    for place, entry in enumerate(_flat(plan.measures)):
        for item in build_entry(entry, plan):
            measure = item.drawn_for
            if place and (not_expected(measure) or thresholded_parts(measure)):
                continue
            drawn_for.append(measure)
            weights += (entry.weight * measure.importance).tolist()
    return as_one(drawn_for), np.array(weights)


def _flat(entries: Sequence[MeasureSpec]) -> list[MeasureSpec]:
    """Return entries with the parts of each ``joint`` in its place."""
    return [
        part
        for each in entries
        for part in (_flat(each.parts) if each.name in (JOINT, CERTIFY) else [each])
    ]


def build_gains(plan: ReadingPlan) -> tuple[gains.Gain, ...]:
    """Return the distinct gains that the measures of a spec are made of."""
    return gains.gains_of(build_measures(plan))


def as_one(measures: Sequence[Measure]) -> Measure:
    """Return a single measure as it is, several as a joint one."""
    return measures[0] if len(measures) == 1 else Joint(tuple(measures))


def build_entry(entry: MeasureSpec, plan: ReadingPlan) -> list[Measure]:
    """Return the measures that an entry stands for: one for each system it is about."""
    if entry.name in (JOINT, CERTIFY):
        return [item for part in entry.parts for item in build_entry(part, plan)]
    if entry.name in COMPARISONS:
        return [_build_comparison(entry, plan)]
    if entry.name in EXTREMES:
        inner = build_entry(entry.parts[0], plan)
        try:
            return [EXTREME_OF[entry.name](item, entry.over) for item in inner]
        except ValueError as error:
            raise InputError(f"measure: {error}") from error
    names = [system.name for system in plan.pool.systems]
    if entry.system is not None and entry.system not in names:
        choices = ", ".join(name for name in names if name) or "the spec has no systems"
        raise InputError(f"measure.system: unknown system {entry.system!r}; known: {choices}")
    return [
        _Builder(entry, plan, number).build()
        for number, name in enumerate(names)
        if entry.system is None or name == entry.system
    ]


def _build_comparison(entry: MeasureSpec, plan: ReadingPlan) -> Measure:
    """Return the comparison that an entry stands for."""
    names = [str(system.name) for system in plan.pool.systems]
    if len(names) < 2:
        raise InputError(f"measure.{entry.name}: needs two systems, pool.systems has one")
    named = {"of": entry.of, "against": entry.against}
    for (key, name), default in zip(named.items(), names, strict=False):
        if name is None and len(names) > 2:
            raise InputError(f"measure.{key}: which of {', '.join(names)}?")
        named[key] = name = name or default
        if name not in names:
            raise InputError(f"measure.{key}: unknown system {name!r}; known: {', '.join(names)}")
    if named["of"] == named["against"]:
        raise InputError(f"measure.against: {named['of']!r} is compared with itself")
    part = entry.parts[0]
    first, other = (
        build_entry(dataclasses.replace(part, system=named[key]), plan)[0] for key in named
    )
    try:
        return BY_KIND[entry.name](first, other)
    except ValueError as error:
        raise InputError(f"measure.{entry.name}: {error}") from error


@dataclasses.dataclass(frozen=True)
class _Builder:
    """What a measure is made of: an entry of a spec that is not joint, and one system."""

    entry: MeasureSpec
    plan: ReadingPlan
    system: int

    def build(self) -> Measure:
        """Return the measure."""
        name = self.entry.name
        if ":" in name:
            measure = self._import_own(load_object("measure", name, self.plan.pool.directory))
        else:
            makers = gains.BY_NAME if self.plan.labels.space.has_items else BY_NAME
            check_name("measure", name, makers, meant_by(name, makers))
            measure = self._construct(makers[name])
        self._check_outputs(measure)
        if not is_ours(measure):
            outcomes, names = len(self.plan.labels.space.outcomes), self.plan.named_slices
            nothing = Outputs.none(len(self.plan.pool.systems), outcomes)
            named = SliceCodes(names, np.zeros((0, len(names)), dtype=np.int64))
            check_applies(measure, dataclasses.replace(nothing, slices=named))
        measure = with_weights(measure, self.plan.pool, self.entry.by)
        return Sliced(measure, self.entry.where) if self.entry.where else measure

    def _import_own(self, loaded: Any) -> Measure:
        """Return a measure of the user's own from a loaded instance or class."""
        name, parameters = self.entry.name, self.entry.parameters
        is_class = isinstance(loaded, type) and issubclass(loaded, Measure)
        if is_class and dataclasses.is_dataclass(loaded):
            return self._construct(loaded)
        if not (is_class or isinstance(loaded, Measure)):
            raise InputError(f"measure: {name} is not a measure")
        if parameters:
            got = f"{', '.join(parameters)}{' (is it a dataclass?)' if is_class else ''}"
            raise InputError(f"measure: {name} has no parameters, got {got}")
        measure: Measure = loaded() if is_class else copy.copy(loaded)
        set_own(measure, system=self.system)
        return measure

    def _construct(self, maker: Any) -> Measure:
        """Return a measure of a class that is a dataclass, with the fields that the spec gives."""
        space, parameters = self.plan.labels.space, dict(self.entry.parameters)
        fixed: dict[str, Any] = {"beta": 1.0, "alpha": None} if self.entry.name == "f1" else {}
        if "average" in parameters and self.entry.name in (*ALPHA, "f_beta"):
            maker, parameters, fixed = averaged(self.entry.name, parameters)
        names = {field.name for field in dataclasses.fields(maker)}
        for key in names & {"where", "weight"}:
            raise InputError(f"measure: {self.entry.name}: {key} is a key of every measure: rename")
        is_own = ":" in self.entry.name
        if space.in_spec.refusal and space.kind not in maker.label_kinds and not is_own:
            raise InputError(f"measure: {self.entry.name} {space.in_spec.refusal}")
        space.check_order([parameters.get("losses"), parameters.get("weights")])
        of_class = parameters.pop("positive", None) if "positive" in names else None
        given = {**_fields_of(space), "system": self.system, **fixed}
        if of_class is not None:
            given["positive"] = self._code(of_class)
        if "thresholds" in names:
            wanted = parameters.pop("thresholds", maker.usual_thresholds)
            given["thresholds"] = self._thresholds(wanted)
        if parameters.get("over") is not None:
            parameters["over"] = self._codes(parameters["over"])
        measure: Measure = construct("measure", maker, self.entry.name, parameters, given)
        if of_class is not None:
            word, _, shown = measure.name.removesuffix(")").partition("(")
            shown = ", ".join(filter(None, [shown, f"positive={of_class}"]))
            set_own(measure, name=f"{word}({shown})")
        return measure

    def _code(self, value: Any) -> int:
        """Return the code of the class that the measure takes as positive."""
        codes = self.plan.labels.codes
        if isinstance(value, bool) or str(value) not in codes:
            raise InputError(f"measure.positive: {value!r} is none of {list(codes)}")
        return codes[str(value)]

    def _check_outputs(self, measure: Measure) -> None:
        """Check that the system has one of the outputs that the measure looks at."""
        space = self.plan.labels.space
        if space.tagged and space.kind not in measure.label_kinds:
            raise InputError(f"measure: {self.entry.name} {space.in_spec.refusal}")
        system = self.plan.pool.systems[self.system]
        available = {"grades"} if space.has_items else {"prediction"}
        of_score = system.score is not None and not space.needs_columns
        is_order = of_score and system.score_is == ORDER
        of_predicted = isinstance(system.probability, Confidences)
        if system.score is not None and not of_predicted:
            available.add("score")
        if (system.probability is not None and not of_predicted) or (of_score and not is_order):
            available.add("probability")
        if not measure.looks_at & available:
            whose = "" if system.name is None else f" of system {system.name}"
            needed = " or a ".join(sorted(measure.looks_at))
            keys = " or ".join(f"pool.{key}" for key in sorted(measure.looks_at, reverse=True))
            way = ": name its column" + f", {keys}" * (system.name is None)
            if of_predicted:
                way = f" of each class, and {system.score!r} is that of the one predicted"
            problem = f"measure: {self.entry.name}{whose} needs a {needed}"
            if is_order:
                raise OrderedScoreError(f"{problem}, and {system.score!r} is an order", self.system)
            raise InputError(f"{problem}{way}")

    def _thresholds(self, wanted: Any) -> tuple[float, ...]:
        """Return the thresholds as listed, or the number asked for, evenly among the levels."""
        if isinstance(wanted, list):
            if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in wanted):
                raise InputError(f"measure.thresholds: must be numbers, got {wanted!r}")
            return tuple(map(float, wanted))
        is_number = isinstance(wanted, int) and not isinstance(wanted, bool)
        if not is_number or not 1 <= wanted <= MOST_LEVELS:
            raise InputError(
                "measure.thresholds: must be a list of numbers, or how many there are to be, "
                f"from 1 to {MOST_LEVELS}; got {wanted!r}"
            )
        levels = self.plan.levels[self.system] if self.plan.levels else _ASSUMED
        if levels is None:
            raise InputError(
                f"measure: {self.entry.name}: its thresholds follow the ranks of the scores, which "
                "were not counted: list the thresholds, or name it in the spec and prepare"
            )
        chosen = np.linspace(0, len(levels) - 1, wanted).round().astype(int)
        return tuple(levels[place] for place in np.unique(chosen))

    def _codes(self, over: Any) -> tuple[int, ...]:
        """Return the codes of classes listed by name."""
        codes = {name: code for code, name in enumerate(self.plan.labels.space.field.choices)}
        if not isinstance(over, list) or not over:
            raise InputError(f"measure.over: must be a list of classes, got {over!r}")
        for value in over:
            if str(value) not in codes:
                raise InputError(f"measure.over: {value!r} is none of {list(codes)}")
        return tuple(codes[str(value)] for value in over)


def _fields_of(space: LabelSpace) -> dict[str, Any]:
    """Return the fields of a measure that follow from the labels."""
    return {
        "positive": space.positive,
        "rest": 0 if space.positive else len(space.names) - 1,
        "numbers": space if isinstance(space, Numbers) else None,
        "sets": space if isinstance(space, Sets) else None,
        "classes": len(space.names),
        "titles": space.field.choices,
        "label_space": space,
    }


def check_applies(measure: Measure, nothing: Outputs) -> None:
    """Check that a measure is of systems and slices that rows have, given outputs of no rows."""
    no_label = np.zeros(0, dtype=np.int64)
    if max(measure.systems) >= nothing.prediction.shape[1]:
        raise InputError(f"measure: {measure.name}: there is no system {max(measure.systems)}")
    try:
        measure.loss(nothing, no_label)
    except UnknownSliceError as error:
        raise InputError(f"measure: {measure.name}: {error}") from error
    check_returns(measure.plain, nothing, no_label)


def thresholded_parts(measure: Measure) -> list[Thresholded]:
    """Return the parts of a measure that look at scores over thresholds."""
    return [part for part in _inner_parts(measure) if isinstance(part, Thresholded)]


def not_expected(measure: Measure) -> list[Measure]:
    """Return the parts of a measure whose loss cannot be expected: see `Measure.driven_by`."""
    return [part for part in _inner_parts(measure) if part.driven_by]


def _inner_parts(measure: Measure) -> list[Measure]:
    """Return the parts of a measure, each as it is of the whole pool."""
    parts = parts_of(measure.drawn_for)
    if isinstance(measure, Comparison):
        parts = measure.parts
    return [part.plain for part in parts]


# --- what the measures require of the cells


def thresholds_cut_at(plan: ReadingPlan) -> FloatArray:
    """Return the thresholds that are edges of bins: of the driving measure, and a few listed."""
    parts = thresholded_parts(build_driver(plan))
    listed = [number for entry in plan.measures for number in entry.thresholds]
    few = listed if len(listed) <= MOST_LISTED else []
    return np.unique([*few, *(number for part in parts for number in part.thresholds)])


def most_bins(plan: ReadingPlan) -> int:
    """Return how many bins the score, or the features, can be cut into at most."""
    edges = plan.strata.edges
    if plan.strata.by_predictions:
        return 1
    leaves = plan.strata.leaves if edges is None else len(edges) + 1
    return leaves + len(thresholds_cut_at(plan))


def needs_ranges(plan: ReadingPlan) -> bool:
    """Tell whether least and greatest scores must be known before rows are put into cells."""
    if plan.labels.space.has_items:
        return False
    scored: list[PoolSpec | SystemSpec] = [plan.pool, *plan.pool.systems]
    unknown = any(part.probability is None and part.score is not None for part in scored)
    return unknown or bool(leveled_scores(plan))


def needs_signature_counts(plan: ReadingPlan) -> bool:
    """Tell whether there may be more cells than `MAX_CELLS`, so that signatures are counted."""
    return most_bins(plan) * math.prod(plan.signature_shape) > MAX_CELLS


def leveled_scores(plan: ReadingPlan) -> list[str]:
    """Return the scores among whose levels the measures choose thresholds, each once."""
    if plan.labels.space.has_items:
        return []
    chosen = filter(_counts_thresholds, plan.measures)
    built = [item for entry in chosen for item in build_entry(entry, plan)]
    numbers = {part.system for item in built for part in thresholded_parts(item)}
    return list(dict.fromkeys(str(plan.pool.systems[number].score) for number in sorted(numbers)))


def _counts_thresholds(entry: MeasureSpec) -> bool:
    """Tell whether an entry's thresholds are chosen among the levels of a score."""
    maker = BY_NAME.get(entry.name)
    by_number = not isinstance(entry.parameters.get("thresholds"), list)
    is_thresholded = isinstance(maker, type) and issubclass(maker, Thresholded)
    return (is_thresholded and by_number) or any(map(_counts_thresholds, entry.parts))


def check_measures(plan: ReadingPlan) -> None:
    """Check that the measures of a spec can be built, go together and fit the strata."""
    bins = most_bins(plan)
    if bins > MAX_CELLS // 2:
        raise InputError(
            f"strata.leaves: {bins} leaves and thresholds, at most {MAX_CELLS // 2} are possible"
        )
    if plan.labels.space.has_items and needs_signature_counts(plan):
        raise InputError(
            f"pool.systems: {len(plan.pool.systems)} rankers are too many for {bins} leaves, "
            f"at most {MAX_CELLS} cells are possible: lower strata.leaves"
        )
    listed = [item for entry in plan.measures for item in build_entry(entry, plan)]
    keys = [(item.name, *item.systems) for item in listed]
    for key in keys:
        if keys.count(key) > 1:
            raise InputError(f"measure: {key[0]} is listed twice")
    driver = build_driver(plan)
    for part in not_expected(driver):
        raise InputError(
            f"measure: {part.name} cannot come first, since no label is expected before it is "
            f"given, only its error: list {part.driven_by} first"
        )
    for part in thresholded_parts(driver):
        if part.system or plan.pool.score != plan.pool.systems[0].score:
            raise InputError(
                f"measure: {part.name} cannot come first: it needs the score that drives the "
                "strata to be its own system's"
            )
