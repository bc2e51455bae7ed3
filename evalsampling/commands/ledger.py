"""The ledger: rounds and labels of a workspace, and what `sample` and `estimate` do to them."""

import dataclasses
import functools
import hashlib
import json
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.evaluation import Evaluation
from evalsampling.inference.results import Estimate, as_json, brief, widest_half
from evalsampling.labels.formats import TASK_FILES, Vote, read_votes, write_tasks
from evalsampling.labels.tasks import ID, TASK, blind, make_batch, task_name
from evalsampling.labels.votes import Register, Reject, check_votes, vote_table
from evalsampling.measures import Joint
from evalsampling.measures.base import Measure
from evalsampling.pool.stored_columns import CELL, PAYLOAD_PREFIX, RANK
from evalsampling.spec import MeasureSpec
from evalsampling.spec.measures import Range
from evalsampling.stats.history import History
from evalsampling.storage import read_file, write_parquet
from evalsampling.telemetry.logs import LOG
from evalsampling.version import __version__
from evalsampling.workspace.manifest import HERE, Run
from evalsampling.workspace.workspace import NewDelivery, RoundFiles, Workspace

_COUNTS = ("round", "labels", "open", "rejects")
"""Of an estimate, for the record."""


@dataclasses.dataclass(frozen=True)
class Options:
    """What a call of `estimate` asks for beside the labels.

    Attributes:
        measures: names of the measures to report; the spec's if empty.
        close: close the open round: what is unanswered now stays so.
        strict: take nothing of a delivery that has a reject.
    """

    measures: tuple[str, ...] = ()
    close: bool = False
    strict: bool = False


@dataclasses.dataclass(frozen=True)
class _Given:
    """A delivery that was read."""

    path: str
    replace: bool
    bytes: int
    sha256: str
    votes: list[Vote]

    @classmethod
    def read(cls, path: str, replace: bool) -> "_Given":
        if any("\ud800" <= letter <= "\udfff" for letter in path):
            raise InputError(f"{path!a}: cannot be read: its name is not UTF-8")
        content = read_file(path)
        digest = hashlib.sha256(content).hexdigest()
        return cls(path, replace, len(content), digest, read_votes(path, content))

    @property
    def details(self) -> dict[str, Any]:
        """What is kept of where it came from."""
        return {"file": self.path.rpartition("/")[2], "replace": self.replace}


@dataclasses.dataclass(frozen=True)
class _Checked:
    """A delivery that was checked, and is not stored yet."""

    given: _Given
    name: str
    taken: list[tuple[int, Vote]]
    rejects: list[Reject]


@dataclasses.dataclass(frozen=True)
class _Request:
    """What a call of `sample` asks for, and when it came, in seconds since 1970."""

    size: int | None
    next_round: bool
    request: str | None
    started: float

    def made(self, files: RoundFiles) -> bool:
        """Tell whether a round was drawn for this very request."""
        return self.request is not None and files.design.get("request") == self.request


class Ledger:
    """The rounds of one workspace with the labels that came in."""

    def __init__(self, workspace: Workspace, run: Run = HERE) -> None:
        """Open a ledger; files are read as they are needed.

        Args:
            workspace: whose rounds and labels these are.
            run: what the work runs on, for the record.
        """
        self.workspace = workspace
        self.run = run

    # --- what is known

    @functools.cached_property
    def register(self) -> Register:
        """Every question asked, its task, and its label as text."""
        ids, tasks = self.workspace.ids, self.workspace.tasks
        question_of_task = {task: question for question, task in enumerate(tasks)}
        questions_of_id: dict[str, list[int]] = {}
        for question, id in enumerate(ids):
            questions_of_id.setdefault(id, []).append(question)
        labels = {question_of_task[task]: label for task, label in self.workspace.labels.items()}
        classes = list(self.workspace.spec.labels.codes)
        return Register(question_of_task, questions_of_id, ids, tasks, labels, classes)

    @property
    def _answered(self) -> set[int]:
        """Questions with a label or a skip."""
        questions = self.register.question_of_task
        return {
            questions[task]
            for delivery in self.workspace.deliveries
            for task in delivery.votes["task"].to_pylist()
        }

    @functools.cached_property
    def open_rows(self) -> dict[int, int]:
        """Unanswered questions of each round that is not closed, by round number, all above 0."""
        answered = self._answered
        unanswered: dict[int, int] = {}
        for files in self.workspace.rounds:
            if not files.closed:
                tasks = files.batch[TASK].to_pylist()
                count = sum(self.register.question_of_task[t] not in answered for t in tasks)
                if count:
                    unanswered[files.number] = count
        return unanswered

    def _forget(self) -> None:
        for name in ("register", "open_rows"):
            self.__dict__.pop(name, None)

    # --- sample

    def sample(
        self, size: int | None = None, next_round: bool = False, request: str | None = None
    ) -> dict[str, Any]:
        """Draw the next round and write its batch, or return the open round's batch again.

        Args:
            size: new rows wanted, instead of the spec's ``round_size``.
            next_round: close the open round first.
            request: name of the request, like no other. The same one again gets what it has got,
                however often a job is tried.

        Returns:
            The object `sample --json` prints.

        Raises:
            InputError: if a reserve is too short; nothing is written then.
        """
        asked = _Request(size, next_round, request, time.time())
        with self.workspace.in_use():
            self._forget()
            sampled = self._sample(asked)
        LOG.info("sampled", extra={key: sampled[key] for key in ("round", "rows", "reason")})
        return sampled

    def _sample(self, asked: _Request) -> dict[str, Any]:
        rounds = self.workspace.rounds
        again = [files for files in rounds if asked.made(files)]
        still_open = [n for n in self.open_rows if not again or n < again[0].number]
        if still_open and not again and not asked.next_round:
            again = [rounds[max(still_open) - 1]]
        if again:
            sampled = self._sampled(again[0].number, len(again[0].batch), again[0].exported)
        else:
            sampled = self._next_round(asked)
        if asked.next_round:
            for number in still_open:
                self.workspace.close_round(number, "sample --next")
        self._forget()
        return sampled

    def _next_round(self, asked: _Request) -> dict[str, Any]:
        spec, last = self.workspace.spec, len(self.workspace.rounds)
        left = spec.budget - len(self.register.labels)
        if left <= 0:
            return self._sampled(last, 0, None, "budget")
        evaluation = dataclasses.replace(self.workspace.evaluation)
        if evaluation.exhausted:
            return self._sampled(last, 0, None, "exhausted")
        rows = evaluation.draw(asked.size or spec.round_size.of(last), budget=left)
        exported = self._write_round(evaluation, rows, asked)
        return self._sampled(last + 1, len(rows), exported)

    @staticmethod
    def _sampled(
        number: int, rows: int, batch: str | None, reason: str | None = None
    ) -> dict[str, Any]:
        reason = reason or (None if rows else "no-new-rows")
        return {"round": number, "rows": rows, "batch": batch, "reason": reason}

    def _write_round(
        self, evaluation: Evaluation, rows: npt.NDArray[np.int64], asked: _Request
    ) -> str | None:
        """Write the last round of an evaluation, whose new questions are ``rows``."""
        spec, history = self.workspace.spec, evaluation.history
        drawn, number = history.rounds[-1], len(history.rounds)
        code = evaluation.table.code[history.cell]
        found = self.workspace.read_reserve(code[rows], history.rank[rows])
        self._check_ids(found, code, history)
        described = [name for name in found.column_names if not name.startswith(PAYLOAD_PREFIX)]
        earlier = [files.asked.select(described) for files in self.workspace.rounds]
        known = pa.concat_tables([*earlier, found.select(described)])
        draws = pa.table(
            {
                "round": pa.array([number] * len(drawn.question), pa.int32()),
                "draw": pa.array(np.arange(1, len(drawn.question) + 1)),
                "question": pa.array(drawn.question + 1),
                CELL: pa.array(code[drawn.question]),
                RANK: pa.array(history.rank[drawn.question]),
                "q": pa.array(drawn.probability),
                "new": pa.array(drawn.new),
            }
        )
        for name in described:
            draws = draws.append_column(name, known[name].take(pa.array(drawn.question)))
        told = spec.to_mapping()
        names = [
            task_name(spec, self.workspace.task_key, number, id, question + 1)
            for id, question in zip(found[ID].to_pylist(), rows.tolist(), strict=True)
        ]
        batch = make_batch(names, found)
        design = {
            "version": 1,
            "round": number,
            "sampler": told["sampler"],
            "measure": told["measure"][0],
            "seed": spec.seed,
            "draws": len(drawn.question),
            "new_rows": len(rows),
            "exported": TASK_FILES[spec.sink] if len(rows) else None,
            "posterior": None if drawn.posterior is None else drawn.posterior.tolist(),
            "request": asked.request,
        }
        manifest = self._manifest(
            f"sample-{number:04d}",
            asked.started,
            options={"size": asked.size, "next": asked.next_round},
            counts={"draws": len(drawn.question), "new_rows": len(rows)},
        )
        with self.workspace.new_round(design, manifest) as directory:
            if len(rows):
                write_tasks(blind(batch), directory, spec.sink)
            write_parquet(draws, directory / "draws.parquet", "snappy")
            write_parquet(batch, directory / "batch.parquet", "snappy")
        self._forget()
        return self.workspace.rounds[number - 1].exported

    def _manifest(self, job: str, started: float, **told: Any) -> dict[str, Any]:
        """Return the manifest of a job that started so many seconds after 1970."""
        workspace = self.workspace
        return self.run.manifest(
            job, workspace.spec, workspace.marker["pool"], started=started, **told
        )

    def _check_ids(self, asked: pa.Table, code: npt.NDArray[np.int64], history: History) -> None:
        """Check that no two rows have the same id.

        Raises:
            InputError: if two have.
        """
        spec = self.workspace.spec
        places: dict[str, tuple[int, int]] = {}
        ids = [*self.register.ids, *map(str, asked[ID].to_pylist())]
        for id, cell, rank in zip(ids, code.tolist(), history.rank.tolist(), strict=True):
            if places.setdefault(id, (cell, rank)) != (cell, rank):
                raise InputError(f"{spec.pool.path}: column {spec.pool.id!r}: duplicate id {id!r}")

    # --- estimate

    def estimate(
        self,
        labels: Sequence[str | Path] = (),
        replace: Sequence[str | Path] = (),
        options: Options = Options(),
    ) -> tuple[dict[str, Any], list[str]]:
        """Take deliveries of labels and estimate.

        Args:
            labels: files to take, of this machine or of a store.
            replace: files to take whose labels replace earlier ones.
            options: what else is asked.

        Returns:
            The object `estimate --json` prints, and a line for each delivery taken.

        Raises:
            InputError: if a file cannot be read, or has a reject under ``strict``; no file of
                the call is taken then. Or if a measure is unknown.
        """
        started, chosen = time.time(), self._measures(options.measures)
        with self.workspace.in_use():
            self._forget()
            given = [_Given.read(str(path), replace=False) for path in labels]
            given += [_Given.read(str(path), replace=True) for path in replace]
            result, messages = self._estimate(given, chosen, options, started)
        LOG.info("estimated", extra={key: result[key] for key in _COUNTS})
        return result, messages

    def _estimate(
        self,
        given: Sequence[_Given],
        chosen: Sequence[Measure] | None,
        options: Options,
        started: float,
    ) -> tuple[dict[str, Any], list[str]]:
        messages = self._take(given, options.strict)
        if options.close:
            for number in self.open_rows:
                self.workspace.close_round(number, "estimate --close")
            self._forget()
        result = self._result(self.workspace.evaluation.estimate(chosen))
        self._keep(result, given, options, started)
        return result, messages

    def _measures(self, names: Sequence[str]) -> list[Measure] | None:
        """Return the measures of some names: the spec's, or any other with its defaults."""
        spec, ranges = self.workspace.spec, self._ranges
        listed = spec.build_measures(ranges)
        chosen: list[Measure] = []
        for name in names:
            found = [measure for measure in listed if measure.name == name]
            chosen += found or MeasureSpec.parse(name).build(spec.setting(ranges))
        return chosen or None

    def _take(self, given: Sequence[_Given], strict: bool) -> list[str]:
        """Check all deliveries, each as if those before it were taken, then store them."""
        labels, answered = dict(self.register.labels), self._answered
        known = {delivery.name for delivery in self.workspace.deliveries}
        checked: list[_Checked] = []
        messages = []
        for one in given:
            digest, path = one.sha256, one.path
            register = dataclasses.replace(self.register, labels=labels)
            taken, rejects = check_votes(one.votes, register, one.replace)
            changed = {row: v.label for row, v in taken if v.label not in (None, labels.get(row))}
            answers = {row for row, _ in taken} - answered
            if rejects and strict:
                raise InputError(
                    f"{path}: line {rejects[0].line}: {rejects[0].reason} "
                    f"({len(rejects)} rejected; --strict takes nothing)"
                )
            before = digest in {name.partition("-")[0] for name in known}
            if before and not changed and not answers:
                messages.append(f"{path}: taken before, nothing changed")
                continue
            name = f"{digest}-{len(known) + 1}" if before else digest
            known.add(name)
            answered |= answers
            labels |= {row: str(label) for row, label in changed.items()}
            checked.append(_Checked(one, name, taken, rejects))
        if checked:
            self.workspace.add_deliveries([self._new_delivery(one) for one in checked])
        messages += [self._taken(one) for one in checked]
        self._forget()
        return messages

    def _new_delivery(self, one: _Checked) -> NewDelivery:
        rejects = {
            "file": [one.given.path] * len(one.rejects),
            "line": [reject.line for reject in one.rejects],
            "reason": [reject.reason for reject in one.rejects],
        }
        votes = vote_table(one.taken, self.register)
        return NewDelivery(one.name, votes, pa.table(rejects), one.given.details)

    def _taken(self, one: _Checked) -> str:
        """Return what is said of a delivery that was taken."""
        counts = {"taken": len(one.taken), "rejected": len(one.rejects)}
        level = logging.WARNING if one.rejects else logging.INFO
        LOG.log(level, "delivery taken", extra={**one.given.details, **counts})
        told = f"{one.given.path}: {len(one.taken)} taken, {len(one.rejects)} rejected"
        if not one.rejects:
            return told
        first, listed = one.rejects[0], self.workspace.rejects_of(one.name)
        warning = "" if one.taken else "warning: "
        return f"{warning}{told}, listed in {listed}; first, line {first.line}: {first.reason}"

    def _result(self, estimates: Sequence[Estimate]) -> dict[str, Any]:
        spec, history = self.workspace.spec, self.workspace.evaluation.history
        labels = len(history.labelled)
        still_open = sum(self.open_rows.values())
        warnings = brief(estimates)
        missing = len(history) - labels
        if missing:
            warnings.append(
                f"{missing} of {len(history)} rows drawn have no label ({still_open} still "
                "open)"
                + ("; others of their round stand for them, as if missing at random" * bool(labels))
            )
        exhausted = self.workspace.evaluation.exhausted and not still_open
        return {
            "round": len(history.rounds),
            "labels": labels,
            "open": still_open,
            "rejects": self.workspace.rejects,
            "warnings": warnings,
            "done": labels >= spec.budget or exhausted,
            "measures": [as_json(estimate) for estimate in estimates],
            "regions": [self._region(joint) for joint in spec.build_joints(self._ranges)],
            "half_width": widest_half(estimates),
        }

    @property
    def _ranges(self) -> Sequence[Range | None]:
        return self.workspace.stratification.ranges

    def _region(self, joint: Joint) -> dict[str, Any]:
        """Return the joint region of measures listed together, or why there is none."""
        systems = self.workspace.spec.pool.systems
        told: dict[str, Any] = {
            "measures": [
                {"measure": component.name, "system": systems[component.system].name}
                for component in joint.components
            ],
            "confidence": self.workspace.spec.confidence,
        }
        found = dict.fromkeys(("centre", "covariance", "radius"))
        try:
            region = self.workspace.evaluation.region(joint)
        except InputError as error:
            return {**told, **found, "reason": str(error)}
        if not np.isfinite(region.radius):
            return {**told, **found, "reason": "too few draws for a region"}
        return {
            **told,
            "centre": region.centre.tolist(),
            "covariance": region.covariance.tolist(),
            "radius": region.radius,
            "reason": None,
        }

    def _keep(
        self, result: dict[str, Any], given: Sequence[_Given], options: Options, started: float
    ) -> None:
        """Keep an estimate that is new, with its manifest."""
        rounds = self.workspace.rounds
        state = {
            "deliveries": sorted(delivery.name for delivery in self.workspace.deliveries),
            "rounds": len(rounds),
            "closed": [files.number for files in rounds if files.closed],
            "measures": options.measures,
            "version": __version__,
        }
        name = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
        if self.workspace.has_estimate(name):
            return
        deliveries = [{**one.details, "bytes": one.bytes, "sha256": one.sha256} for one in given]
        manifest = self._manifest(
            f"estimate-{name}",
            started,
            options=dataclasses.asdict(options),
            counts={key: result[key] for key in _COUNTS},
            deliveries=deliveries,
        )
        self.workspace.add_estimate(name, result, manifest)

    # --- diagnose

    def diagnose(self) -> dict[str, Any]:
        """Return the object `diagnose --json` prints: leaf by leaf, scores, labels and model."""
        spec, evaluation = self.workspace.spec, self.workspace.evaluation
        classes = [str(value) for value in spec.labels.classes]

        def by_class(shares: tuple[float, ...] | None) -> dict[str, float] | None:
            return None if shares is None else dict(zip(classes, shares, strict=True))

        return {
            "positive": classes[spec.labels.positive],
            "leaves": [
                {
                    "leaf": leaf.leaf,
                    "rows": leaf.rows,
                    "labelled": leaf.labelled,
                    "prior": by_class(leaf.prior),
                    "observed": by_class(leaf.observed),
                    "posterior": by_class(leaf.posterior),
                }
                for leaf in evaluation.diagnose()
            ],
        }

    # --- status

    def status(self) -> dict[str, Any]:
        """Return the object `status --json` prints."""
        marker = self.workspace.marker
        return {
            "rounds": len(self.workspace.rounds),
            "labels": len(self.register.labels),
            "open": sum(self.open_rows.values()),
            "budget": self.workspace.spec.budget,
            "rejects": self.workspace.rejects,
            "prepared": {key: marker[key] for key in ("rows", "seconds", "runner", "versions")},
            "jobs": self.workspace.jobs,
        }
