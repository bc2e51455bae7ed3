"""A new round in the files of a workspace: its design, its draws, its batch for annotators."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.commands.control_tasks import control_tasks
from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.labels.controls import Gold
from evalsampling.labels.sinks import sink_of, task_file, write_tasks
from evalsampling.labels.tasks import ID, blind, make_batch, mask_key, task_name
from evalsampling.pool.stored_columns import CELL, PAYLOAD_PREFIX, RANK
from evalsampling.spec.id_columns import in_words
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.history import SAMPLER, History
from evalsampling.storage import write_parquet
from evalsampling.workspace.manifest import ExecutionContext
from evalsampling.workspace.rounds import CLOSES, STRATUM, RoundFiles
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import round_folder


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


@dataclasses.dataclass(frozen=True)
class NewRound:
    """A round: its number and rows, the file for annotators if any, and controls among its tasks."""

    number: int
    rows: int
    exported: str | None
    controls: int


def write_round(
    request: Request, snapshot: Snapshot, drawn: Analysis, has_answers: bool = False
) -> NewRound:
    """Write the last round of a history; what has its answers already is not for annotators."""
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
    asks = len(new) > 0 and not has_answers
    gold = Gold.read(spec) if asks else None
    if gold is not None:
        gold.check_same([files.design.get("gold") for files in snapshot.standing])
    controls = control_tasks(snapshot, number, batch, check, gold) if asks else None
    design = _design(request, snapshot, history, len(new)) | {"check": check}
    design["exported"] = task_file(spec) if asks else None
    design |= {} if gold is None else {"gold": gold.fingerprint}
    manifest = request.context.manifest(
        f"sample-{number:04d}",
        spec,
        pool.marker["pool"],
        started=request.started,
        options={"size": request.size, "next": request.next},
        counts={"draws": len(draws), "new_rows": len(new)},
    )
    with pool.workspace.new_batch(round_folder(number), design, manifest) as files:
        if asks:
            path = files.path(design["exported"])
            write_tasks(blind(batch, controls), path, spec, pool.batch_name(number))
        tables = {"draws": draws, "batch": batch}
        if controls is not None:
            tables["controls"] = controls
        for name, table in tables.items():
            write_parquet(table, files.path(f"{name}.parquet"), "snappy")
    exported = None
    if asks:
        exported = pool.workspace.store.url(files.place(design["exported"]))
    return NewRound(number, len(batch), exported, 0 if controls is None else len(controls))


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
