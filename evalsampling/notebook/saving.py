"""An evaluation of a pool in memory as a workspace: its pool, then its rounds and labels in turn.

Every step is one that a command takes, and each is whole or not at all. So a `save` that was
killed is run again, and one after a further round adds that round.
"""

import dataclasses
import hashlib
import json
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

from evalsampling.commands.deliveries import take
from evalsampling.commands.prepare import Preparation
from evalsampling.commands.sample import Request, SampleOptions, write_round
from evalsampling.errors import InputError
from evalsampling.evaluation.evaluation import Evaluation
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.labels.delivery import LabelFile
from evalsampling.labels.formats import read_votes
from evalsampling.pool.catalog import Catalog
from evalsampling.preparation.reserve import split_reserve
from evalsampling.samplers.build import build_sampler
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.numbers import text_of
from evalsampling.stats.history import NO_LABEL
from evalsampling.storage import is_url
from evalsampling.workspace.manifest import HERE, ExecutionContext
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot

_FILE = "notebook.jsonl"
"""What deliveries are called that were no files."""


def save(evaluation: Evaluation, pool: MemoryPool, path: str | Path) -> None:
    """Write an evaluation to a workspace: see `notebook.Evaluation.save`.

    Args:
        evaluation: to write.
        pool: its pool.
        path: of the workspace.

    Raises:
        InputError: if something else is there, or the spec cannot be written or wants several votes
            a row, or labels were taken away, which no delivery can do; nothing is written then.
    """
    if evaluation.history.taken and pool.spec.labels.votes > 1:
        raise InputError(
            f"labels.votes: a row is to have {pool.spec.labels.votes} votes of annotators, and "
            "labels of a notebook are no votes; save it before the first label, and deliver votes"
        )
    if any(NO_LABEL in one.codes.values() for one in evaluation.history.taken):
        raise InputError("labels were taken away from the history: a workspace only adds to them")
    if build_sampler(pool.spec, pool.stratification.ranges) != evaluation.sampler:
        raise InputError(
            "the sampler was set after the evaluation was made: a workspace would go on with "
            f"{pool.spec.sampler.name}; give it as sampler= where the evaluation is made"
        )
    where = str(path) if is_url(path) else str(Path(path).resolve())
    prepared = _prepare(pool, _storable(pool.spec, where))
    with prepared.workspace.in_use():
        snapshot = Snapshot.read(prepared)
        _check_beginning(evaluation, snapshot)
        there = len(snapshot.deliveries)
        for number in range(len(evaluation.history.rounds) + 1):
            if number > len(snapshot.rounds):
                snapshot = _add_round(evaluation, number, snapshot)
            for place, one in enumerate(evaluation.history.taken):
                if one.rounds == number and place >= there:
                    take([delivery(snapshot, one.codes, one.replace)], snapshot, strict=True)
                    snapshot = snapshot.reread()


def _storable(spec: EvaluationSpec, where: str) -> EvaluationSpec:
    """Return a spec as a workspace keeps it.

    Raises:
        InputError: if it names objects of this session, or its rows are queries.
    """
    if spec.pool.lists is not None:
        raise InputError(
            "an evaluation of queries cannot be saved: prepare their files, whose tasks are items"
        )
    mapping = spec.to_mapping()
    listed = [one.get("name", one) for one in mapping["measure"]]
    others = spec.strata.method, spec.sink.format, spec.labels.rule
    named = [mapping["sampler"]["name"], *listed, *others]
    own = [one for one in named if "__main__:" in str(one)]
    if own:
        raise InputError(
            f"the spec names {own[0]}, which no other program can import: put the class "
            "into a module"
        )
    try:
        json.dumps(mapping, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the spec cannot be written: {error}; name functions and measures as module:object"
        ) from error
    pool = dataclasses.replace(spec.pool, directory=str(Path.cwd()))
    return dataclasses.replace(spec, pool=pool, workspace=where)


def _prepare(pool: MemoryPool, spec: EvaluationSpec) -> PreparedPool:
    """Write the pool, unless that was done, and return it as it is stored.

    Raises:
        InputError: if there is anything else.
    """
    preparation = Preparation.from_spec(spec, ExecutionContext("this process"))
    workspace = preparation.workspace
    if not workspace.prepared:
        preparation.check_labels()
        started = time.time()
        with workspace.preparing(preparation.attempt):
            workspace.store.make()
            located = [preparation.write_reserve(*part) for part in split_reserve(pool.reserve)]
            preparation.commit(
                Catalog((), pa.schema([])), started, pool.stratification, pool.sums, pool.counts,
                located, capacity=pool.table.rows,
            )  # fmt: skip
    preparation.check_same_spec()
    prepared = PreparedPool.read(workspace)
    same = np.array_equal(prepared.table.code, pool.table.code) and np.array_equal(
        prepared.table.count, pool.table.count
    )
    if not same:
        raise InputError(f"{workspace.path}: there is an evaluation of another pool")
    return prepared


def _check_beginning(evaluation: Evaluation, snapshot: Snapshot) -> None:
    """Check that what a workspace holds is what an evaluation began with.

    Raises:
        InputError: if it is not.
    """
    history, there = evaluation.history, snapshot.history
    known, taken = history.first(min(len(snapshot.rounds), len(history.rounds))), history.taken
    same = (
        len(snapshot.rounds) <= len(history.rounds)
        and np.array_equal(known.cell, there.cell)
        and np.array_equal(known.rank, there.rank)
        and len(snapshot.deliveries) <= len(taken)
        and all(
            delivery(snapshot, one.codes, one.replace).sha256 == stored.digest
            for one, stored in zip(taken, snapshot.deliveries, strict=False)
        )
    )
    if not same:
        raise InputError(
            f"{snapshot.pool.workspace.path}: there are rounds or labels of another evaluation; "
            "Evaluation.open goes on with them"
        )


def _add_round(evaluation: Evaluation, number: int, snapshot: Snapshot) -> Snapshot:
    """Write a round of an evaluation, whose open rounds it closes; return what is there then."""
    then = dataclasses.replace(evaluation, history=evaluation.history.first(number))
    drawn, still_open = then.history.rounds[-1], list(snapshot.open_questions)
    options = SampleOptions(snapshot.pool.workspace.path, size=drawn.wanted, next=bool(still_open))
    new = np.arange(len(then.history) - int(drawn.new.sum()), len(then.history))
    write_round(Request(options, None, HERE, time.time()), snapshot, then, new)
    for one in still_open:
        snapshot.pool.workspace.close_round(one, "the next round was drawn in a notebook")
    return snapshot.reread()


def delivery(snapshot: Snapshot, labels: Mapping[int, int], replace: bool) -> LabelFile:
    """Return labels as a delivery to a workspace.

    Args:
        snapshot: of the workspace, with the rounds of the questions.
        labels: class code of each question that is answered.
        replace: whether they take the place of others.
    """
    codes = snapshot.pool.spec.labels.codes
    lines = [
        json.dumps({"task": snapshot.tasks[question], "label": text_of(codes, code)}) + "\n"
        for question, code in labels.items()
    ]
    content = "".join(lines).encode()
    digest = hashlib.sha256(content).hexdigest()
    return LabelFile(_FILE, replace, len(content), digest, read_votes(_FILE, content))
