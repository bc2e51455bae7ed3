"""Raising the budget of a workspace: more rows may be labelled, nothing else changes."""

import dataclasses
import time

from evalsampling.commands.options import WorkspaceOptions, argument, positive
from evalsampling.commands.result import Result
from evalsampling.commands.top_up import short_cells
from evalsampling.errors import InputError
from evalsampling.workspace.manifest import HERE, ExecutionContext
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace


@dataclasses.dataclass(frozen=True)
class BudgetOptions(WorkspaceOptions):
    """What a call of `budget` asks for."""

    labels: int = argument("labels in all, more than the budget is now", type=positive)


@dataclasses.dataclass(frozen=True)
class BudgetResult(Result):
    """The budget of a workspace.

    Attributes:
        budget: labels in all.
        before: what it was.
        short: cells of which the reserve may not last for another round.
    """

    budget: int
    before: int
    short: int


def raise_budget(options: BudgetOptions, context: ExecutionContext = HERE) -> BudgetResult:
    """Raise the budget; the same again changes nothing. Waits for other commands.

    Args:
        options: what is asked for.
        context: what the work runs on, for the record.

    Raises:
        InputError: if the workspace is not prepared, or its budget is larger already.
    """
    started = time.time()
    workspace = Workspace(options.workspace)
    with workspace.in_use():
        pool = PreparedPool.read(workspace)
        before = pool.spec.budget
        if options.labels < before:
            raise InputError(
                f"{workspace.path}: the budget is {before:,}, and can only be raised, "
                f"not set to {options.labels:,}"
            )
        if options.labels > before:
            number = len(pool.budgets) + 1
            manifest = context.manifest(
                f"budget-{number:04d}",
                pool.spec,
                pool.marker["pool"],
                started=started,
                options={"labels": options.labels},
                counts={"budget": options.labels},
            )
            workspace.add_budget(number, {"budget": options.labels, "before": before}, manifest)
        snapshot = Snapshot.read(PreparedPool.read(workspace))
        short = int(short_cells(snapshot, None).short.sum())
    return BudgetResult(options.labels, before, short)
