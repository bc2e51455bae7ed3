"""Tasks of rows that were drawn one by one, without a workspace: their names, and their votes."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.labels.delivery import LabelFile
from evalsampling.labels.register import Register
from evalsampling.labels.sinks import reader_of, sink_of
from evalsampling.labels.tally import State
from evalsampling.labels.tasks import key_of_seed, task_name
from evalsampling.labels.votes import BY_REPLACE, check_votes
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
        key, check = key_of_seed(self.spec.seed), sink_of(self.spec).checks_tasks
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
        register = Register.of_questions(self.names, self.ids, self.spec, folds_names=False)
        sink = reader_of(self.spec)
        for path in paths:
            file = LabelFile.read(path, id_columns=self.spec.pool.id, sink=sink, spec=self.spec)
            taken, rejects = check_votes(file.votes, register)
            for reject in rejects[:1]:
                reason, by_replace, _ = reject.reason.partition(BY_REPLACE)
                reason += "; leave out the wrong one" if by_replace else ""
                raise InputError(f"{path}: line {reject.line}: {reason}")
            register, _ = register.with_votes(taken, False, 1)
        tally, codes = register.tally, register.tally.codes
        decided = np.flatnonzero(codes != NO_LABEL).tolist()
        disputed = [task for task in range(len(codes)) if tally.state(task) is State.DISPUTED]
        return {task: int(codes[task]) for task in decided}, disputed
