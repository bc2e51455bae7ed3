"""Batches for annotators in the files of a workspace: rounds with their controls, and disputes."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.labels.controls import Gold, gold_rows, repeated
from evalsampling.labels.sinks import sink_of, task_file, write_tasks
from evalsampling.labels.tally import State
from evalsampling.labels.tasks import (
    ADJUDICATION,
    GOLD,
    ID,
    LABEL,
    LINKED,
    QUESTION,
    REPEAT,
    TASK,
    blind,
    make_batch,
    mask_key,
    opaque_name,
    task_name,
)
from evalsampling.pool.row_ids import as_text
from evalsampling.pool.stored_columns import CELL, PAYLOAD_PREFIX, RANK
from evalsampling.spec.id_columns import in_words
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.history import SAMPLER, History
from evalsampling.storage import write_parquet
from evalsampling.workspace.manifest import ExecutionContext
from evalsampling.workspace.rounds import CLOSES, STRATUM, Adjudication, RoundFiles
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import adjudication_folder, round_folder


@dataclasses.dataclass(frozen=True)
class Request:
    """A call for a round: what it runs on, when it came, and what it asks for.

    The name is like no other, None without; the size that of the spec where it is None; with
    ``next`` the open round is closed.
    """

    context: ExecutionContext
    started: float
    name: str | None = None
    size: int | None = None
    next: bool = False

    def made(self, files: RoundFiles) -> bool:
        """Tell whether a round was drawn for this very request."""
        return self.name is not None and files.design.get("request") == self.name


def write_round(
    request: Request, snapshot: Snapshot, drawn: Analysis, has_answers: bool = False
) -> None:
    """Write the last round of a history; annotators get no round with answers already."""
    pool, history = snapshot.pool, drawn.history
    new = np.arange(len(snapshot.history), len(history))
    plan, number = pool.spec.labelling, len(snapshot.rounds) + 1
    check = sink_of(plan).checks_tasks
    code = drawn.table.code[history.cell]
    rows = pool.read_rows(code[new], history.rank[new])
    _check_ids(snapshot, rows, code, history)
    names = [
        task_name(plan, pool.task_key, number, id, question, check)
        for id, question in zip(rows[ID].to_pylist(), (new + 1).tolist(), strict=True)
    ]
    batch = make_batch(names, rows, plan, mask_key(pool.task_key, number))
    draws = _draws_to_store(snapshot, rows, code, history)
    asks = len(new) > 0 and not has_answers
    gold = Gold.read(plan) if asks else None
    if gold is not None:
        gold.check_same([files.design.get("gold") for files in snapshot.standing])
    controls = _control_tasks(snapshot, number, batch, check, gold) if asks else None
    design = _design(request, snapshot, history, len(new)) | {"check": check}
    design["exported"] = task_file(plan) if asks else None
    design |= {} if gold is None else {"gold": gold.fingerprint}
    manifest = request.context.manifest(
        f"sample-{number:04d}",
        pool.spec,
        pool.marker["pool"],
        started=request.started,
        options={"size": request.size, "next": request.next},
        counts={"draws": len(draws), "new_rows": len(new)},
    )
    tables = {"draws.parquet": draws, "batch.parquet": batch}
    tables |= {} if controls is None else {"controls.parquet": controls}
    with pool.workspace.new_batch(round_folder(number), design, manifest) as files:
        if asks:
            path = files.path(design["exported"])
            write_tasks(blind(batch, controls), path, plan, pool.batch_name(number))
        for name, table in tables.items():
            write_parquet(table, files.path(name), "snappy")


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
    """Return the contents of draws.parquet: of the last round, by the rows of its new questions."""
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
    if drawn.stratum is not None:
        draws = draws.append_column(STRATUM, pa.array(drawn.stratum))
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
        "posterior": None if drawn.posterior is None else drawn.posterior.tolist(),
        "cell_probability": None if chances is None else chances.tolist(),
        "wanted": drawn.wanted,
        **({} if drawn.origin == SAMPLER else {"origin": drawn.origin}),
        **({} if drawn.together is None else {"together": drawn.together}),
        "request": request.name,
        CLOSES: list(snapshot.open_questions) if request.next else [],
        "withdrawn": sorted(snapshot.withdrawn),
    }


def _control_tasks(
    snapshot: Snapshot, number: int, batch: pa.Table, check: bool, gold: Gold | None
) -> pa.Table | None:
    """Return the control tasks of a round as they are stored, None if there are to be none."""
    plan, key, parts = snapshot.pool.spec.labelling, snapshot.pool.task_key, {}
    if gold is not None:
        parts[GOLD] = gold_rows(gold, plan, key, number, batch.schema)
    if plan.labels.repeats and len(snapshot.tasks):
        rows = _rows_of(snapshot, repeated(len(snapshot.tasks), plan.labels.repeats, key, number))
        parts[REPEAT] = rows.append_column(LABEL, pa.nulls(len(rows), pa.string()))
    tasks = []
    for kind, rows in parts.items():
        ids = rows[ID].to_pylist()
        names = [opaque_name(key, kind, number, id, check=check) for id in ids]
        masks = mask_key(key, number)
        tasks.append(make_batch(names, rows, plan, masks, kind, (LABEL, QUESTION)))
    return pa.concat_tables(tasks) if tasks else None


def _rows_of(snapshot: Snapshot, questions: list[int]) -> pa.Table:
    """Return id, as text, number and payload of the rows of some questions, from the reserve."""
    history, table = snapshot.history, snapshot.pool.table
    asked = np.array(questions, dtype=np.int64)
    rows = snapshot.pool.read_rows(table.code[history.cell[asked]], history.rank[asked])
    shown = [name for name in rows.column_names if name.startswith(PAYLOAD_PREFIX)]
    ids = [as_text(id, snapshot.pool.spec.pool.id) for id in rows[ID].to_pylist()]
    rows = rows.select([ID, *shown]).set_column(0, ID, pa.array(ids, pa.string()))
    return rows.append_column(QUESTION, pa.array(asked + 1))


# --- disputes


def adjudicate(
    snapshot: Snapshot, context: ExecutionContext, started: float
) -> Adjudication | None:
    """Return the batch of disputed rows that is open, else a new one; None without disputes."""
    disputed = snapshot.undecided["disputed"]
    for batch in reversed(snapshot.adjudications):
        if _is_open(snapshot, batch, disputed):
            return batch
    return _write_disputed(snapshot, disputed, context, started) if disputed else None


def _is_open(snapshot: Snapshot, batch: Adjudication, disputed: list[int]) -> bool:
    """Tell whether a dispute of a batch waits for an answer."""
    subjects = snapshot.subject_of_task
    tasks, questions = batch.tasks[TASK].to_pylist(), batch.tasks[QUESTION].to_pylist()
    return any(
        question - 1 in disputed
        and task in subjects
        and snapshot.tally.state(subjects[task]) is State.OPEN
        for task, question in zip(tasks, questions, strict=True)
    )


def _write_disputed(
    snapshot: Snapshot, disputed: list[int], context: ExecutionContext, started: float
) -> Adjudication:
    pool, number = snapshot.pool, len(snapshot.adjudications) + 1
    rows = _rows_of(snapshot, disputed)
    plan, key = pool.spec.labelling, pool.task_key
    check = sink_of(plan).checks_tasks
    names = [opaque_name(key, ADJUDICATION, number, each, check=check) for each in disputed]
    tasks = make_batch(names, rows, plan, mask_key(key, -number), ADJUDICATION, (QUESTION,))
    exported = task_file(plan, disputed=True)
    manifest = context.manifest(
        f"adjudicate-{number:04d}",
        pool.spec,
        pool.marker["pool"],
        started=started,
        options={},
        counts={"rows": len(tasks)},
    )
    one_answer = dataclasses.replace(plan, labels=dataclasses.replace(plan.labels, votes=1))
    design, folder = {"number": number, "exported": exported}, adjudication_folder(number)
    with pool.workspace.new_batch(folder, design, manifest) as files:
        write_tasks(blind(tasks), files.path(exported), one_answer, pool.batch_name(-number))
        write_parquet(tasks, files.path(LINKED), "snappy")
    return Adjudication.read(pool, number)
