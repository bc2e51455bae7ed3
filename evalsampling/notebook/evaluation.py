"""The evaluation that people hold who work in Python: in memory, or in a workspace."""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis, Measures
from evalsampling.evaluation.answers import codes_by_question
from evalsampling.evaluation.certificate import Certificate
from evalsampling.evaluation.estimates import Estimates
from evalsampling.evaluation.gates import Gates
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.evaluation.pictures import picture
from evalsampling.notebook.states import MemoryState, StoredState
from evalsampling.pool.frames import Column, Frame, Ids, is_column, is_table
from evalsampling.receivers.registry import read_addresses
from evalsampling.report.svg import Picture
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.gates import GatesSpec
from evalsampling.spec.promise import Promise
from evalsampling.stats.counted import counted
from evalsampling.stats.history import History
from evalsampling.stats.score_summary import ScoreSummary
from evalsampling.workspace.snapshot import Snapshot

State = MemoryState | StoredState
"""Where rounds and labels are, and how further ones come in: each call whole or not at all."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Evaluation:
    """One evaluation: rounds are sampled, labels taken, measures estimated.

    Made by `from_frame` or `from_arrays` of a pool in memory, or by `open` of a workspace. Of a
    workspace, `sample` and `label` do what the commands `sample` and `estimate --labels` do:
    rounds and labels are in its files, and other people's come along. Sampler, measures and seed
    are those it was made with, and nothing of it can be set.

    Attributes:
        state: where rounds and labels are.
    """

    state: State

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        id: str | list[str] | None = None,
        score: str | None = None,
        prediction: Any = None,
        probability: Any = None,
        **spec: Any,
    ) -> "Evaluation":
        """Return a new evaluation of a pool held in a table.

        Args:
            frame: a DataFrame of pandas, polars or another library, an Arrow table, a relation of
                DuckDB, which is run once and needs an id, or a mapping from names to columns. Only
                columns that are named are read.
            id: column that names the rows, or a list of columns that do so together; by default
                ``id``, where there is none the index of a DataFrame that has one, else the rows'
                numbers.
            score: column that drives the strata; by default ``score``. Without it a column for each
                class in ``probability`` does: strata are cut from all of these by a k-d tree.
            prediction: column of the classes predicted, or ``{"threshold": x}``; by default
                ``prediction``.
            probability: column of the prior probability of the positive class, or a column for
                each class.
            **spec: other keys of the spec file: see `from_arrays`. With ``score_is`` the score is a
                ``"probability"``, ``"log-odds"``, an ``"order"``, of which only ranks count, or the
                ``"confidence"`` in the class predicted; `scores` says what was made of it.

        Returns:
            An evaluation whose rows `sample` and `label` know by their ids.

        Raises:
            InputError: naming the argument, or the column and row, that is wrong.

        >>> from evalsampling import Evaluation
        >>> pool = {"name": ["a", "b", "c"], "score": [0.1, 0.4, 0.8], "guess": [0, 0, 1]}
        >>> evaluation = Evaluation.from_frame(pool, id="name", prediction="guess")
        >>> sorted(evaluation.sample(3).tolist())
        ['a', 'b', 'c']
        """
        named = {"id": id, "score": score, "prediction": prediction, "probability": probability}
        return cls(MemoryState.start(MemoryPool.from_frame(frame, named, spec)))

    @classmethod
    def from_labelled(
        cls, frame: Frame, *, label: str, drawn: Any, labels: Any = None, **columns: Any
    ) -> "Evaluation":
        """Return a new evaluation of a table some of whose rows have a label already.

        These rows are its first round, and all rows of the table are the pool: `estimate` answers
        at once, and `sample` goes on from there.

        Args:
            frame: as `from_frame` takes it.
            label: name of the column of labels. A row without a value has none.
            drawn: how the rows with a label were drawn, which nobody can find out from them:
                ``"random"``; ``"clusters"``, whole ones at random; ``{"within": column}``, at
                random among the rows of each value of a column; ``{"chance": column}``, each with
                its own chance; ``{"weight": column}``; ``{"design": path}``, by the
                ``design.json`` of another workspace; or ``"picked"``, by people. Then no number
                rests on them but for these rows.
            labels: further keys of the spec's ``labels``, as ``classes``.
            **columns: what `from_frame` takes: id, score, prediction, keys of the spec.

        Raises:
            InputError: naming the argument, or the column and row, that is wrong; and if no row has
                a label.

        >>> from evalsampling import Evaluation
        >>> verdicts = {"verdict": [1, 1, 0, 0], "human": [1, 0, 0, 0]}
        >>> evaluation = Evaluation.from_labelled(
        ...     verdicts, label="human", drawn="random", prediction="verdict", measure="precision"
        ... )
        >>> evaluation.estimate()[0].value
        0.5
        """
        if is_column(label) or is_table(label):
            way_out = "join another table first, in pandas by frame.merge(labels, how='left')"
            raise InputError(f"label: name the column of labels in the table; {way_out}")
        keys = {**(labels or {}), "column": label, "drawn": drawn}
        return cls.from_frame(frame, labels=keys, **columns)

    @classmethod
    def from_arrays(
        cls,
        score: Column | None,
        prediction: Column | None,
        *,
        id: Column | Frame | None = None,
        probability: Column | None = None,
        columns: Frame | None = None,
        **spec: Any,
    ) -> "Evaluation":
        """Return a new evaluation of a pool held in memory.

        A column is an array of NumPy or Arrow, a list, or a Series of any library. Several with an
        index must have the same.

        Args:
            score: shape (n,), finite: drives the strata. None if ``columns`` hold what the spec's
                ``pool`` names.
            prediction: shape (n,): classes predicted, or ``{"threshold": 0.5}``, or with
                ``labels.multilabel`` lists or shape (n, labels), 0 and 1; None likewise.
            id: shape (n,), integers or strings, no two alike, or a table whose columns are the id
                together; if not given, the index of a Series that has one, else row numbers.
            probability: shape (n,): prior probability of the positive class, or (n, classes);
                by default it follows from the score and ``score_is``: see `from_frame`. The columns
                of a table are found by the names of the classes, if it has them.
            columns: other columns of the pool, for systems, slices, features: a mapping, or a
                table of any library.
            **spec: keys of the spec file: ``measure``, ``sampler``, ``labels``, ``strata``,
                ``seed``, ``confidence``, ``budget``, by default all rows; of ``pool`` those that
                name columns, as ``slices``. ``logits``, in place of a probability, may be a table
                or an array of shape (n, classes).

        Returns:
            An evaluation whose rows `sample` and `label` know by their ids.

        Raises:
            InputError: naming the argument, or the column and row, that is wrong.

        >>> import numpy as np
        >>> from evalsampling import Evaluation
        >>> score = np.linspace(-4, 4, 1000)
        >>> evaluation = Evaluation.from_arrays(score, (score > 1).astype(int), seed=1)
        >>> ids = evaluation.sample(50)
        >>> evaluation.label(ids, (score[ids] > 1.2).astype(int))
        >>> estimate, = evaluation.estimate()
        >>> estimate.measure, 0.8 < estimate.value < 1
        ('f1', True)
        """
        pool = MemoryPool.from_arrays(score, prediction, id, probability, columns, spec)
        return cls(MemoryState.start(pool))

    @classmethod
    def open(cls, path: str | Path) -> "Evaluation":
        """Return the evaluation of a prepared workspace, with all rounds and labels so far.

        Args:
            path: directory or ``gs://bucket/prefix``.

        Raises:
            InputError: if there is no prepared workspace.
        """
        return cls(StoredState(Snapshot.at(path)))

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
        self.state.save(path)

    def __repr__(self) -> str:
        """Return a line with measures, size, sampler, rounds and labels."""
        history, table = self.history, self.analysis.table
        names = dict.fromkeys(part.name for part in self.analysis.measures)
        return (
            f"<Evaluation of {', '.join(names)}: {counted(table.rows, 'row')} in "
            f"{counted(len(table), 'cell')}, sampler {self.analysis.sampler.name}; "
            f"rounds {len(history.rounds)}, "
            f"labels {len(history.labelled):,} of {counted(len(history), 'row')} drawn>"
        )

    # --- rounds and labels

    def sample(self, new_rows: int) -> "Ids":
        """Draw one round and return the ids of its new rows.

        Where several columns are the id, the array has a field for each: ``ids["unique_id_l"]``.
        A stochastic oracle is to answer for each entry, also for a row that is there again. Of a
        workspace with an open round, the rows of that round that have no answer yet. No rows once
        a ``budget`` that was given is spent. Threads take turns, and a call that is interrupted
        leaves no round in memory.

        Args:
            new_rows: rows wanted, at least 1.

        Raises:
            InputError: if that is no such number, or the measure is undefined.
        """
        return self.state.sample(new_rows)

    def label(
        self, id: Column | Frame, label: Column | None = None, *, replace: bool = False
    ) -> None:
        """Take the labels of rows that were drawn.

        Labels of pandas are taken by their index, in any order: it holds the ids, or is that of
        the ``id`` that is given beside it. Others are in the order of the ids.

        Args:
            id: shape (n,): ids that `sample` returned; of several columns also a table of them or
                tuples. Or all at once: a table with the id columns and ``label``, a Series of
                labels whose index are the ids, or a mapping from ids to labels.
            label: shape (n,): classes, of any type, or one class of one id; with
                ``labels.multilabel`` lists of labels, or shape (n, labels), 0 and 1; of queries a
                list of the grades of all their `items`.
            replace: whether these take the place of other labels that rows have already.

        Raises:
            InputError: for an id that was not drawn, a label that is no class or missing, an index
                that does not hold the ids, or, of a deterministic oracle, two labels for one id;
                then no label is taken.
        """
        with self.state.turns.lock:
            spec = self.state.pool.spec
            if spec.labels.space.has_items and isinstance(self.state, MemoryState):
                self.state.grade(id, label)
                return
            asked, known = self.state.ids(), self.history.label.tolist()
            stochastic = self.analysis.sampler.stochastic
            codes = codes_by_question(id, label, spec, asked, known, stochastic, replace)
            self.state.label(codes, replace)

    def items(self, id: Column) -> list[list[Any]]:
        """Return the items to be graded of queries that were drawn from a pool in memory.

        Args:
            id: shape (n,): ids that `sample` returned.

        Raises:
            InputError: if rows are no queries, or one was not drawn.
        """
        if isinstance(self.state, MemoryState):
            return self.state.items(id)
        raise InputError("the rows of this evaluation are not in memory: use its workspace")

    # --- what they say

    def estimate(
        self, measures: "Measures | None" = None, intervals: Sequence[str] = ()
    ) -> Estimates:
        """Return estimates of measures, by default the evaluation's own, from the labels so far.

        One estimate for every component of every measure, on the pool and on every slice. Printed,
        they show their warnings too: labels that are missing, scores that are none, few positives.
        Their `people` say how well people agree, if a workspace has rows with two answers.

        Args:
            measures: one or several: a measure, its name, or a mapping as in the spec's
                ``measure``.
            intervals: names of interval methods (`inference.interval_methods`), as "wilson", whose
                intervals are to stand beside the default ones.

        Raises:
            InputError: if there is no measure, or no interval method, of a name.
        """
        found = self.state.findings(measures, intervals)
        return Estimates(found.estimates, found.warnings(), found.people)

    def gates(
        self,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
    ) -> Gates:
        """Return whether numbers surely reach their targets, surely do not, or neither can be said.

        Args:
            at_least: the least value of each number: of a measure by its name, of any by the title
                of its estimate, as ``recall of new where country=DE``. The spec's if no target is
                given.
            at_most: the greatest value of each number.

        Raises:
            InputError: if there is no target, or one is not about a number that is estimated.
        """
        gates = self._targets(at_least, at_most)
        if not gates:
            raise InputError("gates: none is asked for: give at_least={'recall': 0.9}, say")
        return self.state.findings().judge(gates)

    def claims(self, *claims: str) -> Gates:
        """Return what the intervals say of claims: reached, not reached, or not to be said yet.

        Args:
            *claims: as ``"recall >= 0.7"`` or ``"precision >= 0.9 and recall >= 0.7"``, about the
                numbers that `gates` takes; about each system where there are several.

        Raises:
            InputError: if a claim cannot be read, or is not about a number that is estimated.
        """
        gates = GatesSpec.claimed(claims)
        return self.gates(gates.at_least, gates.at_most)

    def certify(self, promise: str | None = None, confidence: float | None = None) -> Certificate:
        """Return the threshold for which a promise is proved by the labels so far, or that none is.

        Of a workspace a certificate that holds is kept as a file, as by `estimate --certify`.

        Args:
            promise: as ``"precision >= 0.95"``, ``"precision >= 0.9 and recall >= 0.8"`` or
                ``"precision >= 0.9 in each shop"``; measures are precision, recall, f1, accuracy.
                By default that of the spec's ``measure``.
            confidence: with which it is to be kept, in (0, 1); by default that of the intervals.

        Raises:
            InputError: if it cannot be read, the spec has none, or nothing can be proved of such a
                pool.
        """
        asked = self.spec.analysis.promise if promise is None else Promise.read(promise)
        if asked is None:
            raise InputError("certify: the spec has no promise: give one, as 'precision >= 0.95'")
        return self.state.certify(asked, confidence)

    def _targets(self, at_least: Any, at_most: Any) -> GatesSpec:
        if at_least or at_most:
            return GatesSpec.of(at_least, at_most)
        return self.spec.gates

    def results(self) -> pa.Table:
        """Return a tidy table of all estimates, which names run, pool, spec and code in each row.

        The same as the file of `estimate --report-to table:FOLDER`: docs/platforms.md has the
        columns.
        """
        return self.state.run(self.spec.gates).table

    def report_to(
        self,
        *receivers: str,
        at_least: Mapping[str, float] | None = None,
        at_most: Mapping[str, float] | None = None,
        overwrite: bool = False,
    ) -> list[str]:
        """Send the estimates to receivers, and return where they are at each of them.

        Args:
            *receivers: as ``"mlflow"`` or ``"table:estimates/"``.
            at_least: gates to send along, as `gates` takes them.
            at_most: likewise.
            overwrite: whether a file that evalsampling did not write may be replaced.

        Raises:
            InputError: if there is no such receiver, or a file of others is there; or if one could
                not be sent to: the others have got the estimates then.
        """
        addresses = read_addresses(receivers)
        for address in addresses:
            if address.output is not None:
                address.output.check(overwrite)
        run = self.state.run(self._targets(at_least, at_most))
        receipts = [address.send(run) for address in addresses]
        problems = [receipt.words for receipt in receipts if receipt.problem]
        if problems:
            raise InputError("; ".join(problems))
        return [str(receipt.where) for receipt in receipts]

    def report(
        self,
        to: str | Path = "report.html",
        *claims: str,
        short: bool = False,
        title: str = "Evaluation",
        overwrite: bool = False,
    ) -> str:
        """Write a page to send, with its numbers as .json and .csv beside it; return its path.

        Args:
            to: the page, which ends in .html.
            *claims: to be judged on top of it, as `claims` takes them; the spec's gates if none.
            short: whether it has one page only: claims, comparisons, numbers, what they rest on.
            title: of the page.
            overwrite: whether files that evalsampling did not write may be replaced.

        Raises:
            InputError: if a claim cannot be read or is about no number that is estimated; or if the
                evaluation is in memory and cannot be saved, see `save`; or if files of others are
                there.
        """
        from evalsampling.commands.report import ReportOptions, report  # Few calls need it.

        gates = GatesSpec.claimed(claims)
        with self.state.as_workspace() as (workspace, place):
            options = ReportOptions(
                workspace, to=str(to), short=short, title=title, overwrite=overwrite
            )
            return report(options, place, gates).page

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
        return picture(self.analysis, what, system, label)

    @property
    def scores(self) -> ScoreSummary | None:
        """What was made of the scores; None of queries and of labels that are numbers.

        Its ``kind`` is "probability", "log-odds" or "order", None where a column of probabilities
        is the prior. Its ``words`` are what the command `prepare` says.
        """
        return self.state.pool.stratification.score_summary(self.analysis.table)

    # --- what it is made of

    @property
    def analysis(self) -> Analysis:
        """All of it as it stands now, which nothing changes."""
        return self.state.analysis

    @property
    def history(self) -> History:
        """Rounds, draws and labels so far."""
        return self.analysis.history

    @property
    def spec(self) -> EvaluationSpec:
        """The spec of the evaluation."""
        return self.state.pool.spec
