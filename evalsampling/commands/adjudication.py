"""Batches of the rows that annotators did not agree on, for somebody to settle."""

import dataclasses

from evalsampling.commands.control_tasks import rows_of
from evalsampling.labels.sinks import sink_of, task_file, write_tasks
from evalsampling.labels.tally import State
from evalsampling.labels.tasks import (
    ADJUDICATION,
    LINKED,
    QUESTION,
    TASK,
    blind,
    make_batch,
    mask_key,
    opaque_name,
)
from evalsampling.storage import write_parquet
from evalsampling.workspace.manifest import ExecutionContext
from evalsampling.workspace.rounds import Adjudication
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import adjudication_folder


def adjudicate(
    snapshot: Snapshot, context: ExecutionContext, started: float
) -> Adjudication | None:
    """Return the batch of disputed rows that is open, else a new one; None without disputes."""
    disputed = [q for q, state in enumerate(snapshot.states) if state is State.DISPUTED]
    for batch in reversed(snapshot.adjudications):
        if _is_open(snapshot, batch, disputed):
            return batch
    if not disputed:
        return None
    return _write(snapshot, disputed, context, started)


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


def _write(
    snapshot: Snapshot, disputed: list[int], context: ExecutionContext, started: float
) -> Adjudication:
    pool, number = snapshot.pool, len(snapshot.adjudications) + 1
    rows = rows_of(snapshot, disputed)
    key, check = pool.task_key, sink_of(pool.spec).checks_tasks
    names = [opaque_name(key, ADJUDICATION, number, each, check=check) for each in disputed]
    tasks = make_batch(names, rows, pool.spec, mask_key(key, -number), ADJUDICATION, (QUESTION,))
    design = {"number": number, "exported": task_file(pool.spec, disputed=True)}
    manifest = context.manifest(
        f"adjudicate-{number:04d}",
        pool.spec,
        pool.marker["pool"],
        started=started,
        options={},
        counts={"rows": len(tasks)},
    )
    folder = adjudication_folder(number)
    with pool.workspace.new_batch(folder, design, manifest) as files:
        path = files.path(str(design["exported"]))
        one_answer = dataclasses.replace(
            pool.spec, labels=dataclasses.replace(pool.spec.labels, votes=1)
        )
        write_tasks(blind(tasks), path, one_answer, pool.batch_name(-number))
        write_parquet(tasks, files.path(LINKED), "snappy")
    exported = pool.workspace.store.url(files.place(str(design["exported"])))
    return Adjudication(number, tasks, exported, files.folder)
