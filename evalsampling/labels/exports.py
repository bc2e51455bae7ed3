"""Exports of labelling tools: one table of how each is known and where its answers are.

A tool may ask several questions, and knows nothing of our classes. So a row is taken apart into
answers by question; which question is ours is decided over the whole file (`labels.questions`).
"""

import ast
import dataclasses
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from evalsampling.label_spaces.spellings import plain
from evalsampling.labels.vote import is_number

Fields = Mapping[str, Any]
"""Fields of a row by their names, case-folded."""


class Other(str):
    """What a field holds in place of a class, in words."""


@dataclasses.dataclass(frozen=True)
class ChosenAnswer:
    """An annotator's answer about a row, or the problem why it is none.

    By question it has a text, a number, a list of texts, None if not answered, or an `Other`. Of a
    yes or a no, `says` tells whether the row has the class that the value names.
    """

    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    says: bool | None = None
    annotator: Any = None
    time: Any = None
    skipped: bool = False
    comment: str | None = None
    problem: str = ""


def found(row: Any, paths: str) -> Any:
    """Return the first text or number at some paths, None if there is none."""
    for path in filter(None, paths.split("|")):
        value = row.get(path) if isinstance(row, Mapping) else None
        head, dot, rest = path.partition(".")
        if value is None and dot and isinstance(row, Mapping):
            value = found(row.get(head), rest)
        if value not in (None, "") and not isinstance(value, Mapping | list):
            return value
    return None


def value_of(given: Any) -> Any:
    """Return what an annotator chose, as `ChosenAnswer.values` has it."""
    if isinstance(given, str) and given[:1] in ("[", "{"):
        given = parsed(given)
    if isinstance(given, Mapping):
        key = next((key for key in ("choices", "value", "label") if key in given), "")
        if len(given) == 1 and key:
            return value_of(given[key])
        if given and all(isinstance(chosen, bool) for chosen in given.values()):
            return value_of([name for name, chosen in given.items() if chosen])
        return Other("spans, boxes or other objects")
    if isinstance(given, list):
        if len(given) == 1 and isinstance(given[0], Mapping):
            return value_of(given[0])
        if any(isinstance(one, Mapping | list | None) for one in given):
            return Other("spans, boxes or ranks")
        return given[0] if len(given) == 1 else [*map(str, given)]
    return None if given == "" else given


def parsed(text: str) -> Any:
    """Return the list or object that a cell spells, as JSON or Python writes it; else the text."""
    for read in (json.loads, ast.literal_eval) if len(text) < _MOST_TEXT else (json.loads,):
        try:
            return read(text)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
    return text


_MOST_TEXT = 1 << 14
"""Longest list that is read as Python writes it."""


def listed(given: Any) -> list[Any]:
    """Return the values of a list, also of one that a cell spells."""
    if isinstance(given, str) and given.startswith("["):
        given = parsed(given)
    return given if isinstance(given, list) else [] if given in (None, "") else [given]


def is_text(given: Any) -> bool:
    """Tell whether a value is a text that is not empty."""
    return isinstance(given, str) and bool(given)


def object_of(given: Any) -> Fields:
    """Return an object, one without fields if it is none."""
    return given if isinstance(given, Mapping) else {}


def objects(given: Any) -> list[Fields]:
    """Return the objects of a list."""
    return [one for one in listed(given) if isinstance(one, Mapping)]


@dataclasses.dataclass(frozen=True)
class Export:
    """A line of the table."""

    tool: str
    # fields that tell it. `|` is between those of which one is enough; `*` stands for the beginning
    # or the end of a name.
    marks: tuple[str, ...]
    values: Callable[[Fields], ChosenAnswer]  # returns what a part says
    # returns the parts of a row, an answer each
    parts: Callable[[Fields], Iterable[Any]] = lambda row: [row]
    # paths of the annotator in a part, `|` between them; likewise `time`, `status`
    annotator: str = ""
    time: str = ""  # of the answer
    status: str = ""  # whether it counts, see `_STATUS`
    names: str = ""  # paths of the name that we gave the row, where no field has our name for it
    own: tuple[str, ...] = ()  # fields with names of the tool's own
    without: Any = None  # what a question has that a part leaves out
    mixed: bool = False  # whether what is shown stands among the questions
    # how to ask or to export, so that the answer can be read
    hint: str = "ask for one class of the whole row"

    def has(self, fields: Iterable[str]) -> bool:
        """Tell whether rows with some fields, case-folded, are of this export."""
        names = [*fields]
        return all(any(_fits(name, one) for name in names for one in mark.split("|"))
                   for mark in self.marks)  # fmt: skip

    def answers(self, row: Fields) -> Iterator[ChosenAnswer]:
        """Yield the answers of a row; none of those that are not finished."""
        for part in self.parts(row):
            if not isinstance(part, Mapping):
                yield ChosenAnswer(problem="annotations are no list of objects")
                continue
            word = found(part, self.status)
            status = _STATUS.get(plain(str(word)), f"status is {word!r}, which is unknown")
            answer = self.values(part)
            problem = answer.problem or status * (status not in (_OPEN, _SKIPPED))
            if status != _OPEN:
                yield dataclasses.replace(
                    answer,
                    annotator=found(part, self.annotator),
                    time=found(part, self.time),
                    skipped=answer.skipped or status == _SKIPPED,
                    problem=problem,
                )


_OPEN, _SKIPPED, _REJECTED = "open", "skipped", "the assignment was rejected"
_STATUS = {
    "true": _SKIPPED, "discarded": _SKIPPED, "skipped": _SKIPPED, "expired": _SKIPPED,
    "draft": _OPEN, "pending": _OPEN, "active": _OPEN, "rejected": _REJECTED,
    **dict.fromkeys(("none", "false", "submitted", "approved", "accepted"), ""),
}  # fmt: skip
"""What the word of a status means: nothing where the answer counts."""


def _fits(name: str, mark: str) -> bool:
    if mark.startswith("*"):
        return name.endswith(mark[1:])
    return name.startswith(mark[:-1]) if mark.endswith("*") else name == mark


# --- what a part of each tool says


def _of_doccano(row: Fields) -> ChosenAnswer:
    value = value_of(next(row[name] for name in ("label", "labels", "cats") if name in row))
    return ChosenAnswer({"label": None if value == [] else value})


SAYS: Mapping[str, bool | None] = {
    "accept": True, "accepted": True, "reject": False, "rejected": False,
    "ignore": None, "ignored": None,
}  # fmt: skip


def binary(row: Fields) -> ChosenAnswer:
    """Return what was said by `SAYS` to a class, to a choice of options, or to neither."""
    given, asked, chosen = row.get("answer"), row.get("label"), row.get("accept")
    word = plain(str(given or ""))
    if word not in SAYS:
        unknown = f"answer is {given!r}, which is none of: accept, reject, ignore"
        return ChosenAnswer(problem=unknown * bool(word))
    says = SAYS[word]
    if says is None:
        return ChosenAnswer(skipped=True)
    is_choice = "options" in row or isinstance(chosen, list) or str(chosen).startswith("[")
    if is_choice or (chosen is not None and asked is None):
        problem = "" if says else "answer is 'reject': it says of no option that it is right"
        texts = {str(one.get("id")): one.get("text") for one in objects(row.get("options"))}
        shown = [texts.get(str(one), one) for one in listed(chosen)]
        values = {"accept": value_of(listed(chosen)), "accept.value": value_of(shown)}
        return ChosenAnswer(values, problem=problem)
    if "spans" in row and asked is None:
        return ChosenAnswer({"spans": Other("spans")})
    if asked in (None, ""):
        return ChosenAnswer({"answer": "yes" if says else "no"})
    return ChosenAnswer({"label": value_of(asked)}, says)


def _controls(row: Fields) -> ChosenAnswer:
    """Return what the controls of a page of Label Studio hold."""
    values: dict[str, Any] = {}
    comments: list[str] = []
    results, who = row.get("result"), row.get("completed_by")
    who = found(row, "completed_by.id|completed_by.email") if isinstance(who, Mapping) else who
    if not isinstance(row.get("was_cancelled"), bool) or not isinstance(results, list):
        return ChosenAnswer(problem="was_cancelled or result is damaged")
    for result in results:
        part = result if isinstance(result, Mapping) else {}
        name, kind, value = part.get("from_name"), part.get("type"), part.get("value")
        if not isinstance(name, str) or not isinstance(value, Mapping):
            return ChosenAnswer(problem="the result is damaged")
        given = value.get("selected" if kind == "pairwise" else str(kind))
        if kind == "textarea":
            comments += map(str, listed(value.get("text")))
        elif kind not in ("choices", "number", "rating", "pairwise"):
            values[name] = Other(f"what a control of type {kind!r} takes")
        elif all(map(is_number if kind in ("number", "rating") else is_text, listed(given))):
            values[name] = [*listed(values.get(name)), *map(str, listed(given))]
        else:
            return ChosenAnswer(problem="the result is damaged")
    nobody = "" if is_text(who) or is_number(who) else "completed_by names nobody"
    values = {name: value_of(given) for name, given in values.items()}
    return ChosenAnswer(values, comment="\n".join(comments) or None, problem=nobody)


_NO_CONTROLS = (
    "annotation_id", "annotator", "created_at", "updated_at", "lead_time", "id", "task", "batch",
)  # fmt: skip


def _columns(row: Fields) -> ChosenAnswer:
    """Return the columns of a table of Label Studio that may be controls: those after `id`."""
    names = [*row]
    own, who = (names.index(name) if name in names else 0 for name in ("id", "annotator"))
    names = names[own + 1 : who] or names
    names = ["label"] if "label" in row and "batch" in row else names  # a page of ours
    values = {name: value_of(row[name]) for name in names if name not in _NO_CONTROLS}
    return ChosenAnswer(values, comment=row.get("comment"))


def _of_projects(row: Fields) -> list[Any]:
    """Return the labels of a row of Labelbox, of all its projects."""
    projects = object_of(row["projects"]).values()
    return [label for one in projects for label in listed(object_of(one).get("labels"))]


def _classifications(row: Fields) -> ChosenAnswer:
    """Return what Labelbox has, by name and by value: either may be the name of a class."""
    values: dict[str, Any] = {}
    annotations = object_of(row.get("annotations"))
    for asked in objects(annotations.get("classifications")):
        chosen = objects([asked.get("radio_answer")]) or objects(asked.get("checklist_answers"))
        for key, suffix in (("name", ""), ("value", ".value")) if chosen else ():
            texts = [one[key] for one in chosen if one.get(key) is not None]
            question = f"{asked.get('name', asked.get('value'))}{suffix}"
            values |= {question: value_of(texts)} if texts else {}
    if not values and annotations.get("objects"):
        values = {"objects": Other("boxes or other objects")}
    return ChosenAnswer(values)


def _responses(row: Fields) -> list[Fields]:
    """Return the responses of a record of Argilla, in whatever form it has them."""
    given = row.get("responses")
    if isinstance(given, Mapping):
        return [{**one, "values": {q: one}} for q, many in given.items() for one in objects(many)]
    if given is not None:
        return [{"values": {one.get("question_name", ""): one}, **one} for one in objects(given)]
    flat: list[Fields] = []
    for key in (name for name in row if name.endswith(".responses")):
        rest = [listed(row.get(key + part)) for part in (".users", ".status")]
        for value, *told in itertools.zip_longest(listed(row[key]), *rest):
            question = key.removesuffix(".responses")
            flat.append({"values": {question: value}, "user_id": told[0], "status": told[1]})
    return flat


def _response(row: Fields) -> ChosenAnswer:
    values = {
        name: value_of(given["value"] if isinstance(given, Mapping) and "value" in given else given)
        for name, given in object_of(row["values"]).items()
    }
    return ChosenAnswer(values)


def _of_toloka(row: Fields) -> ChosenAnswer:
    golden = [name for name, value in row.items() if name.startswith("golden:") and value]
    problem = f"{golden[0].upper()} is given: it is a control task" if golden else ""
    named = {name.removeprefix("output:"): name for name in row if name.startswith("output:")}
    values = {question: value_of(row[name]) for question, name in named.items()}
    return ChosenAnswer(values, problem=problem)


# --- the table

_PRODIGY = "_input_hash|_task_hash|_view_id|_session_id|_annotator_id"
_ARGILLA = Export(
    "Argilla", ("responses", "fields|metadata|suggestions"), _response, _responses,
    "user_id", "updated_at", "status", names="id", own=("id",), hint="ask by a LabelQuestion",
)  # fmt: skip
_DOCCANO = Export(
    "doccano", ("id", "comments|annotation_approver", "label|labels|cats"),
    _of_doccano, own=("id",),
)  # fmt: skip

TABLE: tuple[Export, ...] = (
    Export("Label Studio", ("data", "annotations"), _controls,
           lambda row: row["annotations"] if isinstance(row["annotations"], list) else [None],
           "completed_by|completed_by.id|completed_by.email", "updated_at|created_at",
           "was_cancelled", own=("id",), without=[], hint="ask by the control Choices or Number"),
    Export("Label Studio", ("annotation_id", "annotator", "lead_time"), _columns,
           annotator="annotator", time="updated_at", own=("id",), mixed=True,
           hint="export as JSON, or call the control `label`"),
    Export("Labelbox", ("data_row", "projects"), _classifications, _of_projects,
           "label_details.created_by", "label_details.created_at", "performance_details.skipped",
           "data_row.global_key|data_row.external_id", own=("data_row",),
           hint="ask by a radio classification"),
    Export("Toloka", ("output:*",), _of_toloka, annotator="assignment:worker_id",
           time="assignment:submitted", status="assignment:status"),
    _ARGILLA,
    dataclasses.replace(_ARGILLA, marks=("*.responses",)),
    Export("Prodigy", ("answer", _PRODIGY), binary, annotator="_annotator_id|_session_id",
           time="_timestamp", hint="ask by `classification` or `choice`"),
    _DOCCANO,
    dataclasses.replace(_DOCCANO, marks=("id", "text|data|filename", "label|labels")),
)  # fmt: skip
"""The first that fits tells. The last is of lists of labels only: see `questions.export_of`."""

BINARY = Export(
    "answers to labels", ("label", "answer"), binary, annotator="annotator", time="time"
)
"""A table that says of each label whether the row has it, whoever wrote it."""
