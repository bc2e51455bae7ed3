"""Truncated deliveries: whether the last field of a file may be the beginning of another value.

A last line of CSV without a line end may be truncated: ``no`` may be the beginning of ``no idea``,
the id ``12`` that of ``123``. Truncated lines of JSON, and other formats, cannot be read at all.
"""

import dataclasses
from collections.abc import Collection, Iterable

from evalsampling.label_spaces.base import LabelSpace
from evalsampling.label_spaces.spellings import beginning_with
from evalsampling.labels.splink import SCORE
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import Pair, Vote
from evalsampling.pool.row_ids import parts_of
from evalsampling.spec.id_columns import IdColumns


@dataclasses.dataclass(frozen=True)
class Continuations:
    """The values that the last field of a delivery may be a beginning of.

    Attributes:
        space: what labels there are.
        tasks: names of all tasks.
        ids: ids of the rows that were drawn.
        pairs: pairs of records that were drawn.
        annotators: names of annotators in this delivery and earlier ones.
        id: columns of the ids.
    """

    space: LabelSpace
    tasks: Collection[str]
    ids: Collection[str]
    pairs: Collection[Pair]
    annotators: Collection[str]
    id: IdColumns = "id"

    def problem(self, vote: Vote) -> str:
        """Return why a vote may be of a truncated delivery, empty if it cannot be.

        Args:
            vote: the vote as delivered.
        """
        if vote.unended is None or not (vote.label or vote.labels or vote.score is not None):
            return ""
        continued = self._longer(vote)
        if continued is None:
            return ""
        text, longer = continued
        return (
            f"the file ends here without the end of a line, and {text!r} may be the beginning of "
            f"{longer}: deliver the whole file, or end the line"
        )

    def _longer(self, vote: Vote) -> tuple[str, str] | None:
        """Return the last field and, in words, a value that it may be the beginning of, or None."""
        column = vote.unended
        if column == "label" and vote.label is not None:
            return self._longer_label(vote.label)
        if column == SCORE and vote.score in (0.0, 0.5):
            return f"{vote.score:g}", "another number"
        if column == "task" and vote.task is not None:
            return _with_longer(vote.task, self.tasks)
        if vote.id is not None and vote.task is None:
            by_id = vote.pair is None or not self.pairs
            if by_id and isinstance(self.id, tuple) and column in self.id:
                return _with_longer(*self._of_part(self.id.index(column), vote.id))
            if column == "id" and isinstance(self.id, str):
                return _with_longer(vote.id, self.ids)
        if column in ("unique_id_l", "unique_id_r") and vote.pair is not None and not vote.task:
            records = {id for pair in self.pairs for _, id in pair}
            continued = (_with_longer(id, records) for _, id in vote.pair)
            return next((longer for longer in continued if longer is not None), None)
        if column == "annotator":
            return _with_longer(vote.annotator or "", self.annotators)
        if column == "skipped" and not vote.skipped:
            return "", "'true'"
        return None

    def _of_part(self, place: int, id: str) -> tuple[str, set[str]]:
        """Return the value of one column of an id, and those of all rows."""
        part, *others = (str(parts_of(name)[place]) for name in (id, *self.ids))
        return part, {*others}

    def _longer_label(self, label: str) -> tuple[str, str] | None:
        texts = (label, unescaped(label))
        continued = ((text, self.space.continuation(text)) for text in texts)
        return next(((text, words) for text, words in continued if words is not None), None)


def _with_longer(text: str, values: Iterable[str]) -> tuple[str, str] | None:
    """Return a text and, quoted, the first value of which it is a proper prefix, else None."""
    longer = beginning_with(text, values)
    return None if longer is None else (text, repr(longer))
