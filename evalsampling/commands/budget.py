"""Raising the budget of a workspace: more rows may be labelled, nothing else changes."""

import dataclasses
import time
from typing import Any

from evalsampling.commands.short_cells import short_cells
from evalsampling.errors import InputError
from evalsampling.workspace.manifest import HERE
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import BUDGETS, Workspace


@dataclasses.dataclass(frozen=True)
class Raised:
    """The budget now and before, as a spec says it; cells whose reserve may soon end."""

    budget: Any
    before: Any
    short: int


def raise_budget(workspace: Workspace, amount: float, labels: int | None = None) -> Raised:
    """Raise the budget; the same again changes nothing. Waits for other commands."""
    started = time.time()
    with workspace.in_use():
        pool = PreparedPool.read(workspace)
        before = pool.spec.limits
        wanted = before.raised(amount, labels)
        if not wanted.allows(before):
            raise InputError(
                f"{workspace.path}: the budget is {before.words}, and can only be raised, not set "
                f"to {wanted.words}"
            )
        change = {"budget": wanted.to_mapping(), "before": before.to_mapping()}
        if wanted != before:
            number = workspace.next_number(BUDGETS)
            manifest = HERE.manifest(
                f"budget-{number:04d}",
                pool.spec,
                pool.marker["pool"],
                started=started,
                options={"amount": amount, "labels": labels},
                counts={"budget": round(amount)},
            )
            workspace.add_budget(number, change, manifest)
        snapshot = Snapshot.read(PreparedPool.read(workspace))
        short = int(short_cells(snapshot, None).short.sum())
    return Raised(**change, short=short)
