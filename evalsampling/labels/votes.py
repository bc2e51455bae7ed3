"""Checks on what came back: which votes count, which are rejected and why."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.labels.formats import Vote
from evalsampling.stats.history import NO_LABEL


@dataclasses.dataclass(frozen=True)
class Register:
    """What has been sent out and what is known, for checking a delivery.

    Attributes:
        question_of_task: the question behind each task.
        questions_of_id: the questions about each row, by its id as text: one, unless the oracle
            is stochastic.
        ids: id of each question's row as text.
        tasks: task of each question.
        labels: class code of each question, shape (questions,), `NO_LABEL` for none.
        codes: code of each class as text, in the order of the codes.
    """

    question_of_task: Mapping[str, int]
    questions_of_id: Mapping[str, Sequence[int]]
    ids: Sequence[str]
    tasks: Sequence[str]
    labels: npt.NDArray[np.int64]
    codes: Mapping[str, int]

    @property
    def classes(self) -> Sequence[str]:
        """The classes as text, by their codes."""
        return list(self.codes)

    def with_labels(self, taken: Sequence[tuple[int, Vote]]) -> "Register":
        """Return the register with the labels of votes on some questions; skips change nothing."""
        labels = self.labels.copy()
        for question, vote in taken:
            if vote.label is not None:
                labels[question] = self.codes[vote.label]
        return dataclasses.replace(self, labels=labels)


@dataclasses.dataclass(frozen=True)
class Reject:
    """A vote that does not count.

    Attributes:
        line: of the file.
        reason: in words.
    """

    line: int
    reason: str


def check_votes(
    votes: Sequence[Vote], register: Register, replace: bool = False
) -> tuple[list[tuple[int, Vote]], list[Reject]]:
    """Tell the votes of a delivery that count from those that do not.

    Args:
        votes: of one delivery. Unanswered ones (no label, not skipped) are passed over.
        register: what is known before it.
        replace: whether a label may differ from the one the row has.

    Returns:
        The votes that count, each with the index of its row, and the rejects by line.
    """
    stripped = {known.lstrip("0"): known for known in register.questions_of_id if known[:1] == "0"}
    rejects: list[Reject] = []
    found: list[tuple[int, Vote]] = []
    for vote in votes:
        if vote.problem is not None:
            rejects.append(Reject(vote.line, vote.problem))
            continue
        row, reason = _find(vote, register, stripped)
        if row is None:
            rejects.append(Reject(vote.line, reason))
        elif vote.skipped:
            found.append((row, dataclasses.replace(vote, label=None)))
        elif vote.label is not None and vote.label not in register.codes:
            known = ", ".join(register.classes)
            rejects.append(Reject(vote.line, f"label {vote.label!r} is none of: {known}"))
        elif vote.label is not None:
            found.append((row, vote))

    given: dict[int, dict[str, int]] = {}
    for row, vote in found:
        if vote.label is not None:
            given.setdefault(row, {}).setdefault(vote.label, vote.line)
    taken = []
    for row, vote in found:
        labels, known_code = given.get(row, {}), int(register.labels[row])
        if vote.label is not None and len(labels) > 1:
            lines = " and ".join(f"{label!r} in line {line}" for label, line in labels.items())
            rejects.append(Reject(vote.line, f"two different labels for one row: {lines}"))
        elif (
            vote.label is not None
            and known_code not in (NO_LABEL, register.codes[vote.label])
            and not replace
        ):
            reason = (
                f"label {vote.label!r}, but the row has {register.classes[known_code]!r} already; "
                "a correction comes by --replace"
            )
            rejects.append(Reject(vote.line, reason))
        else:
            taken.append((row, vote))
    return taken, sorted(rejects, key=lambda reject: reject.line)


def _find(vote: Vote, register: Register, stripped: Mapping[str, str]) -> tuple[int | None, str]:
    """Return the row a vote is about, or why there is none."""
    if vote.task is not None:
        question = register.question_of_task.get(vote.task)
        if question is None:
            return None, f"unknown task {vote.task!r}"
        if vote.id not in (None, register.ids[question]):
            of = register.ids[question]
            return None, f"task {vote.task!r} is about id {of!r}, not {vote.id!r}"
        return question, ""
    if vote.id is None:
        return None, "neither task nor id is given"
    questions = register.questions_of_id.get(vote.id, ())
    if len(questions) == 1:
        return questions[0], ""
    if questions:
        return None, f"id {vote.id!r} was drawn {len(questions)} times: name the task"
    reason = f"unknown id {vote.id!r}"
    if vote.id in stripped:
        reason += f": ids are compared as text, did {stripped[vote.id]!r} lose its leading zeros?"
    return None, reason


def vote_table(taken: Sequence[tuple[int, Vote]], register: Register) -> pa.Table:
    """Return the votes that count as stored: line, task, id, label, annotator, time, skipped."""
    return pa.table(
        {
            "line": pa.array([vote.line for _, vote in taken], pa.int64()),
            "task": pa.array([register.tasks[row] for row, _ in taken], pa.string()),
            "id": pa.array([register.ids[row] for row, _ in taken], pa.string()),
            "label": pa.array([vote.label for _, vote in taken], pa.string()),
            "annotator": pa.array([vote.annotator for _, vote in taken], pa.string()),
            "time": pa.array([vote.time for _, vote in taken], pa.string()),
            "skipped": pa.array([vote.skipped for _, vote in taken], pa.bool_()),
        }
    )


@dataclasses.dataclass(frozen=True)
class LatestLabels:
    """What deliveries say of the questions, the last vote with a label counting.

    Attributes:
        codes: shape (questions,): class codes, `NO_LABEL` where no vote has a label.
        corrected: by question, where its label was another one before: how many rounds there were
            when it was corrected.
    """

    codes: npt.NDArray[np.int64]
    corrected: Mapping[int, int]


def latest_labels(
    deliveries: Sequence[tuple[pa.Table, int]],
    question_of_task: Mapping[str, int],
    codes: Mapping[str, int],
) -> LatestLabels:
    """Return the label of each question, and which of them were corrected.

    Args:
        deliveries: votes as `vote_table` returns them, in the order they came in, and how many
            rounds there were then.
        question_of_task: the question behind each task.
        codes: code of each class as text.
    """
    labels = np.full(len(question_of_task), NO_LABEL, dtype=np.int64)
    corrected: dict[int, int] = {}
    for votes, rounds in deliveries:
        for task, label in zip(votes["task"].to_pylist(), votes["label"].to_pylist(), strict=True):
            if label is not None:
                question, code = question_of_task[task], codes[label]
                if labels[question] not in (NO_LABEL, code):
                    corrected[question] = rounds
                labels[question] = code
    return LatestLabels(labels, corrected)
