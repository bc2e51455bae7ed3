"""Where the rounds and labels of an evaluation are: in memory, or in the files of a workspace."""

import contextlib
import dataclasses
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.commands.certify import certificates_of
from evalsampling.commands.deliveries import of_codes, take
from evalsampling.commands.estimate_result import result_of
from evalsampling.commands.findings import Findings, findings_of
from evalsampling.commands.report_facts import run_of
from evalsampling.commands.sample import SampleOptions, sample
from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis, Measures, check_new_rows
from evalsampling.evaluation.answers import questions_of, shown_ids
from evalsampling.evaluation.certificate import Certificate, certify
from evalsampling.evaluation.graded import read_grades, take_grades
from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.evaluation.labels_at_hand import with_given
from evalsampling.evaluation.odd_answers import AnswerGroup
from evalsampling.inference.nonresponse import WELL_ANSWERED, share_answered
from evalsampling.notebook.saving import FILE, save
from evalsampling.pool.frames import Ids
from evalsampling.pool.lists import list_names
from evalsampling.pool.stored_columns import ID
from evalsampling.receivers.run import Run
from evalsampling.report.numbers import Number
from evalsampling.spec.gates import GatesSpec
from evalsampling.spec.promise import Promise
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.orders import about_orders
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot, chances_elsewhere


class Turns:
    """Holds the lock of an evaluation, to be acquired while it changes; the lock is reentrant.

    A copy, pickled or not, has another lock: what is copied with it is another evaluation.
    """

    def __init__(self) -> None:
        """Make a lock that no thread holds."""
        self.lock = threading.RLock()

    def __reduce__(self) -> tuple[type["Turns"], tuple[()]]:
        """Return how a copy is made: with a new lock."""
        return Turns, ()


@dataclasses.dataclass(eq=False, repr=False)
class MemoryState:
    """Rounds and labels of a pool in memory.

    The analysis is replaced by one assignment as these come in, so that an interrupt finds all of
    them or none.
    """

    pool: MemoryPool
    analysis: Analysis
    turns: Turns = dataclasses.field(default_factory=Turns, init=False)

    @classmethod
    def start(cls, pool: MemoryPool) -> "MemoryState":
        """Return the state of a pool before the first round, or with the labels that it had."""
        at_hand, analysis = pool.spec.labels.at_hand, pool.analysis
        if at_hand is None:
            return cls(pool, analysis)
        drawn, codes = with_given(analysis, pool, pool.given(), chances_elsewhere)
        history = drawn.history.with_rows(*pool.describe(drawn.history))
        return cls(pool, drawn.with_history(history.with_labels(np.array([*codes.values()]))))

    def ids(self) -> list[Any]:
        """Return the id of the row of each question."""
        history = self.analysis.history
        return list(self.pool.ids(history.cell, history.rank).tolist())

    def sample(self, new_rows: int) -> Ids:
        """Draw one round and return the ids of its rows; an interrupted call draws none."""
        before = drawn = self.analysis
        try:
            with self.turns.lock:
                before = self.analysis
                drawn = self._with_round(new_rows)
                new = slice(len(before.history), None)
                rows = self.pool.stored(drawn.history.cell[new], drawn.history.rank[new])
                ids = shown_ids(rows[ID], self.pool.spec.pool.id)
                self.analysis = drawn
                return ids
        except BaseException:  # An interrupt too: nobody was given the rows.
            if self.analysis is drawn:
                self.analysis = before
            raise

    def _with_round(self, new_rows: int) -> Analysis:
        """Return the analysis with one round more, with the outputs of its rows.

        Without one if the spec has a budget, and it is spent.
        """
        limits, history, budget, money = self.pool.limits, self.analysis.history, None, None
        if limits is not None:
            budget = limits.labels - self.analysis.spent(len(history))
            money = None if limits.money is None else limits.money - history.money
            if budget < 1:
                return self.analysis
        drawn = self.analysis.with_round(new_rows, budget, money)
        if drawn is self.analysis:
            return drawn
        return drawn.with_history(drawn.history.with_rows(*self.pool.describe(drawn.history)))

    def label(self, codes: Mapping[int, int], replace: bool) -> None:
        """Add checked labels to the history; they may replace others, but are no votes."""
        votes = self.pool.spec.labels.votes
        if votes > 1:
            raise InputError(
                f"labels.votes: a row is to have {votes} votes of annotators, and labels of a "
                "notebook are no votes; save the evaluation, and deliver votes to the workspace"
            )
        history = self.analysis.history
        label = history.label.copy()
        label[list(codes)] = list(codes.values())
        self.analysis = self.analysis.with_history(history.with_corrections(label))

    def grade(self, id: Any, grades: Any) -> None:
        """Add the grades of all items of queries to the history."""
        pool, history = self.pool, self.analysis.history
        given = read_grades(self.ids(), id, grades)
        rows = pool.stored(history.cell, history.rank)
        graded = take_grades(rows, history, given, pool.spec.reading, pool.table)
        self.analysis = self.analysis.with_history(graded)

    def items(self, id: Any) -> list[list[Any]]:
        """Return the items to be graded of queries that were drawn."""
        pool, history = self.pool, self.analysis.history
        if pool.spec.pool.lists is None:
            raise InputError("rows of this evaluation have no items: the spec has no pool.lists")
        questions = questions_of(np.asarray(id).tolist(), self.ids())
        stored = pool.stored(history.cell[questions], history.rank[questions])
        return list(stored[list_names(0)[0]].to_pylist())

    def findings(self, measures: Measures | None = None, intervals: Sequence[str] = ()) -> Findings:
        """Return what the labels tell.

        Where labels come in by calls nobody says why a row has none, so a round that is well
        answered is taken to be done.
        """
        history = self.analysis.history
        well = share_answered(history)[history.met] >= WELL_ANSWERED
        return Findings.of(
            self.pool,
            self.analysis,
            measures,
            intervals,
            silent={"": np.flatnonzero((history.label == NO_LABEL) & well).tolist()},
            groups=_groups(history),
            about_pairs=about_orders(self.pool.orders),
        )

    def certify(self, promise: Promise, confidence: float | None) -> Certificate:
        """Return what the labels prove of a promise."""
        planned = None if self.pool.limits is None else self.pool.limits.planned
        return certify(self.analysis, promise, confidence, planned)

    def run(self, gates: GatesSpec) -> Run:
        """Return the estimates as receivers get them."""
        found, history = self.findings(), self.analysis.history
        return Run(
            name="evaluation",
            workspace=None,
            spec=self.pool.spec.to_mapping(),
            source=self.pool.spec.pool,
            pool=(),
            rows=self.pool.table.rows,
            round=len(history.rounds),
            labels=len(history.labelled),
            open=len(history) - len(history.labelled),
            warnings=found.warnings(),
            numbers=tuple(map(Number.of, found.estimates)),
            gates=found.judge(gates) if gates else None,
        )

    def save(self, path: str | Path) -> None:
        """Write the evaluation to a workspace, or the part that the workspace lacks."""
        with self.turns.lock:
            save(self.analysis, self.pool, path)

    @contextlib.contextmanager
    def as_workspace(self) -> Iterator[tuple[str, str]]:
        """Yield the path of a workspace with the evaluation, removed afterwards, and a name."""
        with tempfile.TemporaryDirectory() as folder:
            self.save(f"{folder}/evaluation")
            yield f"{folder}/evaluation", "WORKSPACE"


def _groups(history: History) -> list[AnswerGroup]:
    """Return the answers that came in by each call.

    None where a call replaced some: those that it left are a choice of the call before.
    """
    if any(taken.replace for taken in history.taken):
        return []
    return [AnswerGroup.of_codes("", taken.codes.items()) for taken in history.taken]


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
        chunks = [chunk for files in self.snapshot.standing for chunk in files.asked[ID].chunks]
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

    def label(self, codes: Mapping[int, int], replace: bool) -> None:
        """Add labels to the workspace, as the command `estimate` adds a delivery."""
        file = of_codes(FILE, self.snapshot, codes, replace)
        with Snapshot.held(self.pool) as snapshot:
            take([file], snapshot, strict=True)
        self.reread()

    def findings(self, measures: Measures | None = None, intervals: Sequence[str] = ()) -> Findings:
        """Return what the labels tell."""
        return findings_of(self.snapshot, measures, intervals)

    def certify(self, promise: Promise, confidence: float | None) -> Certificate:
        """Return what the labels prove of a promise, and keep a certificate that holds."""
        with Snapshot.held(self.pool) as snapshot:
            return certificates_of(snapshot, [promise], confidence)[0]

    def run(self, gates: GatesSpec) -> Run:
        """Return the estimates as receivers get them: the result of `estimate` on the workspace."""
        return run_of(self.snapshot, result_of(self.snapshot, gates=gates))

    @contextlib.contextmanager
    def as_workspace(self) -> Iterator[tuple[str, str]]:
        """Yield the path of the workspace, twice."""
        yield self.pool.workspace.path, self.pool.workspace.path

    def save(self, path: str | Path) -> None:
        """Refuse: the evaluation is in a workspace already."""
        raise InputError(f"it is in a workspace already: {self.pool.workspace.path}")
