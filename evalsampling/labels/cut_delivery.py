"""Truncated deliveries: whether the last field of a file may be the beginning of another value.

A last line of CSV without a line end may be truncated: ``no`` may be the beginning of ``no idea``,
the id ``12`` that of ``123``. Truncated lines of JSON, and other formats, cannot be read at all.
"""

from collections.abc import Iterable, Sequence

from evalsampling.label_spaces.base import LabelSpace
from evalsampling.label_spaces.spellings import beginning_with
from evalsampling.labels.register import Register
from evalsampling.labels.splink import SCORE
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import Vote


def cut_problem(vote: Vote, votes: Sequence[Vote], register: Register) -> str:
    """Return why a vote may be of a truncated delivery, empty if it cannot be.

    Args:
        vote: as it was delivered.
        votes: all of the delivery.
        register: tasks and votes before the delivery.
    """
    if vote.unended is None or not (vote.label or vote.labels or vote.score is not None):
        return ""
    continued = _longer(vote, votes, register)
    if continued is None:
        return ""
    text, longer = continued
    return (
        f"the file ends here without the end of a line, and {text!r} may be the beginning of "
        f"{longer}: deliver the whole file, or end the line"
    )


def _longer(vote: Vote, votes: Sequence[Vote], register: Register) -> tuple[str, str] | None:
    """Return the last field and, in words, a value that it may be the beginning of, or None."""
    column, ids = vote.unended, register.questions_of_id
    if column == "label" and vote.label is not None:
        return _longer_label(vote.label, register.space)
    if column == SCORE and vote.score in (0.0, 0.5):
        return f"{vote.score:g}", "another number"
    if column == "task" and vote.task is not None:
        return _with_longer(vote.task, register.question_of_task)
    if vote.id is not None and vote.task is None:
        by_id = vote.pair is None or not register.pairs
        if by_id and isinstance(register.id, tuple) and column in register.id:
            place = register.id.index(column)
            part, *others = (register.texts(id)[place] for id in (vote.id, *ids))
            return _with_longer(part, others)
        if column == "id" and isinstance(register.id, str):
            return _with_longer(vote.id, ids)
    if column in ("unique_id_l", "unique_id_r") and vote.pair is not None and not vote.task:
        records = {id for pair in register.pairs for _, id in pair}
        continued = (_with_longer(id, records) for _, id in vote.pair)
        return next((longer for longer in continued if longer is not None), None)
    if column == "annotator":
        names = {each.annotator for each in votes if each.annotator is not None}
        return _with_longer(vote.annotator or "", names | register.annotators)
    if column == "skipped" and not vote.skipped:
        return "", "'true'"
    return None


def _longer_label(label: str, space: LabelSpace) -> tuple[str, str] | None:
    continued = ((text, space.continuation(text)) for text in (label, unescaped(label)))
    return next(((text, words) for text, words in continued if words is not None), None)


def _with_longer(text: str, values: Iterable[str]) -> tuple[str, str] | None:
    """Return a text and, quoted, the first value of which it is a proper prefix, else None."""
    longer = beginning_with(text, values)
    return None if longer is None else (text, repr(longer))
