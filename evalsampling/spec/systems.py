"""The key ``pool.systems`` of a spec: the systems under evaluation and their columns."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import (
    CONFIDENCE,
    SCORE_RULES,
    Confidences,
    Logits,
    column_of_each,
    flag_columns,
)
from evalsampling.spec.labels import LabelsSpec
from evalsampling.spec.sections import Section, given
from evalsampling.spec.values import Number, convert

Probability = str | Mapping[str, str] | None
"""A column of the positive class, a column for each class or its logit, or neither."""


@dataclasses.dataclass(frozen=True)
class SystemSpec:
    """A system under evaluation and the columns of its outputs."""

    name: str | None = None  # its name; None for a single system without one
    score: str | None = None  # numeric column, finite, or None
    # column of predicted classes, or None to compare the score with `threshold`
    prediction: str | None = None
    threshold: float | None = None  # scores at or above it predict the positive class
    # column of the probability of the positive class, a column for each class (by the class's text;
    # of a multi-label pool, for each label), `Logits` of the classes, or None to take it from the
    # score
    probability: Probability = None
    # columns of 0 and 1, by label, in place of a column of lists; empty with that
    by_label: Mapping[str, str] = dataclasses.field(default_factory=dict)
    score_is: str | None = None  # what the score is, a key of `SCORE_RULES`; None to find out


def probability_columns(named: Probability) -> list[str]:
    """Return the columns of probabilities or logits."""
    if isinstance(named, Mapping):
        return list(named.values())
    return [] if named is None else [named]


def read_system(
    section: Section, name: str | None, labels: LabelsSpec, score: str | None, default: str | None
) -> SystemSpec:
    """Return one system, checked."""
    where = f"{section.name}.prediction"
    prediction, threshold = section.get("prediction", default), None
    columns = flag_columns(where, prediction, labels.space.flags)
    if isinstance(prediction, int | float) and not isinstance(prediction, bool):
        prediction = {"threshold": prediction}  # There is no column of that name.
    if columns:
        prediction = None
    elif isinstance(prediction, Mapping):
        rule = Section(where, prediction)
        rule.check_keys("threshold")
        threshold, prediction = convert(f"{where}.threshold", rule.get("threshold"), Number), None
        if not labels.space.is_binary:
            raise InputError(f"{where}: a threshold decides between two classes only")
        if score is None:
            raise InputError(f"{where}: a threshold needs a score: name its column as score")
    elif not isinstance(prediction, str):
        raise InputError(f"{where}: must be a column or a threshold, got {prediction!r}")
    probability = read_probability(section, labels)
    kind = read_score_is(section, labels, score)
    if kind == CONFIDENCE and prediction is None:
        raise InputError(
            f"{section.name}.score_is: a confidence is that of the class predicted: name its "
            "column as prediction"
        )
    if kind == CONFIDENCE and labels.space.needs_columns and probability is None:
        probability = Confidences(score=str(score), prediction=str(prediction))
    return SystemSpec(name, score, prediction, threshold, probability, columns, kind)


def read_score_is(section: Section, labels: LabelsSpec, score: str | None) -> str | None:
    """Return the value of a key ``score_is``, checked; None if it is missing."""
    if section.get("score_is") is None:
        return None
    key, space = f"{section.name}.score_is", labels.space
    if score is None:
        raise InputError(f"{key}: there is no score")
    kind: str = section.value("score_is", Literal[tuple(SCORE_RULES)])
    of_many = kind == CONFIDENCE and space.kind == "classes"
    if not of_many and (not space.is_binary or space.needs_columns):
        way = ", of which it may be confidence" if space.kind == "classes" else ""
        raise InputError(f"{key}: is of scores of two classes, here there are {space.size}{way}")
    return kind


def read_systems(section: Section, labels: LabelsSpec) -> tuple[SystemSpec, ...]:
    """Return the systems of the section ``systems``, checked."""
    if not section.content:
        raise InputError("pool.systems: must name at least one system")
    systems = []
    for key in section.content:
        name = str(key)
        own = section.section(key)
        below = {f"{own.name}.prediction": ["threshold"]}
        own.check_keys(*labels.space.in_spec.system_keys, below=below)
        score = own.text(labels.space.in_spec.score, required=labels.space.in_spec.score != "score")
        systems.append(read_system(own, name, labels, score, None))
    names, columns = zip(*((system.name, system.score) for system in systems), strict=True)
    for system in systems:
        if names.count(system.name) > 1:
            raise InputError(f"{section.name}: two systems are called {system.name!r}")
        if system.score_is == CONFIDENCE and columns.count(system.score) > 1:
            raise InputError(
                f"{section.name}: {system.score!r} cannot be the confidence in the predictions of "
                "two systems"
            )
    return tuple(systems)


def read_rankers(section: Section) -> tuple[SystemSpec, ...]:
    """Return the systems that rank the items of queries."""
    rankers = []
    for key in section.content:
        own = section.section(key)
        own.check_keys("score", "probability")
        score, probability = own.text("score", required=True), own.text("probability")
        rankers.append(SystemSpec(str(key), score, probability=probability))
    if not rankers:
        raise InputError("pool.systems: must name at least one system")
    return tuple(rankers)


def read_probability(section: Section, labels: LabelsSpec) -> Probability:
    """Return the value of a key ``probability``, or of ``logits`` in its place, checked."""
    of_logits = section.get("logits") is not None
    key = f"{section.name}.{'logits' if of_logits else 'probability'}"
    value = section.get("logits" if of_logits else "probability")
    if of_logits and section.get("probability") is not None:
        raise InputError(f"{key}: beside {section.name}.probability, which says the same: drop one")
    if of_logits and labels.space.kind != "classes":
        raise InputError(f"{key}: softmax is of classes, of which every row has just one")
    if isinstance(value, Mapping):
        columns = column_of_each(key, value, labels.space.field.choices)
        return Logits(columns) if of_logits else columns
    if of_logits:
        raise InputError(f"{key}: must be a column for each class, got {value!r}")
    if value is not None and not isinstance(value, str):
        raise InputError(f"{key}: must be a column, got {value!r}")
    if value is not None and labels.space.needs_columns:
        raise InputError(
            f"{key}: with {labels.space.size}, name a column for each "
            "(probability: {class: column, ...})"
        )
    return value


def prediction_mapping(system: SystemSpec) -> Any:
    """Return the value of the key ``prediction`` of a system."""
    return system.prediction or dict(system.by_label) or {"threshold": system.threshold}


def system_mapping(system: SystemSpec, labels: LabelsSpec) -> dict[str, Any]:
    """Return a system as a mapping, as in the section ``systems``."""
    predicts = system.prediction or system.by_label or system.threshold is not None
    return given(
        {
            "prediction": prediction_mapping(system) if predicts else None,
            labels.space.in_spec.score: system.score,
            "score_is": system.score_is,
            **probability_mapping(system.probability, labels),
        }
    )


def probability_mapping(probability: Probability, labels: LabelsSpec) -> dict[str, Any]:
    """Return the key ``probability`` or ``logits`` with its value, with classes as in the spec."""
    if not isinstance(probability, Mapping):
        return {"probability": probability}
    if isinstance(probability, Confidences):
        return {}
    key = "logits" if isinstance(probability, Logits) else "probability"
    return {key: dict(zip(labels.space.names, probability.values(), strict=True))}
