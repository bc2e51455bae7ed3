"""Take labels into a workspace and estimate, as a job.

    python -m pipelines.estimate --workspace=runs/abt-buy --labels=labels.csv --output=out.json

The work is that of `evalsampling.ledger.Ledger.estimate`, called in one worker.
"""

import argparse
import json
from collections.abc import Sequence
from typing import Any

import apache_beam as beam
from apache_beam.options.pipeline_options import GoogleCloudOptions

from evalsampling.ledger import Ledger, Options
from evalsampling.storage import replace_json
from evalsampling.workspace import Workspace
from pipelines.running import parse_options, run, run_as_program


def estimate(
    workspace: str,
    labels: Sequence[str],
    replace: Sequence[str],
    options: Options,
    output: str | None,
) -> str:
    """Take labels, estimate, and write the object `estimate --json` prints to ``output``."""
    ledger = Ledger(Workspace(workspace))
    result, messages = ledger.estimate(labels, replace, options)
    if output is not None:
        replace_json(output, {"result": result, "messages": messages})
    return json.dumps(result)


def main(argv: Sequence[str] | None = None) -> None:
    """Parse, build, run."""
    parser = argparse.ArgumentParser(description="Take labels and estimate.", allow_abbrev=False)
    flag: dict[str, Any] = {
        "nargs": "?", "choices": ("true", "false"), "const": "true", "default": "false",
    }  # fmt: skip
    parser.add_argument("--workspace", required=True)
    parser.add_argument("--labels", action="append", default=[], metavar="FILE")
    parser.add_argument("--replace", action="append", default=[], metavar="FILE")
    parser.add_argument("--measure", action="append", default=[], metavar="NAME")
    parser.add_argument("--close", **flag, help="close the open round")
    parser.add_argument("--strict", **flag, help="take nothing if a row is rejected")
    parser.add_argument("--output", help="file for the result, as JSON")
    parser.add_argument("--no-wait", action="store_true", help="start the job and return")
    known, rest = parser.parse_known_args(argv)
    options = parse_options(rest)
    # A template is started by others: its launcher only writes it down.
    wait = not (known.no_wait or options.view_as(GoogleCloudOptions).template_location)
    asked = Options(tuple(known.measure), known.close == "true", known.strict == "true")
    pipeline = beam.Pipeline(options=options)
    _ = (
        pipeline
        | "Workspace" >> beam.Create([known.workspace])
        | "Estimate" >> beam.Map(estimate, known.labels, known.replace, asked, output=known.output)
    )
    run(pipeline, wait)


if __name__ == "__main__":
    run_as_program(main)
