"""Draw the next round of a workspace, as a job.

    python -m evalsampling.pipelines.sample --workspace=runs/abt-buy --output=sampled.json

The work is that of `evalsampling.commands.sample`, called in one worker: a round costs the same
whatever the size of the pool.
"""

import functools
import uuid
from collections.abc import Sequence

from evalsampling.commands.sample import SampleOptions, sample
from evalsampling.pipelines.running import run_as_program, run_in_one_worker


def main(argv: Sequence[str] | None = None) -> int:
    """Parse, build, run; return the exit code."""
    # A bundle that is tried again is the same request: it draws no other round.
    work = functools.partial(sample, request=uuid.uuid4().hex)
    return run_in_one_worker("sample", "Draw the next round.", SampleOptions, work, argv)


if __name__ == "__main__":
    run_as_program(main)
