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
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions

from evalsampling.commands.prepare import JOB, Preparation, PrepareOptions, PrepareResult
from evalsampling.commands.prepare_plan import finished, plan_passes
from evalsampling.commands.top_up import TopUp, plan_top_up
from evalsampling.evaluation.specs import load_spec
from evalsampling.labels.controls import Gold
from evalsampling.pipelines.running import (
    is_template,
    job,
    recorded,
    run,
    run_as_program,
    workers_here,
)
from evalsampling.spec import EvaluationSpec
from evalsampling.telemetry import logs, progress
from evalsampling.transforms import BeamEngine
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.snapshot import Snapshot


def prepare(
    spec: EvaluationSpec, options: PipelineOptions, check_ids: bool = False, wait: bool = True
) -> PrepareResult | None:
    """Prepare a pool, unless that is done.

    Args:
        spec: of the evaluation.
        options: of Beam.
        check_ids: whether all ids of the pool are checked, not only those of the reserve.
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
        preparation.check_same()
        if is_template(options):
            # Whoever launches a template wants a job.
            _ = pipeline | "Done" >> beam.Create([None])
            run(pipeline, wait=False)
        return finished(preparation)
    Gold.read(spec.labelling)
    if not wait:
        plan_passes(BeamEngine(pipeline), preparation)
        workspace.check_free()
        run(pipeline, wait=False)
        return None
    spilling, preparation = _spill(options, needed=check_ids), preparation.settled()
    preparing = workspace.preparing(preparation.attempt, preparation.table)
    watched = progress.watch(JOB, "rows")
    with preparing, watched, spilling as folder:
        plan_passes(BeamEngine(pipeline), preparation, folder)
        run(pipeline)
    return finished(preparation)


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
    workspace = preparation.workspace
    prepared = PreparedPool.read(workspace)
    preparation.check_same_spec(prepared)
    logs.tell(workspace=workspace.path)
    with Snapshot.held(prepared) as snapshot:
        work = TopUp.from_snapshot(snapshot, wanted, context)
        if work is not None:
            pipeline = beam.Pipeline(options=options)
            plan_top_up(BeamEngine(pipeline), work)
            with progress.watch("top-up", "rows", snapshot.pool.marker["rows"]):
                run(pipeline)
        held = len(snapshot.pool.reserve.places())
        if work is not None:
            workspace.add_manifest(work.manifest(started, held))
    return dataclasses.replace(PrepareResult.of(snapshot.pool), reserve_rows=held)


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    with job(JOB, "Prepare a pool.", PrepareOptions, argv) as (options, settings, beam_options):
        spec = load_spec(options.spec)
        result = prepare(spec, beam_options, options.check_ids, settings.wait)
        if result is not None:
            logs.tell(rows=result.rows, cells=result.cells)
            print(json.dumps(result.to_json()))


if __name__ == "__main__":
    run_as_program(main)
