"""Rounds, deliveries and labels of a workspace, as they are at one moment."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from evalsampling.labels import splink
from evalsampling.labels.annotators import ControlSubject, control_subjects, gold_table
from evalsampling.labels.controls import Controls
from evalsampling.labels.items import graded_outputs
from evalsampling.labels.tally import EACH, State, Subjects, Tally
from evalsampling.labels.tasks import TASK
from evalsampling.labels.vote import Pair
from evalsampling.labels.vote_rules import decided_by
from evalsampling.labels.votes import Register, answers_of
from evalsampling.pool.stored_columns import CELL, ID, RANK, SLICE_PREFIX, outputs_of_columns
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.outputs import Outputs
from evalsampling.workspace.adjudications import Adjudication, read_adjudications
from evalsampling.workspace.deliveries import Delivery, read_deliveries
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.rounds import RoundFiles, read_rounds
from evalsampling.workspace.workspace import (
    Workspace,
)

if TYPE_CHECKING:
    from evalsampling.evaluation.analysis import Analysis


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """What a workspace holds at one moment: read once by a command, never changed.

    After something was added, `reread` returns another one.

    Attributes:
        pool: what `prepare` left.
        deliveries: of labels, in the order they came in.
        rounds: in order, also those that were withdrawn.
        adjudications: in order.
        decide: what decides by all votes, where the spec's rule does: `decided_by` that rule, or
            `voted_labels` where nobody asks which class a label is.
        forgotten: number of the next record of what is forgotten, before anything was read.
    """

    pool: PreparedPool
    deliveries: Sequence[Delivery]
    rounds: Sequence[RoundFiles]
    adjudications: Sequence[Adjudication] = ()
    decide: Callable[[Tally], Mapping[int, int]] | None = None
    forgotten: int = 1

    @classmethod
    def read(cls, pool: PreparedPool) -> "Snapshot":
        """Read deliveries and rounds of a prepared workspace.

        Raises:
            InputError: if a file cannot be read, or a round is missing.
        """
        forgotten = pool.workspace.next_forgotten
        # Deliveries before rounds: those they are about are there by then.
        deliveries = read_deliveries(pool.workspace)
        rounds, adjudications = read_rounds(pool), read_adjudications(pool)
        return cls(pool, deliveries, rounds, adjudications, forgotten=forgotten)

    @classmethod
    def at(cls, path: str | Path) -> "Snapshot":
        """Read what a workspace holds.

        Raises:
            InputError: if it is not prepared, or as `read` says.
        """
        return cls.read(PreparedPool.read(Workspace(path)))

    def reread(self) -> "Snapshot":
        """Read again, after something was added to the workspace."""
        return Snapshot.read(self.pool.reread())

    # --- questions

    @functools.cached_property
    def withdrawn(self) -> frozenset[int]:
        """Numbers of the rounds that were withdrawn.

        Each later round says which had been withdrawn when it was drawn: a withdrawal that it does
        not know of came too late, in a store that keeps nobody out, and is void. One that came in
        when deliveries had been read, and was followed by a round, is known by that round.
        """
        told = {one.withdraws for one in self.deliveries if one.withdraws is not None}
        told = told.union(*(files.design.get("withdrawn", ()) for files in self.rounds))
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

    @property
    def next_round_size(self) -> int:
        """New rows of the next round, if nobody asks for others: withdrawn rounds do not count."""
        return self.pool.spec.round_size.after(len(self.standing))

    @functools.cached_property
    def tasks(self) -> list[str]:
        """Tasks of all questions, in the order of the history's.

        Of queries, which are the questions of the history, there is a task for each item. All that
        is about votes numbers tasks; the history alone numbers queries.
        """
        return [
            task
            for files in self.standing
            for task in files.new_tasks(self.pool.spec, self.pool.task_key)
        ]

    @functools.cached_property
    def ids(self) -> list[str]:
        """Ids of what was asked about as text, in the order of the tasks."""
        return [str(id) for files in self.standing for id in files.subjects(self.pool.spec)]

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
        rule = EACH if labels.oracle == "stochastic" else labels.rule
        tally = Tally(Subjects(first, settles, labels.votes), rule=rule)
        decide = self.decide or functools.partial(decided_by, self.pool.spec)
        # A rule that looks at all votes does so once for all that came before the next round.
        for rounds, deliveries in itertools.groupby(self.deliveries, self._standing_then):
            for one in deliveries:
                answers = answers_of(one.votes, self.subject_of_task, labels.codes)
                tally.add(answers, one.replace, rounds)
            if tally.looks_at_all:
                tally.decide_together(decide(tally), rounds)
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
        """Number of questions with a label; of queries, those whose items are all graded."""
        if self.pool.spec.pool.lists is not None:
            return len(self.history.labelled)
        return int(np.sum(self.labels != NO_LABEL))

    @functools.cached_property
    def control_subjects(self) -> Sequence[ControlSubject]:
        """The gold rows and repeats among the subjects of votes."""
        first = len(self.tasks) + len(self._settling)
        return control_subjects(self.controls, first, self.pool.spec.labels.codes)

    @property
    def gold(self) -> npt.NDArray[np.int64]:
        """Gold rows that are decided, by their class and by their label: (classes, classes).

        Numbers have no gold rows: (0, 0).
        """
        classes = len(self.pool.spec.labels.codes)
        return gold_table(self.tally, self.control_subjects, classes)

    @functools.cached_property
    def late(self) -> int:
        """Number of questions whose first answer came after a later round had been drawn."""
        met = [
            place
            for place, files in enumerate(self.standing, start=1)
            for _ in files.subjects(self.pool.spec)
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
        """Rows of all deliveries that were rejected, and not made up for by a later one."""
        # The same content delivered again is judged anew: the last judgement counts.
        unresolved: dict[str, int] = {}
        answered: set[str] = set()
        for one in reversed(self.deliveries):
            mended = sum(count for task, count in one.rejected.items() if task in answered)
            unresolved.setdefault(one.digest, one.rejects - mended)
            answered.update(one.votes["task"].to_pylist())
        return sum(unresolved.values())

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
            multilabel=labels.multilabel,
            folds_names=self.pool.folds_names,
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

    # --- the evaluation

    @functools.cached_property
    def history(self) -> History:
        """The rounds, their rows and the labels."""
        spec = self.pool.spec
        if spec.pool.lists is not None:
            return self._history_of_queries()
        systems, classes = len(spec.pool.systems), self.pool.table.classes
        history = self._drawn(
            History.start(systems, classes, len(spec.pool.slices)),
            [outputs_of_columns(files.asked, systems, classes) for files in self.standing],
        )
        corrected = {
            question: rounds
            for question, rounds in self.tally.corrected.items()
            if question < len(history) and self.labels[question] != NO_LABEL
        }
        shares = self.tally.shares(classes)
        return dataclasses.replace(history, label=self.labels, corrected=corrected, shares=shares)

    def _history_of_queries(self) -> History:
        """Return the history of a pool of queries, with the grades of those that are graded."""
        from evalsampling.evaluation.graded import empty_history
        from evalsampling.measures.build import build_gains

        spec, table = self.pool.spec, self.pool.table
        systems, moments = len(spec.pool.systems), table.outputs.probability.shape[1]
        depth = max(gain.cut for gain in build_gains(spec))
        graded = [
            graded_outputs(files.asked, label, systems, moments, depth)
            for files, label in zip(self.standing, np.split(self.labels, self._ends), strict=False)
        ]
        history = self._drawn(empty_history(spec, table), [outputs for outputs, _ in graded])
        done = [label for _, label in graded]
        return history.with_labels(np.concatenate([np.zeros(0, dtype=np.int64), *done]))

    def _drawn(self, nothing: History, outputs: Sequence[Outputs]) -> History:
        """Return a history with all rounds that stand, and the outputs of the rows of each."""
        pool, history = self.pool, nothing
        for files, known in zip(self.standing, outputs, strict=True):
            asked = files.asked
            columns = [asked[SLICE_PREFIX + name] for name in pool.spec.pool.slices]
            history = history.with_round(
                files.round,
                np.searchsorted(pool.table.code, asked[CELL].to_numpy()),
                asked[RANK].to_numpy(),
                known,
                pool.slices.codes(columns, len(asked)),
            )
        return history

    @property
    def _ends(self) -> npt.NDArray[np.int64]:
        """Where the tasks of each round that stands end."""
        sizes = [len(files.subjects(self.pool.spec)) for files in self.standing]
        return np.cumsum(np.array(sizes, dtype=np.int64))

    @functools.cached_property
    def analysis(self) -> "Analysis":
        """What all rounds and labels so far say.

        What only counts labels loads no measure and no sampler.
        """
        from evalsampling.evaluation.analysis import Analysis

        return Analysis.of_pool(self.pool).with_history(self.history)
