"""Rows to tasks in pipelines of others: cells, the rows of a round, files for annotators."""

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam import pvalue

from evalsampling.errors import InputError
from evalsampling.evaluation.round_rows import task_files
from evalsampling.pool.batch import PoolBatch, batches_of
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.stages import Step
from evalsampling.stats.round_chances import RoundChances
from evalsampling.storage import is_url, open_store, replace_file
from evalsampling.transforms.gathering import Gather, check_together
from evalsampling.transforms.stages import map_batches
from evalsampling.workspace.pool_facts import PoolFacts, Rounds, cells_and_rejects, cells_of

TASKS = "tasks"
"""Name of the files of tasks, or of their folder."""


class AssignCells(beam.PTransform):
    """Rows of any PCollection to PCollection[CellBatch], each row with its cell.

    Rows are mappings, named tuples, dataclasses or rows of Beam; or batches of Arrow columns, in
    which they are faster by far. They have the columns that the workspace's spec names.

    A row that cannot be read, as one whose score is NaN, ends the job. With ``rejects`` it does
    not: the outputs are then a dict, ``cells`` and ``rejects``, a PCollection of dicts, each with
    the id of a row, None if that cannot be read, and the reason.
    """

    def __init__(self, workspace: str | Path | PoolFacts, rejects: bool = False) -> None:
        """Choose the workspace, by whose strata rows are cut; it is read while the job is built.

        Args:
            workspace: whose strata are used.
            rejects: whether rows that cannot be read are an output; a stream needs it.

        Raises:
            InputError: if it is not prepared, or is of a kind that takes the commands.
        """
        super().__init__()
        self._facts, self._rejects = PoolFacts.read(workspace), rejects

    def expand(self, rows: beam.PCollection[Any]) -> Any:
        source = f"rows of {rows.producer.full_label}"
        if self._rejects:
            find = beam.ParDo(Gather(_whole, functools.partial(_found, self._facts)))
            found = rows | "FindCells" >> find.with_outputs("rejects", main="cells")
            return {"cells": found.cells, "rejects": found.rejects}
        if not rows.is_bounded:
            raise InputError(
                f"{source}: a row that cannot be read would end a stream; give AssignCells "
                "rejects=True, and take its output cells"
            )
        made = functools.partial(_batches, self._facts.columns, source)
        to_batches = beam.ParDo(Gather(_whole, made)).with_output_types(PoolBatch)
        step = Step("FindCells", cells_of, (self._facts,), CellBatch)
        return rows | "ToBatches" >> to_batches | "FindCells" >> map_batches(step)


def _whole(row: Any) -> Iterator[tuple[None, Any]]:
    yield None, row


def _batches(
    columns: Sequence[str], source: str, key: None, rows: Sequence[Any]
) -> Iterator[PoolBatch]:
    return batches_of(rows, columns, source)


def _found(facts: PoolFacts, key: None, rows: Sequence[Any]) -> Iterator[Any]:
    """Yield rows with their cells, and the reject of each row that has none."""
    found, rejects = cells_and_rejects(facts, rows)
    yield from found
    for reject in rejects:
        yield pvalue.TaggedOutput("rejects", reject)


class SampleRound(beam.PTransform):
    """Picks the rows of a round: PCollection[CellBatch] to ``rows`` and ``tasks``.

    Each row is in the round by its permanent random number and the chance of its cell, whatever
    other rows there are: no reserve is needed, and rows that came after `prepare` have a chance as
    well. The number of rows varies about the one wanted, as in Poisson sampling.

    The outputs are a dict: ``rows``, a PCollection[pa.Table] that `JoinLabels` takes, with scores;
    and ``tasks``, a PCollection of dicts, which annotators get. A row is picked as soon as it
    comes, so rows may be a stream, in any windows.
    """

    def __init__(self, workspace: str | Path | PoolFacts, round: Rounds) -> None:
        """Choose the round.

        Args:
            workspace: whose strata, sampler and rounds are used.
            round: number of a round that was drawn; or the chances of the next one
                (`workspace.design_round`), or the path of their file; or a list of these, of all
                rounds that are not in the workspace.

        Raises:
            InputError: if there is no such round, or its sampler does not draw row by row.
        """
        super().__init__()
        self._facts = PoolFacts.read(workspace)
        self._rounds = self._facts.rounds_until(round)

    def expand(self, cells: beam.PCollection[CellBatch]) -> Any:
        pick = beam.ParDo(_Pick(self._facts, self._rounds))
        picked = cells | "PickRows" >> pick.with_outputs("tasks", main="rows")
        return {"rows": picked.rows, "tasks": picked.tasks}


class _Pick(beam.DoFn):
    def __init__(self, facts: PoolFacts, rounds: tuple[RoundChances, ...]) -> None:
        self._facts, self._picker = facts, facts.picker(rounds)

    def process(self, cells: CellBatch) -> Iterator[Any]:
        self._facts.check_own("rows with their cells", cells.workspace)
        rows = self._picker.pick(cells)
        if len(rows):
            yield rows
            for task in self._picker.tasks(rows).to_pylist():
                yield pvalue.TaggedOutput("tasks", task)


class WriteTasks(beam.PTransform):
    """Writes tasks for annotators: PCollection of dicts to PCollection[str], paths of files.

    The format is that of the spec's sink. In a stream the file is written again, whole, when more
    tasks come.
    """

    def __init__(
        self, workspace: str | Path | PoolFacts, folder: str | Path, overwrite: bool = False
    ) -> None:
        """Choose the workspace, and the folder, of this machine or of a store.

        Raises:
            InputError: if the folder has tasks already, unless ``overwrite`` says to replace them:
                annotators may have written into these files.
        """
        super().__init__()
        self._facts, self._folder = PoolFacts.read(workspace), str(folder)
        there = [] if overwrite else sorted(open_store(self._folder).sizes(TASKS))
        if there:
            raise InputError(
                f"{self._folder}/{there[0]}: is there; write tasks to another folder, or replace "
                "them by overwrite=True"
            )

    def expand(self, tasks: beam.PCollection[Mapping[str, Any]]) -> beam.PCollection[str]:
        check_together(tasks, "tasks")
        return (
            tasks
            | "Together" >> beam.WithKeys(None)
            | "GroupTasks" >> beam.GroupByKey()
            | "WriteFiles" >> beam.FlatMap(write_files, self._facts, self._folder)
        )


def write_files(
    group: tuple[None, Iterable[Mapping[str, Any]]], facts: PoolFacts, folder: str
) -> Iterator[str]:
    """Yield the paths of the files written of tasks; see `WriteTasks`."""
    tasks = list(group[1])
    if not tasks:  # Some runners fire once more with nothing new.
        return
    files = task_files(facts.labelling, tasks, TASKS)
    for path, content in files.items():
        if not is_url(folder):
            Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
        replace_file(f"{folder}/{path}", content)
        yield f"{folder}/{path}"
