r"""Prepare a pool: strata, cells and reserve, in one job of two passes.

On this machine:

    python -m pipelines.prepare --spec=evaluation.yaml

On Dataflow:

    python -m pipelines.prepare --spec=evaluation.yaml --runner=DataflowRunner \
        --project=PROJECT --region=REGION --temp_location=gs://BUCKET/tmp
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import apache_beam as beam
import pyarrow as pa
from apache_beam import pvalue
from apache_beam.options.pipeline_options import GoogleCloudOptions, PipelineOptions

from evalsampling import progress
from evalsampling.io.catalog import Catalog
from evalsampling.partition import Partition
from evalsampling.pool import required_columns
from evalsampling.preparation import Preparation
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums
from evalsampling.stats.slices import SliceCounts
from evalsampling.summary import summary_columns
from evalsampling.topup import TopUp
from evalsampling.transforms import (
    AssignCells,
    CheckIds,
    CountSlices,
    CutStrata,
    DrawReserve,
    FetchPool,
    InspectPool,
    ScorePool,
    SumCells,
    SummarizePool,
    read_meters,
)
from evalsampling.workspace import Workspace
from pipelines.running import parse_options, run, run_as_program, runner_name


def build(root: beam.Pipeline, preparation: Preparation, check_ids: bool = False) -> None:
    """Build the pipeline of one preparation.

    Args:
        root: to add it to.
        preparation: what to prepare, and where to.
        check_ids: whether to check all ids of the pool, not only those of the reserve.
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

    given, summary = Partition.given(spec), None
    if given is not None:
        cut = root | "GivenPartition" >> beam.Create([given])
    else:
        scores = batches or items | "FetchScores" >> FetchPool(summary_columns(spec))
        summaries = scores | "SummarizePool" >> SummarizePool(spec)
        cut = summaries | "CutStrata" >> CutStrata(spec)
        summary = pvalue.AsSingleton(summaries)
    partition = pvalue.AsSingleton(cut)

    fetch = FetchPool(required_columns(spec, payload=False), spec.pool.payload)
    cells = rows | "FetchRows" >> fetch | "AssignCells" >> AssignCells(spec, partition)
    sums = cells | "SumCells" >> SumCells(partition)
    counts = cells | "CountSlices" >> CountSlices(partition)
    located = (
        cells
        | "DrawReserve" >> DrawReserve(spec, partition, summary)  # (part, Reserve)
        | "WriteReserve" >> beam.MapTuple(preparation.write_reserve)
    )
    checked = pvalue.AsList(cells | "CheckIds" >> CheckIds(spec)) if check_ids else None
    # The marker is last: its side inputs are everything else that is written.
    _ = catalog | "Commit" >> beam.Map(
        _commit,
        preparation,
        pvalue.AsSingleton(started),
        partition,
        pvalue.AsSingleton(sums),
        pvalue.AsSingleton(counts),
        pvalue.AsList(located),
        checked,
    )


def build_top_up(root: beam.Pipeline, top_up: TopUp) -> None:
    """Build the pipeline that adds rows to the reserve of a prepared workspace."""
    spec = top_up.preparation.spec
    partition = pvalue.AsSingleton(
        root | "Partition" >> beam.Create([top_up.preparation.workspace.partition])
    )
    _ = (
        root
        | "ListItems" >> beam.Create(top_up.items())
        | "FetchRows" >> FetchPool(required_columns(spec, payload=False), spec.pool.payload)
        | "AssignCells" >> AssignCells(spec, partition)
        | "DrawReserve" >> DrawReserve(spec, partition, capacity=top_up.capacity, held=top_up.held)
        | "WriteReserve" >> beam.MapTuple(top_up.write)
    )


def prepare(
    spec: EvaluationSpec, options: PipelineOptions, check_ids: bool = False, wait: bool = True
) -> dict[str, Any] | None:
    """Prepare a pool, unless that is done.

    Args:
        spec: of the evaluation.
        options: of Beam.
        check_ids: whether to check all ids of the pool, not only those of the reserve.
        wait: whether to wait for the job; a template must not.

    Returns:
        The object `prepare --json` prints, None without waiting.

    Raises:
        InputError: for anything wrong with the spec or the pool; the workspace is as it was.
    """
    preparation = Preparation.of(spec, runner_name(options))
    if preparation.workspace.prepared:
        preparation.check_same_spec()
        return preparation.result()
    pipeline = beam.Pipeline(options=options)
    build(pipeline, preparation, check_ids)
    if not wait:
        run(pipeline, wait=False)
        return None
    with preparation.workspace.preparing(preparation.attempt), progress.watch("prepare", "rows"):
        done = run(pipeline)
        preparation.workspace.write_job("prepare", preparation.job(read_meters(done)))
    return preparation.result()


def top_up(spec: EvaluationSpec, wanted: int | None, options: PipelineOptions) -> dict[str, Any]:
    """Add rows to the reserve of the cells that run short.

    Args:
        spec: names the workspace.
        wanted: rows a round may ask of a cell; the spec's ``round_size`` if None.
        options: of Beam.

    Returns:
        The object `prepare --json` prints.

    Raises:
        InputError: if the workspace is not prepared or the pool has changed since.
    """
    preparation = Preparation.of(spec, runner_name(options))
    preparation.check_same_spec()
    workspace = Workspace(preparation.workspace.path)
    with workspace.in_use():
        work = TopUp.of(workspace, wanted, runner_name(options))
        if work is not None:
            pipeline = beam.Pipeline(options=options)
            build_top_up(pipeline, work)
            with progress.watch("top-up", "rows", workspace.marker["rows"]):
                done = run(pipeline)
            workspace.write_job(work.name, preparation.job(read_meters(done)))
    held = len(preparation.workspace.reserve.places())
    return {**preparation.result(), "reserve_rows": held}


def _stamp(path: str) -> tuple[str, float]:
    return path, time.time()


def _items(catalog: Catalog) -> Any:
    return catalog.items


def _commit(
    catalog: Catalog,
    preparation: Preparation,
    started: tuple[str, float],
    partition: Partition,
    sums: CellSums,
    counts: SliceCounts,
    located: Sequence[pa.Table],
    _: Any,
) -> dict[str, Any]:
    return preparation.commit(catalog, started[1], partition, sums, counts, located)


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    parser = argparse.ArgumentParser(description="Prepare a pool.", allow_abbrev=False)
    flag: dict[str, Any] = {
        "nargs": "?", "choices": ("true", "false"), "const": "true", "default": "false",
    }  # fmt: skip
    parser.add_argument("--spec", required=True, help="path of evaluation.yaml")
    parser.add_argument("--check-ids", "--check_ids", **flag, help="check all ids of the pool")
    parser.add_argument("--no-wait", action="store_true", help="start the job and return")
    known, rest = parser.parse_known_args(argv)
    options = parse_options(rest)
    # A template is started by others: its launcher only writes it down.
    wait = not (known.no_wait or options.view_as(GoogleCloudOptions).template_location)
    spec = EvaluationSpec.load(known.spec)
    done = prepare(spec, options, known.check_ids == "true", wait)
    if done is not None:
        json.dump(done, sys.stdout)
        sys.stdout.write("\n")


if __name__ == "__main__":
    run_as_program(main)
