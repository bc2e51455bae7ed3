"""The section ``labels`` of a spec: classes, oracle, votes and control tasks."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import LabelSpace
from evalsampling.label_spaces.sets import MOST_LABELS
from evalsampling.parts.registry import Registry
from evalsampling.spec.labels_at_hand import KEYS as KEYS_AT_HAND
from evalsampling.spec.labels_at_hand import LabelsAtHand, read_labels_at_hand
from evalsampling.spec.parameters import construct, name_and_parameters
from evalsampling.spec.sections import Section, absolute, given
from evalsampling.spec.values import Count, Text

LABEL_SPACES: Registry[Any] = Registry(
    "label_spaces",
    {
        "classes": "evalsampling.label_spaces.classes:Classes",
        "multilabel": "evalsampling.label_spaces.sets:Sets",
        "range": "evalsampling.label_spaces.numbers:Numbers",
        "grades": "evalsampling.label_spaces.classes:Grades",
        "tags": "evalsampling.label_spaces.sets:Tags",
        "compared numbers": "evalsampling.label_spaces.numbers:ComparedNumbers",
    },
    "evalsampling.label_spaces.base:LabelSpace",
)
"""What labels may be: our own by what the section ``labels`` has, others by ``space``."""

KEYS = (
    "classes", "positive", "oracle", "votes", "gold", "repeats", "multilabel", "range",
    "meanings", "space", *KEYS_AT_HAND,
)  # fmt: skip
"""Keys of the section ``labels``."""


class GoldSpec(msgspec.Struct, frozen=True):
    """Rows whose class is known, mixed into every batch."""

    path: Text  # absolute path or URL of their file: payload columns and ``label``
    rows: Count = 5  # number of gold rows in a batch


@dataclasses.dataclass(frozen=True)
class LabelsSpec:
    """The possible labels, and how they are obtained."""

    space: LabelSpace  # what labels there are
    oracle: str = "deterministic"  # ``deterministic`` or ``stochastic``
    votes: int = 1  # answers wanted for each task, of as many annotators
    gold: GoldSpec | None = None  # rows whose class is known, None for none
    repeats: int = 0  # rows of earlier rounds that are asked about again, in every batch
    # explanations for annotators, by the texts that they choose from
    meanings: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # name and parameters of a space that is not our own, as the spec has them
    made_by: Mapping[str, Any] | None = None
    at_hand: LabelsAtHand | None = None  # labels that rows of the pool have already; None for none

    @property
    def classes(self) -> tuple[int | str, ...]:
        """The outcomes that have a probability each: see `LabelSpace.outcomes`."""
        return self.space.outcomes

    @property
    def positive(self) -> int:
        """Code of the positive class."""
        return self.space.positive

    @property
    def codes(self) -> Mapping[str, int]:
        """Code of each label by its text; labels are compared as text."""
        return self.space.codes


def read_labels(section: Section, directory: str, of_items: bool = False) -> LabelsSpec:
    """Return the section ``labels``, checked."""
    section.check_keys(*KEYS)
    space, made_by = read_space(section, of_items, directory)
    oracle = section.value("oracle", Literal["deterministic", "stochastic"], "deterministic")
    votes, repeats = section.integer("votes", 1, least=1), section.integer("repeats", 0, least=0)
    if oracle == "stochastic" and repeats:
        raise InputError("labels.repeats: a stochastic oracle is asked again by the draws as it is")
    at_hand = read_labels_at_hand(section, directory)
    if at_hand is not None and (oracle == "stochastic" or votes > 1):
        raise InputError(
            "labels.column: has one label of a row: it goes with neither labels.votes nor a "
            "stochastic oracle"
        )
    gold = section.section("gold").read(GoldSpec) if section.get("gold") else None
    if gold is not None:
        path = absolute("labels.gold.path", gold.path, directory)
        gold = msgspec.structs.replace(gold, path=path)
    return LabelsSpec(
        space=space,
        oracle=oracle,
        votes=votes,
        gold=gold,
        repeats=repeats,
        meanings=_meanings(section.section("meanings"), space.field.choices),
        made_by=made_by,
        at_hand=at_hand,
    )


def read_space(
    section: Section, of_items: bool, directory: str
) -> tuple[LabelSpace, Mapping[str, Any] | None]:
    """Return the label space; if it is not our own, its name and parameters too."""
    if of_items or section.get("space") is None:
        return LABEL_SPACES["grades" if of_items else _kind(section)].read(section), None
    section.refuse(
        ("classes", "positive", "multilabel", "range"),
        "with labels.space, which says what labels there are",
    )
    name, parameters = name_and_parameters("labels.space", section.get("space"))
    if name in LABEL_SPACES.own:
        raise InputError(
            f"labels.space: {name} is not asked for by it: classes, multilabel and range are keys "
            "of labels, and pool.lists has grades"
        )
    maker = LABEL_SPACES.find("labels.space", name, directory)
    return construct("labels.space", maker, name, parameters, {}), {"name": name, **parameters}


def _kind(section: Section) -> str:
    """Return the name of our own space that a section ``labels`` describes."""
    if section.get("range") is not None:
        return "range"
    listed = section.get("multilabel")
    if isinstance(listed, list) and len(listed) > MOST_LABELS:
        return "tags"
    return "classes" if listed is None else "multilabel"


def of_systems(space: LabelSpace, systems: int) -> LabelSpace:
    """Return the space of labels that a number of systems predict.

    It is the same space, unless several predict what cells then know otherwise, as numbers.
    """
    if systems == 1 or space.in_spec.compared is None:
        return space
    return LABEL_SPACES[space.in_spec.compared].of(space, systems)


def _meanings(section: Section, offered: Sequence[str]) -> dict[str, str]:
    """Return the meanings of classes, in the order of the classes."""
    meanings = {str(key): value for key, value in section.content.items()}
    for key, value in meanings.items():
        if key not in offered:
            raise InputError(f"{section.name}: {key!r} is none of: {', '.join(offered)}")
        if not isinstance(value, str) or not value.strip():
            raise InputError(f"{section.name}.{key}: must be text, got {value!r}")
    return {key: meanings[key].strip() for key in offered if key in meanings}


def labels_mapping(labels: LabelsSpec) -> dict[str, Any]:
    """Return the section ``labels`` as a mapping, without most unused keys."""
    own = labels.space.to_mapping() if labels.made_by is None else {"space": {**labels.made_by}}
    used = {
        "votes": labels.votes if labels.votes > 1 else None,
        "gold": None if labels.gold is None else msgspec.to_builtins(labels.gold),
        "repeats": labels.repeats or None,
        "meanings": dict(labels.meanings) or None,
    }
    at_hand = {} if labels.at_hand is None else labels.at_hand.to_mapping()
    return {"oracle": labels.oracle, **own, **given(used), **at_hand}
