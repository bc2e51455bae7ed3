"""Tasks of rows that were drawn one by one, without a workspace: their names, and their votes."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.labels.delivery import LabelFile
from evalsampling.labels.sinks import reader_of, sink_of
from evalsampling.labels.tally import EACH, State, Subjects, Tally
from evalsampling.labels.tasks import task_key, task_name
from evalsampling.labels.votes import BY_REPLACE, Register, check_votes
from evalsampling.pool.row_ids import as_text
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.arrays import IntArray
from evalsampling.stats.history import NO_LABEL


@dataclasses.dataclass(frozen=True)
class DrawnTasks:
    """The tasks of all rounds.

    Attributes:
        spec: of the evaluation.
        ids: id of the row that each task is about.
        round: shape (tasks,): round that asked it, from 1.
    """

    spec: EvaluationSpec
    ids: Sequence[Any]
    round: IntArray

    @property
    def names(self) -> list[str]:
        """The opaque name of each task, made from the seed of the spec."""
        key, check = task_key(None, self.spec.seed), sink_of(self.spec).checks_tasks
        asked = zip(self.round.tolist(), self.ids, strict=True)
        return [
            task_name(self.spec, key, number, id, question, check)
            for question, (number, id) in enumerate(asked, start=1)
        ]

    def read(self, paths: Sequence[str]) -> tuple[dict[int, int], list[int]]:
        """Return the class code of each task that files of labels decide, and the disputed tasks.

        Args:
            paths: of the files, in the formats of `labels.formats`; rows go by task or by id.

        Raises:
            InputError: if a file cannot be read, or naming its first line that does not count.
        """
        register, sink = self._register(), reader_of(self.spec)
        for path in paths:
            file = LabelFile.read(path, id_columns=self.spec.pool.id, sink=sink)
            taken, rejects = check_votes(file.votes, register)
            for reject in rejects[:1]:
                reason, by_replace, _ = reject.reason.partition(BY_REPLACE)
                reason += "; leave out the wrong one" if by_replace else ""
                raise InputError(f"{path}: line {reject.line}: {reason}")
            register, _ = register.with_votes(taken, False, 1)
        decided = np.flatnonzero(register.labels != NO_LABEL).tolist()
        states = register.votes_so_far.states(range(len(self.ids)))
        disputed = [task for task, state in enumerate(states) if state is State.DISPUTED]
        return {task: int(register.labels[task]) for task in decided}, disputed

    def _register(self) -> Register:
        columns, labels = self.spec.pool.id, self.spec.labels
        names, ids = self.names, [as_text(id, columns) for id in self.ids]
        questions_of_id: dict[str, list[int]] = {}
        for question, id in enumerate(ids):
            questions_of_id.setdefault(id, []).append(question)
        rule = EACH if labels.oracle == "stochastic" else labels.rule
        return Register(
            question_of_task={name: question for question, name in enumerate(names)},
            questions_of_id=questions_of_id,
            ids=ids,
            tasks=names,
            labels=np.full(len(ids), NO_LABEL, dtype=np.int64),
            space=labels.space,
            tally=Tally(Subjects(len(ids), votes=labels.votes), rule=rule),
            id=columns,
        )
