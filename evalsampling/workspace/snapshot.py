"""Rounds, deliveries and labels of a workspace, as they are at one moment."""

import dataclasses
import functools
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.evaluation import Evaluation
from evalsampling.labels import splink
from evalsampling.labels.annotators import ControlSubject, control_subjects, gold_table
from evalsampling.labels.controls import Controls
from evalsampling.labels.dawid_skene import fit_labels
from evalsampling.labels.tally import State, Subjects, Tally
from evalsampling.labels.task_names import opaque_name
from evalsampling.labels.tasks import KIND, TASK, task_name
from evalsampling.labels.vote import Pair
from evalsampling.labels.votes import Register, answers_of
from evalsampling.pool.stored_columns import CELL, ID, RANK, SLICE_PREFIX, outputs_of_columns
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.storage import checksums_of
from evalsampling.storage.checksums import Checksum, Checksums
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import (
    Workspace,
    adjudication_folder,
    read_together,
    round_folder,
)


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
        controls: tasks of the batch that are none of the design's: gold rows and repeats.
    """

    number: int
    design: dict[str, Any]
    draws: pa.Table
    batch: pa.Table
    exported: str | None
    closed: bool
    controls: Controls

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
        controls = f"{folder}/controls.parquet"
        files = cls(
            number=number,
            design=design,
            draws=store.read_table(f"{folder}/draws.parquet", checksums),
            batch=store.parse_table(name, content),
            exported=pool.workspace.tasks_of(number, design["exported"]),
            closed=store.exists(f"{folder}/closed.json"),
            controls=Controls(store.read_table(controls, checksums))
            if controls in checksums
            else Controls.none(),
        )
        found = Checksum.from_content(content)
        if name in checksums and not store.is_as_written(name, checksums[name], found):
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
            task_name(spec, key, self.number, id, question, self.design.get("check", False))
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
        replace: whether its labels replace earlier ones.
        withdraws: the round that was withdrawn, if it is no delivery but tells that.
    """

    name: str
    votes: pa.Table
    order: int
    rejects: int
    rounds: int | None
    replace: bool
    withdraws: int | None

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
            replace=details.get("replace", False),
            withdraws=details.get("withdraws"),
        )

    @property
    def digest(self) -> str:
        """Hash of the file's content."""
        return self.name.partition("-")[0]


@dataclasses.dataclass(frozen=True)
class Adjudication:
    """A batch of rows that the annotators did not agree on.

    Attributes:
        number: from 1.
        tasks: columns task, id, kind, question (from 1) and payload.
        exported: where the file for who settles them is.
    """

    number: int
    tasks: pa.Table
    exported: str

    @classmethod
    def read(cls, pool: PreparedPool, number: int) -> "Adjudication":
        """Return what an adjudication batch holds.

        Raises:
            InputError: naming the file that is missing or damaged.
        """
        store, folder = pool.workspace.store, adjudication_folder(number)
        design = store.read_json(f"{folder}/design.json", ["exported"])
        tasks = store.read_table(f"{folder}/tasks.parquet", checksums_of(design))
        return cls(number, tasks, store.url(f"{folder}/{design['exported']}"))


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What a workspace holds at one moment: read once by a command, never changed.

    After something was added, `reread` returns another one.

    Attributes:
        pool: what `prepare` left.
        deliveries: of labels, in the order they came in.
        rounds: in order, also those that were withdrawn.
        adjudications: in order.
    """

    pool: PreparedPool
    deliveries: Sequence[Delivery]
    rounds: Sequence[RoundFiles]
    adjudications: Sequence[Adjudication] = ()

    @classmethod
    def read(cls, pool: PreparedPool) -> "Snapshot":
        """Read deliveries and rounds of a prepared workspace.

        Raises:
            InputError: if a file cannot be read, or a round is missing.
        """
        # Deliveries first: the rounds they are about are there by then.
        deliveries = _read_deliveries(pool.workspace)
        return cls(pool, deliveries, _read_rounds(pool), _read_adjudications(pool))

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
    def withdrawn(self) -> frozenset[int]:
        """Numbers of the rounds that were withdrawn.

        Each later round says which had been withdrawn when it was drawn: a withdrawal that it does
        not know of came too late, in a store that keeps nobody out, and is void.
        """
        told = {one.withdraws for one in self.deliveries if one.withdraws is not None}
        return frozenset(
            number
            for number in told
            if all(
                number in files.design.get("withdrawn", ())
                for files in self.rounds
                if files.number > number
            )
        )

    @functools.cached_property
    def standing(self) -> Sequence[RoundFiles]:
        """The rounds that were not withdrawn: those of the history."""
        return [files for files in self.rounds if files.number not in self.withdrawn]

    @functools.cached_property
    def tasks(self) -> list[str]:
        """Tasks of all questions, in the order of the history's."""
        return [
            task
            for files in self.standing
            for task in files.new_tasks(self.pool.spec, self.pool.task_key)
        ]

    @functools.cached_property
    def ids(self) -> list[str]:
        """Ids of the rows asked about as text, in the order of the history's questions."""
        return [str(id) for files in self.standing for id in files.asked[ID].to_pylist()]

    @functools.cached_property
    def question_of_task(self) -> Mapping[str, int]:
        """The question behind each task."""
        return {task: question for question, task in enumerate(self.tasks)}

    @functools.cached_property
    def controls(self) -> Controls:
        """The gold rows and repeats of all rounds that stand."""
        return Controls.concatenate([files.controls for files in self.standing])

    @functools.cached_property
    def _settling(self) -> list[tuple[str, str, int]]:
        """Task, id and question of each task of an adjudication batch, of rounds that stand."""
        known = set(range(len(self.tasks)))
        return [
            (task, str(id), question - 1)
            for batch in self.adjudications
            for task, id, question in zip(
                *(batch.tasks[name].to_pylist() for name in (TASK, ID, "question")), strict=True
            )
            if question - 1 in known and self.ids[question - 1] == str(id)
        ]

    @functools.cached_property
    def subject_of_task(self) -> Mapping[str, int]:
        """What votes on each task are about: questions first, then adjudications and controls."""
        others = [*(task for task, _, _ in self._settling), *self.controls.tasks]
        return {task: subject for subject, task in enumerate([*self.tasks, *others])}

    # --- answers

    @functools.cached_property
    def tally(self) -> Tally:
        """The votes on all subjects."""
        first = len(self.tasks)
        settles = {first + place: q for place, (_, _, q) in enumerate(self._settling)}
        labels = self.pool.spec.labels
        by_model = labels.rule == "dawid-skene"
        tally = Tally(Subjects(first, settles, labels.votes), by_model=by_model)
        # A model looks at all votes together: once for all that came before the next round.
        for rounds, deliveries in itertools.groupby(self.deliveries, self._standing_then):
            for one in deliveries:
                answers = answers_of(one.votes, self.subject_of_task, labels.codes)
                tally.add(answers, one.replace, rounds)
            if by_model:
                tally.decide_by_model(fit_labels(tally), rounds)
        return tally

    def _standing_then(self, delivery: Delivery) -> int:
        """Return how many of the rounds that stand there were when a delivery came in."""
        # Of a delivery that does not tell, all rounds may be from before it.
        if delivery.rounds is None:
            return len(self.standing)
        return sum(files.number <= delivery.rounds for files in self.standing)

    @functools.cached_property
    def labels(self) -> npt.NDArray[np.int64]:
        """Class code of each question, shape (questions,), `NO_LABEL` where none is decided."""
        return self.tally.codes

    @property
    def answers(self) -> int:
        """Number of questions with a label."""
        return int(np.sum(self.labels != NO_LABEL))

    @functools.cached_property
    def control_subjects(self) -> Sequence[ControlSubject]:
        """The gold rows and repeats among the subjects of votes."""
        first = len(self.tasks) + len(self._settling)
        return control_subjects(self.controls, first, self.pool.spec.labels.codes)

    @property
    def gold(self) -> npt.NDArray[np.int64]:
        """Gold rows that are decided, by their class and by their label: (classes, classes)."""
        classes = len(self.pool.spec.labels.classes)
        return gold_table(self.tally, self.control_subjects, classes)

    @functools.cached_property
    def late(self) -> int:
        """Number of questions whose first answer came after a later round had been drawn."""
        met = [
            place
            for place, files in enumerate(self.standing, start=1)
            for _ in range(len(files.asked))
        ]
        seen: set[int] = set()
        late = 0
        for one in self.deliveries:
            rounds = self._standing_then(one)
            for task in {*one.votes["task"].to_pylist()}:
                question = self.question_of_task.get(task)
                if question is not None and question not in seen:
                    seen.add(question)
                    late += one.rounds is not None and rounds > met[question]
        return late

    @functools.cached_property
    def states(self) -> Sequence[State]:
        """Where each question stands."""
        return self.tally.states(range(len(self.tasks)))

    @functools.cached_property
    def answered(self) -> frozenset[int]:
        """Questions that wait for no answer: they have a label, or were declined."""
        return frozenset(question for question, state in enumerate(self.states) if not state.waits)

    @functools.cached_property
    def open_questions(self) -> Mapping[int, int]:
        """Unanswered questions of each round that is not closed, by round number, all above 0."""
        unanswered: dict[int, int] = {}
        for files in self.standing:
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
        labels, controls = self.pool.spec.labels, self.controls
        return Register(
            question_of_task=self.subject_of_task,
            questions_of_id=questions_of_id,
            ids=[*self.ids, *(id for _, id, _ in self._settling), *controls.ids],
            tasks=list(self.subject_of_task),
            labels=self.labels,
            codes=labels.codes,
            tally=self.tally,
            withdrawn={
                task: files.number
                for files in self.rounds
                if files.number in self.withdrawn
                for task in [
                    *files.new_tasks(self.pool.spec, self.pool.task_key),
                    *files.controls.tasks,
                ]
            },
            pairs=self._pairs,
            positive=str(labels.classes[labels.positive]),
        )

    @property
    def _pairs(self) -> Mapping[Pair, Sequence[int]]:
        """The questions about each pair of records, if the spec says which columns name them."""
        records = self.pool.spec.sink.records
        found: dict[Pair, list[int]] = {}
        for files in () if records is None else self.standing:
            assert records is not None
            of_tasks = splink.pairs_of(files.batch, records)
            for task, pair in zip(files.batch[TASK].to_pylist(), of_tasks, strict=True):
                if pair is not None:
                    found.setdefault(pair, []).append(self.question_of_task[task])
        return found

    def batch_name(self, number: int) -> str:
        """Return the opaque name of the batch of a round, or of an adjudication (negative)."""
        return "b" + opaque_name(self.pool.task_key, "batch", number)[1:]

    # --- the evaluation

    @functools.cached_property
    def history(self) -> History:
        """The rounds, their rows and the labels."""
        pool = self.pool
        systems, classes = len(pool.spec.pool.systems), pool.table.classes
        history = History.start(systems, classes, len(pool.spec.pool.slices))
        for files in self.standing:
            asked = files.asked
            columns = [asked[SLICE_PREFIX + name] for name in pool.spec.pool.slices]
            history = history.with_round(
                files.round,
                np.searchsorted(pool.table.code, asked[CELL].to_numpy()),
                asked[RANK].to_numpy(),
                outputs_of_columns(asked, systems, classes),
                pool.slices.codes(columns, len(asked)),
            )
        corrected = {
            question: rounds
            for question, rounds in self.tally.corrected.items()
            if question < len(history) and self.labels[question] != NO_LABEL
        }
        return dataclasses.replace(history, label=self.labels, corrected=corrected)

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
    # Whatever else somebody left there, an editor's copy say, is none of ours.
    markers = [name for name in store.names("taken") if name.removesuffix(".json").isdecimal()]
    taken = read_together(read_taken, markers)
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


def _read_adjudications(pool: PreparedPool) -> list[Adjudication]:
    names = pool.workspace.store.names("adjudications")
    numbers = sorted(int(name) for name in names if name.isdecimal())
    return read_together(functools.partial(Adjudication.read, pool), numbers)
