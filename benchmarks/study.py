"""Compares sampling methods on pools whose truth is known, as [MR] section 5 does.

    python benchmarks/study.py                  # simulates; continues where it stopped
    python benchmarks/study.py report           # writes docs/studies/study.md

[MR] is Marchant and Rubinstein, "Needle in a Haystack", KDD 2021, and its technical report. A pool
is a pair of files: NAME.parquet (id, score, prediction, probability) and NAME-truth.parquet (id,
label).
"""

import argparse
import dataclasses
import sys
from pathlib import Path

import pools
import study_pages
from blocks import SettingsError
from study_runs import Settings, run


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    options = _parse(argv)
    if options.action == "report":
        from study_report import report

        return report(options.results, options.output, options.note)
    if not pools.find(options.pools):
        return 0
    settings = dataclasses.replace(Settings(), draws=options.draws)
    try:
        run(
            options.pools,
            options.results,
            settings,
            options.repeats,
            options.block,
            options.workers,
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
    study_pages.add_output(parser, "study")
    study_pages.add_note(parser)
    return parser.parse_args(argv)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number of at least 1, got {text!r}")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())
