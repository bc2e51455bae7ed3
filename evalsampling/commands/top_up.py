"""Topping up the reserve: more rows for the cells that run short of them."""

import dataclasses
import operator
from typing import Any

from evalsampling.commands.budget import short_cells
from evalsampling.commands.prepare import Preparation
from evalsampling.errors import InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.pool.splits import WorkItem
from evalsampling.pool.stored_columns import CELL
from evalsampling.pool.stored_rows import scored_item
from evalsampling.preparation import plan
from evalsampling.preparation.held_rows import HeldRows
from evalsampling.preparation.reserve import Reserve
from evalsampling.preparation.stages import Engine, Step
from evalsampling.preparation.stratification import Stratification
from evalsampling.workspace.manifest import ExecutionContext
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.reserve import top_up_name
from evalsampling.workspace.snapshot import Snapshot


@dataclasses.dataclass(frozen=True)
class TopUp:
    """One run of `prepare --top-up`: rows for each cell that holds fewer than are ``wanted``."""

    preparation: Preparation
    stratification: Stratification
    pool: Catalog
    number: int
    wanted: int
    held: HeldRows

    @classmethod
    def from_snapshot(
        cls, snapshot: Snapshot, wanted: int | None, context: ExecutionContext
    ) -> "TopUp | None":
        """Return the top-up that cells with too few rows never drawn need, None if none does."""
        prepared = snapshot.pool
        own = Preparation.from_spec(prepared.spec, context)
        preparation = dataclasses.replace(own, attempt=prepared.marker["attempt"])
        pool = read_unchanged(prepared, preparation.stored_directory)
        wanted = wanted or snapshot.next_round_size
        held = short_cells(snapshot, wanted)
        if not held.short.any():
            return None
        number = prepared.reserve.top_ups + 1
        return cls(preparation, prepared.stratification, pool, number, wanted, held)

    @property
    def name(self) -> str:
        """What its files are called."""
        return top_up_name(self.number)

    def manifest(self, started: float, held: int) -> dict[str, Any]:
        """Return the manifest of the job, whose work is done."""
        preparation = self.preparation
        return preparation.context.manifest(
            self.name,
            preparation.spec,
            self.pool.fingerprint,
            options={"top_up": self.wanted},
            counts={"rows": int(self.held.count.sum()), "reserve_rows": held},
            started=started,
        )

    def items(self) -> list[WorkItem]:
        """Return the work items to read: the scored rows, if a scorer made them."""
        if not self.preparation.spec.pool.scorer:
            return list(self.pool.items)
        return [scored_item(item, self.preparation.scored_directory) for item in self.pool.items]

    def check_unchanged(self, *_: Any) -> None:
        """Check that the pool is as it was when it was listed, after what else is to be done."""
        self.pool.check_unchanged(self.preparation.spec.pool)

    def write(self, part: int, reserve: Reserve) -> int:
        """Write one part of the added rows and return how many there are."""
        assert reserve.rows is not None
        first_rank = self.held.rows[reserve.rows[CELL].to_numpy()]
        self.preparation.reserve.write_top_up(self.number, part, reserve, first_rank)
        return len(reserve)


def plan_top_up(engine: Engine, top_up: TopUp) -> Any:
    """Return the rows added in each part, as a value of an engine, which reads the pool once."""
    reading, work = top_up.preparation.spec.reading, engine.value("TopUp", top_up)
    stratification = engine.value("Stratification", top_up.stratification)
    items = engine.expand(Step("ListItems", TopUp.items), work)
    cells, _ = engine.read(plan.fetch_cells(stratification), items)
    counts, parts = engine.run(
        cells,
        plan.recount(top_up.held),
        plan.draw_reserve(reading.pool.payload, 2 * top_up.wanted, top_up.held),
    )
    same = engine.call(plan.compare_counts(reading.pool, top_up.held, top_up.pool), counts)
    # When there are parts all is read, also the payload.
    numbers = engine.each(Step("NumberParts", operator.itemgetter(0)), parts)
    checked = engine.call(Step("CheckPool", TopUp.check_unchanged, (same, numbers)), work)
    return engine.each(Step("WriteReserve", _write, (top_up, checked)), parts)


def read_unchanged(prepared: PreparedPool, directory: str | None = None) -> Catalog:
    """Return the pool that a workspace was prepared from, by the files that are there now."""
    pool, marked = Catalog.read(prepared.spec.reading, directory), prepared.marker["pool"]
    here, there = ({file["path"]: file for file in files} for files in (pool.fingerprint, marked))
    for path in dict.fromkeys([*here, *there]):
        if here.get(path) != there.get(path):
            raise InputError(f"{path}: the pool has changed since it was prepared")
    return pool


def _write(part: tuple[int, Reserve], top_up: TopUp, _: Any) -> int:
    return top_up.write(*part)
