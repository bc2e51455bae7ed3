"""Draw the next round of a workspace, as a job.

    python -m evalsampling.pipelines.sample --workspace=runs/abt-buy --output=sampled.json

The work is that of `evalsampling.commands.sample`, called in one worker: a round costs the same
whatever the size of the pool.
"""

import json
import uuid
from collections.abc import Sequence

import apache_beam as beam

from evalsampling.commands.sample import SampleOptions, sample
from evalsampling.pipelines.running import job, recorded, run, run_as_program
from evalsampling.storage import replace_json
from evalsampling.workspace.manifest import ExecutionContext


def draw(
    options: SampleOptions, context: ExecutionContext, request: str, output: str | None
) -> str:
    """Draw a round and write the object `sample --json` prints to ``output``."""
    result = sample(options, context, request).to_json()
    if output is not None:
        replace_json(output, {"result": result})
    return json.dumps(result)


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    description = "Draw the next round."
    with job("sample", description, SampleOptions, argv, with_output=True) as parsed:
        options, settings, beam_options = parsed
        # A bundle that is tried again is the same request: it draws no other round.
        request = uuid.uuid4().hex
        pipeline = beam.Pipeline(options=beam_options)
        _ = (
            pipeline
            | "Options" >> beam.Create([options])
            | "Sample" >> beam.Map(draw, recorded(beam_options), request, settings.output)
        )
        run(pipeline, settings.wait)


if __name__ == "__main__":
    run_as_program(main)
