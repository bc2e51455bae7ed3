"""Rounds, deliveries and labels of a workspace, as they are at one moment."""

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.evaluation import Evaluation
from evalsampling.labels.tasks import KIND, TASK, task_name
from evalsampling.labels.votes import LatestLabels, Register, latest_labels
from evalsampling.pool.stored_columns import CELL, ID, RANK, SLICE_PREFIX, outputs_of_columns
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.storage import checksums_of
from evalsampling.storage.checksums import Checksum, Checksums
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace, read_together, round_folder


@dataclasses.dataclass(frozen=True)
class RoundFiles:
    """What one round left behind.

    Attributes:
        number: from 1.
        design: contents of design.json.
        draws: contents of draws.parquet.
        batch: contents of batch.parquet.
        exported: where the file for the annotators is, None if it had no new rows.
        closed: whether it was closed by hand, and its folder says so.
    """

    number: int
    design: dict[str, Any]
    draws: pa.Table
    batch: pa.Table
    exported: str | None
    closed: bool

    @classmethod
    def read(cls, pool: PreparedPool, number: int) -> "RoundFiles":
        """Return the contents of a round's files.

        Raises:
            InputError: naming the file that is missing or damaged.
        """
        store, folder = pool.workspace.store, round_folder(number)
        design = store.read_json(f"{folder}/design.json", ["exported", "posterior"])
        checksums, name = checksums_of(design), f"{folder}/batch.parquet"
        content = store.read_checked(name, None)
        files = cls(
            number=number,
            design=design,
            draws=store.read_table(f"{folder}/draws.parquet", checksums),
            batch=store.parse_table(name, content),
            exported=pool.workspace.tasks_of(number, design["exported"]),
            closed=store.exists(f"{folder}/closed.json"),
        )
        if name in checksums and checksums[name] != Checksum.from_content(content):
            files._check_batch(pool, store.url(name))
        return files

    def _check_batch(self, pool: PreparedPool, url: str) -> None:
        """Check a batch that is not as it was written: the payload may have been removed.

        Raises:
            InputError: if anything else was done to it.
        """
        ids = self.asked[ID].to_pylist()
        asked = dict(zip(self.new_tasks(pool.spec, pool.task_key), ids, strict=True))
        try:
            names = [name for name in self.batch.column_names if name != KIND]
            same = names == [TASK, ID] and _pairs(self.batch, names) == asked
        except ValueError:  # Text of a damaged file is not UTF-8.
            same = False
        if not same:
            raise InputError(f"{url}: damaged, it is not as it was written")

    @functools.cached_property
    def asked(self) -> pa.Table:
        """The draws that asked a question."""
        return self.draws.filter(self.draws["new"])

    def new_tasks(self, spec: EvaluationSpec, key: bytes) -> list[str]:
        """Return the tasks of the questions it asked, in the order of their draws.

        Args:
            spec: of the evaluation.
            key: of the workspace's task names.
        """
        ids, questions = self.asked[ID].to_pylist(), self.asked["question"].to_pylist()
        return [
            task_name(spec, key, self.number, id, question)
            for id, question in zip(ids, questions, strict=True)
        ]

    @property
    def closes(self) -> Sequence[int]:
        """Earlier rounds that it closed by being drawn; none of before that was kept."""
        return tuple(self.design.get("closes", ()))

    @property
    def round(self) -> Round:
        """Its draws, without what is known of their rows."""
        posterior = self.design["posterior"]
        chances = self.design.get("cell_probability")  # Of before it was kept: absent.
        return Round(
            question=self.draws["question"].to_numpy() - 1,
            probability=self.draws["q"].to_numpy(),
            new=self.draws["new"].to_numpy(zero_copy_only=False),
            posterior=None if posterior is None else np.array(posterior),
            cell_probability=None if chances is None else np.array(chances),
        )


@dataclasses.dataclass(frozen=True)
class Delivery:
    """Labels that came in together.

    Attributes:
        name: hash of the file's content, and a number if that content had come before.
        votes: those that count: columns line, task, id, label, annotator, time, skipped.
        order: from 1, in which deliveries came in.
        rejects: votes that do not count.
        rounds: how many there were then; None of a delivery that was taken before this was kept.
    """

    name: str
    votes: pa.Table
    order: int
    rejects: int
    rounds: int | None

    @classmethod
    def read(cls, workspace: Workspace, name: str, checksums: Checksums) -> "Delivery":
        """Return a delivery, given the name of its file.

        Args:
            workspace: that it came into.
            name: of the file.
            checksums: by name, of the files that markers name.

        Raises:
            InputError: if it cannot be read, or was not written by `estimate`.
        """
        votes = workspace.store.read_table(f"labels/{name}", checksums)
        try:
            details = json.loads(votes.schema.metadata[b"evalsampling"])
        except (KeyError, TypeError) as error:
            url = workspace.store.url(f"labels/{name}")
            raise InputError(f"{url}: not a delivery that was taken here") from error
        return cls(
            name.removesuffix(".parquet"),
            votes,
            order=details["order"],
            rejects=details["rejects"],
            rounds=details.get("rounds"),
        )

    @property
    def digest(self) -> str:
        """Hash of the file's content."""
        return self.name.partition("-")[0]


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What a workspace holds at one moment: read once by a command, never changed.

    After something was added, `reread` returns another one.

    Attributes:
        pool: what `prepare` left.
        deliveries: of labels, in the order they came in.
        rounds: in order.
    """

    pool: PreparedPool
    deliveries: Sequence[Delivery]
    rounds: Sequence[RoundFiles]

    @classmethod
    def read(cls, pool: PreparedPool) -> "Snapshot":
        """Read deliveries and rounds of a prepared workspace.

        Raises:
            InputError: if a file cannot be read, or a round is missing.
        """
        # Deliveries first: the rounds they are about are there by then.
        deliveries = _read_deliveries(pool.workspace)
        return cls(pool, deliveries, _read_rounds(pool))

    @classmethod
    def at(cls, path: str | Path) -> "Snapshot":
        """Read what a workspace holds.

        Raises:
            InputError: if it is not prepared, or as `read` says.
        """
        return cls.read(PreparedPool.read(Workspace(path)))

    def reread(self) -> "Snapshot":
        """Read again, after something was added to the workspace."""
        return Snapshot.read(self.pool)

    # --- questions

    @functools.cached_property
    def tasks(self) -> list[str]:
        """Tasks of all questions, in the order of the history's."""
        return [
            task
            for files in self.rounds
            for task in files.new_tasks(self.pool.spec, self.pool.task_key)
        ]

    @functools.cached_property
    def ids(self) -> list[str]:
        """Ids of the rows asked about as text, in the order of the history's questions."""
        return [str(id) for files in self.rounds for id in files.asked[ID].to_pylist()]

    @functools.cached_property
    def question_of_task(self) -> Mapping[str, int]:
        """The question behind each task."""
        return {task: question for question, task in enumerate(self.tasks)}

    # --- answers

    @functools.cached_property
    def _latest(self) -> LatestLabels:
        # Of a delivery that does not tell, all rounds may be from before it.
        deliveries = [
            (one.votes, len(self.rounds) if one.rounds is None else one.rounds)
            for one in self.deliveries
        ]
        return latest_labels(deliveries, self.question_of_task, self.pool.spec.labels.codes)

    @property
    def labels(self) -> npt.NDArray[np.int64]:
        """Class code of each question, shape (questions,), `NO_LABEL` for none; the last counts."""
        return self._latest.codes

    @property
    def answers(self) -> int:
        """Number of questions with a label."""
        return int(np.sum(self.labels != NO_LABEL))

    @functools.cached_property
    def answered(self) -> frozenset[int]:
        """Questions with a label or a skip."""
        return frozenset(
            self.question_of_task[task]
            for delivery in self.deliveries
            for task in delivery.votes["task"].to_pylist()
        )

    @functools.cached_property
    def open_questions(self) -> Mapping[int, int]:
        """Unanswered questions of each round that is not closed, by round number, all above 0."""
        unanswered: dict[int, int] = {}
        for files in self.rounds:
            if files.number not in self.closed:
                tasks = files.batch[TASK].to_pylist()
                count = sum(self.question_of_task[task] not in self.answered for task in tasks)
                if count:
                    unanswered[files.number] = count
        return unanswered

    @functools.cached_property
    def closed(self) -> Sequence[int]:
        """Rounds that were closed by hand, or by a later one that was drawn in their place."""
        by_hand = {files.number for files in self.rounds if files.closed}
        return sorted(by_hand.union(*(files.closes for files in self.rounds)))

    @property
    def half_closed(self) -> list[int]:
        """Rounds that the last one closes whose files do not say so: its `sample` was killed."""
        closes = self.rounds[-1].closes if self.rounds else ()
        return [number for number in closes if not self.rounds[number - 1].closed]

    @property
    def rejects(self) -> int:
        """Rows of all deliveries that were rejected."""
        # The same content delivered again is judged anew: the last judgement counts.
        return sum({delivery.digest: delivery.rejects for delivery in self.deliveries}.values())

    @property
    def register(self) -> Register:
        """What the next delivery is checked against."""
        questions_of_id: dict[str, list[int]] = {}
        for question, id in enumerate(self.ids):
            questions_of_id.setdefault(id, []).append(question)
        return Register(
            question_of_task=self.question_of_task,
            questions_of_id=questions_of_id,
            ids=self.ids,
            tasks=self.tasks,
            labels=self.labels,
            codes=self.pool.spec.labels.codes,
        )

    # --- the evaluation

    @functools.cached_property
    def history(self) -> History:
        """The rounds, their rows and the labels."""
        pool = self.pool
        systems, classes = len(pool.spec.pool.systems), pool.table.classes
        history = History.start(systems, classes, len(pool.spec.pool.slices))
        for files in self.rounds:
            asked = files.asked
            columns = [asked[SLICE_PREFIX + name] for name in pool.spec.pool.slices]
            history = history.with_round(
                files.round,
                np.searchsorted(pool.table.code, asked[CELL].to_numpy()),
                asked[RANK].to_numpy(),
                outputs_of_columns(asked, systems, classes),
                pool.slices.codes(columns, len(asked)),
            )
        return dataclasses.replace(history, label=self.labels, corrected=self._latest.corrected)

    def evaluation(self) -> Evaluation:
        """Return a new evaluation with all rounds and labels so far."""
        pool = self.pool
        evaluation = Evaluation.from_spec(pool.spec, pool.table, pool.stratification, pool.slices)
        return dataclasses.replace(evaluation, history=self.history)


def _pairs(table: pa.Table, names: Sequence[str]) -> dict[Any, Any]:
    """Return two columns as a mapping."""
    keys, values = (table[name].to_pylist() for name in names)
    return dict(zip(keys, values, strict=True))


def load(path: str | Path) -> Evaluation:
    """Return the evaluation of a prepared workspace, with all rounds and labels so far.

    Raises:
        InputError: if there is no prepared workspace.
    """
    return Snapshot.at(path).evaluation()


def _read_deliveries(workspace: Workspace) -> list[Delivery]:
    store = workspace.store

    def read_taken(name: str) -> tuple[list[str], Checksums]:
        marker = store.read_json(f"taken/{name}", ["deliveries"])
        return marker["deliveries"], checksums_of(marker)

    # What is in place was named by a marker before; what a marker names may not be in place.
    files = [name for name in store.names("labels") if name.endswith(".parquet")]
    taken = read_together(read_taken, store.names("taken"))
    names = sorted({*files, *(f"{name}.parquet" for names, _ in taken for name in names)})
    checksums = {name: checksum for _, known in taken for name, checksum in known.items()}
    read = functools.partial(Delivery.read, workspace, checksums=checksums)
    deliveries = read_together(read, names)
    return sorted(deliveries, key=lambda delivery: (delivery.order, delivery.name))


def _read_rounds(pool: PreparedPool) -> list[RoundFiles]:
    store = pool.workspace.store
    names = store.names("rounds")
    numbers = sorted(int(name) for name in names if name.isdecimal())
    if numbers != list(range(1, len(numbers) + 1)):
        url = store.url("rounds")
        raise InputError(f"{url}: rounds are missing, there are {numbers}")
    return read_together(functools.partial(RoundFiles.read, pool), numbers)
