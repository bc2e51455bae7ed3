"""Drawing the next round of a workspace, and writing its batch for the annotators."""

import dataclasses
import time
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.commands.adjudication import adjudicate
from evalsampling.commands.budget import Raised, raise_budget
from evalsampling.commands.control_tasks import control_tasks
from evalsampling.commands.options import WorkspaceOptions, amount, flag, option, positive
from evalsampling.commands.result import Result
from evalsampling.commands.withdrawal import withdraw
from evalsampling.errors import InputError, UsageError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.cautions import reason_to_stop
from evalsampling.labels.controls import Gold
from evalsampling.labels.sinks import sink_of, task_file, write_tasks
from evalsampling.labels.tally import Awaited
from evalsampling.labels.tasks import ID, blind, make_batch, mask_key, task_name
from evalsampling.pool.stored_columns import CELL, PAYLOAD_PREFIX, RANK
from evalsampling.spec.id_columns import in_words
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.history import History
from evalsampling.storage import write_parquet
from evalsampling.telemetry.logs import LOG
from evalsampling.workspace.manifest import HERE, ExecutionContext
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.rounds import CLOSES, RoundFiles
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace, round_folder


@dataclasses.dataclass(frozen=True)
class SampleOptions(WorkspaceOptions):
    """What a call of `sample` asks for."""

    size: int | None = option("new rows to draw", type=positive, metavar="N")
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
    """The round that is open now, or the batch that settles disputes.

    Attributes:
        round: its number, from 1; 0 if there is none.
        rows: to be labelled in it.
        batch: where the file for the annotators is, None if there are no rows.
        reason: why there are none: ``budget``, ``exhausted``, ``nothing-adds``, ``no-new-rows``,
            ``no-disputes``, ``withdrawn``, ``significance`` where the systems' difference is
            significant, or ``half-width`` where the intervals are as narrow as the spec's ``stop``
            wants them.
        controls: gold rows and repeats among the tasks, beside the rows.
        again: whether the round was drawn before, and is given again because it is open still.
        awaited: what the rows of open rounds wait for; not part of the JSON.
        raised: the budget, if it was to be raised; not part of the JSON else.
    """

    only_if_any = ("raised",)

    round: int
    rows: int
    batch: str | None
    reason: str | None = None
    controls: int = 0
    again: bool = False
    raised: Raised | None = None
    awaited: Awaited = dataclasses.field(default=Awaited(), compare=False)

    def to_json(self) -> Any:
        """Return the object that `sample --json` prints."""
        content = super().to_json()
        del content["awaited"]
        return content


@dataclasses.dataclass(frozen=True)
class Request:
    """A call of `sample`: what it asks for, its name, what it runs on, when it came."""

    options: SampleOptions
    name: str | None
    context: ExecutionContext
    started: float

    def made(self, files: RoundFiles) -> bool:
        """Tell whether a round was drawn for this very request."""
        return self.name is not None and files.design.get("request") == self.name


def sample(
    options: SampleOptions, context: ExecutionContext = HERE, request: str | None = None
) -> SampleResult:
    """Draw the next round and write its batch, or return the open round's batch again.

    Waits for other commands on the workspace.

    Args:
        options: what is asked for.
        context: what the work runs on, for the record.
        request: name of the request, like no other. The same one again gets what it has got,
            however often a job is tried.

    Raises:
        UsageError: if options do not go together.
        InputError: if the workspace is not prepared, or a reserve too short; nothing is written
            then.
    """
    call = Request(options, request, context, time.time())
    workspace = Workspace(options.workspace)
    options.check()
    raised = None
    if options.budget is not None:
        raised = raise_budget(workspace, options.budget, options.budget_labels)
    with workspace.in_use():
        snapshot = Snapshot.read(PreparedPool.read(workspace))
        if options.withdraw is not None:
            withdraw(snapshot, options.withdraw)
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
    elif still_open and not request.options.next:
        again = rounds[max(still_open) - 1]
    if again is None:
        result = _next_round(request, snapshot)
    else:
        result = _drawn(again.number, len(again.batch), again.exported, len(again.controls.tasks))
        is_open = again.number in snapshot.open_questions and not request.made(again)
        result = dataclasses.replace(result, again=is_open and not _is_unseen(snapshot))
    closing = {*still_open} if request.options.next else set()
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
    analysis = snapshot.analysis
    left = spec.budget - analysis.spent(snapshot.answers)
    money = None if spec.money is None else spec.money - snapshot.history.money
    if left <= 0 or (money is not None and money <= 0):
        return SampleResult(last, 0, None, "budget")
    if analysis.exhausted:
        why = "exhausted" if len(analysis.history) else "nothing-adds"
        return SampleResult(last, 0, None, why)
    may_stop = spec.stop.half_width is not None or spec.stop.significance is not None
    if may_stop and snapshot.answers > 0:  # Otherwise nothing is estimated.
        reason = reason_to_stop(spec, analysis.estimate())
        if reason is not None:
            return SampleResult(last, 0, None, reason)
    size = request.options.size or snapshot.next_round_size
    drawn = analysis.with_round(size, budget=left, money=money)
    if drawn is analysis:  # What is left buys no label.
        return SampleResult(last, 0, None, "budget")
    return write_round(request, snapshot, drawn)


def _drawn(number: int, rows: int, batch: str | None, controls: int) -> SampleResult:
    return SampleResult(number, rows, batch, None if rows else "no-new-rows", controls)


def write_round(request: Request, snapshot: Snapshot, drawn: Analysis) -> SampleResult:
    """Write the last round of a history, and return what was written."""
    pool, history = snapshot.pool, drawn.history
    new = np.arange(len(snapshot.history), len(history))
    spec, number = pool.spec, len(snapshot.rounds) + 1
    check = sink_of(spec).checks_tasks
    code = drawn.table.code[history.cell]
    rows = pool.read_rows(code[new], history.rank[new])
    _check_ids(snapshot, rows, code, history)
    names = [
        task_name(spec, pool.task_key, number, id, question, check)
        for id, question in zip(rows[ID].to_pylist(), (new + 1).tolist(), strict=True)
    ]
    batch = make_batch(names, rows, spec, mask_key(pool.task_key, number))
    draws = _draws_to_store(snapshot, rows, code, history)
    gold = Gold.read(spec) if len(new) else None
    if gold is not None:
        gold.check_same([files.design.get("gold") for files in snapshot.standing])
    controls = control_tasks(snapshot, number, batch, check, gold) if len(new) else None
    design = _design(request, snapshot, history, len(new)) | {"check": check}
    design |= {} if gold is None else {"gold": gold.fingerprint}
    manifest = request.context.manifest(
        f"sample-{number:04d}",
        spec,
        pool.marker["pool"],
        started=request.started,
        options={"size": request.options.size, "next": request.options.next},
        counts={"draws": len(draws), "new_rows": len(new)},
    )
    with pool.workspace.new_batch(round_folder(number), design, manifest) as files:
        if len(new):
            path = files.path(design["exported"])
            write_tasks(blind(batch, controls), path, spec, pool.batch_name(number))
        tables = {"draws": draws, "batch": batch}
        if controls is not None:
            tables["controls"] = controls
        for name, table in tables.items():
            write_parquet(table, files.path(f"{name}.parquet"), "snappy")
    exported = None
    if len(new):
        exported = pool.workspace.store.url(files.place(design["exported"]))
    return _drawn(number, len(batch), exported, 0 if controls is None else len(controls))


def _check_ids(snapshot: Snapshot, rows: pa.Table, code: IntArray, history: History) -> None:
    """Check that no two rows asked about have the same id."""
    spec = snapshot.pool.spec
    places: dict[str, tuple[int, int]] = {}
    earlier = (id for files in snapshot.standing for id in files.asked[ID].to_pylist())
    ids = [*map(str, earlier), *map(str, rows[ID].to_pylist())]
    for id, cell, rank in zip(ids, code.tolist(), history.rank.tolist(), strict=True):
        if places.setdefault(id, (cell, rank)) != (cell, rank):
            raise InputError(f"{spec.pool.path}: {in_words(spec.pool.id)}: duplicate id {id!r}")


def _draws_to_store(
    snapshot: Snapshot, rows: pa.Table, code: IntArray, history: History
) -> pa.Table:
    """Return the contents of draws.parquet: the draws of the last round of a history.

    Rows are those of its new questions, and codes the cell codes of all questions.
    """
    drawn, number = history.rounds[-1], len(snapshot.rounds) + 1
    draws = pa.table(
        {
            "round": pa.array([number] * len(drawn.question), pa.int32()),
            "draw": pa.array(np.arange(1, len(drawn.question) + 1)),
            "question": pa.array(drawn.question + 1),
            CELL: pa.array(code[drawn.question]),
            RANK: pa.array(history.rank[drawn.question]),
            "q": pa.array(drawn.probability),
            "new": pa.array(drawn.new),
        }
    )
    described = [name for name in rows.column_names if not name.startswith(PAYLOAD_PREFIX)]
    earlier = [files.asked.select(described) for files in snapshot.standing]
    asked_rows = pa.concat_tables([*earlier, rows.select(described)])
    for name in described:
        draws = draws.append_column(name, asked_rows[name].take(pa.array(drawn.question)))
    return draws


def _design(
    request: Request, snapshot: Snapshot, history: History, new_rows: int
) -> dict[str, Any]:
    """Return the contents of design.json of the last round of a history."""
    spec, drawn = snapshot.pool.spec, history.rounds[-1]
    mapping, chances = spec.to_mapping(), drawn.cell_probability
    return {
        "round": len(snapshot.rounds) + 1,
        "sampler": mapping["sampler"],
        "measure": mapping["measure"][0],
        "seed": spec.seed,
        "draws": len(drawn.question),
        "new_rows": new_rows,
        "exported": task_file(spec) if new_rows else None,
        "posterior": None if drawn.posterior is None else drawn.posterior.tolist(),
        "cell_probability": None if chances is None else chances.tolist(),
        "wanted": drawn.wanted,
        "request": request.name,
        CLOSES: list(snapshot.open_questions) if request.options.next else [],
        "withdrawn": sorted(snapshot.withdrawn),
    }
