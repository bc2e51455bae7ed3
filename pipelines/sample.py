"""Draw the next round of a workspace, as a job.

    python -m pipelines.sample --workspace=runs/abt-buy --output=sampled.json

The work is that of `evalsampling.ledger.Ledger.sample`, called in one worker: a round costs the
same whatever the size of the pool.
"""

import argparse
import json
from collections.abc import Sequence
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import GoogleCloudOptions

from evalsampling.ledger import Ledger
from evalsampling.storage import replace_json
from evalsampling.workspace import Workspace
from pipelines.running import parse_options, run, run_as_program


def sample(workspace: str, size: int | None, next_round: bool, output: str | None) -> str:
    """Draw a round and write the object `sample --json` prints to ``output``."""
    result = Ledger(Workspace(workspace)).sample(size, next_round)
    if output is not None:
        replace_json(output, {"result": result})
    return json.dumps(result)


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    parser = argparse.ArgumentParser(description="Draw the next round.", allow_abbrev=False)
    flag: dict[str, Any] = {
        "nargs": "?", "choices": ("true", "false"), "const": "true", "default": "false",
    }  # fmt: skip
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--size", type=int, help="new rows to draw")
    parser.add_argument("--next", **flag, help="close the open round first")
    parser.add_argument("--output", help="file for the result, as JSON")
    parser.add_argument("--no-wait", action="store_true", help="start the job and return")
    known, rest = parser.parse_known_args(argv)
    options = parse_options(rest)
    # A template is started by others: its launcher only writes it down.
    wait = not (known.no_wait or options.view_as(GoogleCloudOptions).template_location)
    pipeline = beam.Pipeline(options=options)
    _ = (
        pipeline
        | "Workspace" >> beam.Create([known.workspace])
        | "Sample" >> beam.Map(sample, known.size, known.next == "true", known.output)
    )
    run(pipeline, wait)


if __name__ == "__main__":
    run_as_program(main)
