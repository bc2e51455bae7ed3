"""Checks of delivered votes: which count, and why the others are rejected."""

import dataclasses
import unicodedata
from collections.abc import Mapping, Sequence

import pyarrow as pa

from evalsampling.label_spaces.base import UNSURE_LABEL
from evalsampling.labels.register import Lines, Register
from evalsampling.labels.vendor import unescaped
from evalsampling.labels.vote import NoVoteError, Vote, check_flags, with_values


@dataclasses.dataclass(frozen=True)
class Reject:
    """A vote that does not count, with why; task, id and label are as it names them."""

    line: int
    reason: str
    task: str | None = None
    id: str | None = None
    label: str | None = None
    subject: int | None = None

    @classmethod
    def of(cls, vote: Vote, reason: str, subject: int | None, register: Register) -> "Reject":
        """Return the reject of a vote."""
        task = vote.task if subject is None else register.tasks[subject]
        label = None if vote.labels is None else "+".join(vote.labels)
        label = label if vote.score is None else str(vote.score)
        return cls(vote.line, reason, task, vote.id, vote.label or label, subject)


def check_votes(
    votes: Sequence[Vote], register: Register, replace: bool = False
) -> tuple[list[tuple[int, Vote]], list[Reject]]:
    """Return the votes that count, each with the number of its subject; and rejects by line."""
    # Spellings of an annotator's name that look alike are one person.
    people = {_seen(name).casefold(): name for name in register.annotators}
    names = {vote.annotator: _seen(vote.annotator or "") for vote in votes}
    spelled = {
        name: people.setdefault(seen.casefold(), seen) or None for name, seen in names.items()
    }
    votes = [with_values(vote, annotator=spelled[vote.annotator]) for vote in votes]
    labels = {vote.label for vote in votes if vote.label is not None and vote.problem is None}
    meant = register.space.meant(labels - {UNSURE_LABEL})
    alike = register.alike(votes)
    rejects: list[Reject] = []
    answered: list[tuple[int, Vote]] = []
    for given in votes:
        subject, reason = register.find(given, alike)
        reason = given.problem or reason
        if subject is not None and not reason:
            try:
                vote = _with_label(given, meant, register)
                wanted = register.tally.wanted(subject)
                if wanted > 1 and not replace and vote.annotator is None and vote.is_answer:
                    reason = f"no annotator is named, and a row is to have {wanted} votes"
            except NoVoteError as error:
                reason = str(error)
        if subject is None or reason:
            rejects.append(Reject.of(given, reason, subject, register))
        elif vote.is_answer:
            answered.append((subject, vote))

    first_lines = _first_lines(answered)
    taken = []
    for subject, vote in answered:
        reason = register.contradiction(subject, vote, first_lines.get(subject, {}), replace)
        if reason:
            rejects.append(Reject.of(vote, reason, subject, register))
        else:
            taken.append((subject, vote))
    return taken, sorted(rejects, key=lambda reject: reject.line)


def _with_label(vote: Vote, meant: Mapping[str, str], register: Register) -> Vote:
    """Return a vote with its label as that of the space; a `NoVoteError` says why it is none.

    ``meant`` has the label of the space for other spellings of it.
    """
    space, label = register.space, meant.get(vote.label or "", vote.label)
    if vote.labels is not None:
        label, problem = space.of_choices(vote.labels)
        if problem:
            raise NoVoteError(problem)
    elif label is not None:
        label = space.spelled(label)
    if vote.score is not None:
        if not space.is_binary:
            raise NoVoteError("clerical_match_score is about two classes, match and no match")
        label = space.text(space.positive if vote.score > 0.5 else 1 - space.positive)
        label = UNSURE_LABEL if vote.score == 0.5 else label
    if vote.skipped:
        return dataclasses.replace(vote, label=None, unsure=False)
    if vote.says is not None and label is not None and label in space.codes:
        if space.has_classes and space.is_binary and not space.flags:
            label = label if vote.says else space.text(1 - space.codes[label])
        elif space.flags or not vote.says:
            answer = repr(label) if vote.says else f"not {label!r}"
            raise NoVoteError(
                f"the answer is {answer}, which leaves open what else holds: ask for all"
            )
    check_flags(vote.flags, space.flags)
    unsure = label == UNSURE_LABEL and label not in space.codes
    if unsure:
        label = None
    elif label is not None:
        label = label if label in space.codes else unescaped(label)
        if label not in space.codes:
            raise NoVoteError(space.problem(label))
        label = space.text(space.codes[label])  # 5 and 5.0 are the same number
    return with_values(vote, label=label, labels=None, unsure=unsure)


def _first_lines(answered: Sequence[tuple[int, Vote]]) -> Mapping[int, Lines]:
    first_lines: dict[int, dict[str | None, dict[str, int]]] = {}
    for subject, vote in answered:
        if vote.label is not None:
            of_annotator = first_lines.setdefault(subject, {}).setdefault(vote.annotator, {})
            of_annotator.setdefault(vote.label, vote.line)
    return first_lines


def _seen(name: str) -> str:
    """Return the visible part of an annotator's name, without blanks around it."""
    text = unicodedata.normalize("NFKC", name)
    return " ".join("".join(one for one in text if one.isprintable() or one.isspace()).split())


_STORED = pa.schema(
    {
        "line": pa.int64(),
        **dict.fromkeys(("task", "id", "label", "annotator", "time"), pa.string()),
        **dict.fromkeys(("skipped", "unsure"), pa.bool_()),
        "comment": pa.string(),
    }
)


def vote_table(taken: Sequence[tuple[int, Vote]], register: Register) -> pa.Table:
    """Return the votes that count as a table to store, a row for each vote."""
    rows = (
        {name: getattr(vote, name) for name in _STORED.names}
        | {"task": register.tasks[subject], "id": register.ids[subject]}
        for subject, vote in taken
    )
    return pa.Table.from_pylist(list(rows), _STORED)
