"""A run of `estimate`: all estimates of a moment, with what identifies pool, spec and code."""

import dataclasses
import datetime
import functools
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from evalsampling.evaluation.gates import Gates, all_reached
from evalsampling.inference.results import Target
from evalsampling.report.numbers import OUTCOMES, Number, flat, label_of
from evalsampling.spec import PoolSpec
from evalsampling.telemetry.redaction import without_passwords
from evalsampling.version import __version__
from evalsampling.workspace.manifest import digest

TITLE = ("measure", "system", "against", "slice", "threshold")
"""What tells the numbers of a run apart."""


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of `estimate`; in memory it has no workspace, fingerprint of a pool and page."""

    name: str
    workspace: str | None
    spec: Mapping[str, Any]
    source: PoolSpec
    pool: Sequence[Mapping[str, Any]]
    rows: int
    round: int
    labels: int
    open: int
    warnings: tuple[str, ...]
    numbers: tuple[Number, ...]
    gates: Gates | None = None
    page: Callable[[], bytes] | None = None
    time: datetime.datetime = dataclasses.field(
        default_factory=lambda: datetime.datetime.now(datetime.UTC)
    )

    @functools.cached_property
    def id(self) -> str:
        """Name of the run: 32 hexadecimal digits, the same for the same estimates again."""
        content = {
            "workspace": self.workspace,
            "spec": self.spec_digest,
            "pool": self.pool_version,
            "version": __version__,
            "counts": [self.round, self.labels, self.open],
            "numbers": [dataclasses.asdict(number) for number in self.numbers],
            "gates": None if self.gates is None else dataclasses.asdict(self.gates),
        }
        return digest(content)[:32]

    @functools.cached_property
    def spec_digest(self) -> str:
        """SHA-256 of the spec with all defaults."""
        return digest(self.spec)

    @functools.cached_property
    def pool_version(self) -> str | None:
        """Version of the table; of files the SHA-256 of their fingerprint; None in memory."""
        version = self.source.selection.get("version")
        if version is not None:
            return version if isinstance(version, str) else json.dumps(version)
        return digest(list(self.pool)) if self.pool else None

    @property
    def origin(self) -> dict[str, str | None]:
        """What identifies the run, and tells what it is of: columns of its table."""
        return {
            "run_id": self.id,
            "workspace": self.workspace,
            "pool": without_passwords(self.source.path),
            "pool_version": self.pool_version,
            "spec_version": self.spec_digest,
            "version": __version__,
        }

    @property
    def counts(self) -> dict[str, int]:
        """How far the evaluation is."""
        return {"labels": self.labels, "open": self.open, "round": self.round}

    @property
    def whole(self) -> dict[str, Number]:
        """The numbers of the whole pool by their titles, points of curves apart."""
        return {title_of(number): number for number in self.numbers if number.is_of_pool}

    @property
    def table(self) -> pa.Table:
        """The estimates as a tidy table: a row each, and the columns of `SCHEMA`."""
        of_run = {
            **self.origin,
            **self.counts,
            "time": self.time,
            "evaluation": self.name,
            "warnings": "\n".join(" ".join(each.split()) for each in self.warnings) or None,
        }
        rows = [of_run | self._row(number) for number in self.numbers]
        return pa.Table.from_pylist(rows, SCHEMA)

    def _row(self, number: Number) -> dict[str, Any]:
        title = [getattr(number, name) for name in TITLE]
        own: dict[str, Any] = {
            "estimate_id": hashlib.sha256(repr([self.id, *title]).encode()).hexdigest()[:32],
            "label": label_of(number.measure),
            "level": number.confidence,
            "kind": number.intervals[0].kind,
            "claims": number.claims,
        }
        every = () if self.gates is None else self.gates.gates
        gates = [gate for gate in every if gate.number == title_of(number)]
        own |= {gate.bound: gate.target for gate in gates}
        own["gate"] = OUTCOMES[all_reached(gates)] if gates else None
        return flat(dataclasses.asdict(number)) | own


def title_of(number: Number) -> str:
    """Return the number in words, different from those of all other numbers of a run."""
    return Target(**{name: getattr(number, name) for name in TITLE}).title


_TYPES = {
    "time": pa.timestamp("us", "UTC"),
    "claims": pa.bool_(),
    **dict.fromkeys(("round", "labels", "open"), pa.int64()),
    **dict.fromkeys(
        ("threshold", "value", "standard_error", "low", "high", "level", "effective_size",
         "design_effect", "largest_share", "largest_weight", "at_least",
         "at_most"),
        pa.float64(),
    ),
}  # fmt: skip
"""Types of the columns that are no text."""

SCHEMA = pa.schema(
    (name, _TYPES.get(name, pa.string()))
    for name in (
        "estimate_id", "run_id", "time", "evaluation", "workspace", "pool", "pool_version",
        "spec_version", "version", "round", "labels", "open", "measure", "label", "system",
        "against", "slice", "threshold", "value", "standard_error", "low", "high", "level", "kind",
        "method", "claims", "reason", "effective_size", "design_effect", "largest_share",
        "largest_weight", "at_least", "at_most", "gate", "warnings",
    )
)  # fmt: skip
"""Columns of the table. `estimate_id` is different in each row, also of several runs."""
