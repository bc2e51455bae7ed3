"""Labels that the pool had already: the first round of a workspace, and its delivery."""

import time

from evalsampling.commands.batches import Request, write_round
from evalsampling.commands.deliveries import store
from evalsampling.evaluation.labels_at_hand import FILE, with_given
from evalsampling.pool.stored_columns import CELL, GIVEN, GIVEN_NUMBER, ID, RANK, SLICE_PREFIX
from evalsampling.spec.labels_at_hand import WITHIN
from evalsampling.workspace.manifest import ExecutionContext
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot, chances_elsewhere


def take_labels_at_hand(pool: PreparedPool, context: ExecutionContext) -> None:
    """Make the rows with labels at hand the first round, or finish it after a kill."""
    at_hand = pool.spec.labels.at_hand
    if at_hand is None or len(pool.workspace.batches("rounds")) > 1:
        return
    with Snapshot.held(pool) as snapshot:
        if snapshot.rounds and snapshot.deliveries:
            return
        columns = [CELL, RANK, ID, GIVEN]
        columns += [GIVEN_NUMBER] if at_hand.number is not None else []
        columns += [f"{SLICE_PREFIX}{at_hand.source}"] if at_hand.drawn == WITHIN else []
        rows = pool.reserve.given(columns)
        start = snapshot.analysis.with_history(snapshot.history.first(0))
        drawn, codes = with_given(start, pool, rows, chances_elsewhere)
        if not snapshot.rounds:
            write_round(Request(context, time.time()), snapshot, drawn, has_answers=True)
            snapshot = snapshot.reread()
        store(FILE, snapshot, codes)
