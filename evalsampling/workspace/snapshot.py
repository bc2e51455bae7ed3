"""Rounds, deliveries and labels of a workspace at one moment."""

import bisect
import collections
import contextlib
import dataclasses
import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evalsampling.errors import InputError
from evalsampling.labels import splink
from evalsampling.labels.controls import Controls, ControlSubject, control_subjects, gold_table
from evalsampling.labels.register import Register, answers_of
from evalsampling.labels.tally import Awaited, State, Tally
from evalsampling.labels.tasks import TASK
from evalsampling.labels.vote import Pair
from evalsampling.pool.row_ids import as_text
from evalsampling.pool.stored_columns import CELL, ID, RANK, SLICE_PREFIX, outputs_of_columns
from evalsampling.spec.labels_at_hand import CLUSTERS
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.workspace.deliveries import Delivery, read_deliveries
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.rounds import Adjudication, RoundFiles, read_batches
from evalsampling.workspace.workspace import Workspace

if TYPE_CHECKING:
    from evalsampling.evaluation.analysis import Analysis

REJECTED, NEVER = "rejected", "never answered"

UNDECIDED = (REJECTED, "skipped", "unsure", "disputed", NEVER, "open")
"""Why questions have no label: the states of a tally, and two kinds of open questions."""

_DESIGN = re.compile(r"^(?P<root>.+)/rounds/0*(?P<number>[0-9]+)/design\.json$")


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """The content of a workspace at one moment: read once by a command, never changed.

    After files were added, `reread` returns a new snapshot. Deliveries are in the order in which
    they came in, and rounds that were withdrawn are among the rounds.
    """

    pool: PreparedPool
    deliveries: Sequence[Delivery]
    rounds: Sequence[RoundFiles]
    adjudications: Sequence[Adjudication] = ()

    @classmethod
    def read(cls, pool: PreparedPool) -> "Snapshot":
        """Return the snapshot of a prepared pool, after reading its deliveries and rounds."""
        # Deliveries are read first, so that the rounds they are about are found.
        return cls(pool, read_deliveries(pool.workspace), *read_batches(pool))

    @classmethod
    def at(cls, path: str | Path) -> "Snapshot":
        """Return the snapshot of the workspace at a path or URL."""
        return cls.read(PreparedPool.read(Workspace(path)))

    @classmethod
    @contextlib.contextmanager
    def held(cls, pool: PreparedPool) -> Iterator["Snapshot"]:
        """Hold the workspace of a pool to add labels to it, and yield its snapshot.

        Other commands wait.
        """
        with pool.workspace.in_use():
            yield cls.read(pool.reread())

    def reread(self) -> "Snapshot":
        """Return a new snapshot, after files were added to the workspace."""
        return Snapshot.read(self.pool.reread())

    # --- questions

    @functools.cached_property
    def withdrawn(self) -> frozenset[int]:
        """Numbers of the rounds that were withdrawn.

        Each later round lists the rounds withdrawn when it was drawn. A withdrawal that it does not
        list came too late, in a store that keeps nobody out, and is void. One that came in after
        deliveries had been read, and was followed by a round, is listed by that round.
        """
        listed = [(files.number, files.design.get("withdrawn", ())) for files in self.rounds]
        numbers = {item.withdraws for item in self.deliveries if item.withdraws is not None}
        numbers = numbers.union(*(each for _, each in listed))
        return frozenset(n for n in numbers if all(n in each for at, each in listed if at > n))

    @functools.cached_property
    def standing(self) -> Sequence[RoundFiles]:
        """The rounds that were not withdrawn, which make up the history."""
        return [files for files in self.rounds if files.number not in self.withdrawn]

    @property
    def next_round_size(self) -> int:
        """Default number of new rows of the next round; withdrawn rounds do not count."""
        return self.pool.spec.round_size.after(len(self.standing))

    @functools.cached_property
    def tasks(self) -> list[str]:
        """Tasks of all questions, in the order of the history."""
        return [task for files in self.standing for task in files.new_tasks(self.pool)]

    @functools.cached_property
    def ids(self) -> list[str]:
        """Ids of the rows of all tasks as text, in the order of the tasks."""
        columns = self.pool.spec.pool.id
        return [as_text(id, columns) for files in self.standing for id in files.subjects]

    @functools.cached_property
    def controls(self) -> Controls:
        """The gold rows and repeats of all rounds that were not withdrawn."""
        return Controls.concatenate([files.controls for files in self.standing])

    @functools.cached_property
    def _adjudication_tasks(self) -> list[tuple[str, str, int]]:
        """Task, id and question of each adjudication task, of rounds that were not withdrawn."""
        questions, columns = range(len(self.tasks)), self.pool.spec.pool.id
        return [
            (task, as_text(id, columns), question - 1)
            for batch in self.adjudications
            for task, id, question in zip(
                *(batch.tasks[name].to_pylist() for name in (TASK, ID, "question")), strict=True
            )
            if question - 1 in questions and self.ids[question - 1] == as_text(id, columns)
        ]

    @functools.cached_property
    def subject_of_task(self) -> Mapping[str, int]:
        """The subject of votes on each task: questions first, then adjudications and controls."""
        further = [*(task for task, _, _ in self._adjudication_tasks), *self.controls.tasks]
        return {task: subject for subject, task in enumerate([*self.tasks, *further])}

    # --- answers

    @functools.cached_property
    def tally(self) -> Tally:
        """The votes on all subjects."""
        first = len(self.tasks)
        settles = {first + place: q for place, (_, _, q) in enumerate(self._adjudication_tasks)}
        labels = self.pool.spec.labels
        tally = Tally.of(labels, first, settles)
        for delivery in self.deliveries:
            answers = answers_of(delivery.votes, self.subject_of_task, labels.codes)
            before = sum(files.number <= delivery.rounds for files in self.standing)
            tally.add(answers, delivery.replace, before)
        return tally

    @functools.cached_property
    def labels(self) -> IntArray:
        """Class code of each task's label, shape (tasks,), `NO_LABEL` where none is decided."""
        return self.tally.codes

    @property
    def answers(self) -> int:
        """Number of questions with a label."""
        return int(np.sum(self.labels != NO_LABEL))

    @functools.cached_property
    def control_subjects(self) -> Sequence[ControlSubject]:
        """The gold rows and repeats among the subjects of votes."""
        first = len(self.tasks) + len(self._adjudication_tasks)
        return control_subjects(self.controls, first, self.pool.spec.labels.codes)

    @property
    def gold(self) -> IntArray:
        """Counts of gold rows by true class and decided label, shape (classes, classes).

        Labels that are numbers have no gold rows: shape (0, 0).
        """
        return gold_table(self.tally, self.control_subjects, len(self.pool.spec.labels.codes))

    @functools.cached_property
    def round_of_question(self) -> list[int]:
        """The number of the round that asked each question."""
        return [files.number for files in self.standing for _ in files.subjects]

    @functools.cached_property
    def undecided(self) -> Mapping[str, list[int]]:
        """The questions without a label, by why they have none; each why is there.

        Of those without an answer that counts some had one that was rejected, others are of closed
        rounds.
        """
        rejected = {task for delivery in self.deliveries for task in delivery.rejected}
        undecided: dict[str, list[int]] = {why: [] for why in UNDECIDED}
        for question, (state, task) in enumerate(zip(self.states, self.tasks, strict=True)):
            why = state.value
            if state is State.OPEN and task in rejected:
                why = REJECTED
            elif state is State.OPEN and self.round_of_question[question] in self.closed:
                why = NEVER
            if state is not State.DECIDED:
                undecided[why].append(question)
        return undecided

    @functools.cached_property
    def silent(self) -> Mapping[str, list[int]]:
        """The questions with no label to wait for, by why, but for rounds without any label."""
        rounds = np.array(self.round_of_question)
        told = {*rounds[self.labels >= 0].tolist()}
        return {
            why: [question for question in questions if rounds[question] in told]
            for why, questions in self.undecided.items()
            if why != "open"
        }

    @functools.cached_property
    def late(self) -> int:
        """Number of questions whose first answer came after a later round had been drawn."""
        is_late: dict[int, bool] = {}
        for delivery in self.deliveries:
            last = max((f.number for f in self.standing if f.number <= delivery.rounds), default=0)
            for task in {*delivery.votes["task"].to_pylist()}:
                question = self.subject_of_task.get(task, len(self.tasks))
                if question < len(self.tasks):
                    is_late.setdefault(question, last > self.round_of_question[question])
        return sum(is_late.values())

    @functools.cached_property
    def states(self) -> Sequence[State]:
        """The state of each question: open, decided, disputed, skipped or unsure."""
        return [self.tally.state(question) for question in range(len(self.tasks))]

    @functools.cached_property
    def answered(self) -> frozenset[int]:
        """Questions that wait for no more votes: they have a label, or were declined."""
        return frozenset(question for question, state in enumerate(self.states) if not state.waits)

    @functools.cached_property
    def open_questions(self) -> Mapping[int, int]:
        """Unanswered questions of each round that is not closed, by round number, all above 0."""
        return {number: len(waiting) for number, waiting in self._waiting.items() if waiting}

    @functools.cached_property
    def _waiting(self) -> Mapping[int, Sequence[int]]:
        """The questions of each round that is not closed which wait for answers."""
        waiting = {}
        for files in self.standing:
            if files.number not in self.closed:
                asked = map(self.subject_of_task.__getitem__, files.batch[TASK].to_pylist())
                waiting[files.number] = [each for each in asked if each not in self.answered]
        return waiting

    @functools.cached_property
    def awaited(self) -> Awaited:
        """Counts of unanswered, started and disputed rows of rounds that are not closed."""
        counts = collections.Counter[str]()
        for question in itertools.chain.from_iterable(self._waiting.values()):
            disputed = self.states[question] is State.DISPUTED
            begun = "started" if self.tally.answers.get(question) else "unanswered"
            counts["disputed" if disputed else begun] += 1
        return Awaited(**counts, votes=self.pool.spec.labels.votes)

    @functools.cached_property
    def closed(self) -> Sequence[int]:
        """Numbers of the rounds that were closed by hand, or by drawing a later one."""
        by_hand = {files.number for files in self.rounds if files.closed}
        return sorted(by_hand.union(*(files.closes for files in self.rounds)))

    def with_open_closed(self, reason: str) -> "Snapshot":
        """Close all open rounds in the workspace; return the snapshot after that."""
        for number in self.open_questions:
            self.pool.workspace.close_round(number, reason)
        return self.reread() if self.open_questions else self

    @property
    def half_closed(self) -> list[int]:
        """Rounds closed by the last one whose closed.json is missing, as `sample` was killed."""
        closes = self.rounds[-1].closes if self.rounds else ()
        return [number for number in closes if not self.rounds[number - 1].closed]

    @property
    def rejects(self) -> int:
        """Number of rejected votes whose tasks have no vote later, neither valid nor rejected."""
        return sum(count for _, count, _ in self._unresolved)

    @property
    def rejections(self) -> list[tuple[Delivery, int]]:
        """Deliveries with rejects that rows drawn still want for, and how many.

        In the order they came in; none once all rows drawn are decided.
        """
        unresolved = self._unresolved if any(self.undecided.values()) else ()
        return [(delivery, wanting) for delivery, _, wanting in reversed(unresolved) if wanting]

    @functools.cached_property
    def _unresolved(self) -> Sequence[tuple[Delivery, int, int]]:
        """Deliveries, the last first, with how many rejects no later vote stands in place of.

        Then how many of these rows still want for: none of rounds that were withdrawn. One that
        names no task may be of any row drawn by then that waits, until half as many votes came.
        """
        # The same content delivered again is judged again, and the last judgement counts.
        unresolved: dict[str, tuple[Delivery, int, int]] = {}
        votes, judged = collections.Counter[str](), set[str]()
        for delivery in reversed(self.deliveries):
            due = {task: n for task, n in delivery.rejected.items() if task not in judged}
            wanting = sum(n for task, n in due.items() if task in self.subject_of_task)
            if unnamed := delivery.rejects - sum(delivery.rejected.values()):
                drawn = bisect.bisect(self.round_of_question, delivery.rounds)
                waiting = sum(state.waits for state in self.states[:drawn])
                since = votes.total() - sum(votes[task] for task in self.tasks[drawn:])
                if 2 * since < unnamed:
                    wanting += min(unnamed - since, waiting * self.pool.spec.labels.votes)
            unresolved.setdefault(delivery.digest, (delivery, unnamed + sum(due.values()), wanting))
            votes.update(delivery.votes["task"].to_pylist())
            judged.update(votes, delivery.rejected)
        return list(unresolved.values())

    @property
    def register(self) -> Register:
        """The register of tasks, ids and votes against which the next delivery is checked."""
        return Register(
            question_of_task=self.subject_of_task,
            ids=[*self.ids, *(id for _, id, _ in self._adjudication_tasks), *self.controls.ids],
            space=self.pool.spec.labels.space,
            tally=self.tally,
            withdrawn={
                task: files.number
                for files in self.rounds
                if files.number in self.withdrawn
                for task in [*files.new_tasks(self.pool), *files.controls.tasks]
            },
            pairs=self._pairs,
            id=self.pool.spec.pool.id,
            in_order="both_orders" in self.pool.marker,
        )

    @property
    def _pairs(self) -> Mapping[Pair, Sequence[int]]:
        """The questions about each pair of records, if the spec names the columns of records."""
        records = self.pool.spec.sink.records
        questions_of_pair: dict[Pair, list[int]] = {}
        if records is None:
            return {}
        for files in self.standing:
            of_tasks = splink.pairs_of(files.batch, records, self.pool.spec.pool.id)
            for task, pair in zip(files.batch[TASK].to_pylist(), of_tasks, strict=True):
                if pair is not None:
                    questions_of_pair.setdefault(pair, []).append(self.subject_of_task[task])
        return questions_of_pair

    # --- the evaluation

    @functools.cached_property
    def history(self) -> History:
        """The history of the evaluation: rounds that were not withdrawn, rows and labels."""
        pool, spec = self.pool, self.pool.spec
        systems, classes = len(spec.pool.systems), pool.table.classes
        history = History.start(systems, classes, len(spec.pool.slices))
        for files in self.standing:
            asked = files.asked
            columns = [asked[SLICE_PREFIX + name] for name in spec.pool.slices]
            history = history.with_round(
                files.round,
                np.searchsorted(pool.table.code, asked[CELL].to_numpy()),
                asked[RANK].to_numpy(),
                outputs_of_columns(asked, systems, classes, spec.reading.named_slices),
                pool.slices.codes(columns, len(asked)),
            )
        corrected = {
            question: rounds
            for question, rounds in self.tally.corrected.items()
            if question < len(history) and self.labels[question] != NO_LABEL
        }
        return dataclasses.replace(
            history,
            label=self.labels,
            corrected=corrected,
            shares=self.tally.shares(classes),
            answers=self.tally.numbers,
        )

    @functools.cached_property
    def analysis(self) -> "Analysis":
        """The analysis of all rounds and labels so far.

        Commands that only count labels never call it, so they load no measure and no sampler.
        """
        from evalsampling.evaluation.analysis import Analysis

        return Analysis.of_pool(self.pool, self.pool.spec.analysis).with_history(self.history)


def chances_elsewhere(path: str, rows: int, given: Iterable[str]) -> Mapping[str, float]:
    """Return each drawn row's chance, by its id as text, to be drawn by any round up to a design's.

    Rounds draw without replacement, each row with the chance of its cell. The pool of the design
    has as many ``rows`` at least. Rows that have a label there and none in ``given`` are left out,
    if so many may be of that pool alone.
    """
    found = _DESIGN.match(path)
    if found is None:
        raise InputError(f"{path}: is no design of a round: WORKSPACE/rounds/0001/design.json")
    snapshot, number = Snapshot.at(found["root"]), int(found["number"])
    if number not in [files.number for files in snapshot.standing]:
        raise InputError(f"{path}: there is no such round")
    sampler, size = snapshot.pool.spec.sampler.name, snapshot.pool.table.rows
    if not snapshot.analysis.sampler.by_row:
        way_out = "a row more than once; give the rows' chances as a column, by labels.drawn.chance"
        way_out = "whole clusters: say labels.drawn: clusters" if sampler == CLUSTERS else way_out
        raise InputError(f"{path}: drawn by {sampler}, which draws {way_out}")
    if size < rows:
        told = f"drawn of {size:,} rows, not {rows:,}; pool.where leaves out what it could not draw"
        raise InputError(f"{path}: {told}")
    history = snapshot.history.first(sum(each.number <= number for each in snapshot.standing))
    missed = np.prod([1 - drawn.chances(history.cell) for drawn in history.rounds], axis=0)
    gone = {snapshot.ids[question] for question in history.labelled}.difference(given)
    gone = gone if rows <= size - len(gone) else set()
    drawn = zip(snapshot.ids[: len(history)], (1 - missed).tolist(), strict=True)
    return {id: chance for id, chance in drawn if id not in gone}
