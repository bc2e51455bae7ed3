"""Draw the next round of a workspace, as a job.

    python -m pipelines.sample --workspace=runs/abt-buy --output=sampled.json

The work is that of `evalsampling.commands.ledger`, called in one worker: a round costs the
same whatever the size of the pool.
"""

import argparse
import json
import uuid
from collections.abc import Sequence

import apache_beam as beam

from evalsampling.commands.ledger import Ledger
from evalsampling.storage import replace_json
from evalsampling.workspace.manifest import Run
from evalsampling.workspace.workspace import Workspace
from pipelines.running import add_flag, job, recorded, run, run_as_program


def sample(
    workspace: str,
    record: Run,
    size: int | None,
    next_round: bool,
    request: str,
    output: str | None,
) -> str:
    """Draw a round and write the object `sample --json` prints to ``output``."""
    result = Ledger(Workspace(workspace), record).sample(size, next_round, request)
    if output is not None:
        replace_json(output, {"result": result})
    return json.dumps(result)


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    parser = argparse.ArgumentParser(description="Draw the next round.", allow_abbrev=False)
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--size", type=int, help="new rows to draw")
    add_flag(parser, "--next", help="close the open round first")
    parser.add_argument("--output", help="file for the result, as JSON")
    with job("sample", parser, argv) as (known, options):
        # A bundle that is tried again is the same request: it draws no other round.
        asked = (known.size, known.next == "true", uuid.uuid4().hex)
        pipeline = beam.Pipeline(options=options)
        _ = (
            pipeline
            | "Workspace" >> beam.Create([known.workspace])
            | "Sample" >> beam.Map(sample, recorded(options), *asked, known.output)
        )
        run(pipeline, known.wait)


if __name__ == "__main__":
    run_as_program(main)
