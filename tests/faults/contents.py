"""What a workspace holds, to be compared before and after a fault."""

from typing import Any

from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace


def known(workspace: Workspace) -> Any:
    """Everything that an estimate is computed from, as it is read."""
    snapshot = Snapshot.read(PreparedPool.read(workspace))
    pool, history = snapshot.pool, snapshot.history
    return (
        pool.spec.to_mapping(),
        snapshot.tasks,
        snapshot.labels.tolist(),
        snapshot.rejects,
        [
            (files.number, files.closed, files.batch["task"].to_pylist())
            for files in snapshot.rounds
        ],
        [[round.probability.tolist(), round.new.tolist()] for round in history.rounds],
        [history.cell.tolist(), history.rank.tolist(), history.label.tolist()],
        [pool.table.code.tolist(), pool.table.count.tolist()],
        pool.table.prior.tolist(),
    )
