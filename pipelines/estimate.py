"""Take labels into a workspace and estimate, as a job.

    python -m evalsampling.pipelines.estimate --workspace=run --labels=labels.csv --output=out.json

The work is that of `evalsampling.commands.estimate`, called in one worker.
"""

from collections.abc import Sequence

from evalsampling.commands.estimate import EstimateOptions, estimate
from evalsampling.pipelines.running import run_as_program, run_in_one_worker


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, build, run; return the exit code, of gates too if it waits for the job."""
    return run_in_one_worker("estimate", "Take labels, estimate.", EstimateOptions, estimate, argv)


if __name__ == "__main__":
    run_as_program(main)
