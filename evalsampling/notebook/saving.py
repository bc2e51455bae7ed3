"""An evaluation of a pool in memory as a workspace: its pool, then its rounds and labels in turn.

Every step is one that a command takes, and each is whole or not at all. So a `save` that was
killed is run again, and one after a further round adds that round.
"""

import dataclasses
import json
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from evalsampling.commands.batches import Request, write_round
from evalsampling.commands.deliveries import of_codes, store
from evalsampling.commands.prepare import Preparation
from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.labels.controls import Gold
from evalsampling.pool.catalog import Catalog
from evalsampling.preparation.reserve import split_reserve
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.history import History
from evalsampling.storage import is_url
from evalsampling.workspace.manifest import HERE, ExecutionContext
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace

FILE = "notebook.jsonl"
"""File name of deliveries whose labels were given in a notebook."""


def save(analysis: Analysis, pool: MemoryPool, path: str | Path) -> None:
    """Write an evaluation with its pool to an empty workspace: see `notebook.Evaluation.save`."""
    history = analysis.history
    where = str(path) if is_url(path) else str(Path(path).resolve())
    _write_pool(pool, _storable(pool.spec, where))
    workspace = Workspace(where)
    with workspace.in_use():
        snapshot = Snapshot.at(where)
        _check_beginning(history, snapshot)
        deliveries = history.taken[len(snapshot.deliveries) :]
        for number in range(len(history.rounds) + 1):
            if number > len(snapshot.rounds):
                _add_round(analysis.with_history(history.first(number)), snapshot)
                snapshot = snapshot.reread()
            for taken in deliveries:
                if taken.rounds == number:
                    store(FILE, snapshot, taken.codes, taken.replace)
                    snapshot = snapshot.reread()


def _storable(spec: EvaluationSpec, where: str) -> EvaluationSpec:
    """Return a spec as a workspace keeps it, which names no objects of this session."""
    if spec.labels.space.has_items:
        raise InputError("an evaluation of queries cannot be saved: a workspace has no rankings")
    mapping = spec.to_mapping()
    listed = [entry.get("name", entry) for entry in mapping["measure"]]
    others = spec.strata.method, spec.sink.format
    named = [*mapping["sampler"].values(), *listed, *others]
    own = [name for name in named if "__main__:" in str(name)]
    if own:
        raise InputError(
            f"the spec names {own[0]}, which no other program can import: put it into a module"
        )
    try:
        json.dumps(mapping, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the spec cannot be written: {error}; name functions and measures as module:object"
        ) from error
    pool = dataclasses.replace(spec.pool, directory=str(Path.cwd()))
    return dataclasses.replace(spec, pool=pool, workspace=where)


def _write_pool(pool: MemoryPool, spec: EvaluationSpec) -> None:
    """Write the pool to the workspace of a spec, which holds nothing else, unless it is there."""
    preparation = Preparation.from_spec(spec, ExecutionContext("this process"))
    workspace = preparation.workspace
    if not workspace.prepared:
        Gold.read(spec.labelling)
        started = time.time()
        with workspace.preparing(preparation.attempt):
            located = [preparation.write_reserve(*part) for part in split_reserve(pool.reserve)]
            preparation.commit(
                Catalog((), pa.schema([])), started, pool.stratification, pool.sums, pool.counts,
                located, pool.orders, capacity=pool.table.rows,
            )  # fmt: skip
    prepared = PreparedPool.read(workspace)
    preparation.check_same_spec(prepared)
    own, stored = pool.table, prepared.table
    if not (np.array_equal(stored.code, own.code) and np.array_equal(stored.count, own.count)):
        raise InputError(f"{workspace.path}: there is an evaluation of another pool")


def _check_beginning(history: History, snapshot: Snapshot) -> None:
    """Check that the rounds and labels of a workspace are the first of an evaluation."""
    stored, taken = snapshot.history, history.taken
    beginning = history.first(min(len(snapshot.rounds), len(history.rounds)))
    same = (
        len(snapshot.rounds) <= len(history.rounds)
        and np.array_equal(beginning.cell, stored.cell)
        and np.array_equal(beginning.rank, stored.rank)
        and len(snapshot.deliveries) <= len(taken)
        and all(
            of_codes(FILE, snapshot, given.codes, given.replace).sha256 == written.digest
            for given, written in zip(taken, snapshot.deliveries, strict=False)
        )
    )
    if not same:
        raise InputError(
            f"{snapshot.pool.workspace.path}: there are rounds or labels of another evaluation; "
            "Evaluation.open goes on with them"
        )


def _add_round(drawn: Analysis, snapshot: Snapshot) -> None:
    """Write the last round of an evaluation, which closes the open rounds before it."""
    workspace, still_open = snapshot.pool.workspace, list(snapshot.open_questions)
    wanted, first = drawn.history.rounds[-1].wanted, len(drawn.history.rounds) == 1
    has_answers = first and snapshot.pool.spec.labels.at_hand is not None
    request = Request(HERE, time.time(), size=wanted, next=bool(still_open))
    write_round(request, snapshot, drawn, has_answers)
    for number in still_open:
        workspace.close_round(number, "the next round was drawn in a notebook")
