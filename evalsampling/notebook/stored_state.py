"""Rounds and labels in the files of a workspace, to which commands and other people add too."""

import dataclasses
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.commands.deliveries import take
from evalsampling.commands.estimate_result import result_of
from evalsampling.commands.label_quality import doubts, missing_labels
from evalsampling.commands.reporting import run_of
from evalsampling.commands.sample import SampleOptions, sample
from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis, check_new_rows
from evalsampling.evaluation.answers import shown_ids
from evalsampling.notebook.saving import delivery
from evalsampling.notebook.turns import Turns
from evalsampling.pool.frames import Ids
from evalsampling.pool.stored_columns import ID
from evalsampling.receivers.run import Run
from evalsampling.spec.gates import GatesSpec
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot


@dataclasses.dataclass(eq=False, repr=False)
class StoredState:
    """Rounds and labels of a workspace, with the calls of `MemoryState`."""

    snapshot: Snapshot
    turns: Turns = dataclasses.field(default_factory=Turns, init=False)

    @property
    def pool(self) -> PreparedPool:
        """The pool and its spec."""
        return self.snapshot.pool

    @property
    def analysis(self) -> Analysis:
        """The evaluation as the workspace held it when it was read last."""
        return self.snapshot.analysis

    def ids(self) -> list[Any]:
        """Return the id of the row of each question, after reading the workspace again."""
        self.reread()
        return list(self._ids().to_pylist())

    def reread(self) -> None:
        """Read the workspace again."""
        self.snapshot = self.snapshot.reread()

    def _ids(self) -> pa.Array:
        """Return the id of the row of each question when the workspace was read last."""
        columns = [files.asked[ID] for files in self.snapshot.standing]
        chunks = [chunk for column in columns for chunk in column.chunks]
        return pa.concat_arrays(chunks) if chunks else pa.array([], pa.int64())

    def sample(self, new_rows: int) -> Ids:
        """Run the command `sample` and return the ids of its round's rows without an answer."""
        check_new_rows(new_rows)
        with self.turns.lock:
            drawn = sample(SampleOptions(self.pool.workspace.path, size=int(new_rows)))
            self.reread()
            waiting = [
                question - 1
                for files in self.snapshot.standing
                if drawn.rows and files.number == drawn.round
                for question in files.asked["question"].to_pylist()
                if question - 1 not in self.snapshot.answered
            ]
            ids = self._ids().take(pa.array(waiting, pa.int64()))
            return shown_ids(ids, self.pool.spec.pool.id)

    def draw(self, new_rows: int, budget: int | None, money: float | None) -> npt.NDArray[np.int64]:
        """Refuse: a round that is in no file would be lost."""
        raise InputError(
            f"{self.pool.workspace.path}: rounds of a workspace are drawn by `sample`, within the "
            "budget of its spec"
        )

    def label(self, codes: Mapping[int, int], replace: bool) -> None:
        """Add labels to the workspace, as the command `estimate` adds a delivery."""
        file = delivery(self.snapshot, codes, replace)
        with Snapshot.held(self.pool) as snapshot:
            take([file], snapshot, strict=True)
        self.reread()

    def grade(self, id: Any, grades: Any) -> None:
        """Refuse: no workspace has queries."""
        self._refuse()

    def items(self, id: Any) -> list[list[Any]]:
        """Refuse: no workspace has queries."""
        self._refuse()

    def doubts(self, analysis: Analysis) -> list[str]:
        """Return what is to be said of the labels of an analysis before any number."""
        return doubts(self.snapshot, analysis, missing_labels(self.snapshot, analysis))

    def run(self, gates: GatesSpec) -> Run:
        """Return the estimates as receivers get them, those of `estimate` on the workspace."""
        started = time.time()
        return run_of(self.snapshot, result_of(self.snapshot, gates=gates), started)

    def _refuse(self) -> NoReturn:
        """Raise the error of calls that need the rows in memory."""
        raise InputError("the rows of this evaluation are not in memory: use its workspace")

    def save(self, path: str | Path) -> None:
        """Refuse: the evaluation is in a workspace already."""
        raise InputError(f"it is in a workspace already: {self.pool.workspace.path}")
