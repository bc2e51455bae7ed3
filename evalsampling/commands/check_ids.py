"""Checking all ids of a pool that was prepared without that: `prepare --check-ids` again."""

import dataclasses
import time
from pathlib import Path
from typing import Any

from evalsampling.commands.prepare import CHECK_IDS, JOB, Preparation, read_unchanged
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.splits import WorkItem
from evalsampling.preparation import plan
from evalsampling.preparation.stages import Engine, Step
from evalsampling.preparation.stratification import Stratification
from evalsampling.workspace.manifest import ExecutionContext, read_jobs
from evalsampling.workspace.prepared import PreparedPool

NAME = "check-ids"
"""What its manifest is called."""


@dataclasses.dataclass(frozen=True)
class IdCheck:
    """The check that all ids of the pool of a prepared workspace differ.

    Attributes:
        preparation: of the workspace's own spec.
        stratification: how the pool is cut into cells.
        pool: its files.
        started: when, in seconds since 1970.
        rows: of the pool.
    """

    preparation: Preparation
    stratification: Stratification
    pool: Catalog
    started: float
    rows: int

    @classmethod
    def from_pool(cls, prepared: PreparedPool, context: ExecutionContext) -> "IdCheck | None":
        """Return the check a workspace needs, or None if its ids were checked before.

        Args:
            prepared: the workspace.
            context: what it runs on, for the record.

        Raises:
            InputError: if the pool is not the one the workspace was prepared from.
        """
        if ids_were_checked(prepared):
            return None
        started, preparation = time.time(), Preparation.done(prepared, context)
        return cls(
            preparation,
            prepared.stratification,
            read_unchanged(prepared),
            started,
            prepared.marker["rows"],
        )

    def items(self) -> list[WorkItem]:
        """Return what there is to read: the scored rows, if a scorer made them."""
        return self.preparation.items(self.pool)

    def keep(self) -> None:
        """Keep the manifest of the check, which found nothing.

        Raises:
            InputError: if the pool changed while it was read.
        """
        preparation = self.preparation
        self.pool.check_unchanged(preparation.spec.pool)
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
    """Run a check on an engine, which reads the pool once, and keep its manifest.

    Args:
        engine: to run on.
        check: of a prepared workspace.
        folder: for hashes of ids, where all workers are on this machine: see `plan.check_ids`.
    """
    spec, started = check.preparation.spec, engine.value("Check", check)
    stratification = engine.value("Stratification", check.stratification)
    items = engine.expand(Step("ListItems", IdCheck.items), started)
    cells, _ = engine.read(plan.fetch_cells(spec, stratification), items)
    repeated = engine.run(cells, plan.check_ids(spec, items, folder))
    return engine.call(Step("KeepManifest", _keep, (*repeated,)), started)


def _keep(check: IdCheck, _: Any) -> None:
    check.keep()


def ids_were_checked(prepared: PreparedPool) -> bool:
    """Tell whether all ids were checked, by a manifest: of `prepare`, or of a check since."""
    jobs = {job.name: job.manifest["options"] for job in read_jobs(prepared.workspace)}
    return any(jobs.get(name, {}).get(CHECK_IDS, False) for name in (JOB, NAME))
