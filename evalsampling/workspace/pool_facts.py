"""Plans, cells, key and chances of a workspace: all that Beam workers need of it."""

import dataclasses
import functools
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.counted import CountedPool, next_chances
from evalsampling.evaluation.round_rows import DRAWN_IN, ROUND, LabelJoin, RoundPicker
from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.labels.sinks import sink_of
from evalsampling.labels.tasks import TASK, keyed_hash
from evalsampling.pool.batch import PoolBatch, batches_of, halves
from evalsampling.pool.conditions import selected_rows
from evalsampling.pool.row_ids import as_text
from evalsampling.pool.stored_columns import PAYLOAD_PREFIX
from evalsampling.preparation.assignment import CellBatch, assign_cells
from evalsampling.spec import AnalysisPlan, LabellingPlan, where
from evalsampling.spec.id_columns import IdColumns, columns_of
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.stats.round_chances import RoundChances
from evalsampling.storage import read_file, replace_file
from evalsampling.storage.outputs import Output
from evalsampling.workspace.snapshot import Snapshot

_LaterRound = RoundChances | str | Path

Rounds = int | _LaterRound | Sequence[_LaterRound]
"""Rounds up to one: its number, if the workspace has it; else the chances, or the path of their
file, of the one after those of the workspace, or of several in order."""


@dataclasses.dataclass(frozen=True)
class PoolFacts:
    """Plans, cells, task key and chances of rounds of a workspace; no rows and no labels."""

    path: str
    pool: CountedPool
    plan: AnalysisPlan
    labelling: LabellingPlan
    key: bytes  # of the names of its tasks, which have a ``check`` character or not
    check: bool
    rounds: tuple[RoundChances, ...]  # chances of the rounds that stand, in order
    begin: FloatArray | None = None  # first permanent number of each cell in the next round
    # the rounds without labels, where the order of draws counts; else None
    drawn: History | None = None

    @classmethod
    def read(cls, workspace: "str | Path | PoolFacts") -> "PoolFacts":
        """Return the facts of a workspace as it stands."""
        return workspace if isinstance(workspace, PoolFacts) else cls.of(Snapshot.at(workspace))

    @classmethod
    def of(cls, snapshot: Snapshot) -> "PoolFacts":
        """Return the facts of a snapshot; see `read`."""
        _check_counted(snapshot)
        pool = snapshot.pool
        *begins, begin = _beginnings(snapshot)
        no_label = np.full(len(snapshot.history), NO_LABEL)
        drawn = dataclasses.replace(snapshot.history, label=no_label, corrected={}, taken=())
        chances = functools.partial(_chances, pool.table, _identity(pool.task_key))
        rounds = tuple(map(chances, snapshot.history.rounds, begins))
        return cls(
            str(pool.workspace.path),
            CountedPool(pool.stratification, pool.table, pool.slices, pool.clusters),
            pool.spec.analysis,
            pool.spec.labelling,
            pool.task_key,
            sink_of(pool.spec.labelling).checks_tasks,
            rounds,
            begin,
            drawn if snapshot.analysis.sampler.keeps_order else None,
        )

    @functools.cached_property
    def analysis(self) -> Analysis:
        """The analysis of the pool before its first round."""
        return Analysis.of_pool(self.pool, self.plan)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that are read of rows, and those of the pool's condition."""
        reading = self.plan.reading
        return (*reading.all_columns, *where.columns_of(reading.pool.condition))

    @property
    def label_join(self) -> LabelJoin:
        """How answers are joined to rows."""
        plans, pool = (self.plan.reading, self.labelling), self.pool
        return LabelJoin(*plans, pool.table.classes, pool.slices, self.key, self.check)

    @property
    def identity(self) -> str:
        """A hash of the task key: it identifies the workspace wherever it lies."""
        return _identity(self.key)

    def check_own(self, what: str, *workspaces: str | None) -> None:
        """Check that cells, counts or chances from elsewhere were made for this workspace."""
        if {*workspaces} - {self.identity}:
            raise InputError(f"{self.path}: {what} are of another workspace")

    def picker(self, rounds: tuple[RoundChances, ...]) -> RoundPicker:
        """Return the picker of rows of the last of the given rounds."""
        return RoundPicker(self.plan.reading, self.labelling, self.key, rounds, self.check)

    def check_draws_by_row(self) -> None:
        """Check that rows of a round can be picked one by one."""
        sampler = self.analysis.sampler
        if not sampler.by_row:
            raise InputError(
                f"{self.path}: sampler {sampler.name} does not draw row by row; take calibrated, "
                "or poisson, or draw its rounds by the command sample"
            )

    def check_same_rows(self, pool: CountedPool) -> None:
        """Check that a pool has as many rows in each cell as the workspace's pool.

        Of those of its slices, where they were counted, too.
        """
        own, table = self.pool.table, pool.table
        if not (np.array_equal(own.code, table.code) and np.array_equal(own.count, table.count)):
            raise InputError(
                f"{self.path}: the command sample drew rounds here, from a pool of {own.rows} "
                f"rows; the rows that are given are others ({table.rows}), and new ones had no "
                "chance in these rounds. Draw all rounds by transforms, in a workspace where "
                "sample drew none"
            )
        before = dict(zip(self.pool.slices.names, self.pool.slices.counts, strict=True))
        for name, counts in zip(pool.slices.names, pool.slices.counts, strict=True):
            if not np.array_equal(before[name], counts):
                raise InputError(
                    f"{self.path}: the command sample drew rounds here, and the rows that are "
                    f"given have other values of {name} than when it was prepared"
                )

    def rounds_until(self, round: Rounds) -> tuple[RoundChances, ...]:
        """Return the chances of the rounds up to the given round, which may be the next one."""
        self.check_draws_by_row()
        if not isinstance(round, int):
            later: Any = round if isinstance(round, list | tuple) else [round]
            known = [
                each if isinstance(each, RoundChances) else read_chances(each) for each in later
            ]
            self.check_own("chances of a round", *(chances.workspace for chances in known))
            return (*self.rounds, *known)
        if not 1 <= round <= len(self.rounds):
            raise InputError(
                f"{self.path}: round {round} was not drawn, there are {len(self.rounds)}; give the "
                "chances of the next one, or draw it by the command sample"
            )
        return self.rounds[:round]

    def begin_after(self, rounds: Sequence[RoundChances], code: IntArray) -> FloatArray | None:
        """Return where the numbers of cells begin in the round after some: `RoundChances.begin`."""
        after = len(rounds)
        if after < len(self.rounds):
            return self.rounds[after].beginnings(code)
        if after > len(self.rounds) or self.begin is None:
            return None
        return RoundChances(self.pool.table.code, self.begin, 0.0).of_cells(code)


def _check_counted(snapshot: Snapshot) -> None:
    """Check that rows and labels of a workspace can be counted in a pipeline."""
    path, labels = snapshot.pool.workspace.path, snapshot.pool.spec.labels
    for is_so, problem in (
        (labels.space.tagged, "its rows have any number of many labels"),
        (labels.oracle == "stochastic", "its oracle is stochastic"),
        (labels.at_hand is not None, "some of its rows had labels before"),
    ):
        if is_so:
            raise InputError(f"{path}: {problem}, which takes the commands, not transforms")


def _identity(key: bytes) -> str:
    return keyed_hash("workspace", key)


def _chances(
    table: CellTable, workspace: str, past: Round, begin: FloatArray | None
) -> RoundChances:
    """Return the chances of a round that was drawn."""
    chance = past.cell_probability
    assert chance is not None
    chances = RoundChances.of_pool(
        table.code, table.count, chance, past.wanted, past.posterior, begin
    )
    return dataclasses.replace(chances, workspace=workspace, together=past.together)


def _beginnings(snapshot: Snapshot) -> list[FloatArray | None]:
    """Return `RoundChances.begin` of each round of a workspace, and of the next round."""
    sampler, history = snapshot.analysis.sampler, snapshot.history
    rounds, cells = len(history.rounds), len(snapshot.pool.table)
    if not rounds or "numbers" in sampler.takes or not sampler.by_row:
        return [None] * (rounds + 1)
    numbers = snapshot.pool.numbers()
    drawn = [history.first(place).drawn_by_cell(cells) for place in range(1, rounds + 1)]
    return [None, *map(numbers.after, drawn)]


def design_round(workspace: str | Path, size: int | None = None) -> RoundChances:
    """Return the chances of the next round of a workspace, whose rows a pipeline is to pick.

    Nothing is written: keep them with `write_chances`, since other labels give others.
    """
    snapshot = Snapshot.at(workspace)
    facts, analysis = PoolFacts.of(snapshot), snapshot.analysis
    facts.check_draws_by_row()
    left = snapshot.pool.spec.budget.labels - analysis.spent(snapshot.answers)
    if left < 1:
        raise InputError(f"{facts.path}: the budget is spent")
    wanted = snapshot.next_round_size if size is None else size
    chances = next_chances(analysis, wanted, left, facts.begin)
    return dataclasses.replace(chances, workspace=facts.identity)


def drawn_rows(workspace: str | Path) -> pa.Table:
    """Return the rows of all rounds of a workspace, as `RoundPicker.pick` returns rows.

    Without their payload; rounds that were withdrawn are left out.
    """
    snapshot = Snapshot.at(workspace)
    _check_counted(snapshot)
    history, begin, tables = snapshot.history, 0, []
    drawn_in = history.drawn_in
    if snapshot.analysis.sampler.keeps_order:
        drawn_in = np.arange(len(history), dtype=np.float64)[:, None]
    for place, files in enumerate(snapshot.standing):
        asked = files.asked
        kept = [name for name in asked.column_names if not name.startswith(PAYLOAD_PREFIX)]
        rows = asked.select([name for name in kept if name != ROUND])
        rows = rows.append_column(ROUND, pa.array(np.full(len(rows), place + 1)))
        rows = rows.append_column(TASK, pa.array(files.new_tasks(snapshot.pool), pa.string()))
        if drawn_in.shape[1]:
            own = drawn_in[begin : begin + len(rows)].tolist()
            rows = rows.append_column(DRAWN_IN, pa.array(own, pa.list_(pa.float64())))
        begin += len(rows)
        tables.append(rows)
    if not tables:
        raise InputError(f"{workspace}: no round was drawn")
    return pa.concat_tables(tables)


def write_chances(chances: RoundChances, path: str | Path) -> None:
    """Write the chances of a round as JSON, unless a file is there that holds anything else."""
    content = (json.dumps(chances.to_mapping(), allow_nan=False) + "\n").encode()
    if not Output(str(path), content).is_free():
        raise InputError(f"{path}: is there, and holds other chances or none; write another file")
    replace_file(str(path), content)


def read_chances(path: str | Path) -> RoundChances:
    """Return the chances that `write_chances` wrote."""
    try:
        content = json.loads(read_file(str(path)))
        if not isinstance(content, Mapping):
            raise ValueError("it holds no object")
        return RoundChances.from_mapping(dict(content))
    except (KeyError, TypeError, ValueError) as error:
        problem = f"no chances of a round: {type(error).__name__}: {error}"
        raise InputError(f"{path}: {problem}") from error


def cells_of(batch: PoolBatch, facts: PoolFacts) -> CellBatch:
    """Return the rows of a batch that are of the pool, with their cells in a workspace."""
    cells = assign_cells(selected_rows(batch, facts.plan.reading.pool), facts.pool.stratification)
    return dataclasses.replace(cells, workspace=facts.identity)


def cells_and_rejects(
    facts: PoolFacts, rows: Sequence[Any]
) -> tuple[list[CellBatch], list[dict[str, Any]]]:
    """Return rows with their cells, and the id and the reason of each row that cannot be read."""
    pool = facts.plan.reading.pool
    try:
        found = [cells_of(batch, facts) for batch in batches_of(rows, facts.columns, "")]
        for cells in found:
            for name in pool.payload:  # It is read of the rows that are drawn.
                cells.batch.payload(name, np.arange(len(cells)))
    except InputError as error:
        parts = halves(rows)
        if not parts:
            return [], [_reject(rows[0], str(error), pool.id)]
        (first, bad), (second, worse) = (cells_and_rejects(facts, part) for part in parts)
        return first + second, bad + worse
    return found, []


def _reject(row: Any, reason: str, columns: IdColumns) -> dict[str, Any]:
    """Return the id of one row, as far as it can be read, and why it has no cell."""
    own = DeliveredIds(columns)
    try:
        (batch,) = batches_of([row], columns_of(columns), "")
        id: str | None = as_text(batch.ids(columns)[0].as_py(), columns)
    except InputError:  # The reason says what is wrong with it.
        id = None
    return {**own.values(id), "reason": re.sub(",? (in )?row 0", "", reason, count=1)}
