"""Compares sampling methods on pools whose truth is known, as [MR] section 5 does.

    python benchmarks/study.py                  # simulates; continues where it stopped
    python benchmarks/study.py report           # writes docs/study.md and docs/figures/

[MR] is Marchant and Rubinstein, "Needle in a Haystack", KDD 2021, and its technical report. A pool
is a pair of files: NAME.parquet (id, score, prediction, probability) and NAME-truth.parquet (id,
label).
"""

import argparse
import dataclasses
import signal
import sys
from pathlib import Path

import pools
from study_runs import Settings, SettingsError, run


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    options = _parse(argv)
    if options.action == "report":
        from study_report import report

        return report(options.results, options.output)
    if not pools.find(options.pools):
        return 0
    # An end from outside leaves whole files only; the next run goes on from these.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    settings = dataclasses.replace(Settings(), draws=options.draws)
    try:
        run(
            options.pools,
            options.results,
            settings,
            options.repeats,
            options.block,
            options.workers,
            lambda line: print(line, file=sys.stderr, flush=True),
        )
    except SettingsError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "action", nargs="?", choices=("run", "report"), default="run", help="default: run"
    )
    pools.add_option(parser)
    parser.add_argument(
        "--results",
        type=Path,
        default=pools.PROJECT / "build" / "study",
        metavar="DIR",
        help="folder of the results (default: build/study)",
    )
    parser.add_argument("--repeats", type=_positive, default=200, metavar="N", help="default: 200")
    parser.add_argument(
        "--draws", type=_positive, default=Settings.draws, metavar="N", help="of a round"
    )
    parser.add_argument(
        "--block", type=_positive, default=20, metavar="N", help="repeats of a file of results"
    )
    parser.add_argument(
        "--workers", type=_positive, metavar="N", help="processes (default: one a core)"
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=pools.PROJECT / "docs" / "study.md",
        metavar="FILE",
        help="of the report; figures go to the folder `figures` beside it (default: docs/study.md)",
    )
    return parser.parse_args(argv)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
