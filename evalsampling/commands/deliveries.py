"""Taking deliveries of labels: each is checked against the tasks and votes so far, and stored."""

import collections
import dataclasses
import hashlib
import json
import logging
from collections.abc import Collection, Mapping, Sequence

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.labels.delivery import LabelFile
from evalsampling.labels.formats import read_votes
from evalsampling.labels.register import Register
from evalsampling.labels.vote import Vote
from evalsampling.labels.votes import Reject, check_votes, vote_table
from evalsampling.telemetry.logs import LOG
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import NewDelivery, rejects_file


@dataclasses.dataclass(frozen=True)
class _Checked:
    """A delivery that was checked, and is not stored yet."""

    file: LabelFile
    name: str
    taken: list[tuple[int, Vote]]
    rejects: list[Reject]

    @property
    def rows(self) -> int:
        """Number of rows with a vote that counts."""
        return len({subject for subject, _ in self.taken})

    def to_store(self, register: Register, rounds: int) -> NewDelivery:
        """Return the delivery as it is stored; ``rounds`` is the number of rounds so far."""
        ids = DeliveredIds(register.id)
        names = ("task", *ids.names, "label", "reason")
        columns = {"file": pa.string(), "line": pa.int64(), **dict.fromkeys(names, pa.string())}
        rejects = [
            {"file": self.file.path, **vars(each), **ids.values(each.id)} for each in self.rejects
        ]
        tasks = {*register.question_of_task, *register.withdrawn}
        rejected = collections.Counter(each.task for each in self.rejects if each.task in tasks)
        table = pa.Table.from_pylist(rejects, pa.schema(columns.items()))
        details = {**self.file.details, "rounds": rounds, "rejected": rejected}
        return NewDelivery(self.name, vote_table(self.taken, register), table, details)

    def log(self) -> None:
        """Log that the delivery was taken, as a warning if it has rejects."""
        counts = {"taken": len(self.taken), "rows": self.rows, "rejected": len(self.rejects)}
        level = logging.WARNING if self.rejects else logging.INFO
        LOG.log(level, "delivery taken", extra={**self.file.details, **counts})

    def message(self, folder: str) -> str:
        """Return the line for users: how many votes were taken, and where the rejects are."""
        taken = f"{len(self.taken)} taken"
        if self.rows < len(self.taken):
            rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
            taken = f"{len(self.taken)} lines about {rows} taken"
        counts = f"{self.file.path}: {taken}, {len(self.rejects)} rejected"
        if not self.rejects:
            return counts
        first, listed = self.rejects[0], rejects_file(self.name, self.file.details["file"])
        warning = "" if self.taken else "warning: "
        told = f"first, line {first.line}: {first.reason}"
        return f"{warning}{counts}, listed in {folder}/{listed}; {told}"


def take(files: Sequence[LabelFile], snapshot: Snapshot, strict: bool) -> list[str]:
    """Check deliveries, each as if those before it were taken, and store all or none."""
    register = snapshot.register
    delivered = _votes_by_content(snapshot)
    names = {delivery.name for delivery in snapshot.deliveries}
    checked: list[_Checked] = []
    messages: list[str] = []
    for file in files:
        name = _name(file.sha256, names)
        taken, rejects = check_votes(file.votes, register, file.replace)
        if not file.replace:
            # Votes that this file has delivered before do not undo later corrections.
            earlier = delivered.get(file.sha256, set())
            taken = [
                (subject, vote)
                for subject, vote in taken
                if (register.tasks[subject], vote.annotator, vote.label) not in earlier
            ]
        if rejects and strict:
            raise InputError(
                f"{file.path}: line {rejects[0].line}: {rejects[0].reason} "
                f"({len(rejects)} rejected; --strict takes nothing)"
            )
        after, changed = register.with_votes(taken, file.replace, len(snapshot.standing))
        if name != file.sha256 and not changed:
            messages.append(f"{file.path}: taken before, nothing changed")
            continue
        names.add(name)
        register = after
        checked.append(_Checked(file, name, taken, rejects))
    if checked:
        folder = _add(checked, register, snapshot)
        messages += [delivery.message(folder) for delivery in checked]
    return messages


def store(name: str, snapshot: Snapshot, labels: Mapping[int, int], replace: bool = False) -> None:
    """Store labels that were checked where they were given: no line can be rejected."""
    file = of_codes(name, snapshot, labels, replace)
    taken = list(zip(labels, file.votes, strict=True))
    names = {delivery.name for delivery in snapshot.deliveries}
    _add([_Checked(file, _name(file.sha256, names), taken, [])], snapshot.register, snapshot)


def of_codes(name: str, snapshot: Snapshot, labels: Mapping[int, int], replace: bool) -> LabelFile:
    """Return labels that were in no file, class codes by question, as a file of a name."""
    space = snapshot.pool.spec.labels.space
    lines = [
        json.dumps({"task": snapshot.tasks[question], "label": space.text(code)}) + "\n"
        for question, code in labels.items()
    ]
    content = "".join(lines).encode()
    digest = hashlib.sha256(content).hexdigest()
    return LabelFile(name, replace, len(content), digest, read_votes(name, content))


def _name(digest: str, names: Collection[str]) -> str:
    """Return the name of a delivery: its hash, with a number if its content came before."""
    before = digest in {name.partition("-")[0] for name in names}
    return f"{digest}-{len(names) + 1}" if before else digest


def _add(checked: Sequence[_Checked], register: Register, snapshot: Snapshot) -> str:
    """Add checked deliveries, and return the URL of their folder."""
    rounds, first = len(snapshot.rounds), len(snapshot.deliveries) + 1
    stored = [new.to_store(register, rounds) for new in checked]
    workspace = snapshot.pool.workspace
    folder = workspace.add_deliveries(first, stored)
    for delivery in checked:
        delivery.log()
    return workspace.store.url(folder)


_Named = tuple[str, str | None, str | None]
"""Task, annotator and label of a vote."""


def _votes_by_content(snapshot: Snapshot) -> dict[str, set[_Named]]:
    """Return the votes taken from deliveries, by the hash of their content."""
    by_digest: dict[str, set[_Named]] = {}
    for delivery in snapshot.deliveries:
        if not delivery.replace:
            columns = (delivery.votes[name].to_pylist() for name in ("task", "annotator", "label"))
            by_digest.setdefault(delivery.digest, set()).update(zip(*columns, strict=True))
    return by_digest
