"""What a spec says of the pool and of labels."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.spec.label_sets import EMPTY, JOINT, MOST_LABELS, set_classes
from evalsampling.spec.lists import ListsSpec, check_grades, lists_mapping, read_lists
from evalsampling.spec.numbers import EXPECTED, NumberCodes, NumberRange
from evalsampling.spec.sections import Section, absolute, number

STORES = ("gs", "s3", "hdfs")
"""Where pools may be beside this machine."""

RULES = ("majority", "dawid-skene")
"""How several votes decide a row."""

MASKS = ("redact", "hash", "truncate")
"""How a payload column may be shown."""

Probability = str | Mapping[str, str] | None
"""A column of the positive class, a column for each class, or neither."""


@dataclasses.dataclass(frozen=True)
class SystemSpec:
    """A system under evaluation and the columns of what it says.

    Attributes:
        name: None for a single system that needs none.
        score: numeric column, finite, or None.
        prediction: column of predicted classes, or None to compare the score with `threshold`.
        threshold: scores at or above it predict the positive class.
        probability: column of the probability of the positive class, a column for each class (by
            the class's text; of a multi-label pool, for each label), or None to take it from the
            score.
        by_label: column of 0 and 1 for each label, in place of one of lists; empty if there is one.
    """

    name: str | None
    score: str | None
    prediction: str | None
    threshold: float | None
    probability: Probability
    by_label: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Mask:
    """How annotators see a payload column that is not shown as it is.

    Attributes:
        how: ``redact``, ``hash`` or ``truncate``.
        characters: shown of each text, if it is cut.
    """

    how: str
    characters: int = 0


@dataclasses.dataclass(frozen=True)
class PoolSpec:
    """Where the pool is and what its columns mean.

    Attributes:
        path: absolute path or pattern of its files, of this machine or one of `STORES`.
        id: column that names each row: integers or strings, no two alike.
        score: numeric column that drives the strata, finite; None if features do. Of labels that
            are numbers it is that of their predictive variances.
        probability: where the prior is, as `SystemSpec.probability`.
        systems: at least one.
        slices: columns whose values are reported apart.
        features: numeric columns, for strata without a score.
        payload: columns shown to annotators.
        scorer: ``module:function`` that adds columns to Arrow record batches, if any.
        directory: looked in first for modules the spec names: the spec's own.
        masks: by payload column, how it is shown; a column that is not here is shown as it is.
        lists: of rows that are queries; None of any other pool. Then a system's score is a list, of
            one number for every item; its probability a list of lists, of one for every grade; and
            it has no prediction.
        cost: numeric column of what a label costs, above 0; None if all labels cost the same.
    """

    path: str
    id: str
    score: str | None
    probability: Probability
    systems: tuple[SystemSpec, ...]
    slices: tuple[str, ...]
    features: tuple[str, ...]
    payload: tuple[str, ...]
    scorer: str | None
    directory: str
    masks: Mapping[str, Mask] = dataclasses.field(default_factory=dict)
    lists: ListsSpec | None = None
    cost: str | None = None


@dataclasses.dataclass(frozen=True)
class GoldSpec:
    """Rows whose class is known, mixed into every batch.

    Attributes:
        path: absolute path or URL of their file: payload columns and ``label``.
        rows: of them in a batch.
    """

    path: str
    rows: int


@dataclasses.dataclass(frozen=True)
class LabelsSpec:
    """What a label may be.

    Attributes:
        classes: integers or strings, at least two; their places here are their codes.
        positive: code of the positive class.
        oracle: ``deterministic`` or ``stochastic``.
        votes: answers wanted for each row, of as many annotators.
        gold: rows whose class is known, None for none.
        repeats: rows of earlier rounds that are asked about again, in every batch.
        rule: how votes decide: ``majority`` or ``dawid-skene``.
        multilabel: the labels of which a row may have several; then the classes are their sets.
            Empty where a row is of one class.
        numbers: the range of labels that are numbers; then the classes are the errors that a
            prediction expects (`stats.normal_errors`). None where labels are classes.
    """

    classes: tuple[int | str, ...]
    positive: int
    oracle: str
    votes: int = 1
    gold: GoldSpec | None = None
    repeats: int = 0
    rule: str = "majority"
    multilabel: tuple[str, ...] = ()
    numbers: NumberRange | None = None

    @property
    def codes(self) -> Mapping[str, int]:
        """Code of each class by its text, the form in which labels are compared."""
        if self.numbers is not None:
            return NumberCodes(self.numbers)
        return {str(c): code for code, c in enumerate(self.classes)}


def read_labels(section: Section, directory: str) -> LabelsSpec:
    """Return what the section ``labels`` says, checked.

    Args:
        section: of the file.
        directory: relative paths resolve against it.

    Raises:
        InputError: naming the key that is wrong.
    """
    section.check_keys(
        "classes", "positive", "oracle", "votes", "gold", "repeats", "rule", "multilabel", "range"
    )
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
    if oracle == "stochastic" and (votes > 1 or repeats):
        key = "votes" if votes > 1 else "repeats"
        raise InputError(
            f"labels.{key}: a stochastic oracle's answers count as they are, each draw asks for one"
        )
    rule = section.get("rule", RULES[0])
    if rule not in RULES:
        raise InputError(f"labels.rule: must be one of {', '.join(RULES)}, got {rule!r}")
    if rule != RULES[0] and votes == 1:
        raise InputError(f"labels.rule: {rule} needs labels.votes of at least 2")
    return LabelsSpec(
        classes=tuple(classes),
        positive=classes.index(positive),
        oracle=oracle,
        votes=votes,
        gold=_gold(section.section("gold"), directory) if section.get("gold") else None,
        repeats=repeats,
        rule=rule,
        multilabel=multilabel,
    )


def _numbers(section: Section) -> LabelsSpec:
    """Return what is said of labels that are numbers.

    Raises:
        InputError: naming the key that is wrong, or that is for classes only.
    """
    for key in ("classes", "positive", "votes", "gold", "repeats", "rule", "multilabel"):
        if section.get(key) is not None:
            raise InputError(f"labels.{key}: with labels.range, labels are numbers")
    ends = section.get("range")
    if not isinstance(ends, list) or len(ends) != 2:
        raise InputError(f"labels.range: must be the least and the greatest label, got {ends!r}")
    low, high = (number("labels.range", end) for end in ends)
    if low >= high:
        raise InputError(f"labels.range: must be increasing, got {ends!r}")
    oracle = section.get("oracle", "deterministic")
    if oracle != "deterministic":
        raise InputError("labels.oracle: numbers come from a deterministic oracle")
    return LabelsSpec(EXPECTED, 0, oracle, numbers=NumberRange(low, high))


def _multilabel(section: Section) -> tuple[str, ...]:
    """Return the labels of which a row may have several; none where it is of one class."""
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
            f"sets are the classes, 2^{MOST_LABELS} of them at most; evaluate parts of the labels, "
            "each by a spec of its own"
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
    path = absolute("labels.gold.path", section.text("path", required=True), directory, STORES)
    return GoldSpec(str(path), section.integer("rows", 5, least=1))


def labels_mapping(labels: LabelsSpec) -> dict[str, Any]:
    """Return the section ``labels``, with the defaults that every spec had from the start."""
    mapping: dict[str, Any] = {"oracle": labels.oracle}
    if labels.numbers is not None:
        return mapping | {"range": [labels.numbers.low, labels.numbers.high]}
    if labels.multilabel:
        mapping["multilabel"] = list(labels.multilabel)
    else:
        mapping["classes"] = list(labels.classes)
        mapping["positive"] = labels.classes[labels.positive]
    # What came later is left out where it is not used: specs of older workspaces are compared.
    if labels.votes > 1:
        mapping["votes"] = labels.votes
    if labels.gold is not None:
        mapping["gold"] = dataclasses.asdict(labels.gold)
    if labels.repeats:
        mapping["repeats"] = labels.repeats
    if labels.rule != RULES[0]:
        mapping["rule"] = labels.rule
    return mapping


def read_pool(section: Section, labels: LabelsSpec, directory: str, by_features: bool) -> PoolSpec:
    """Return what the section ``pool`` says, checked.

    Args:
        section: of the file.
        labels: the classes.
        directory: relative paths resolve against it.
        by_features: whether the strata are cut from features, so that no score is needed.

    Raises:
        InputError: naming the key that is wrong.
    """
    section.check_keys(
        "path", "id", "score", "prediction", "probability", "payload", "scorer", "systems",
        "slices", "features", "variance", "lists", "cost",
    )  # fmt: skip
    path = absolute("pool.path", section.text("path", required=True), directory, STORES)
    scorer = section.text("scorer")
    if scorer is not None and len([p for p in scorer.split(":") if p]) != 2:
        raise InputError(f"pool.scorer: must be module:function, got {scorer!r}")
    payload, masks = _payload(section)
    for column in payload:
        if column in ("task", "label"):
            raise InputError(f"pool.payload: {column} is a column of every batch, rename it")
    lists = read_lists(section)
    if lists is not None:
        check_grades(
            {field.name: getattr(labels, field.name) for field in dataclasses.fields(labels)}
        )
        return PoolSpec(
            path=str(path),
            id=section.text("id") or "id",
            score=None,
            probability=None,
            systems=_rankers(section.section("systems")),
            slices=section.columns("slices"),
            features=(),
            payload=(*payload, *(name for name in lists.payload if name not in payload)),
            scorer=None,
            directory=directory,
            masks=masks,
            lists=lists,
        )
    score, probability = section.text("score"), _probability(section, labels)
    if labels.numbers is not None:
        score = _variance(section, by_features)
        systems: tuple[SystemSpec, ...] = (_system(section, None, labels, score, "prediction"),)
    elif section.get("variance") is not None:
        raise InputError("pool.variance: is of labels that are numbers, which need labels.range")
    elif section.get("systems") is not None:
        if section.get("prediction") is not None:
            raise InputError("pool.prediction: with systems, each has a prediction of its own")
        systems = _systems(section.section("systems"), labels)
        score = score or systems[0].score
        probability = probability or systems[0].probability
        if score is None and not by_features:
            raise InputError("pool.score: missing, and the first system has no score either")
    else:
        score = score if by_features else score or "score"
        systems = (_system(section, None, labels, score, "prediction"),)
    features = section.columns("features")
    if by_features and not features:
        raise InputError("pool.features: missing, strata.method kd is cut from features")
    needs_columns = len(labels.classes) > 2 and labels.numbers is None
    if needs_columns and probability is None and not by_features:
        raise InputError(
            f"pool.probability: with {_number_of(labels)}, name a column for each "
            "(probability: {class: column, ...})"
        )
    return PoolSpec(
        path=str(path),
        id=section.text("id") or "id",
        score=score,
        probability=probability,
        systems=systems,
        slices=section.columns("slices"),
        features=features,
        payload=payload,
        scorer=scorer,
        directory=directory,
        masks=masks,
        cost=section.text("cost"),
    )


def _variance(section: Section, by_features: bool) -> str:
    """Return the column of predictive variances, which is the score of numbers.

    Raises:
        InputError: naming the key that is missing, or that is for classes only.
    """
    for key in ("systems", "score", "probability"):
        if section.get(key) is not None:
            raise InputError(f"pool.{key}: with labels.range there is one system, whose strata are "
                             "those of pool.variance")  # fmt: skip
    if by_features:
        raise InputError("strata.method: kd: with labels.range strata are those of pool.variance")
    return section.text("variance") or "variance"


def _payload(section: Section) -> tuple[tuple[str, ...], dict[str, Mask]]:
    """Return the payload columns and how they are shown: ``[name, {email: hash}]``."""
    listed = section.get("payload", [])
    names: list[Any] = []
    masks: dict[str, Mask] = {}
    for item in listed if isinstance(listed, list) else [listed]:
        if not isinstance(item, Mapping):
            names.append(item)
            continue
        if len(item) != 1:
            raise InputError(f"pool.payload: must be a column and how it is shown, got {item!r}")
        ((name, how),) = item.items()
        names.append(name)
        masks[str(name)] = _mask(str(name), how)
    plain = Section(section.name, {"payload": names if isinstance(listed, list) else listed})
    return plain.columns("payload"), masks


def _mask(column: str, how: Any) -> Mask:
    if isinstance(how, Mapping):
        own = Section(f"pool.payload.{column}", how)
        own.check_keys("truncate")
        return Mask("truncate", own.integer("truncate", 0, least=1))
    if how not in MASKS[:2]:
        raise InputError(
            f"pool.payload.{column}: must be redact, hash or {{truncate: characters}}, got {how!r}"
        )
    return Mask(str(how))


def _systems(section: Section, labels: LabelsSpec) -> tuple[SystemSpec, ...]:
    if not section.content:
        raise InputError("pool.systems: must name at least one system")
    systems = []
    for key in section.content:
        name = str(key)
        own = section.section(key)
        own.check_keys("score", "prediction", "probability")
        systems.append(_system(own, name, labels, own.text("score"), None))
    names = [system.name for system in systems]
    for twice in names:
        if names.count(twice) > 1:
            raise InputError(f"{section.name}: two systems are called {twice!r}")
    return tuple(systems)


def _rankers(section: Section) -> tuple[SystemSpec, ...]:
    """Return the systems that rank the items of queries."""
    rankers = []
    for key in section.content:
        own = section.section(key)
        own.check_keys("score", "probability")
        score, probability = own.text("score", required=True), own.text("probability")
        rankers.append(SystemSpec(str(key), score, None, None, probability))
    if not rankers:
        raise InputError("pool.systems: must name at least one system")
    return tuple(rankers)


def _system(
    section: Section, name: str | None, labels: LabelsSpec, score: str | None, default: str | None
) -> SystemSpec:
    """Return what is said of one system, checked."""
    where = f"{section.name}.prediction"
    prediction, threshold = section.get("prediction", default), None
    if labels.multilabel and isinstance(prediction, Mapping):
        columns = _by_label(where, prediction, labels.multilabel)
        return SystemSpec(name, score, None, None, _probability(section, labels), columns)
    if isinstance(prediction, Mapping):
        rule = Section(where, prediction)
        rule.check_keys("threshold")
        threshold, prediction = number(f"{where}.threshold", rule.get("threshold")), None
        if len(labels.classes) != 2:
            raise InputError(f"{where}: a threshold decides between two classes only")
        if score is None:
            raise InputError(f"{where}: a threshold needs a score")
    elif not isinstance(prediction, str):
        raise InputError(f"{where}: must be a column or a threshold, got {prediction!r}")
    return SystemSpec(name, score, prediction, threshold, _probability(section, labels))


def _by_label(where: str, given: Mapping[Any, Any], known: Sequence[str]) -> dict[str, str]:
    """Return the column of each label, in the order of the labels."""
    columns = {str(key): column for key, column in given.items()}
    texts = all(isinstance(column, str) for column in columns.values())
    if set(columns) != set(known) or not texts:
        raise InputError(f"{where}: must name a column for each of {list(known)}, got {given!r}")
    return {label: columns[label] for label in known}


def pool_mapping(pool: PoolSpec, labels: LabelsSpec) -> dict[str, Any]:
    """Return the section ``pool`` with every default filled in."""
    mapping: dict[str, Any] = {"path": pool.path, "id": pool.id}
    if pool.lists is not None:
        mapping["lists"] = lists_mapping(pool.lists)
    if pool.score is not None:
        mapping["score" if labels.numbers is None else "variance"] = pool.score
    first = pool.systems[0]
    if first.name is None:
        mapping["prediction"] = _prediction_mapping(first)
    else:
        mapping["systems"] = {
            system.name: _system_mapping(system, labels) for system in pool.systems
        }
    if pool.probability is not None:
        mapping["probability"] = _probability_mapping(pool.probability, labels)
    for key, columns in (("slices", pool.slices), ("features", pool.features)):
        if columns:
            mapping[key] = list(columns)
    if pool.cost is not None:
        mapping["cost"] = pool.cost
    of_items = () if pool.lists is None else pool.lists.payload
    mapping["payload"] = [
        _shown(name, pool.masks.get(name)) for name in pool.payload if name not in of_items
    ]
    return mapping | ({"scorer": pool.scorer} if pool.scorer else {})


def _shown(name: str, mask: Mask | None) -> Any:
    if mask is None:
        return name
    return {name: {"truncate": mask.characters} if mask.how == "truncate" else mask.how}


def _prediction_mapping(system: SystemSpec) -> Any:
    return system.prediction or dict(system.by_label) or {"threshold": system.threshold}


def _system_mapping(system: SystemSpec, labels: LabelsSpec) -> dict[str, Any]:
    mapping: dict[str, Any] = {}
    if system.prediction or system.by_label or system.threshold is not None:
        mapping["prediction"] = _prediction_mapping(system)
    if system.score is not None:
        mapping["score"] = system.score
    if system.probability is not None:
        mapping["probability"] = _probability_mapping(system.probability, labels)
    return mapping


def _probability_mapping(probability: str | Mapping[str, str], labels: LabelsSpec) -> Any:
    if isinstance(probability, str):
        return probability
    if labels.multilabel:
        return dict(probability)
    return dict(zip(labels.classes, probability.values(), strict=True))


def _probability(section: Section, labels: LabelsSpec) -> Probability:
    value = section.get("probability")
    if labels.multilabel and isinstance(value, Mapping):
        return _by_label(f"{section.name}.probability", value, labels.multilabel)
    if isinstance(value, Mapping):
        columns = {str(key): column for key, column in value.items()}
        if set(columns) != set(labels.codes) or not all(
            isinstance(column, str) for column in columns.values()
        ):
            raise InputError(
                f"{section.name}.probability: must name a column for each of {list(labels.codes)}, "
                f"got {value!r}"
            )
        return {text: columns[text] for text in labels.codes}
    if value is not None and not isinstance(value, str):
        raise InputError(f"{section.name}.probability: must be a column, got {value!r}")
    if value is not None and len(labels.classes) > 2:
        raise InputError(
            f"{section.name}.probability: with {_number_of(labels)}, name a column for "
            "each (probability: {class: column, ...})"
        )
    return value


def _number_of(labels: LabelsSpec) -> str:
    """Return how many classes or labels there are, in words."""
    if labels.multilabel:
        return f"{len(labels.multilabel)} labels"
    return f"{len(labels.classes)} classes"
