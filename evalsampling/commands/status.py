"""Telling where an evaluation stands."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.result import Result
from evalsampling.labels.tally import Awaited
from evalsampling.workspace.manifest import read_jobs
from evalsampling.workspace.snapshot import Snapshot


@dataclasses.dataclass(frozen=True)
class PreparedStatus:
    """How a workspace was prepared, and what the spec selects of the pool, if anything."""

    rows: int
    seconds: float
    runner: str | None
    versions: Mapping[str, str]
    selection: Mapping[str, Any] | None = None


@dataclasses.dataclass(frozen=True)
class StatusResult(Result):
    """Where an evaluation stands: docs/cli.md tells the keys of the JSON."""

    rounds: int
    labels: int
    open: int
    budget: int | None  # of labels; None if only money is limited
    rejects: int
    prepared: PreparedStatus
    jobs: Mapping[str, Mapping[str, Any]]  # manifests by name
    awaited: Awaited = Awaited()
    disputed: int = 0
    withdrawn: tuple[int, ...] = ()
    cost: float | None = None
    money: float | None = None

    def to_json(self) -> Any:
        """Return the object that `status --json` prints."""
        content = super().to_json()
        if self.prepared.selection is None:
            del content["prepared"]["selection"]
        return content


def status(options: WorkspaceOptions) -> StatusResult:
    """Return where the evaluation of a workspace stands."""
    snapshot = Snapshot.at(options.workspace)
    pool, marker = snapshot.pool, snapshot.pool.marker
    return StatusResult(
        rounds=len(snapshot.rounds),
        labels=snapshot.answers,
        open=snapshot.awaited.total,
        awaited=snapshot.awaited,
        budget=pool.spec.budget.planned,
        rejects=snapshot.rejects,
        prepared=PreparedStatus(
            **{key: marker[key] for key in ("rows", "seconds", "runner", "versions")},
            selection=pool.spec.pool.selection or None,
        ),
        jobs=read_jobs(pool.workspace),
        disputed=len(snapshot.undecided["disputed"]),
        withdrawn=tuple(sorted(snapshot.withdrawn)),
        cost=None if pool.spec.pool.cost is None else snapshot.history.money,
        money=pool.spec.budget.money,
    )
