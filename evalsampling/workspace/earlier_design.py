"""The chances that rows had of being drawn in another workspace, by the design of a round."""

import re
from collections.abc import Mapping

import numpy as np

from evalsampling.errors import InputError
from evalsampling.pool.row_ids import as_text
from evalsampling.spec.labels_at_hand import DESIGN, LabelsAtHand
from evalsampling.workspace.snapshot import Snapshot

_DESIGN = re.compile(r"^(?P<root>.+)/rounds/0*(?P<number>[0-9]+)/design\.json$")


def chances_elsewhere(at_hand: LabelsAtHand) -> Mapping[str, float] | None:
    """Return the chance that some round up to that of a design had drawn each row that was drawn.

    By ids as text; None if labels at hand were drawn otherwise. Rounds draw without replacement,
    each row with the chance of its cell.
    """
    if at_hand.drawn != DESIGN:
        return None
    path = str(at_hand.source)
    found = _DESIGN.match(path)
    if found is None:
        raise InputError(f"{path}: is no design of a round: WORKSPACE/rounds/0001/design.json")
    snapshot, number = Snapshot.at(found["root"]), int(found["number"])
    if number not in [files.number for files in snapshot.standing]:
        raise InputError(f"{path}: there is no such round")
    if not snapshot.analysis.sampler.by_row:
        raise InputError(
            f"{path}: drawn by {snapshot.pool.spec.sampler.name}, which draws a row more than "
            "once; give the rows' chances as a column, by labels.drawn.chance"
        )
    rounds = sum(files.number <= number for files in snapshot.standing)
    history = snapshot.history.first(rounds)
    missed = np.ones(len(history))
    for drawn in history.rounds:
        missed *= 1 - drawn.chances(history.cell)
    columns = snapshot.pool.spec.pool.id
    ids = [as_text(id, columns) for files in snapshot.standing[:rounds] for id in files.subjects]
    return dict(zip(ids, (1 - missed).tolist(), strict=True))
