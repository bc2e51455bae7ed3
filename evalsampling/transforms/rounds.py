"""Rows to tasks in pipelines of others: cells, the rows of a round, files for annotators.

In windows each is a pool of its own, with its own rows, budget and estimate.
"""

import functools
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam import pvalue
from apache_beam.transforms.trigger import AccumulationMode, DefaultTrigger

from evalsampling.errors import InputError
from evalsampling.evaluation.round_rows import RoundPicker
from evalsampling.evaluation.task_files import task_files
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import required_columns
from evalsampling.pool.row_batches import batches_of
from evalsampling.preparation import plan
from evalsampling.preparation.assignment import CellBatch
from evalsampling.spec.sections import is_number
from evalsampling.stats.cells import CellSums
from evalsampling.stats.latest import Latest
from evalsampling.stats.round_chances import RoundChances
from evalsampling.storage import is_url, replace_file
from evalsampling.transforms.metering import Meter
from evalsampling.transforms.passes import SumCells
from evalsampling.transforms.shares import Gather
from evalsampling.transforms.stages import SumFn, map_batches
from evalsampling.transforms.windows import (
    DropNothing,
    InNextWindow,
    bounds_of,
    check_accumulates,
    is_fixed,
    start_of,
)
from evalsampling.workspace.pool_facts import PoolFacts, Rounds

_BEFORE = "before"


class AssignCells(beam.PTransform):
    """Rows of any PCollection to PCollection[CellBatch], each row with its cell.

    Rows are mappings, named tuples or rows of Beam, one by one; or batches of Arrow columns, in
    which they are faster by far. They have the columns that the workspace's spec names.
    """

    def __init__(self, workspace: str | Path | PoolFacts) -> None:
        """Choose the workspace, by whose strata rows are cut; it is read while the job is built.

        Raises:
            InputError: if it is not prepared, or is of a kind that takes the commands.
        """
        super().__init__()
        self._facts = PoolFacts.read(workspace)

    def expand(self, rows: beam.PCollection[Any]) -> beam.PCollection[CellBatch]:
        pool, source = self._facts.pool, f"rows of {rows.producer.full_label}"
        made = functools.partial(_batches, required_columns(pool.spec), source)
        to_batches = beam.ParDo(Gather(_whole, made)).with_output_types(PoolBatch)
        find = map_batches(plan.assign(pool.spec, pool.stratification))
        return rows | "ToBatches" >> to_batches | "FindCells" >> find


def _whole(row: Any) -> Iterator[tuple[None, Any]]:
    yield None, row


def _batches(
    columns: Sequence[str], source: str, key: None, rows: Sequence[Any]
) -> Iterator[PoolBatch]:
    return batches_of(rows, columns, source)


class SampleRound(beam.PTransform):
    """Picks the rows of a round: PCollection[CellBatch] to ``rows``, ``tasks`` and ``chances``.

    Each row is in the round by its permanent random number and the chance of its cell, whatever
    other rows there are: no reserve is needed, and rows that came after `prepare` have a chance as
    well. The number of rows varies about the one wanted, as in Poisson sampling.

    The outputs are a dict: ``rows``, a PCollection[pa.Table] that `JoinLabels` takes, with scores;
    ``tasks``, a PCollection of dicts, which annotators get; and ``chances``, a PCollection of the
    `RoundChances` by which rows were picked, one a window with rows, empty without a budget.

    With a budget a window's rows are picked when it ends, since its chances are by all rows of the
    window before; runners hold them until then.
    """

    def __init__(
        self, workspace: str | Path | PoolFacts, round: Rounds, budget: float | None = None
    ) -> None:
        """Choose the round.

        Args:
            workspace: whose strata, sampler and rounds are used.
            round: number of a round that was drawn; or the chances of the next one
                (`workspace.design_round`), or the path of their file; or a list of these, of all
                rounds that are not in the workspace.
            budget: rows expected of a fixed window, above 0, for streams. Chances keep their
                proportions: those of a window give that many rows in a pool as large as the window
                before, of the first one in a pool as large as the workspace's.

        Raises:
            InputError: if there is no such round, or its sampler does not draw row by row.
        """
        super().__init__()
        self._facts = PoolFacts.read(workspace)
        self._rounds = self._facts.rounds_until(round)
        self._budget = budget
        check_budget(budget)

    def expand(self, cells: beam.PCollection[CellBatch]) -> Any:
        check_windows(cells, self._budget)
        facts, rounds, budget = self._facts, self._rounds, self._budget
        if budget is None:
            pick = beam.ParDo(_Pick(facts, rounds, None))
            chances = cells.pipeline | "NoChances" >> beam.Create([])
        else:
            before = cells | "CountBefore" >> CountBefore()
            chances = before | "ScaleChances" >> beam.Map(_scaled, facts, rounds[-1], budget)
            pick = beam.ParDo(_Pick(facts, rounds, budget), pvalue.AsList(before))
        picked = cells | "PickRows" >> pick.with_outputs("tasks", main="rows")
        return {"rows": picked.rows, "tasks": picked.tasks, "chances": chances}


def check_budget(budget: float | None) -> None:
    """Check the rows expected of a window, if they are given.

    Raises:
        InputError: if they are no finite number above 0.
    """
    if budget is not None and not (is_number(budget) and budget > 0):
        raise InputError(f"the budget of a window must be a number above 0, got {budget!r}")


def check_windows(elements: beam.PCollection[Any], budget: float | None) -> None:
    """Check that elements are in windows where a budget is that of a window.

    Raises:
        InputError: if they are not.
    """
    if budget is not None and not is_fixed(elements):
        raise InputError("a budget is that of a window: put the rows into FixedWindows first")


class CountBefore(beam.PTransform):
    """PCollection[CellBatch] to the sums over cells of the fixed window before, in each window.

    A `Latest` for each window with rows, empty if the window before has none: runners may hold
    rows back until a side input has something for their window. Only rows that come in time count,
    so the sums stay as they are.
    """

    def expand(self, cells: beam.PCollection[CellBatch]) -> beam.PCollection[Latest]:
        windowing = cells.windowing
        once = functools.partial(beam.WindowInto, windowing.windowfn, trigger=DefaultTrigger())
        in_time = once(accumulation_mode=AccumulationMode.DISCARDING, allowed_lateness=0)
        for_all = once(
            accumulation_mode=AccumulationMode.ACCUMULATING,
            allowed_lateness=windowing.allowed_lateness,
        )
        sums = cells | "InTime" >> in_time | SumCells() | DropNothing() | InNextWindow()
        parts = (sums | "NameSums" >> beam.Map(_named), cells | "HasRows" >> beam.Map(_nothing))
        windowed = [part | f"ForAll{place}" >> for_all for place, part in enumerate(parts)]
        latest = windowed | beam.Flatten() | beam.CombineGlobally(SumFn()).without_defaults()
        return latest | "DropEmpty" >> DropNothing()


def _named(sums: CellSums) -> Latest:
    return Latest.of((_BEFORE, 0), 1, sums)


def _nothing(cells: CellBatch) -> Latest:
    return Latest({})


class _Pick(beam.DoFn):
    def __init__(
        self, facts: PoolFacts, rounds: tuple[RoundChances, ...], budget: float | None
    ) -> None:
        self._facts, self._rounds, self._budget = facts, rounds, budget
        self._pickers: dict[Any, RoundPicker] = {}
        self._meter = Meter()

    def start_bundle(self) -> None:
        self._pickers = {}

    def process(
        self, cells: CellBatch, before: Sequence[Latest] = (), of: Any = beam.DoFn.WindowParam
    ) -> Iterator[Any]:
        if of not in self._pickers:
            self._pickers[of] = self._picker(before, of)
        picker = self._pickers[of]
        with self._meter.work(len(cells)):
            rows = picker.pick(cells)
        if len(rows):
            yield rows
            for task in picker.tasks(rows).to_pylist():
                yield pvalue.TaggedOutput("tasks", task)

    def _picker(self, before: Sequence[Latest], of: Any) -> RoundPicker:
        if self._budget is None:
            return self._facts.picker(self._rounds, len(self._rounds))
        states = functools.reduce(operator.add, before)
        chances = _scaled(states, self._facts, self._rounds[-1], self._budget)
        return self._facts.picker((chances,), start_of(of) or 0)


def _scaled(before: Latest, facts: PoolFacts, chances: RoundChances, budget: float) -> RoundChances:
    """Return the chances of a window, by the sums of the one before, if it has rows."""
    sums = before.named(_BEFORE)
    return facts.scaled(chances, budget, sums[0] if sums else None)


class WriteTasks(beam.PTransform):
    """Writes tasks for annotators: PCollection of dicts to PCollection[str], paths of files.

    The format is that of the spec's sink. A window has a file of its own, which is written again,
    whole, when more of its tasks come late.
    """

    def __init__(self, workspace: str | Path | PoolFacts, folder: str | Path) -> None:
        """Choose the workspace, and the folder, of this machine or of a store."""
        super().__init__()
        self._facts, self._folder = PoolFacts.read(workspace), str(folder)

    def expand(self, tasks: beam.PCollection[Mapping[str, Any]]) -> beam.PCollection[str]:
        check_accumulates(tasks, "tasks")
        return (
            tasks
            | "Together" >> beam.WithKeys(None)
            | "GroupTasks" >> beam.GroupByKey()
            | "WriteFiles" >> beam.FlatMap(write_files, self._facts, self._folder)
        )


def write_files(
    group: tuple[None, Iterable[Mapping[str, Any]]],
    facts: PoolFacts,
    folder: str,
    of: Any = beam.DoFn.WindowParam,
) -> Iterator[str]:
    """Yield the paths of the files written of the tasks of a window; see `WriteTasks`."""
    tasks = list(group[1])
    if not tasks:  # Some runners fire a window once more with nothing new.
        return
    start = start_of(of)
    name = "tasks" if start is None else f"tasks-{bounds_of(of)['window_start']}".replace(":", "")
    files = task_files(facts.pool.spec, tasks, name)
    for path, content in files.items():
        if not is_url(folder):
            Path(folder, path).parent.mkdir(parents=True, exist_ok=True)
        replace_file(f"{folder}/{path}", content)
        yield f"{folder}/{path}"
