"""Take labels into a workspace and estimate, as a job.

    python -m pipelines.estimate --workspace=runs/abt-buy --labels=labels.csv --output=out.json

The work is that of `evalsampling.commands.ledger.Ledger.estimate`, called in one worker.
"""

import argparse
import json
from collections.abc import Sequence

import apache_beam as beam

from evalsampling.commands.ledger import Ledger, Options
from evalsampling.storage import replace_json
from evalsampling.workspace.manifest import Run
from evalsampling.workspace.workspace import Workspace
from pipelines.running import add_flag, job, recorded, run, run_as_program


def estimate(
    workspace: str,
    record: Run,
    labels: Sequence[str],
    replace: Sequence[str],
    options: Options,
    output: str | None,
) -> str:
    """Take labels, estimate, and write the object `estimate --json` prints to ``output``."""
    ledger = Ledger(Workspace(workspace), record)
    result, messages = ledger.estimate(labels, replace, options)
    if output is not None:
        replace_json(output, {"result": result, "messages": messages})
    return json.dumps(result)


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    parser = argparse.ArgumentParser(description="Take labels and estimate.", allow_abbrev=False)
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--labels", action="append", default=[], metavar="FILE")
    parser.add_argument("--replace", action="append", default=[], metavar="FILE")
    parser.add_argument("--measure", action="append", default=[], metavar="NAME")
    add_flag(parser, "--close", help="close the open round")
    add_flag(parser, "--strict", help="take nothing if a row is rejected")
    parser.add_argument("--output", help="file for the result, as JSON")
    with job("estimate", parser, argv) as (known, options):
        asked = Options(tuple(known.measure), known.close == "true", known.strict == "true")
        deliveries = (known.labels, known.replace)
        pipeline = beam.Pipeline(options=options)
        _ = (
            pipeline
            | "Workspace" >> beam.Create([known.workspace])
            | "Estimate" >> beam.Map(estimate, recorded(options), *deliveries, asked, known.output)
        )
        run(pipeline, known.wait)


if __name__ == "__main__":
    run_as_program(main)
