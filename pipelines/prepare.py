r"""Prepare a pool: strata, cells and reserve, in one job of two passes.

On this machine:

    python -m evalsampling.pipelines.prepare --spec=evaluation.yaml

On Dataflow:

    python -m evalsampling.pipelines.prepare --spec=evaluation.yaml --runner=DataflowRunner \
        --project=PROJECT --region=REGION --temp_location=gs://BUCKET/tmp
"""

import contextlib
import dataclasses
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam import pvalue
from apache_beam.options.pipeline_options import PipelineOptions

from evalsampling.commands.check_ids import NAME as CHECK
from evalsampling.commands.check_ids import IdCheck
from evalsampling.commands.prepare import JOB, Preparation, PrepareOptions, PrepareResult
from evalsampling.commands.top_up import TopUp
from evalsampling.evaluation.specs import load_spec
from evalsampling.pipelines.running import (
    is_template,
    job,
    recorded,
    run,
    run_as_program,
    workers_here,
)
from evalsampling.pool.catalog import Catalog
from evalsampling.preparation.reserve import Reserve
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import summary_columns
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums
from evalsampling.stats.slices import SliceCounts
from evalsampling.telemetry import logs, progress
from evalsampling.transforms import (
    CheckHeld,
    CheckIds,
    CountSlices,
    CutStrata,
    DrawReserve,
    FetchCells,
    FetchPool,
    InspectPool,
    ScorePool,
    SumCells,
    SummarizePool,
    read_meters,
)
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot


def build(root: beam.Pipeline, preparation: Preparation, spill: Path | None = None) -> None:
    """Build the pipeline of one preparation.

    Args:
        root: to add it to.
        preparation: what to prepare, and where to.
        spill: folder for hashes of ids, where all workers are on this machine; see `CheckIds`.
    """
    spec = preparation.spec
    started = root | "Start" >> beam.Create([spec.pool.path]) | "StampStart" >> beam.Map(_stamp)
    files = started | "NamePool" >> beam.Keys() | "InspectPool" >> InspectPool()
    catalog = (
        root
        | "Plan" >> beam.Create([preparation])
        | "PlanPool" >> beam.Map(Preparation.plan, pvalue.AsList(files))
    )
    items = catalog | "ListItems" >> beam.FlatMap(_items)

    if spec.pool.scorer is None:
        rows, batches = items, None
    else:
        scored = items | "ScorePool" >> ScorePool(spec, preparation.scored_directory)
        rows, batches = scored.items, scored.batches

    given = Stratification.given(spec)
    if given is not None:
        cut = root | "GivenPartition" >> beam.Create([given])
    else:
        scores = batches or items | "FetchScores" >> FetchPool(summary_columns(spec))
        summaries = scores | "SummarizePool" >> SummarizePool(spec)
        cut = summaries | "CutStrata" >> CutStrata(spec)
    stratification = pvalue.AsSingleton(cut)

    cells = rows | "FetchCells" >> FetchCells(spec, stratification)
    sums = cells | "SumCells" >> SumCells()
    counts = cells | "CountSlices" >> CountSlices()
    located = (
        cells
        | "DrawReserve" >> DrawReserve(spec)  # (part, Reserve)
        | "WriteReserve" >> beam.MapTuple(preparation.write_reserve)
    )
    checked = None
    if preparation.check_ids:
        checked = pvalue.AsList(cells | "CheckIds" >> CheckIds(spec, pvalue.AsList(rows), spill))
    # The marker is last: its side inputs are everything else that is written.
    _ = catalog | "Commit" >> beam.Map(
        _commit,
        preparation,
        pvalue.AsSingleton(started),
        stratification,
        pvalue.AsSingleton(sums),
        pvalue.AsSingleton(counts),
        pvalue.AsList(located),
        checked,
    )


def build_top_up(root: beam.Pipeline, top_up: TopUp) -> None:
    """Build the pipeline that adds rows to the reserve of a prepared workspace."""
    spec = top_up.preparation.spec
    stratification = pvalue.AsSingleton(
        root | "Stratification" >> beam.Create([top_up.stratification])
    )
    items = root | "ListItems" >> beam.Create(top_up.items())
    cells = items | "FetchCells" >> FetchCells(spec, stratification)
    same = cells | "CheckHeld" >> CheckHeld(spec, top_up.held, top_up.pool)
    parts = cells | "DrawReserve" >> DrawReserve(
        spec, capacity=top_up.capacity, held=top_up.held
    )  # (part, Reserve)
    # When there are parts all is read, also the payload.
    read = pvalue.AsList(parts | "NumberParts" >> beam.Keys())
    checked = (
        root
        | "TopUp" >> beam.Create([top_up])
        | "CheckPool" >> beam.Map(_check_unchanged, pvalue.AsSingleton(same), read)
    )
    _ = parts | "WriteReserve" >> beam.Map(_write, top_up, pvalue.AsSingleton(checked))


def build_id_check(root: beam.Pipeline, check: IdCheck, spill: Path | None = None) -> None:
    """Build the pipeline that checks all ids of the pool of a prepared workspace: see `build`."""
    spec = check.preparation.spec
    stratification = pvalue.AsSingleton(
        root | "Stratification" >> beam.Create([check.stratification])
    )
    items = root | "ListItems" >> beam.Create(check.items())
    checked = (
        items
        | "FetchCells" >> FetchCells(spec, stratification)
        | "CheckIds" >> CheckIds(spec, pvalue.AsList(items), spill)
    )
    _ = root | "Check" >> beam.Create([check]) | beam.Map(_keep, pvalue.AsList(checked))


def prepare(
    spec: EvaluationSpec, options: PipelineOptions, check_ids: bool = False, wait: bool = True
) -> PrepareResult | None:
    """Prepare a pool, unless that is done.

    Args:
        spec: of the evaluation.
        options: of Beam.
        check_ids: whether all ids of the pool are checked, not only those of the reserve; of a
            pool that was prepared without, they are checked now.
        wait: whether to wait until the job is done; a template must not.

    Returns:
        What was prepared, None without waiting.

    Raises:
        InputError: for anything wrong with the spec or the pool; the workspace is as it was.
    """
    preparation = Preparation.from_spec(spec, recorded(options), check_ids, detached=not wait)
    workspace, pipeline = preparation.workspace, beam.Pipeline(options=options)
    logs.tell(workspace=workspace.path)
    if workspace.prepared:
        preparation.check_same_spec()
        if not check_ids:  # That check reads the pool, and looks by itself.
            preparation.check_same_pool()
        check = (
            IdCheck.from_pool(PreparedPool.read(workspace), preparation.context)
            if check_ids
            else None
        )
        if check is not None:
            _run_check(pipeline, check, wait)
        elif is_template(options):
            # Whoever launches a template wants a job.
            _ = pipeline | "Done" >> beam.Create([None])
            run(pipeline, wait=False)
        return preparation.result()
    preparation.check_labels()
    if not wait:
        build(pipeline, preparation)
        workspace.check_free()
        run(pipeline, wait=False)
        return None
    spilling = _spill(options, needed=check_ids)
    with workspace.preparing(preparation.attempt), _progress(), spilling as folder:
        build(pipeline, preparation, folder)
        done = run(pipeline)
        with workspace.in_use():
            workspace.add_steps(JOB, read_meters(done))
    return preparation.result()


def _run_check(pipeline: beam.Pipeline, check: IdCheck, wait: bool) -> None:
    if not wait:
        build_id_check(pipeline, check)
        run(pipeline, wait=False)
        return
    with _progress(CHECK, check.pool.rows), _spill(pipeline.options) as folder:
        build_id_check(pipeline, check, folder)
        done = run(pipeline)
    workspace = check.preparation.workspace
    with workspace.in_use():
        workspace.add_steps(CHECK, read_meters(done))


@contextlib.contextmanager
def _spill(options: PipelineOptions, needed: bool = True) -> Iterator[Path | None]:
    """Give a folder for what workers gather, for one block.

    It is None if nothing is gathered, or workers are on other machines.
    """
    if not needed or not workers_here(options):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="evalsampling-") as folder:
        yield Path(folder)


def _progress(label: str = JOB, rows: int = 0) -> AbstractContextManager[None]:
    return progress.watch(label, "rows", rows, logs.stream())


def top_up(spec: EvaluationSpec, wanted: int | None, options: PipelineOptions) -> PrepareResult:
    """Add rows to the reserve of the cells that run short.

    Args:
        spec: names the workspace.
        wanted: rows a round may ask of a cell; the spec's ``round_size`` if None.
        options: of Beam.

    Returns:
        What is prepared, with the rows of the reserve as it is now.

    Raises:
        InputError: if the workspace is not prepared or the pool has changed since.
    """
    started, context = time.time(), recorded(options)
    preparation = Preparation.from_spec(spec, context)
    preparation.check_same_spec()
    workspace = preparation.workspace
    logs.tell(workspace=workspace.path)
    with workspace.in_use():
        snapshot = Snapshot.read(PreparedPool.read(workspace))
        work = TopUp.from_snapshot(snapshot, wanted, context)
        if work is not None:
            pipeline = beam.Pipeline(options=options)
            build_top_up(pipeline, work)
            with _progress("top-up", snapshot.pool.marker["rows"]):
                done = run(pipeline)
            workspace.add_steps(work.name, read_meters(done))
        held = len(snapshot.pool.reserve.places())
        if work is not None:
            workspace.add_manifest(work.manifest(started, held))
    return dataclasses.replace(preparation.result(), reserve_rows=held)


def _stamp(path: str) -> tuple[str, float]:
    return path, time.time()


def _items(catalog: Catalog) -> Any:
    return catalog.items


def _check_unchanged(top_up: TopUp, *_: Any) -> None:
    top_up.check_unchanged()


def _keep(check: IdCheck, _: Any) -> None:
    check.keep()


def _write(part: tuple[int, Reserve], top_up: TopUp, _: Any) -> int:
    return top_up.write(*part)


def _commit(
    catalog: Catalog,
    preparation: Preparation,
    started: tuple[str, float],
    stratification: Stratification,
    sums: CellSums,
    counts: SliceCounts,
    located: Sequence[pa.Table],
    _: Any,
) -> PrepareResult:
    return preparation.commit(catalog, started[1], stratification, sums, counts, located)


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    with job(JOB, "Prepare a pool.", PrepareOptions, argv) as (options, settings, beam_options):
        spec = load_spec(options.spec)
        result = prepare(spec, beam_options, options.check_ids, settings.wait)
        if result is not None:
            logs.tell(rows=result.rows, cells=result.cells)
            json.dump(result.to_json(), sys.stdout)
            sys.stdout.write("\n")


if __name__ == "__main__":
    run_as_program(main)
