"""An evaluation in a notebook: of a pool in memory, or of a workspace that others use too."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.commands.deliveries import take
from evalsampling.commands.sample import SampleOptions, sample
from evalsampling.errors import InputError
from evalsampling.evaluation.evaluation import check_new_rows
from evalsampling.evaluation.memory_evaluation import MemoryEvaluation
from evalsampling.evaluation.pictures import picture
from evalsampling.notebook.saving import delivery, save
from evalsampling.pool.frames import Ids
from evalsampling.pool.stored_columns import ID
from evalsampling.report.svg import Picture
from evalsampling.workspace.snapshot import Snapshot


@dataclasses.dataclass(repr=False)
class Evaluation(MemoryEvaluation):
    """Cell table, sampler, measures and history of one evaluation.

    Made by `from_frame` or `from_arrays` of a pool in memory, or by `open` of a workspace. Of a
    workspace, `sample` and `label` do what the commands `sample` and `estimate --labels` do:
    rounds and labels are in its files, and other people's come along.

    Attributes:
        stored: what the workspace holds, None of a pool in memory.
    """

    stored: Snapshot | None = None

    @classmethod
    def open(cls, path: str | Path) -> "Evaluation":
        """Return the evaluation of a prepared workspace, with all rounds and labels so far.

        Args:
            path: directory or ``gs://bucket/prefix``.

        Raises:
            InputError: if there is no prepared workspace.
        """
        snapshot = Snapshot.at(path)
        found = snapshot.evaluation()
        fields = [one.name for one in dataclasses.fields(found) if one.init]
        return cls(**{name: getattr(found, name) for name in fields}, stored=snapshot)

    def save(self, path: str | Path) -> None:
        """Write the evaluation of a pool in memory to a workspace, which commands can go on with.

        A workspace that an earlier `save` of this evaluation wrote, or began to write, gets the
        rounds and labels that it lacks.

        Args:
            path: directory, new or empty, or ``gs://bucket/prefix``.

        Raises:
            InputError: if this is a workspace already, something else is there, or the spec names
                functions of this session.
        """
        if self.stored is not None:
            raise InputError(f"it is in a workspace already: {self.stored.pool.workspace.path}")
        with self._turns.lock:
            save(self, self._memory(), path)

    def sample(self, new_rows: int) -> "Ids":
        """Draw one round and return the ids of its new rows.

        A stochastic oracle is to answer for each entry, also for a row that is there again. Of a
        workspace with an open round, the rows of that round that have no answer yet.
        """
        if self.stored is None:
            return super().sample(new_rows)
        check_new_rows(new_rows)
        with self._turns.lock:
            drawn = sample(SampleOptions(self.stored.pool.workspace.path, size=int(new_rows)))
            self._reread()
            waiting = [
                question
                for question in self._questions_of(drawn.round if drawn.rows else 0)
                if question not in self.stored.answered
            ]
            ids = self._ids()
            return ids.take(pa.array(waiting, pa.int64())).to_numpy(zero_copy_only=False)

    def plot(
        self, what: str = "intervals", system: str | None = None, label: str = "positives"
    ) -> Picture:
        """Return a picture of the evaluation, which a notebook shows; its ``svg`` is text.

        Args:
            what: ``intervals``, ``slices``, ``convergence``, ``curve``, ``effort`` (where labels
                were spent) or ``calibration`` (observed rate against score).
            system: whose curve is drawn; None for the first.
            label: what the class is called that rates are about.

        Raises:
            InputError: if there is no such picture, or nothing to draw in it.
        """
        return picture(self, what, system, label)

    def _reread(self) -> None:
        assert self.stored is not None
        stored = self.stored.reread()
        self.stored, self.history = stored, stored.history

    def _questions_of(self, number: int) -> list[int]:
        """Return the questions that a round of the workspace asked; none of round 0."""
        assert self.stored is not None
        asked = [files.asked for files in self.stored.standing if files.number == number]
        return [question - 1 for table in asked for question in table["question"].to_pylist()]

    def _ids(self) -> pa.Array:
        """Return the id of the row of each question of the workspace."""
        assert self.stored is not None
        columns = [files.asked[ID] for files in self.stored.standing]
        chunks = [chunk for column in columns for chunk in column.chunks]
        return pa.concat_arrays(chunks) if chunks else pa.array([], pa.int64())

    def _asked(self) -> list[Any]:
        if self.stored is None:
            return super()._asked()
        self._reread()  # Others may have added rounds and labels.
        return list(self._ids().to_pylist())

    def _take(self, found: Mapping[int, int], replace: bool) -> None:
        if self.stored is None:
            super()._take(found, replace)
            return
        file = delivery(self.stored, found, replace)
        with self.stored.pool.workspace.in_use():
            take([file], self.stored.reread(), strict=True)
        self._reread()
