"""A driver that draws operations at random and compares the ways to an evaluation after each.

The same rounds and labels go into an evaluation in memory, by Python, and into a workspace, by the
command line or by a notebook that has it open; commands are killed at random file operations and
run again. Then all that estimates are made of is the same in all. A sequence is told by its number,
so that one alone can be run: ``DRIVER_SEED=17 DRIVER_SEQUENCES=1``.
"""

import contextlib
import dataclasses
import itertools
import os
import random
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.verify import verify
from evalsampling.stats.history import History
from evalsampling.workspace import deliveries, rounds
from evalsampling.workspace.snapshot import Snapshot
from tests.commands.votes import HEADER
from tests.faults.operations import CHANGES, Killed, faults
from tests.jobs import Job, Jobs, call, make_pool

FIRST = int(os.environ.get("DRIVER_SEED", "1"))
SEQUENCES = int(os.environ.get("DRIVER_SEQUENCES", "20"))
FEW, STEPS = 1, 12

KEYS: dict[str, Any] = {
    "measure": ["accuracy"],
    "strata": {"leaves": 3},
    "budget": 80,
    "round_size": 6,
    "seed": 5,
}
SPECS: list[dict[str, Any]] = [
    {"sampler": sampler, "labels": {"votes": votes}}
    for sampler, votes in itertools.product(["passive", "calibrated", "ais"], [1, 2])
]


@dataclasses.dataclass
class Driver:
    """One sequence.

    Attributes:
        draw: what decides by chance.
        one: the job of the workspace.
        memory: the same evaluation in memory.
        notebook: the workspace, opened in a notebook at some time.
        votes: that a row is to get.
        told: votes so far on each task, by annotator.
        saved: where the evaluation in memory was saved last, None if what is there has been undone.
        log: operations so far, to be told if they end in a difference.
    """

    draw: random.Random
    one: Job
    memory: Evaluation
    notebook: Evaluation
    votes: int
    told: dict[str, dict[str, str]] = dataclasses.field(default_factory=dict)
    saved: Path | None = None
    log: list[str] = dataclasses.field(default_factory=list)

    def step(self) -> None:
        """Do one operation, in all ways, and compare."""
        # In proportion to these, as far as there is something to do.
        chosen = self.draw.choices(
            [self.sample, self.label, self.correct, self.withdraw, self.save,
             self.adjudicate, self.open, self.close],
            [4, 6, 2, 1, 2, 2, 1, 1],
        )[0]  # fmt: skip
        self.log.append(chosen.__name__)
        chosen()
        self.compare()

    # --- operations

    def killed(self, *arguments: Any) -> bool:
        """Call a command, killed at some file operation by chance; tell whether it was."""
        if self.draw.random() < 0.6:
            return False
        at = self.draw.randint(1, 45)
        self.log.append(f"killed at {at}")
        try:
            with faults(CHANGES, at):
                call(*arguments)
        except Killed:
            return True
        return True

    def run(self, *arguments: Any) -> Any:
        """Call a command, perhaps killed before, to its end; return what it prints."""
        self.killed(*arguments)
        result = call(*arguments, "--json").done
        return result.json

    def sample(self) -> None:
        size = self.draw.randint(1, 9)
        if self.memory.analysis.exhausted or len(self.memory.history.labelled) >= KEYS["budget"]:
            return
        before = Snapshot.at(self.one.workspace)
        ids = self.memory.sample(size).tolist()
        rounds = len(before.rounds) + 1
        if not before.open_questions and self.draw.random() < 0.4:
            if self.draw.random() < 0.5:
                with contextlib.suppress(Killed), faults(CHANGES, self.draw.randint(1, 45)):
                    self.notebook.sample(size)
            if len(Snapshot.at(self.one.workspace).rounds) < rounds or ids:
                assert sorted(self.notebook.sample(size).tolist()) == sorted(ids)
            return
        line = ["sample", self.one.workspace, "--size", size]
        line += ["--next"] if before.open_questions else []
        if self.killed(*line) and len(Snapshot.at(self.one.workspace).rounds) == rounds:
            line = line[:4]  # It was drawn: it is given again, unless nothing is to be labelled.
        if len(line) == 4 and not ids and len(Snapshot.at(self.one.workspace).rounds) == rounds:
            return
        result = call(*line, "--json").done
        assert (result.json["round"], result.json["rows"]) == (rounds, len(ids))

    def label(self) -> None:
        """Vote on some rows of any round, each annotator once."""
        snapshot = Snapshot.at(self.one.workspace)
        waiting = [
            (question, task)
            for question, task in enumerate(snapshot.tasks)
            if len(self.told.get(task, {})) < self.votes
        ]
        rows, decided = [], {}
        for question, task in self.draw.sample(waiting, min(len(waiting), 5)):
            votes = self.told.setdefault(task, {})
            label, name = self.draw.choice("01"), f"ann{len(votes)}"
            votes[name] = label
            rows.append((task, name, label, "", f"note on {snapshot.ids[question]}."))
            if len(votes) == self.votes and len(set(votes.values())) == 1:
                decided[question] = int(label)
        self.deliver(rows, decided, "--labels")

    def correct(self) -> None:
        """Replace labels of rows that have one, by all their annotators alike."""
        snapshot = Snapshot.at(self.one.workspace)
        known = [
            question
            for question in self.memory.history.labelled.tolist()
            if len(self.told.get(snapshot.tasks[question], {})) == self.votes
            and len(set(self.told[snapshot.tasks[question]].values())) == 1
        ]
        rows, decided = [], {}
        for question in self.draw.sample(known, min(len(known), 3)):
            task, label = snapshot.tasks[question], self.draw.choice("01")
            for name in self.told[task]:
                self.told[task][name] = label
                rows.append((task, name, label, "", ""))
            decided[question] = int(label)
        self.deliver(rows, decided, "--replace")

    def deliver(self, rows: Sequence[Any], decided: dict[int, int], option: str) -> None:
        """Give votes to the workspace, and what they decide to the evaluation in memory."""
        if not rows:
            return
        ids = self.memory.state.ids()
        if decided:
            labels = {ids[question]: code for question, code in decided.items()}
            self.memory.label(labels, replace=option == "--replace")
        path = self.one.deliver(rows, f"{len(self.log)}.csv", HEADER)
        self.run("estimate", self.one.workspace, option, path)

    def withdraw(self) -> None:
        snapshot = Snapshot.at(self.one.workspace)
        if not snapshot.standing:
            return
        last = snapshot.standing[-1]
        tasks = last.new_tasks(snapshot.pool)
        given = {task for one in snapshot.deliveries for task in one.votes["task"].to_pylist()}
        if given & {*tasks} or not last.exported or last.number in snapshot.closed:
            return
        self.run("sample", self.one.workspace, "--withdraw", last.number)
        history = self.memory.history.first(len(self.memory.history.rounds) - 1)
        self.memory.state.analysis = self.memory.analysis.with_history(history)
        self.saved = None

    def adjudicate(self) -> None:
        snapshot = Snapshot.at(self.one.workspace)
        if not any(state.name == "DISPUTED" for state in snapshot.states):
            return
        number = self.run("sample", self.one.workspace, "--adjudicate")["round"]
        batch = Snapshot.at(self.one.workspace).adjudications[number - 1].tasks
        rows, decided = [], {}
        for task, question in zip(
            batch["task"].to_pylist(), batch["question"].to_pylist(), strict=True
        ):
            if snapshot.states[question - 1].name == "DISPUTED":
                decided[question - 1] = self.draw.choice([0, 1])
                rows.append((task, "chief", str(decided[question - 1]), "", ""))
        self.deliver(rows, decided, "--labels")

    def close(self) -> None:
        self.run("estimate", self.one.workspace, "--close")

    def save(self) -> None:
        """Save the evaluation in memory, once more where that is possible, and open that."""
        if self.saved is None:
            self.saved = self.one.directory / f"saved-{len(self.log)}"
        if self.draw.random() < 0.4:
            with contextlib.suppress(Killed), faults(CHANGES, self.draw.randint(1, 150)):
                self.memory.save(self.saved)
        self.memory.save(self.saved)
        same(Evaluation.open(self.saved).history, self.memory.history)

    def open(self) -> None:
        self.notebook = Evaluation.open(self.one.workspace)

    # --- what must hold

    def compare(self) -> None:
        snapshot = Snapshot.at(self.one.workspace)
        same(snapshot.history, self.memory.history)
        assert [str(id) for id in self.memory.state.ids()] == snapshot.ids
        self.notebook.state.ids()
        same(self.notebook.history, self.memory.history)

    def end(self) -> None:
        """Compare what is told at the end of a sequence."""
        found = verify(WorkspaceOptions(str(self.one.workspace)))
        assert found.bad == ()
        told = call("estimate", self.one.workspace, "--json").done
        numbers = [(one.value, one.low, one.high) for one in self.memory.estimate(["accuracy"])]
        listed = [(one["value"], one["low"], one["high"]) for one in told.json["measures"]]
        assert listed == numbers


def same(one: History, other: History) -> None:
    """Check that two histories tell the same."""
    for name in ("cell", "rank", "label"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert dict(one.corrected) == dict(other.corrected)
    assert len(one.rounds) == len(other.rounds)
    for here, there in zip(one.rounds, other.rounds, strict=True):
        for name in ("question", "probability", "new"):
            np.testing.assert_array_equal(getattr(here, name), getattr(there, name))


@pytest.fixture
def sequences(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> Callable[[Sequence[int]], int]:
    """Run the sequences of some numbers; return how many operations they had."""
    # Nothing here loses power, and flushing takes most of the time of such small files.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    for module in (deliveries, rounds):
        monkeypatch.setattr(module, "at_once", lambda read, names: list(map(read, names)))
    pool = make_pool(120)
    kept: dict[int, Job] = {}

    def run(numbers: Sequence[int]) -> int:
        operations = 0
        for number in numbers:
            place = number % len(SPECS)
            keys = {**KEYS, **SPECS[place]}
            if place not in kept:
                kept[place] = job(pool, **keys)
                assert kept[place].prepare("--in-process").status == 0
            one = dataclasses.replace(
                kept[place], workspace=kept[place].directory / f"sequence-{number}"
            )
            shutil.copytree(kept[place].workspace, one.workspace)
            driver = Driver(
                random.Random(number),
                one,
                # It has one label a row: what the votes decide.
                Evaluation.from_frame(pool.table, id="id", **keys | {"labels": {}}),
                Evaluation.open(one.workspace),
                keys["labels"]["votes"],
            )
            try:
                for _ in range(STEPS):
                    driver.step()
                driver.end()
            except BaseException as error:
                error.add_note(f"sequence {number}: {', '.join(driver.log)}")
                raise
            operations += len(driver.log)
            shutil.rmtree(one.workspace)
            for saved in one.directory.glob("saved-*"):
                shutil.rmtree(saved)
        return operations

    return run


def test_few_sequences(sequences: Callable[[Sequence[int]], int]) -> None:
    assert sequences(range(FIRST, FIRST + FEW)) >= FEW * STEPS


@pytest.mark.slow
def test_many_sequences(sequences: Callable[[Sequence[int]], int]) -> None:
    done = sequences(range(FIRST, FIRST + SEQUENCES))
    print(f"{SEQUENCES} sequences, {done} operations")
    assert done >= SEQUENCES * STEPS
