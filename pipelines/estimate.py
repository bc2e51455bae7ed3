"""Take labels into a workspace and estimate, as a job.

    python -m evalsampling.pipelines.estimate --workspace=run --labels=labels.csv --output=out.json

The work is that of `evalsampling.commands.estimate`, called in one worker.
"""

import json
from collections.abc import Sequence

import apache_beam as beam

from evalsampling.commands.estimate import EstimateOptions, estimate
from evalsampling.pipelines.running import job, recorded, run, run_as_program
from evalsampling.storage import replace_json
from evalsampling.workspace.manifest import ExecutionContext


def take_and_estimate(
    options: EstimateOptions, context: ExecutionContext, output: str | None
) -> str:
    """Take labels, estimate, and write the object `estimate --json` prints to ``output``."""
    result = estimate(options, context)
    content = result.to_json()
    if output is not None:
        replace_json(output, {"result": content, "messages": result.messages})
    return json.dumps(content)


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    description = "Take labels and estimate."
    with job("estimate", description, EstimateOptions, argv, with_output=True) as parsed:
        options, settings, beam_options = parsed
        pipeline = beam.Pipeline(options=beam_options)
        _ = (
            pipeline
            | "Options" >> beam.Create([options])
            | "Estimate" >> beam.Map(take_and_estimate, recorded(beam_options), settings.output)
        )
        run(pipeline, settings.wait)


if __name__ == "__main__":
    run_as_program(main)
