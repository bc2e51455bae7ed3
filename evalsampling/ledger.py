"""The ledger: rounds and labels of a workspace, and what `sample` and `estimate` do to them."""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling import measures
from evalsampling.errors import InputError
from evalsampling.evaluation import Evaluation
from evalsampling.labels.formats import Vote, read_votes, write_tasks
from evalsampling.labels.tasks import ID, TASK, blind, make_batch
from evalsampling.labels.votes import Register, Reject, check_votes, vote_table
from evalsampling.measures.base import Measure
from evalsampling.reserve import CELL, RANK
from evalsampling.stats.estimation import Estimate
from evalsampling.version import __version__
from evalsampling.workspace import Workspace


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
class _Checked:
    """A delivery that was read and checked, and not stored yet."""

    path: Path
    name: str
    replace: bool
    taken: list[tuple[int, Vote]]
    rejects: list[Reject]


class Ledger:
    """The rounds of one workspace with the labels that came in."""

    def __init__(self, workspace: Workspace) -> None:
        """Open a ledger; files are read as they are needed."""
        self.workspace = workspace

    # --- what is known

    @functools.cached_property
    def register(self) -> Register:
        """Every row sent out, its task, and its label as text."""
        ids = self.workspace.ids
        row_of_id = {id: row for row, id in enumerate(ids)}
        row_of_task = {
            task: row_of_id[str(id)]
            for files in self.workspace.rounds
            for task, id in zip(
                files.batch[TASK].to_pylist(), files.batch[ID].to_pylist(), strict=True
            )
        }
        labels = {row_of_id[id]: label for id, label in self.workspace.labels.items()}
        return Register(row_of_task, row_of_id, ids, labels, list(self.workspace.spec.labels.codes))

    @property
    def _answered(self) -> set[int]:
        """Rows with a label or a skip."""
        rows = self.register.row_of_id
        return {
            rows[value]
            for delivery in self.workspace.deliveries
            for value in delivery.votes["id"].to_pylist()
        }

    @functools.cached_property
    def open_rows(self) -> dict[int, int]:
        """Unanswered rows of each round that is not closed, by round number, all above 0."""
        answered = self._answered
        unanswered: dict[int, int] = {}
        for files in self.workspace.rounds:
            if not files.closed:
                rows = [self.register.row_of_task[task] for task in files.batch[TASK].to_pylist()]
                count = sum(row not in answered for row in rows)
                if count:
                    unanswered[files.number] = count
        return unanswered

    def _forget(self) -> None:
        for name in ("register", "open_rows"):
            self.__dict__.pop(name, None)

    # --- sample

    def sample(self, size: int | None = None, next_round: bool = False) -> dict[str, Any]:
        """Draw the next round and write its batch, or return the open round's batch again.

        Args:
            size: new rows wanted, instead of the spec's ``round_size``.
            next_round: close the open round first.

        Returns:
            The object `sample --json` prints.

        Raises:
            InputError: if a reserve is too short; nothing is written then.
        """
        with self.workspace.in_use():
            self._forget()
            return self._sample(size, next_round)

    def _sample(self, size: int | None, next_round: bool) -> dict[str, Any]:
        if self.open_rows and not next_round:
            files = self.workspace.rounds[max(self.open_rows) - 1]
            return self._sampled(files.number, len(files.batch), files.exported, None)
        given_up = list(self.open_rows)
        sampled = self._next_round(size)
        for number in given_up:
            self.workspace.close_round(number, "sample --next")
        self._forget()
        return sampled

    def _next_round(self, size: int | None) -> dict[str, Any]:
        spec, last = self.workspace.spec, len(self.workspace.rounds)
        left = spec.budget - len(self.register.labels)
        if left <= 0:
            return self._sampled(last, 0, None, "budget")
        evaluation = dataclasses.replace(self.workspace.evaluation)
        if evaluation.exhausted:
            return self._sampled(last, 0, None, "exhausted")
        rows = evaluation.draw(size or spec.round_size, budget=left)
        exported = self._write_round(evaluation, rows)
        reason = None if len(rows) else "no-new-rows"
        return self._sampled(last + 1, len(rows), exported, reason)

    @staticmethod
    def _sampled(number: int, rows: int, batch: Path | None, reason: str | None) -> dict[str, Any]:
        path = None if batch is None else str(batch)
        return {"round": number, "rows": rows, "batch": path, "reason": reason}

    def _write_round(self, evaluation: Evaluation, rows: npt.NDArray[np.int64]) -> Path | None:
        """Write the last round of an evaluation, whose new rows are ``rows``."""
        spec, history = self.workspace.spec, evaluation.history
        drawn, number = history.rounds[-1], len(history.rounds)
        code = evaluation.table.code[history.cell]
        new_ids, payload = self.workspace.read_reserve(code[rows], history.rank[rows])
        known = [*self.register.ids, *map(str, new_ids.to_pylist())]
        if len(set(known)) < len(known):
            twice = next(value for value in known if known.count(value) > 1)
            raise InputError(f"{spec.pool.path}: column {spec.pool.id!r}: duplicate id {twice!r}")
        chunks = [chunk for files in self.workspace.rounds for chunk in files.new_ids.chunks]
        ids = pa.chunked_array([*chunks, new_ids], type=new_ids.type)
        draws = pa.table(
            {
                "round": pa.array([number] * len(drawn.row), pa.int32()),
                "draw": pa.array(np.arange(1, len(drawn.row) + 1)),
                "id": ids.take(pa.array(drawn.row)),
                CELL: pa.array(code[drawn.row]),
                RANK: pa.array(history.rank[drawn.row]),
                "q": pa.array(drawn.probability),
                "new": pa.array(drawn.new),
            }
        )
        told = spec.to_mapping()
        batch = make_batch(spec.seed, number, new_ids, payload)
        with self.workspace.new_round() as directory:
            exported = None
            if len(rows):
                exported = write_tasks(blind(batch), directory, spec.sink).name
            design = {
                "version": 1,
                "round": number,
                "sampler": told["sampler"],
                "measure": told["measure"][0],
                "seed": spec.seed,
                "draws": len(drawn.row),
                "new_rows": len(rows),
                "exported": exported,
                "posterior": None if drawn.posterior is None else drawn.posterior.tolist(),
            }
            (directory / "design.json").write_text(json.dumps(design) + "\n", encoding="utf-8")
            pq.write_table(draws, directory / "draws.parquet")
            pq.write_table(batch, directory / "batch.parquet")
        self._forget()
        return self.workspace.rounds[-1].exported

    # --- estimate

    def estimate(
        self,
        labels: Sequence[Path] = (),
        replace: Sequence[Path] = (),
        options: Options = Options(),
    ) -> tuple[dict[str, Any], list[str]]:
        """Take deliveries of labels and estimate.

        Args:
            labels: files to take.
            replace: files to take whose labels replace earlier ones.
            options: what else is asked.

        Returns:
            The object `estimate --json` prints, and a line for each delivery taken.

        Raises:
            InputError: if a file cannot be read, or has a reject under ``strict``; no file of
                the call is taken then. Or if a measure is unknown.
        """
        chosen = self._measures(options.measures)
        with self.workspace.in_use():
            self._forget()
            return self._estimate(labels, replace, chosen, options)

    def _estimate(
        self,
        labels: Sequence[Path],
        replace: Sequence[Path],
        chosen: Sequence[Measure] | None,
        options: Options,
    ) -> tuple[dict[str, Any], list[str]]:
        deliveries = [(path, False) for path in labels] + [(path, True) for path in replace]
        messages = self._take(deliveries, options.strict)
        if options.close:
            for number in self.open_rows:
                self.workspace.close_round(number, "estimate --close")
            self._forget()
        result = self._result(self.workspace.evaluation.estimate(chosen))
        self._keep(result, options)
        return result, messages

    def _measures(self, names: Sequence[str]) -> list[Measure] | None:
        known = {m.name: m for m in self.workspace.spec.build_measures()}
        positive = self.workspace.spec.labels.positive
        for name in names:
            if name not in known and name not in measures.BY_NAME:
                raise InputError(f"unknown measure {name!r}; known: {', '.join(measures.BY_NAME)}")
        return [
            known.get(name) or measures.BY_NAME[name](positive=positive) for name in names
        ] or None

    def _take(self, deliveries: Sequence[tuple[Path, bool]], strict: bool) -> list[str]:
        """Check all deliveries, each as if those before it were taken, then store them."""
        labels, answered = dict(self.register.labels), self._answered
        known = {delivery.name for delivery in self.workspace.deliveries}
        checked: list[_Checked] = []
        messages = []
        for path, replace in deliveries:
            digest, votes = self._read(path)
            register = dataclasses.replace(self.register, labels=labels)
            taken, rejects = check_votes(votes, register, replace)
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
            checked.append(_Checked(path, name, replace, taken, rejects))
        for one in checked:
            details = {"file": one.path.name, "replace": one.replace, "rejects": len(one.rejects)}
            listed = self._write_rejects(one.name, one.path, one.rejects)
            self.workspace.add_delivery(one.name, vote_table(one.taken, self.register), details)
            count = f"{len(one.taken)} taken, {len(one.rejects)} rejected"
            warning = "warning: " if one.rejects and not one.taken else ""
            messages.append(f"{warning}{one.path}: {count}{listed}")
        self._forget()
        return messages

    @staticmethod
    def _read(path: Path) -> tuple[str, list[Vote]]:
        try:
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error}") from error
        return digest, read_votes(path)

    def _write_rejects(self, name: str, path: Path, rejects: Sequence[Reject]) -> str:
        if not rejects:
            return ""
        rows = {
            "file": [str(path)] * len(rejects),
            "line": [reject.line for reject in rejects],
            "reason": [reject.reason for reject in rejects],
        }
        listed = self.workspace.write_rejects(name, pa.table(rows))
        return f", listed in {listed}; first, line {rejects[0].line}: {rejects[0].reason}"

    def _result(self, estimates: Sequence[Estimate]) -> dict[str, Any]:
        spec, history = self.workspace.spec, self.workspace.evaluation.history
        labels = len(history.labelled)
        still_open = sum(self.open_rows.values())
        warnings = [warning for estimate in estimates for warning in estimate.warnings]
        missing = len(history.cell) - labels
        if missing:
            warnings.append(
                f"{missing} of {len(history.cell)} rows drawn have no label ({still_open} still "
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
            "measures": [_as_json(estimate) for estimate in estimates],
        }

    def _keep(self, result: dict[str, Any], options: Options) -> None:
        rounds = self.workspace.rounds
        state = {
            "deliveries": sorted(delivery.name for delivery in self.workspace.deliveries),
            "rounds": len(rounds),
            "closed": [files.number for files in rounds if files.closed],
            "measures": options.measures,
            "version": __version__,
        }
        name = hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()
        self.workspace.add_estimate(name, result)

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
        }


def _as_json(estimate: Estimate) -> dict[str, Any]:
    default = estimate.intervals[0]
    return {
        "measure": estimate.measure,
        "system": None,
        "against": None,
        "slice": None,
        "threshold": None,
        "value": estimate.value,
        "standard_error": estimate.standard_error,
        "low": default.low,
        "high": default.high,
        "confidence": estimate.confidence,
        "method": default.method,
        "intervals": [dataclasses.asdict(interval) for interval in estimate.intervals],
        "reason": estimate.reason,
    }
