"""The section ``labels`` of a spec: classes, oracle, votes and control tasks."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.parts.registry import Registry
from evalsampling.spec.label_sets import EMPTY, JOINT, MOST_LABELS, set_classes
from evalsampling.spec.numbers import EXPECTED, NumberCodes, NumberRange
from evalsampling.spec.sections import READ_FROM, Section, absolute, number, shown

MAJORITY, MODEL, MEDIAN = "majority", "dawid-skene", "median"
"""Rules by which several votes decide a row."""

VOTE_RULES: Registry[Any] = Registry(
    "vote_rules",
    {MODEL: "evalsampling.labels.dawid_skene:DAWID_SKENE"},
    "evalsampling.labels.vote_rules:VoteRule",
)
"""Rules that look at all votes together, by name; `MAJORITY` looks at the votes of each row."""

KEYS = (
    "classes",
    "positive",
    "oracle",
    "votes",
    "gold",
    "repeats",
    "rule",
    "multilabel",
    "range",
    "meanings",
)  # fmt: skip
"""Keys of the section ``labels``."""


@dataclasses.dataclass(frozen=True)
class GoldSpec:
    """Rows whose class is known, mixed into every batch.

    Attributes:
        path: absolute path or URL of their file: payload columns and ``label``.
        rows: number of gold rows in a batch.
    """

    path: str
    rows: int


@dataclasses.dataclass(frozen=True)
class LabelsSpec:
    """The possible labels, and how they are obtained.

    Attributes:
        classes: integers or strings, at least two; their indices are their codes.
        positive: the positive class, by default the last: a spec names the class itself, in Python
            it is the code.
        oracle: ``deterministic`` or ``stochastic``.
        votes: answers wanted for each task, of as many annotators.
        gold: rows whose class is known, None for none.
        repeats: rows of earlier rounds that are asked about again, in every batch.
        rule: how votes decide: ``majority``, a name of `VOTE_RULES` or ``module:object``; for
            numbers ``median``.
        multilabel: the labels of which a row may have several; then the classes are their sets.
            Empty where a row is of one class.
        numbers: the range of labels that are numbers; then the classes are the errors that a
            prediction expects (`stats.normal_errors`). None where labels are classes.
        meanings: explanations for annotators, by the text of the class or, where a row may have
            several labels, by the label.
    """

    classes: tuple[int | str, ...]
    positive: int
    oracle: str
    votes: int = 1
    gold: GoldSpec | None = None
    repeats: int = 0
    rule: str = MAJORITY
    multilabel: tuple[str, ...] = ()
    numbers: NumberRange | None = None
    meanings: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def offered(self) -> tuple[str, ...]:
        """The texts that annotators choose from: classes, or labels of a multi-label pool."""
        return self.multilabel or tuple(map(str, self.classes))

    @property
    def codes(self) -> Mapping[str, int]:
        """Code of each class by its text; labels are compared as text."""
        if self.numbers is not None:
            return NumberCodes(self.numbers)
        return {str(c): code for code, c in enumerate(self.classes)}


def read_labels(section: Section, directory: str) -> LabelsSpec:
    """Return the section ``labels``, checked.

    Args:
        section: the section.
        directory: relative paths resolve against it.

    Raises:
        InputError: naming the key that is wrong.
    """
    section.check_keys(*KEYS)
    if section.get("range") is not None:
        return _numbers(section)
    multilabel = _multilabel(section)
    classes: Any = list(set_classes(multilabel)) or [0, 1]
    if not multilabel:
        classes = section.get("classes", [0, 1])
    if not isinstance(classes, list) or len(classes) < 2:
        raise InputError(f"labels.classes: must list at least two classes, got {classes!r}")
    for value in classes:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise InputError(
                f"labels.classes: must be whole numbers or text, got {value!r}"
                + (" (put yes, no, true and false in quotes)" if isinstance(value, bool) else "")
            )
        if isinstance(value, str) and not value.strip():
            raise InputError(f"labels.classes: {value!r} is blank, which no answer can be")
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise InputError(f"labels.classes: no whole number of 64 bits: {shown(value)}")
    texts = [str(value) for value in classes]
    if len(set(texts)) < len(texts):
        raise InputError(f"labels.classes: two classes are spelt alike in {classes!r}")
    positive = section.get("positive", classes[-1])
    if positive not in classes or isinstance(positive, bool):
        raise InputError(f"labels.positive: {positive!r} is not one of the classes {classes!r}")
    oracle = section.get("oracle", "deterministic")
    if oracle not in ("deterministic", "stochastic"):
        raise InputError(f"labels.oracle: must be deterministic or stochastic, got {oracle!r}")
    votes, repeats = section.integer("votes", 1, least=1), section.integer("repeats", 0, least=0)
    if oracle == "stochastic" and repeats:
        raise InputError("labels.repeats: a stochastic oracle is asked again by the draws as it is")
    rule = section.part("rule", VOTE_RULES, MAJORITY, [MAJORITY])
    if rule != MAJORITY and oracle == "stochastic":
        raise InputError(f"labels.rule: {rule}: votes of a stochastic oracle count as they are")
    if rule != MAJORITY and votes == 1:
        raise InputError(f"labels.rule: {rule} needs labels.votes of at least 2")
    spec = LabelsSpec(
        classes=tuple(classes),
        positive=classes.index(positive),
        oracle=oracle,
        votes=votes,
        gold=_gold(section.section("gold"), directory) if section.get("gold") else None,
        repeats=repeats,
        rule=rule,
        multilabel=multilabel,
    )
    return dataclasses.replace(spec, meanings=_meanings(section.section("meanings"), spec.offered))


def _meanings(section: Section, offered: Sequence[str]) -> dict[str, str]:
    """Return the meanings of classes, in the order of the classes."""
    meanings = {str(key): value for key, value in section.content.items()}
    for key, value in meanings.items():
        if key not in offered:
            raise InputError(f"{section.name}: {key!r} is none of: {', '.join(offered)}")
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{section.name}.{key}: must be text, got {value!r}")
    return {key: meanings[key].strip() for key in offered if key in meanings}


def _numbers(section: Section) -> LabelsSpec:
    """Return the section ``labels`` for labels that are numbers.

    Raises:
        InputError: naming the key that is wrong, or that is for classes only.
    """
    for key in ("classes", "positive", "multilabel", "meanings"):
        if section.get(key) is not None:
            raise InputError(f"labels.{key}: with labels.range, labels are numbers")
    for key in ("gold", "repeats"):
        if section.get(key) is not None:
            raise InputError(
                f"labels.{key}: answers are compared with others there, and with labels.range no "
                "two numbers need be the same"
            )
    if section.get("rule", MEDIAN) != MEDIAN:
        raise InputError(f"labels.rule: with labels.range it is {MEDIAN}")
    ends = section.get("range")
    if not isinstance(ends, list) or len(ends) != 2:
        raise InputError(f"labels.range: must be the least and the greatest label, got {ends!r}")
    low, high = (number("labels.range", end) for end in ends)
    if low >= high:
        raise InputError(f"labels.range: must be increasing, got {ends!r}")
    oracle = section.get("oracle", "deterministic")
    if oracle != "deterministic":
        raise InputError("labels.oracle: numbers come from a deterministic oracle")
    votes = section.integer("votes", 1, least=1)
    return LabelsSpec(EXPECTED, 0, oracle, votes, rule=MEDIAN, numbers=NumberRange(low, high))


def _multilabel(section: Section) -> tuple[str, ...]:
    """Return the labels of which a row may have several; empty where a row is of one class."""
    labels = section.get("multilabel")
    if labels is None:
        return ()
    for key in ("classes", "positive"):
        if section.get(key) is not None:
            raise InputError(
                f"labels.{key}: with labels.multilabel, sets of labels are the classes"
            )
    if isinstance(labels, list) and len(labels) > MOST_LABELS:
        raise InputError(
            f"labels.multilabel: must list 2 to {MOST_LABELS} labels, got {len(labels)}: their "
            f"sets are the classes, 2^{MOST_LABELS} of them at most; docs/poisson.md says what to "
            "do with more"
        )
    if not isinstance(labels, list) or len(labels) < 2:
        raise InputError(f"labels.multilabel: must list 2 to {MOST_LABELS} labels, got {labels!r}")
    for label in labels:
        if not isinstance(label, str) or not label or label != label.strip():
            raise InputError(f"labels.multilabel: labels are text, got {label!r}")
        if JOINT in label or label == EMPTY or label.startswith("["):
            raise InputError(
                f"labels.multilabel: {label!r}: no label is {EMPTY!r}, has a {JOINT!r} in it or "
                "begins with a bracket"
            )
    if len(set(labels)) < len(labels):
        raise InputError(f"labels.multilabel: a label is there twice in {labels!r}")
    return tuple(labels)


def _gold(section: Section, directory: str) -> GoldSpec:
    section.check_keys("path", "rows")
    path = absolute("labels.gold.path", section.text("path", required=True), directory, READ_FROM)
    return GoldSpec(str(path), section.integer("rows", 5, least=1))


def labels_mapping(labels: LabelsSpec) -> dict[str, Any]:
    """Return the section ``labels`` as a mapping, with defaults except those of newer keys."""
    mapping: dict[str, Any] = {"oracle": labels.oracle}
    if labels.numbers is not None:
        mapping["range"] = [labels.numbers.low, labels.numbers.high]
    elif labels.multilabel:
        mapping["multilabel"] = list(labels.multilabel)
    else:
        mapping["classes"] = list(labels.classes)
        mapping["positive"] = labels.classes[labels.positive]
    # Newer keys are left out where they are not used: specs of older workspaces are compared.
    if labels.votes > 1:
        mapping["votes"] = labels.votes
    if labels.gold is not None:
        mapping["gold"] = dataclasses.asdict(labels.gold)
    if labels.repeats:
        mapping["repeats"] = labels.repeats
    if labels.rule not in (MAJORITY, MEDIAN):
        mapping["rule"] = labels.rule
    if labels.meanings:
        mapping["meanings"] = dict(labels.meanings)
    return mapping
