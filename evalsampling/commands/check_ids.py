"""Checking all ids of a pool that was prepared without that: `prepare --check-ids` again."""

import dataclasses
import time
from pathlib import Path
from typing import Any

from evalsampling.commands.prepare import CHECK_IDS, JOB, Preparation, Rereading, read_unchanged
from evalsampling.preparation import plan
from evalsampling.preparation.stages import Engine, Step
from evalsampling.workspace.manifest import ExecutionContext, read_jobs
from evalsampling.workspace.prepared import PreparedPool

NAME = "check-ids"
"""What its manifest is called."""


@dataclasses.dataclass(frozen=True)
class IdCheck(Rereading):
    """The check that all ids of the pool of a prepared workspace differ.

    Attributes:
        started: when, in seconds since 1970.
        rows: of the pool.
    """

    started: float
    rows: int

    @classmethod
    def from_pool(cls, prepared: PreparedPool, context: ExecutionContext) -> "IdCheck | None":
        """Return the check a workspace needs, or None if its ids were checked before."""
        if ids_were_checked(prepared):
            return None
        started, preparation = time.time(), Preparation.done(prepared, context)
        return cls(
            preparation,
            prepared.stratification,
            read_unchanged(prepared, preparation.stored_directory),
            started,
            prepared.marker["rows"],
        )

    def keep(self, _: Any) -> None:
        """Keep the manifest of the check, which found nothing that is repeated."""
        preparation = self.preparation
        self.check_unchanged()
        manifest = preparation.context.manifest(
            NAME,
            preparation.spec,
            self.pool.fingerprint,
            options={CHECK_IDS: True},
            counts={"rows": self.rows},
            started=self.started,
        )
        with preparation.workspace.in_use():
            preparation.workspace.add_manifest(manifest)


def plan_id_check(engine: Engine, check: IdCheck, folder: Path | None = None) -> Any:
    """Run a check on an engine, which reads the pool once, and keep its manifest."""
    work, items, cells = check.plan(engine, "Check")
    repeated = engine.run(cells, plan.check_ids(check.preparation.spec, items, folder))
    return engine.call(Step("KeepManifest", IdCheck.keep, (*repeated,)), work)


def ids_were_checked(prepared: PreparedPool) -> bool:
    """Tell whether all ids were checked, by a manifest: of `prepare`, or of a check since."""
    jobs = {job.name: job.manifest["options"] for job in read_jobs(prepared.workspace)}
    return any(jobs.get(name, {}).get(CHECK_IDS, False) for name in (JOB, NAME))
