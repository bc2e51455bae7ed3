"""Taking deliveries of labels: each file is read, checked against what is known, and stored."""

import collections
import dataclasses
import logging
from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.delivery import LabelFile, without_beginnings
from evalsampling.labels.vote import Vote
from evalsampling.labels.vote_rules import check_rule
from evalsampling.labels.votes import Register, Reject, check_votes, vote_table
from evalsampling.telemetry.logs import LOG
from evalsampling.workspace.deliveries import with_replaced
from evalsampling.workspace.forgotten import ForgottenRows
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import NewDelivery, Workspace


@dataclasses.dataclass(frozen=True)
class _Checked:
    """A delivery that was checked, and is not stored yet."""

    file: LabelFile
    name: str
    taken: list[tuple[int, Vote]]
    rejects: list[Reject]
    beginnings: list[str]

    @property
    def rows(self) -> int:
        """How many rows the votes are about that count."""
        return len({subject for subject, _ in self.taken})

    def to_store(self, register: Register, rounds: int) -> NewDelivery:
        """Return what is stored of it, there being so many rounds."""
        rejects = {
            "file": pa.array([self.file.path] * len(self.rejects), pa.string()),
            "line": pa.array([reject.line for reject in self.rejects], pa.int64()),
            **{
                name: pa.array([getattr(one, name) for one in self.rejects], pa.string())
                for name in ("task", "id", "label", "reason")
            },
        }
        rejected = collections.Counter(
            register.tasks[one.subject] for one in self.rejects if one.subject is not None
        )
        details = {
            **self.file.details,
            "rounds": rounds,
            "rejected": rejected,
            "bytes": self.file.bytes,
            "unended": self.file.unended,
            "beginnings": self.beginnings,
        }
        return NewDelivery(self.name, vote_table(self.taken, register), pa.table(rejects), details)

    def log(self) -> None:
        """Log that it was taken, with a warning if it has rejects."""
        counts = {"taken": len(self.taken), "rows": self.rows, "rejected": len(self.rejects)}
        level = logging.WARNING if self.rejects else logging.INFO
        LOG.log(level, "delivery taken", extra={**self.file.details, **counts})

    def message(self, workspace: Workspace) -> str:
        """Return the line that tells people of it."""
        taken = f"{len(self.taken)} taken"
        if self.rows < len(self.taken):
            rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
            taken = f"{len(self.taken)} lines about {rows} taken"
        counts = f"{self.file.path}: {taken}, {len(self.rejects)} rejected"
        if self.beginnings:
            counts += "; it begins with a delivery that was taken before, and replaces it"
        if not self.rejects:
            return counts
        first, listed = self.rejects[0], workspace.rejects_of(self.name)
        warning = "" if self.taken else "warning: "
        return f"{warning}{counts}, listed in {listed}; first, line {first.line}: {first.reason}"


def take(files: Sequence[LabelFile], snapshot: Snapshot, strict: bool) -> list[str]:
    """Check deliveries, each as if those before it were taken, and store them: all or none.

    Args:
        files: to take.
        snapshot: of the workspace.
        strict: whether a reject is an error.

    Returns:
        A line for each file.

    Raises:
        InputError: if there is a reject under ``strict``, the package that is to decide by the
            votes is not installed, or somebody else took a delivery meanwhile; nothing is stored
            then.
    """
    if files:
        check_rule(snapshot.pool.spec)
    replaced = {digest for one in snapshot.deliveries for digest in one.beginnings}
    files, messages = without_beginnings(files)
    beginnings = [_beginnings(file, snapshot) for file in files]
    # What a line said that was cut short is no label that the whole file would contradict.
    snapshot = _with_replaced(snapshot, {one for these in beginnings for one in these})
    register = snapshot.register
    delivered = _votes_by_content(snapshot)
    known = {delivery.name for delivery in snapshot.deliveries}
    checked: list[_Checked] = []
    for file, begins_with in zip(files, beginnings, strict=True):
        if file.sha256 in replaced and not file.replace:
            messages.append(f"{file.path}: a file that begins with it was taken, nothing changed")
            continue
        taken, rejects = check_votes(file.votes, register, file.replace)
        if not file.replace:
            # What a file said before a correction it does not say again.
            earlier = (delivered.get(digest, ()) for digest in (file.sha256, *begins_with))
            said = {one for votes in earlier for one in votes}
            taken = [one for one in taken if _named(one[1], register.tasks[one[0]]) not in said]
            if begins_with:
                answers = {(task, label) for task, _, label in said}
                rejects = [one for one in rejects if (one.task, one.label) not in answers]
        if rejects and strict:
            raise InputError(
                f"{file.path}: line {rejects[0].line}: {rejects[0].reason} "
                f"({len(rejects)} rejected; --strict takes nothing)"
            )
        after, changed = register.with_votes(taken, file.replace, len(snapshot.standing))
        name = _name(file, known)
        if name != file.sha256 and not changed:
            messages.append(f"{file.path}: taken before, nothing changed")
            continue
        known.add(name)
        register = after
        checked.append(_Checked(file, name, taken, rejects, begins_with))
    if checked:
        _add(checked, register, snapshot)
    workspace = snapshot.pool.workspace
    return messages + [one.message(workspace) for one in checked]


def store(file: LabelFile, questions: Iterable[int], snapshot: Snapshot) -> None:
    """Store a delivery whose labels were checked where they were given: no line can be rejected.

    Args:
        file: to store.
        questions: that its lines answer, in their order.
        snapshot: of the workspace.

    Raises:
        InputError: if somebody else took a delivery meanwhile; nothing is stored then.
    """
    name = _name(file, {one.name for one in snapshot.deliveries})
    taken = list(zip(questions, file.votes, strict=True))
    _add([_Checked(file, name, taken, [], [])], snapshot.register, snapshot)


def _name(file: LabelFile, known: Collection[str]) -> str:
    """Return what a delivery is called: its hash, with a number if its content came before."""
    before = file.sha256 in {name.partition("-")[0] for name in known}
    return f"{file.sha256}-{len(known) + 1}" if before else file.sha256


def _add(checked: Sequence[_Checked], register: Register, snapshot: Snapshot) -> None:
    """Add checked deliveries to a workspace, without what was forgotten."""
    forgotten = ForgottenRows.read(snapshot.pool)
    id_of_task = dict(zip(register.tasks, register.ids, strict=True))
    rounds, first = len(snapshot.rounds), len(snapshot.deliveries) + 1
    deliveries = [forgotten.cleared(one.to_store(register, rounds), id_of_task) for one in checked]
    snapshot.pool.workspace.add_deliveries(first, deliveries, snapshot.forgotten)
    for one in checked:
        one.log()


def _beginnings(file: LabelFile, snapshot: Snapshot) -> list[str]:
    """Return the hashes of deliveries that a file begins with, unless it corrects."""
    if file.replace:
        return []
    return file.beginnings(
        (one.bytes, one.digest)
        for one in snapshot.deliveries
        if one.bytes is not None and not one.replace
    )


def _with_replaced(snapshot: Snapshot, digests: Collection[str]) -> Snapshot:
    """Return a snapshot in which deliveries of some hashes are replaced."""
    if not digests:
        return snapshot
    return dataclasses.replace(snapshot, deliveries=with_replaced(snapshot.deliveries, digests))


_Named = tuple[str, str | None, str | None]
"""Task, annotator and label of a vote."""


def _named(vote: Vote, task: str) -> _Named:
    return task, vote.annotator, vote.label


def _votes_by_content(snapshot: Snapshot) -> dict[str, frozenset[_Named]]:
    """Return the votes that were taken of each content, by its hash."""
    found: dict[str, set[_Named]] = {}
    for delivery in snapshot.deliveries:
        if not delivery.replace:
            columns = (delivery.votes[name].to_pylist() for name in ("task", "annotator", "label"))
            found.setdefault(delivery.digest, set()).update(zip(*columns, strict=True))
    return {digest: frozenset(votes) for digest, votes in found.items()}
