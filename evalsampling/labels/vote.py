"""One answer of an annotator, as a file has it."""

import dataclasses
import json
from typing import Any

Pair = tuple[tuple[str, str], tuple[str, str]]
"""Two records, each by its source and its id, the lesser first."""


LONG_TABLE = (
    "task", "id", "kind", "annotator", "label", "time", "skipped", "unsure", "comment",
)  # fmt: skip
"""Columns of the table of all votes, a line for each."""


@dataclasses.dataclass(frozen=True, slots=True)
class Vote:
    """One answer as it was delivered; values are text, compared exactly.

    Attributes:
        line: of the file, from 1; of a Parquet file the row, from 1.
        task: name of the task, if given.
        id: id of the row, if given.
        label: class, None if the field is empty.
        labels: of which the row has each, in place of a class; None if it is no set that was given.
        flags: the labels that have a column of 0 and 1 each, where the set was given by such
            columns.
        annotator: who answered, if told.
        time: when, if told.
        skipped: whether the annotator declined to answer.
        unsure: whether the annotator could not tell.
        comment: of the annotator, if any.
        pair: the two records that the row is about, in place of task and id.
        score: chance that they match, in place of a label, in [0, 1].
        problem: why the line makes no vote, if it does not; task, id and label are then as given,
            for the list of rejects.
        has_number: whether its id, or that of a record, came as a number: nobody knows how it was
            written before.
        unended: the column that the file ends in, if this is its last line and has no end of its
            own: more of that text may be missing.
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
    has_number: bool = False
    unended: str | None = None


def is_number(value: Any) -> bool:
    """Tell whether a field came as a number, not as text."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def in_unicode(vote: Vote) -> Vote:
    """Return a vote with a problem if a text of it is half a pair of surrogates, as JSON can spell.

    A comment of that kind is dropped.
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

    A whole number that a file stores as a float is still whole; lists and objects are JSON.
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
