"""Rows of a round, picked from any rows of a pool, and their labels joined to them.

Picking looks at one row at a time: its cell and its permanent random number. Joining looks at the
rows and answers of a share of the tasks. So both can be done by any number of workers, and neither
needs the reserve of a workspace. Which share a task is in follows from its name, a hash, so shares
are alike in size however the pool is cut, and whichever labels are frequent.
"""

import collections
import dataclasses
import pickle
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.labels.register import Register
from evalsampling.labels.sinks import task_file, write_tasks
from evalsampling.labels.tasks import ID, TASK, blind, make_batch, mask_key, task_name
from evalsampling.labels.vote import Vote, field_text, in_unicode, vote_of
from evalsampling.labels.votes import Reject, check_votes
from evalsampling.pool.batch import batches_of, mapping_of
from evalsampling.pool.columns import hash_ids
from evalsampling.pool.row_ids import as_text
from evalsampling.pool.stored_columns import CELL, PAYLOAD_PREFIX, SLICE_PREFIX, outputs_of_columns
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.slices import Slices
from evalsampling.spec import LabellingPlan, ReadingPlan
from evalsampling.spec.id_columns import IdColumns
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.labelled_counts import LabelledCounts
from evalsampling.stats.permanent import permanent_numbers
from evalsampling.stats.round_chances import RoundChances, taken_by_last

ROUND, CHANCE, DRAWN_IN = "round", "chance", "drawn_in"
"""Columns of rows of rounds: the round that drew a row first, from 1; the chance that it had; and
`History.drawn_in` of rows drawn again, or the number of the question of one drawn with
replacement."""


@dataclasses.dataclass(frozen=True)
class RoundPicker:
    """Picks the rows of the last of some rounds, of samplers without replacement.

    ``key`` is that of the names of tasks, which have a ``check`` character or not.
    """

    reading: ReadingPlan
    labelling: LabellingPlan
    key: bytes
    rounds: tuple[RoundChances, ...]
    check: bool = False

    def pick(self, cells: CellBatch) -> pa.Table:
        """Return the rows of a batch that the round takes.

        Their columns are `TASK`, `ID`, `ROUND`, `CELL`, `CHANCE`, the outputs, slices and payload,
        as in the files of a workspace. Scores are among them: annotators get `tasks` of these.
        """
        number = permanent_numbers(hash_ids(cells.ids, self.reading.seed))
        taken, chance = taken_by_last(self.rounds, cells.cell, number)
        rows = np.flatnonzero(taken)
        ids = cells.ids.take(pa.array(rows))
        names = [
            task_name(self.labelling, self.key, len(self.rounds), id, 1, self.check)
            for id in ids.to_pylist()
        ]
        columns = {
            TASK: pa.array(names, pa.string()),
            ID: ids,
            ROUND: pa.array(np.full(len(rows), len(self.rounds))),
            CELL: pa.array(cells.cell[rows]),
            CHANCE: pa.array(chance[rows]),
            **cells.stored(rows),
        }
        for name, column in cells.slices.items():
            columns[SLICE_PREFIX + name] = column.take(pa.array(rows))
        for name in self.reading.pool.payload:
            columns[PAYLOAD_PREFIX + name] = cells.batch.payload(name, rows)
        return pa.table(columns)

    def tasks(self, rows: pa.Table) -> pa.Table:
        """Return the tasks of the picked rows, for annotators: payload, and an empty label."""
        names = rows[TASK].to_pylist()
        return blind(make_batch(names, rows, self.labelling, mask_key(self.key, len(self.rounds))))


def task_files(
    plan: LabellingPlan, tasks: Iterable[Mapping[str, Any]], name: str
) -> dict[str, bytes]:
    """Return the files of tasks in the format of a plan's sink, by their paths."""
    distinct = {task[TASK]: dict(task) for task in tasks}
    ordered = [distinct[key] for key in sorted(distinct)]
    table = pa.Table.from_batches([b.rows for b in batches_of(ordered, [*ordered[0]], "tasks")])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, task_file(plan))
        write_tasks(table, path, plan, name)
        home = path if path.is_dir() else path.parent
        files = {
            file.relative_to(home).as_posix(): file.read_bytes()
            for file in sorted(home.rglob("*"))
            if file.is_file()
        }
    if [*files] == [path.name]:
        return {f"{name}{path.suffix}": files[path.name]}
    return {f"{name}/{own}": content for own, content in files.items()}


@dataclasses.dataclass(frozen=True)
class LabelJoin:
    """Joins answers to the rows of rounds, by the rules of a workspace.

    All answers count as one delivery: two different labels by nobody named are both rejected, as
    neither comes first. A value that is none of the slices' is in no slice. By the ``key`` rows of
    other workspaces are told; it is None if all rows are known to be of this one.
    """

    reading: ReadingPlan
    labelling: LabellingPlan
    classes: int
    slices: Slices = Slices()
    key: bytes | None = None
    check: bool = False

    def join(
        self, rows: pa.Table | None, votes: Iterable[Vote]
    ) -> tuple[LabelledCounts, list[Reject]]:
        """Return the counts of rows with their labels, and the answers and rows that do not count.

        Rows are as `RoundPicker.pick` returns them; rows and votes may come in any order and
        repeatedly. A row counts if its task is named as this workspace names it.
        """
        tasks: list[str] = []
        ids: list[str] = []
        others: list[Reject] = []
        if rows is not None:
            distinct = np.unique(rows[TASK].to_pylist(), return_index=True)[1]
            rows, others = self._own(rows.take(pa.array(distinct)))
            tasks, ids = rows[TASK].to_pylist(), rows[ID].to_pylist()
        distinct_votes = {_facts_of(vote): vote for vote in votes}
        ordered = [distinct_votes[facts] for facts in sorted(distinct_votes)]
        register = Register.of_questions(tasks, ids, self.labelling)
        taken, rejects = check_votes(ordered, register)
        register, _ = register.with_votes(taken, replace=False, rounds=1)
        counts = LabelledCounts.none() if rows is None else self._counts(rows, register.tally.codes)
        return counts, [*others, *rejects]

    def _own(self, rows: pa.Table) -> tuple[pa.Table, list[Reject]]:
        """Return the rows that rounds of this workspace drew, and rejects of all others."""
        if self.key is None:
            return rows, []
        named = zip(*(rows[name].to_pylist() for name in (TASK, ROUND, ID)), strict=True)
        own = [
            task == task_name(self.labelling, self.key, round, id, 1, self.check)
            for task, round, id in named
        ]
        mask = pa.array(own, pa.bool_())
        reason = "the row was drawn in another workspace, or in another round than it says"
        others = rows.filter(pc.invert(mask)).select([TASK, ID]).to_pylist()
        rejects = [
            Reject(0, reason, row[TASK], as_text(row[ID], self.reading.pool.id)) for row in others
        ]
        return rows.filter(mask), rejects

    def _counts(self, rows: pa.Table, labels: IntArray) -> LabelledCounts:
        columns = [rows[SLICE_PREFIX + name] for name in self.slices.names]
        drawn_in = np.zeros((len(rows), 0))
        if DRAWN_IN in rows.column_names:
            drawn_in = np.array(rows[DRAWN_IN].to_pylist(), dtype=np.float64)
        return LabelledCounts.of_rows(
            rows[ROUND].to_numpy() - 1,
            rows[CELL].to_numpy(),
            labels,
            outputs_of_columns(
                rows, len(self.reading.pool.systems), self.classes, self.reading.named_slices
            ),
            self.slices.codes(columns, len(rows)),
            drawn_in,
        )


def _facts_of(vote: Vote) -> tuple[Any, ...]:
    """Return all that a vote says, so that votes can be ordered."""
    texts = (vote.task, vote.id, vote.label, vote.annotator, vote.time, vote.comment, vote.problem)
    flags = (vote.skipped, vote.unsure, vote.labels is None)
    return (*(text or "" for text in texts), *flags, vote.labels or (), vote.flags)


# --- shares of the tasks

SHARES = 64
"""Shares of the tasks, each joined by one worker."""

ROWS, ANSWERS = "rows", "answers"

Packed = tuple[str, int, bytes]
"""Rows or answers in transit: which they are, how many, and their bytes."""


def share_of(name: str) -> int:
    """Return the share of a task, or of an id, from 0."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass")) % SHARES


def rows_by_share(rows: Any, by: str, id: IdColumns = ID) -> Iterator[tuple[int, pa.Table]]:
    """Yield rows of rounds by share."""
    table = rows if isinstance(rows, pa.Table) else pa.Table.from_pylist([dict(mapping_of(rows))])
    if by not in table.column_names:
        listed = ", ".join(table.column_names)
        raise InputError(f"rows of a round: column {by!r} is missing; there are: {listed}")
    places = collections.defaultdict(list)
    for place, name in enumerate(table[by].to_pylist()):
        places[share_of(as_text(name, id if by == ID else by))].append(place)
    for share, of_share in places.items():
        yield share, table.take(pa.array(of_share))


def answers_by_share(
    label: Any, by: str, id: IdColumns = ID
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield an answer with its share; of answers that do not name their row it is 0."""
    answer = mapping_of(label)
    name = DeliveredIds(id).text(answer) if by == ID else field_text(answer.get(by))
    yield 0 if name is None else share_of(name), answer


def packed_rows(share: int, tables: Sequence[pa.Table]) -> Iterator[tuple[int, Packed]]:
    """Yield the rows of a share in transit."""
    table = pa.concat_tables(tables, promote_options="permissive").combine_chunks()
    yield share, (ROWS, len(table), pickle.dumps(table, protocol=pickle.HIGHEST_PROTOCOL))


def packed_answers(
    share: int, answers: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[int, Packed]]:
    """Yield the answers of a share in transit."""
    content = pickle.dumps([*map(dict, answers)], protocol=pickle.HIGHEST_PROTOCOL)
    yield share, (ANSWERS, len(answers), content)


def joined(
    gathered: Iterable[Packed], join: LabelJoin, by: str
) -> tuple[int, LabelledCounts, list[Reject]]:
    """Return how many rows and answers came, counts of the rows, and answers that do not count."""
    tables: list[pa.Table] = []
    answers: list[Mapping[str, Any]] = []
    size = 0
    for kind, number, content in gathered:
        (tables.append if kind == ROWS else answers.extend)(pickle.loads(content))
        size += number
    own = DeliveredIds(join.reading.pool.id)
    votes = [in_unicode(own.vote(vote_of, 0, answer)) for answer in answers]
    rows = pa.concat_tables(tables, promote_options="permissive") if tables else None
    counts, rejects = join.join(rows, [vote for vote in votes if getattr(vote, by) is not None])
    reason = f"no {own.words if by == ID else by} is given, by which labels are joined"
    nameless = [vote for vote in votes if not getattr(vote, by)]
    rejects += [Reject(0, reason, vote.task, vote.id, vote.label) for vote in nameless]
    return size, counts, rejects


def as_mapping(reject: Reject, id: IdColumns = ID) -> Mapping[str, Any]:
    """Return an answer that does not count as plain values; ``id`` has the columns of ids."""
    return {
        "task": reject.task,
        **DeliveredIds(id).values(reject.id),
        "label": reject.label,
        "reason": reject.reason,
    }
