"""Taking back a round before any answer to it came."""

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.labels.votes import vote_table
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import NewDelivery


def withdraw(snapshot: Snapshot, number: int) -> None:
    """Withdraw a round: its rows count as never drawn, and labels for it are refused.

    The next round of the same size and with the same labels draws the same rows: nobody gets
    another sample by withdrawing one.

    It is kept as a delivery without votes, so that in a store that keeps nobody out it cannot come
    in beside labels.
    """
    where = f"{snapshot.pool.workspace.path}: round {number}"
    if number > len(snapshot.rounds):
        raise InputError(f"{where}: there is no such round")
    if number in snapshot.withdrawn:
        return
    last = snapshot.standing[-1].number
    if number != last:
        raise InputError(f"{where}: round {last} was drawn after it, withdraw that first")
    files = snapshot.rounds[number - 1]
    tasks = {*files.new_tasks(snapshot.pool.spec, snapshot.pool.task_key), *files.controls.tasks}
    for delivery in snapshot.deliveries:
        if tasks & set(delivery.votes["task"].to_pylist()):
            raise InputError(f"{where}: it has answers already, so it can only be closed")
    event = NewDelivery(
        name=f"withdrawal-{number:04d}",
        votes=vote_table([], snapshot.register),
        rejects=pa.table({"file": [], "line": [], "reason": []}),
        details={
            "file": None, "replace": False, "rounds": len(snapshot.rounds), "withdraws": number,
        },
    )  # fmt: skip
    snapshot.pool.workspace.add_deliveries(len(snapshot.deliveries) + 1, [event])
