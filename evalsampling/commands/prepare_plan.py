"""The plan of `prepare`, for any engine; and `prepare` without Beam, by the engines of shares."""

import operator
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from evalsampling.commands.labels_at_hand import take_labels_at_hand
from evalsampling.commands.prepare import JOB, Preparation, PrepareResult
from evalsampling.labels.controls import Gold
from evalsampling.pool.catalog import Catalog, PoolSource
from evalsampling.preparation import plan
from evalsampling.preparation.reserve import Reserve
from evalsampling.preparation.shares import Shares, by_threads
from evalsampling.preparation.stages import Engine, Stage, Step
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import sides_of
from evalsampling.telemetry import logs, progress
from evalsampling.workspace.manifest import ExecutionContext
from evalsampling.workspace.prepared import PreparedPool


def plan_passes(engine: Engine, preparation: Preparation, folder: Path | None = None) -> Any:
    """Return a value of an engine, which is there once both passes are made and committed."""
    reading = preparation.spec.reading
    source = engine.value("Start", PoolSource(reading, preparation.stored_directory))
    started = engine.call(Step("StampStart", _stamp), source)
    files = engine.inspect(engine.call(Step("NamePool", operator.itemgetter(0)), started))
    catalog = engine.call(
        Step("PlanPool", Preparation.plan, (files,)), engine.value("Plan", preparation)
    )
    items = engine.expand(Step("ListItems", operator.attrgetter("items")), catalog)
    stratification, items = plan.first_pass(engine, reading, items, preparation.scored_directory)
    cells, _ = engine.read(plan.fetch_cells(stratification), items)
    write = Step("WriteReserve", _write, (preparation,))
    reserve = plan.draw_reserve(reading.pool.payload, finish=write)
    stages: list[Stage] = [plan.SUM_CELLS, plan.COUNT_SLICES, reserve]
    of_pairs = sides_of(reading.pool.id) is not None
    if of_pairs:
        rows = engine.call(Step("CountRows", operator.attrgetter("rows")), catalog)
        stages.append(plan.count_orders(rows))
    in_clusters = reading.pool.cluster is not None
    if in_clusters:
        stages.append(plan.SUM_CLUSTERS)
    if preparation.check_ids:
        stages.append(plan.check_ids(reading, items, folder))
    sums, counts, located, *others = engine.run(cells, *stages)
    orders = others.pop(0) if of_pairs else None
    clusters = others.pop(0) if in_clusters else None
    # The marker is last: it gets everything else that is written.
    own = (preparation, started, stratification, sums, counts, located, orders, clusters, *others)
    return engine.call(Step("Commit", _commit, own), catalog)


def _stamp(pool: PoolSource) -> tuple[PoolSource, float]:
    return pool, time.time()


def _write(part: tuple[int, Reserve], preparation: Preparation) -> pa.Table:
    return preparation.write_reserve(*part)


def _commit(
    catalog: Catalog, preparation: Preparation, started: tuple[PoolSource, float], *made: Any
) -> None:
    preparation.commit(catalog, started[1], *made)


def prepare_by_shares(preparation: Preparation, engine: Shares) -> PrepareResult:
    """Prepare a pool, unless that is done, and return what was prepared."""
    workspace = preparation.workspace
    if workspace.prepared:
        preparation.check_same()
    else:
        Gold.read(preparation.spec.labelling)
        preparation = preparation.settled()
        with workspace.preparing(preparation.attempt, preparation.table):
            plan_passes(engine, preparation)
    return finished(preparation)


def finished(preparation: Preparation) -> PrepareResult:
    """Return the result for a prepared workspace, after labels at hand are taken."""
    pool = PreparedPool.read(preparation.workspace)
    take_labels_at_hand(pool, preparation.context)
    return PrepareResult.of(pool)


def prepare_in_process(spec: EvaluationSpec, threads: int | None = None) -> PrepareResult:
    """Prepare a pool in this process, unless that is done; the workspace is as Beam makes it."""
    context = ExecutionContext("this process")
    preparation = Preparation.from_spec(spec, context)
    logs.tell(workspace=preparation.workspace.path, runner=context.runner)
    with progress.watch(JOB, "rows"):
        return prepare_by_shares(preparation, by_threads(threads))
