"""One answer of an annotator, as read from a file."""

import dataclasses
import json
from collections.abc import Iterable
from typing import Any

Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two records, each by its source and its id, the lesser first."""

BY_TASK = "answer by the column `task`"
"""Advice in messages about ids."""

YES_OR_NO = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
"""What the lower-case words in a column ``skipped`` say."""


def long_table(ids: Iterable[str]) -> list[str]:
    """Return the columns of the table that `evalsampling export` writes, a line for each vote."""
    return ["task", *ids, "kind", "annotator", "label", "time", "skipped", "unsure", "comment"]


@dataclasses.dataclass(frozen=True, slots=True)
class Vote:
    """One answer as it was delivered; values are text, compared exactly.

    Attributes:
        line: line of the file, from 1; in a Parquet file the row, from 1; 0 of no file.
        task: name of the task, if given.
        id: id of the row, if given.
        label: class, None if the field is empty.
        labels: the set of labels, in place of a class; None if no set was given.
        flags: if the set was given by columns of 0 and 1, the labels that have such a column.
        annotator: name of the annotator, if given.
        time: time of the answer, if given.
        skipped: whether the annotator declined to answer.
        unsure: whether the annotator could not decide.
        comment: comment of the annotator, if any.
        pair: the two records that the row is about, in place of task and id.
        score: probability that they match, in place of a label, in [0, 1].
        problem: why the line is not a vote, None if it is one; task, id and label are then as
            given, for the list of rejects.
        cut: name of the last column, if this is the last line of a file and lacks its line end, and
            the column decides what the vote says: its text may be cut.
        says: if the annotator was asked about the label alone, whether the row has it.
    """

    line: int
    task: str | None = None
    id: str | None = None
    label: str | None = None
    labels: tuple[str, ...] | None = None
    flags: tuple[str, ...] = ()
    annotator: str | None = None
    time: str | None = None
    skipped: bool = False
    unsure: bool = False
    comment: str | None = None
    pair: Pair | None = None
    score: float | None = None
    problem: str | None = None
    cut: str | None = None
    says: bool | None = None


def with_values(vote: Vote, **values: Any) -> Vote:
    """Return a vote with other values; itself if it has them, as most votes of a delivery do."""
    same = all(getattr(vote, name) == value for name, value in values.items())
    return vote if same else dataclasses.replace(vote, **values)


def is_number(value: Any) -> bool:
    """Tell whether a field came as a number, not as text."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def in_unicode(vote: Vote) -> Vote:
    """Return a vote, with a problem if one of its texts has a lone surrogate, as JSON can spell.

    A comment with one is dropped.
    """
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
    """Return a field as text, None if it is empty.

    A whole number stored as a float has no decimal point; lists and objects become JSON.
    """
    if value is None or value == "" or value != value:
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)


def _is_unicode(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text)
