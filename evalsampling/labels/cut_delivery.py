"""A delivery that was cut short: whether its last line may say something else once it is whole.

A line of CSV that has no end of its own may go on: ``no`` may be the beginning of ``no idea``, the
id ``12`` that of ``123``. Lines of JSON say where they end, and the other formats as a whole do.
"""

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from evalsampling.labels.class_texts import plain
from evalsampling.labels.splink import SCORE
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import Pair, Vote
from evalsampling.spec.label_sets import labels_of_text


@dataclasses.dataclass(frozen=True)
class Continuations:
    """What the last field of a delivery may be the beginning of.

    Attributes:
        labels: all that an annotator may answer; of numbers nothing.
        are_numbers: whether labels are numbers, of which each may be the beginning of another.
        multilabel: the labels of which a row may have several.
        tasks: names of all.
        ids: of the rows that were drawn.
        pairs: of records that were drawn.
        annotators: who is named, here or before.
    """

    labels: Collection[str]
    are_numbers: bool
    multilabel: Sequence[str]
    tasks: Collection[str]
    ids: Collection[str]
    pairs: Collection[Pair]
    annotators: Collection[str]

    def problem(self, vote: Vote) -> str:
        """Return why a vote is held back, empty if it is not: the delivery may be cut short.

        Args:
            vote: as it was delivered.
        """
        if vote.unended is None or not (vote.label or vote.labels or vote.score is not None):
            return ""
        found = self._longer(vote)
        if found is None:
            return ""
        text, longer = found
        return (
            f"the file ends here without the end of a line, and {text!r} may be the beginning of "
            f"{longer}: deliver the whole file, or end the line"
        )

    def _longer(self, vote: Vote) -> tuple[str, str] | None:
        """Return the last text, and what it may be the beginning of; None if of nothing else."""
        column = vote.unended
        if column == "label" and vote.label is not None:
            return self._longer_label(vote.label)
        if column == SCORE and vote.score in (0.0, 0.5):
            return f"{vote.score:g}", "another number"
        if column == "task" and vote.task is not None:
            return _told(vote.task, self.tasks)
        if column == "id" and vote.id is not None and vote.task is None:
            return _told(vote.id, self.ids)
        if column in ("unique_id_l", "unique_id_r") and vote.pair is not None and not vote.task:
            records = {id for pair in self.pairs for _, id in pair}
            found = (_told(id, records) for _, id in vote.pair)
            return next((one for one in found if one is not None), None)
        if column == "annotator":
            return _told(vote.annotator or "", self.annotators)
        if column == "skipped" and not vote.skipped:
            return "", "'true'"
        return None

    def _longer_label(self, label: str) -> tuple[str, str] | None:
        if self.are_numbers:
            return label, "another number"
        if self.multilabel and {*labels_of_text(label)} != {*self.multilabel}:
            return label, "a larger set"
        for text in (label, unescaped(label)):
            by_plain = {plain(one): one for one in self.labels}
            found = _longer(plain(text), by_plain)
            if found is not None:
                return text, repr(by_plain[found])
        return None


def _longer(text: str, known: Iterable[str]) -> str | None:
    """Return the first that a text is a proper beginning of, None if it is of none."""
    return min((one for one in known if one != text and one.startswith(text)), default=None)


def _told(text: str, known: Iterable[str]) -> tuple[str, str] | None:
    """Return a text and the first that it is a proper beginning of, as messages have it."""
    longer = _longer(text, known)
    return None if longer is None else (text, repr(longer))
