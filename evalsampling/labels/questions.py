"""Rows of an export as rows of ours: what names the row, and which of its questions is ours."""

import collections
import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import UNSURE_LABEL, LabelSpace
from evalsampling.label_spaces.spellings import NO, YES, plain
from evalsampling.labels.delivered_ids import ID, DeliveredIds
from evalsampling.labels.exports import (
    BINARY,
    SAYS,
    TABLE,
    ChosenAnswer,
    Export,
    Fields,
    Other,
    found,
    objects,
    parsed,
)
from evalsampling.labels.vote import COLUMNS, field_text
from evalsampling.spec import LabellingPlan


class Row(NamedTuple):
    """A row of a delivery: its fields by their names.

    A `problem` says why the row holds no vote, a `doubt` why its answer does not count if it has
    one. Where `says` is False the label is what the row is not.
    """

    line: int
    fields: dict[str, Any]
    problem: str = ""
    says: bool | None = None
    doubt: str = ""


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is known of the tasks that a delivery answers; columns `shown` are no answers."""

    own: DeliveredIds = DeliveredIds()
    space: LabelSpace | None = None
    shown: Sequence[str] = ()

    @classmethod
    def of(cls, plan: LabellingPlan) -> "Asked":
        """Return what a plan says of its tasks."""
        pool = plan.pool
        own = DeliveredIds(ID if pool.id in COLUMNS else pool.id)
        predicted = (name for one in pool.systems for name in (one.score, one.prediction))
        shown = [name for name in (*pool.payload, *pool.slices, *predicted) if name is not None]
        return cls(own, plan.labels.space, shown)

    @property
    def ids(self) -> tuple[str, ...]:
        """Names that columns of ids may have."""
        own = self.own.columns
        return (ID, own) if isinstance(own, str) else own


def export_of(row: Any) -> Export | None:
    """Return the export that a row is of, None if it is a row of ours."""
    if not isinstance(row, Mapping):
        return None
    fields = _folded(row)
    export = next((export for export in TABLE if export.has(fields)), None)
    if export is TABLE[-1] and not isinstance(fields.get("labels", fields.get("label")), list):
        return None
    return export


_ELSEWHERE = (
    "answer", "accept", "accepted", "decision", "verdict", "response", "correct", "is_correct",
    "agree", "judgment", "judgement",
)  # fmt: skip
"""Names of fields with the answer, where ``label`` is what was asked."""


def has_answer_elsewhere(names: Iterable[Any], shown: Iterable[str]) -> bool:
    """Tell whether a table has a label and a field that may be the answer to it."""
    folded = {str(name).casefold() for name in names}
    return "label" in folded and bool({*folded} & {*_ELSEWHERE} - {*map(str.casefold, shown)})


def binary_of(path: str, rows: Sequence[Fields], shown: Iterable[str]) -> Export | None:
    """Return `BINARY` if each row says whether it has the label, None if that is the answer."""
    folded = [*map(_folded, rows)]
    for name in _ELSEWHERE:
        given = [row.get(name) for row in folded]
        words = {plain(str(value)) for value in given if value not in (None, "")}
        if name.casefold() in {*map(str.casefold, shown)} or not words:
            continue
        if words <= SAYS.keys() and name == "answer":
            return BINARY
        if words <= {*SAYS, *YES, *NO, "1", "0"}:
            raise InputError(
                f"{path}: fields 'label' and {name!r}: {name!r} says {' or '.join(sorted(words))}, "
                "so 'label' may be what was asked: leave out the one that is not the answer"
            )
    return None


def answered_rows(path: str, export: Export, rows: Iterable[Row], asked: Asked) -> Iterator[Row]:
    """Yield the answers of an export in fields of ours."""
    answers: list[tuple[int, dict[str, Any], ChosenAnswer]] = []
    own = asked.own
    for given in rows:
        if given.problem:
            yield given
            continue
        line, row = given.line, _folded(given.fields)
        if not export.has(row):
            problem = f"not a row of an export of {export.tool}"
            answers.append((line, _names(row, own, export), ChosenAnswer(problem=problem)))
            continue
        names = _names(row, own, export)
        answers += [(line, names, answer) for answer in export.answers(row)]
    if answers and not any(names for _, names, _ in answers):
        numbers = "its `id` is a number of its own: " if ID in export.own else ""
        raise InputError(
            f"{path}: no row of this export of {export.tool} has 'task' (or {own.words}): "
            f"{numbers}give the tool the column `task` beside the text"
        )
    question = _question(path, export, [answer for *_, answer in answers], asked.space)
    for line, names, answer in answers:
        problem, value = answer.problem, answer.values.get(question, export.without)
        if not problem and not names:
            problem = f"neither task nor {own.words} is given: not a row of ours"
        if isinstance(value, Other):
            problem, value = f"{question} holds {value}, not a class: {export.hint}", None
        fields = {
            **names,
            "label": None if answer.skipped else value,
            "annotator": answer.annotator,
            "time": answer.time,
            "skipped": "yes" if answer.skipped else None,
            "comment": answer.comment,
        }
        yield Row(line, fields, problem, answer.says)


def _folded(row: Mapping[Any, Any]) -> dict[str, Any]:
    folded: dict[str, Any] = {}
    for name, value in row.items():
        folded.setdefault(str(name).casefold(), value)
    return folded


_SENT = re.compile(r"(input:|(meta|metadata|data|fields|vars)\.)")
"""Beginning of the fields of a table that are what was sent to the tool."""

_WITHIN = ("meta", "metadata", "data", "fields", "vars")
"""Fields whose text in a table is an object with what was sent."""


def _names(row: Fields, own: DeliveredIds, export: Export) -> dict[str, Any]:
    """Return the task and the ids that a row has, at its top or in a field of it."""
    given = {name: value for name, value in row.items() if name not in export.own}
    top = {_SENT.sub("", name, 1): value for name, value in given.items()}
    listed = objects(row.get("metadata_fields"))
    pairs = {one.get("schema_name"): one.get("value") for one in listed}
    spelled = [parsed(str(given[name])) for name in _WITHIN if isinstance(given.get(name), str)]
    places = (*given.values(), *spelled, pairs)
    inner = [_folded(place) for place in places if isinstance(place, Mapping)]
    wanted = {"task": "task", **{name: name for name in own.names}}
    if isinstance(own.columns, str):
        wanted |= {ID: ID, own.columns: ID}
    names: dict[str, Any] = {}
    for name, ours in wanted.items():
        for value in (place.get(name.casefold()) for place in (top, *inner)):
            if value not in (None, "") and not isinstance(value, Mapping | list | bool):
                names.setdefault(ours, value)
    if "task" in names:
        return {"task": names["task"]}
    if not {*own.names} <= {*names}:
        name = found(row, export.names)
        names = {} if name is None else {ID if isinstance(own.columns, str) else "task": name}
    return names


def _question(
    path: str, export: Export, answers: Iterable[ChosenAnswer], space: LabelSpace | None
) -> str:
    """Return the question whose answers are labels of ours; empty if nothing is answered."""
    given: dict[str, collections.Counter[Any]] = {}
    for answer in answers:
        for name, value in answer.values.items():
            if value is not None:
                is_text = isinstance(value, Other | str)
                key = value if is_text else tuple(value) if isinstance(value, list) else str(value)
                given.setdefault(name, collections.Counter())[key] += 1
    asked = [name for name, values in given.items()
             if not all(isinstance(value, Other) for value in values)]  # fmt: skip
    if not asked and given:
        name, values = next(iter(given.items()))
        raise InputError(
            f"{path}: an export of {export.tool} in which {name!r} holds {next(iter(values))}, "
            f"not a class of the row: {export.hint}"
        )
    if "label" in asked and not export.mixed:
        asked = [name for name in asked if name in ("label", "label.value")]
    likely = [name for name in asked if _are_labels(given[name], space)]
    chosen = likely if export.mixed else likely or asked
    chosen = [name for name in chosen if name.removesuffix(".value") not in {*chosen} - {name}]
    if len(chosen) > 1 or (asked and not chosen):
        which = " and ".join(map(repr, chosen)) or "no field"
        raise InputError(
            f"{path}: an export of {export.tool} in which {which} may hold the labels (there are: "
            f"{', '.join(map(repr, asked[:20]))}): name the question `label`, or leave out the rest"
        )
    return chosen[0] if chosen else ""


def _are_labels(values: "collections.Counter[Any]", space: LabelSpace | None) -> bool:
    """Tell whether half of some answers are labels."""
    if space is None:
        return True
    known = sum(count for value, count in values.items() if _is_label(value, space))
    return 2 * known >= values.total()


def _is_label(value: Any, space: LabelSpace) -> bool:
    if isinstance(value, Other):
        return False
    text = space.of_choices(value)[0] if isinstance(value, tuple) else field_text(value)
    if text is None:
        return False
    return text == UNSURE_LABEL or space.meant({text}).get(text, space.spelled(text)) in space.codes
