"""Drawing the next round of a workspace, and writing its batch for the annotators."""

import dataclasses
import time

import pyarrow as pa

from evalsampling.commands.batches import Request, adjudicate, write_round
from evalsampling.commands.budget import Raised, raise_budget
from evalsampling.commands.labels_at_hand import take_labels_at_hand
from evalsampling.commands.options import WorkspaceOptions, amount, flag, option, positive
from evalsampling.commands.result import Result
from evalsampling.errors import InputError, UsageError
from evalsampling.evaluation.cautions import reason_to_stop
from evalsampling.labels.tally import Awaited
from evalsampling.labels.votes import vote_table
from evalsampling.telemetry.logs import LOG
from evalsampling.workspace.manifest import HERE, ExecutionContext
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.rounds import RoundFiles
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import NewDelivery, Workspace


@dataclasses.dataclass(frozen=True)
class SampleOptions(WorkspaceOptions):
    """What a call of `sample` asks for."""

    size: int | None = option("new rows to draw, whatever `stop` says", type=positive, metavar="N")
    next: bool = flag("close the open round first")
    adjudicate: bool = flag("batch of the rows that annotators did not agree on")
    withdraw: int | None = option(
        "take the last round back, before any answer came", type=positive, metavar="ROUND"
    )
    budget: float | None = option(
        "raise the budget first: labels in all, or what they may cost if it is of that",
        type=amount,
        metavar="AMOUNT",
    )
    budget_labels: int | None = option(
        "labels in all, of a budget that limits both their costs and their number",
        type=positive,
        metavar="N",
    )

    def check(self) -> None:
        """Check that the options go together."""
        is_round = not self.adjudicate and self.withdraw is None
        if sum([self.adjudicate, self.withdraw is not None, self.next]) > 1:
            raise UsageError("--next, --adjudicate and --withdraw are three calls, not one")
        neither = "goes with neither --adjudicate nor --withdraw"
        if self.size is not None and not is_round:
            raise UsageError(f"--size is of a round, and {neither}")
        if self.budget is not None and not is_round:
            raise UsageError(f"--budget {neither}")
        if self.budget is None and self.budget_labels is not None:
            raise UsageError("--budget-labels goes with --budget")


@dataclasses.dataclass(frozen=True)
class SampleResult(Result):
    """The open round, or the batch that settles disputes: docs/cli.md tells the keys."""

    only_if_any, for_text = ("raised",), ("awaited",)

    round: int
    rows: int
    batch: str | None
    reason: str | None = None
    controls: int = 0
    again: bool = False
    raised: Raised | None = None
    awaited: Awaited = dataclasses.field(default=Awaited(), compare=False)


def sample(
    options: SampleOptions, context: ExecutionContext = HERE, request: str | None = None
) -> SampleResult:
    """Draw the next round and write its batch, or return the open round's batch again.

    It waits for other commands on the workspace. Nothing is written if a reserve is too short. A
    ``request``, a name like no other, that comes again gets what it has got: jobs are tried again.
    """
    call = Request(context, time.time(), request, options.size, options.next)
    workspace = Workspace(options.workspace)
    options.check()
    raised = None
    if options.budget is not None:
        raised = raise_budget(workspace, options.budget, options.budget_labels)
    pool = PreparedPool.read(workspace)
    take_labels_at_hand(pool, context)
    with Snapshot.held(pool) as snapshot:
        if options.withdraw is not None:
            _withdraw(snapshot, options.withdraw)
            result = SampleResult(options.withdraw, 0, None, "withdrawn")
        elif options.adjudicate:
            batch = adjudicate(snapshot, context, call.started)
            if batch is None:
                result = SampleResult(len(snapshot.adjudications), 0, None, "no-disputes")
            else:
                result = SampleResult(batch.number, len(batch.tasks), batch.exported)
        else:
            result = _sample(call, snapshot)
    LOG.info("sampled", extra={key: getattr(result, key) for key in ("round", "rows", "reason")})
    return dataclasses.replace(result, raised=raised, awaited=snapshot.awaited)


def _sample(request: Request, snapshot: Snapshot) -> SampleResult:
    rounds, still_open = snapshot.rounds, list(snapshot.open_questions)
    again = next(filter(request.made, rounds), None)
    if again is None and _is_unseen(snapshot):
        again = rounds[-1]
    if again is not None:
        still_open = [number for number in still_open if number < again.number]
    elif still_open and not request.next:
        again = rounds[max(still_open) - 1]
    if again is None:
        result = _next_round(request, snapshot)
    else:
        is_open = again.number in snapshot.open_questions and not request.made(again)
        result = _drawn(again, again=is_open and not _is_unseen(snapshot))
    closing = {*still_open} if request.next else set()
    if again is None or again is rounds[-1]:
        closing |= {*snapshot.half_closed}
    # This is last: until it is done, nobody has heard of the new round.
    for number in sorted(closing):
        snapshot.pool.workspace.close_round(number, "sample --next")
    return result


def _is_unseen(snapshot: Snapshot) -> bool:
    """Tell whether the last round was drawn by a `sample --next` that did not come to its end.

    Whoever runs that again gets the round. Not if there are answers: then somebody has it.
    """
    last = len(snapshot.rounds)
    if last in snapshot.withdrawn:
        return False
    return bool(snapshot.half_closed) and (
        snapshot.open_questions.get(last, 0) == len(snapshot.rounds[-1].batch)
    )


def _next_round(request: Request, snapshot: Snapshot) -> SampleResult:
    spec, last = snapshot.pool.spec, len(snapshot.rounds)
    analysis, budget = snapshot.analysis, spec.budget
    left = budget.labels - analysis.spent(snapshot.answers)
    money = None if budget.money is None else budget.money - snapshot.history.money
    if left <= 0 or (money is not None and money <= 0):
        return SampleResult(last, 0, None, "budget")
    if analysis.exhausted:
        return SampleResult(last, 0, None, "exhausted" if len(analysis.history) else "nothing-adds")
    may_stop = spec.stop.half_width is not None or spec.stop.significance is not None
    if may_stop and request.size is None and snapshot.answers > 0:  # Else nothing is estimated.
        reason = reason_to_stop(spec.stop, analysis.estimate())
        if reason is not None:
            return SampleResult(last, 0, None, reason)
    drawn = analysis.with_round(request.size or snapshot.next_round_size, budget=left, money=money)
    if drawn is analysis:  # What is left buys no label.
        return SampleResult(last, 0, None, "budget")
    write_round(request, snapshot, drawn)
    return _drawn(RoundFiles.read(snapshot.pool, last + 1))


def _drawn(files: RoundFiles, again: bool = False) -> SampleResult:
    rows, controls = len(files.batch), len(files.controls.tasks)
    why = None if rows else "no-new-rows"
    return SampleResult(files.number, rows, files.exported, why, controls, again)


def _withdraw(snapshot: Snapshot, number: int) -> None:
    """Withdraw a round: its rows count as never drawn, and labels for it are refused.

    The next round of the same size and with the same labels draws the same rows: nobody gets
    another sample by withdrawing one. It is kept as a delivery without votes, so that in a store
    that keeps nobody out it cannot come in beside labels.
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
    tasks = {*files.new_tasks(snapshot.pool), *files.controls.tasks}
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
