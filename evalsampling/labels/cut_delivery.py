"""Truncated deliveries: whether the last field of a file may be the beginning of another value.

A last line of CSV without a line end may be truncated: ``no`` may be the beginning of ``no idea``,
the id ``12`` that of ``123``. Truncated lines of JSON, and other formats, cannot be read at all.
"""

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from evalsampling.labels.splink import SCORE
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import Pair, Vote
from evalsampling.spec.label_sets import labels_of_text
from evalsampling.spec.yes_no import plain


@dataclasses.dataclass(frozen=True)
class Continuations:
    """The values that the last field of a delivery may be a beginning of.

    Attributes:
        labels: all answers that an annotator may give; not used if labels are numbers.
        are_numbers: whether labels are numbers, each of which may be the beginning of another.
        multilabel: the labels of which a row may have several.
        tasks: names of all tasks.
        ids: ids of the rows that were drawn.
        pairs: pairs of records that were drawn.
        annotators: names of annotators in this delivery and earlier ones.
    """

    labels: Collection[str]
    are_numbers: bool
    multilabel: Sequence[str]
    tasks: Collection[str]
    ids: Collection[str]
    pairs: Collection[Pair]
    annotators: Collection[str]

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
        if column == "id" and vote.id is not None and vote.task is None:
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

    def _longer_label(self, label: str) -> tuple[str, str] | None:
        if self.are_numbers:
            return label, "another number"
        if self.multilabel and {*labels_of_text(label)} != {*self.multilabel}:
            return label, "a larger set"
        for text in (label, unescaped(label)):
            by_plain = {plain(label): label for label in self.labels}
            longer = _longer(plain(text), by_plain)
            if longer is not None:
                return text, repr(by_plain[longer])
        return None


def _longer(text: str, values: Iterable[str]) -> str | None:
    """Return the first value, in order, of which a text is a proper prefix, None if of none."""
    longer = (value for value in values if value != text and value.startswith(text))
    return min(longer, default=None)


def _with_longer(text: str, values: Iterable[str]) -> tuple[str, str] | None:
    """Return a text and, quoted, the first value of which it is a proper prefix, else None."""
    longer = _longer(text, values)
    return None if longer is None else (text, repr(longer))
