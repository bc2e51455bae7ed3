"""One answer of an annotator, as the fields of a row give it, and how much a delivery may hold."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import FLAG

COLUMNS = ("task", "id", "label", "annotator", "time", "skipped", "comment")
"""Columns that are read. A comment decides nothing, so it comes last and may have any type."""

Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two records, each by its source and its id, the lesser first."""

BY_TASK = "answer by the column `task`"
"""Advice in messages about ids."""

YES_OR_NO = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
"""What the lower-case words in a column ``skipped``, or in that of one label, say."""

MOST_BYTES = 1 << 28
"""Most bytes of a file of labels, or of gold rows; also unpacked, as far as the file says so."""

MOST_ROWS = 1 << 21
"""Most rows of a delivery."""

MOST_CHARACTERS = 1 << 24
"""Most characters of a cell of CSV, and of a line of JSON Lines."""


class NoVoteError(Exception):
    """Why a row holds no vote, or its vote does not count."""


def too_large(path: str, excess: str, most: str) -> InputError:
    """Return the error of a delivery that is too large: what it has, and the most it may have."""
    return InputError(f"{path}: has {excess}; a delivery has at most {most}: divide it")


def long_table(ids: Iterable[str]) -> list[str]:
    """Return the columns of the table that `evalsampling export` writes, a line for each vote."""
    return ["task", *ids, "kind", "annotator", "label", "time", "skipped", "unsure", "comment"]


@dataclasses.dataclass(frozen=True, slots=True)
class Vote:
    """One answer as it was delivered; values are text, compared exactly."""

    line: int  # line of the file, from 1; in a Parquet file the row, from 1; 0 of no file
    task: str | None = None  # name of the task, if given
    id: str | None = None  # id of the row, if given
    label: str | None = None  # class, None if the field is empty
    # the set of labels, in place of a class; None if no set was given
    labels: tuple[str, ...] | None = None
    # if the set was given by columns of 0 and 1, the labels that have such a column
    flags: tuple[str, ...] = ()
    annotator: str | None = None  # name of the annotator, if given
    time: str | None = None  # time of the answer, if given
    skipped: bool = False  # whether the annotator declined to answer
    unsure: bool = False  # whether the annotator could not decide
    comment: str | None = None  # comment of the annotator, if any
    pair: Pair | None = None  # the two records that the row is about, in place of task and id
    score: float | None = None  # probability that they match, in place of a label, in [0, 1]
    # why the line is not a vote, None if it is one; task, id and label are then as given, for the
    # list of rejects
    problem: str | None = None
    says: bool | None = None  # whether the row has the label, if that alone was asked

    @property
    def is_answer(self) -> bool:
        """Whether it says something, be it that the annotator declined or could not decide."""
        given = (self.label, self.labels, self.score)
        return self.skipped or self.unsure or any(value is not None for value in given)


def with_values(vote: Vote, **values: Any) -> Vote:
    """Return a vote with other values; itself if it has them, as most votes of a delivery do."""
    same = all(getattr(vote, name) == value for name, value in values.items())
    return vote if same else dataclasses.replace(vote, **values)


def is_number(value: Any) -> bool:
    """Tell whether a field came as a number, not as text."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def in_unicode(vote: Vote) -> Vote:
    """Return a vote with a problem if a text has a lone surrogate; such a comment is dropped."""
    texts = [(name, getattr(vote, name)) for name in ("task", "id", "label", "annotator", "time")]
    bad = {name: text for name, text in texts if text is not None and not _is_unicode(text)}
    if not all(map(_is_unicode, vote.labels or ())):
        bad["labels"] = vote.labels
    if bad:
        name, text = next(iter(bad.items()))
        problem = vote.problem or f"{name.rstrip('s')} is no Unicode text: {text!a}"
        nothing: dict[str, Any] = dict.fromkeys(bad)
        vote = dataclasses.replace(vote, problem=problem, **nothing)
    if vote.comment is not None and not _is_unicode(vote.comment):
        return dataclasses.replace(vote, comment=None)
    return vote


def field_text(value: Any) -> str | None:
    """Return a field as text, None if it is empty: a whole float has no point, a list is JSON."""
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if whole else value)


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)


def vote_of(line: int, row: Mapping[str, Any]) -> Vote:
    """Return the vote of a row, with its problem if a field has a value that is not allowed."""
    try:
        return _read(line, row)
    except NoVoteError as error:
        return rejected(line, row, str(error))


def rejected(line: int, row: Mapping[str, Any], problem: str) -> Vote:
    """Return the vote of a row that is rejected, with the task, id and label that the row has."""
    labels = [name for name in ("label", *filter(is_flag, row)) if row.get(name) not in (None, "")]
    told = [f"{name}={field_text(row[name])}" for name in labels]
    label = ", ".join(told) if any(map(is_flag, labels)) else field_text(row.get("label"))
    task, id = field_text(row.get("task")), field_text(row.get("id"))
    return Vote(line, task=task, id=id, label=label, problem=problem)


def _read(line: int, row: Mapping[str, Any]) -> Vote:
    """Return the vote of a row; a `NoVoteError` says which field is wrong."""
    flags = [*filter(is_flag, row)]
    fields = {name: row.get(name) for name in COLUMNS[:-1]}
    label, labels = fields["label"], None
    if flags:
        if label not in (None, ""):
            raise NoVoteError("label is given, and columns of labels too")
        labels = _set_of({name: row[name] for name in flags})
    elif isinstance(label, list) and all(isinstance(one, str) and one for one in label):
        labels = tuple(label) if len(label) != 1 else None
        fields["label"] = label[0] if len(label) == 1 else None
    for name, value in fields.items():
        if isinstance(value, dict | list):
            raise NoVoteError(f"{name} is no text and no number")
    texts: dict[str, Any] = {name: field_text(value) for name, value in fields.items()}
    skipped = texts.pop("skipped") or "no"
    if skipped.lower() not in YES_OR_NO:
        raise NoVoteError(f"skipped is {skipped!r}, which is none of: {', '.join(YES_OR_NO)}")
    comment = row.get("comment")
    return Vote(
        line,
        **texts,
        labels=labels,
        flags=() if labels is None else tuple(name.removeprefix(FLAG) for name in flags),
        skipped=YES_OR_NO[skipped.lower()],
        comment=comment if isinstance(comment, str) and comment else None,
    )


# --- sets of labels that have a column of 0 and 1 for each label


def is_flag(name: str) -> bool:
    """Tell whether a column is that of one label."""
    return name.startswith(FLAG) and len(name) > len(FLAG)


def _set_of(flags: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the labels that columns of their own give, None if all these columns are empty."""
    empty = [name for name, value in flags.items() if value is None or value in ("", "nan")]
    if len(empty) == len(flags):
        return None
    if empty:
        raise NoVoteError(f"{empty[0]} is empty, and others are not")
    # Tables with empty fields hold floats.
    words = {name: str(value).lower().removesuffix(".0") for name, value in flags.items()}
    for name, word in words.items():
        if word not in YES_OR_NO:
            allowed = ", ".join(YES_OR_NO)
            raise NoVoteError(f"{name} is {flags[name]!r}, which is none of: {allowed}")
    return tuple(name.removeprefix(FLAG) for name, word in words.items() if YES_OR_NO[word])


def check_flags(flags: Sequence[str], labels: Sequence[str]) -> None:
    """Check that a set given by columns has one for each label; a `NoVoteError` says which not."""
    for label in labels:
        if flags and label not in flags:
            raise NoVoteError(
                f"column {FLAG}{label} is missing: "
                "a set of labels takes a column of 0 and 1 for each label"
            )
