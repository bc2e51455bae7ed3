"""How long does `prepare` take on a Delta table, beside the same files named by a pattern?

    python benchmarks/table_speed.py --rows 100000000

Both read the same Parquet files, in turn, each run in a process of its own; figures are medians.
With ``--check`` it fails if the table takes more than 1.15 times as long.
"""

import argparse
import functools
import json
import sys
from pathlib import Path

import measured
import preparations
from deltalake import convert_to_deltalake
from measured import Measurement, interleave

MOST = 1.15
"""Times the seconds of the files alone."""

WAYS = ("files", "delta")


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--rows", type=int, default=100_000_000, metavar="N", help="default: 100,000,000"
    )
    parser.add_argument("--check", action="store_true", help=f"fail above {MOST} times the seconds")
    preparations.add_options(parser, repeats=3)
    options = parser.parse_args(argv)
    pool = preparations.make_pool(options.directory, options.rows)
    files = preparations.pattern(pool)  # The log is no file of the pool.
    convert_to_deltalake(str(pool), mode="ignore")
    runs = {way: functools.partial(prepare, files, way, options.directory) for way in WAYS}
    costs = {way: cost for way, (cost, _) in interleave(runs, options.repeats).items()}
    ratio = costs["delta"].seconds / costs["files"].seconds
    if options.json:
        seconds = {way: cost.seconds for way, cost in costs.items()}
        print(json.dumps({"rows": options.rows, **seconds, "ratio": ratio}))
    else:
        for way, cost in costs.items():
            print(f"{way:<12}{cost.seconds:>9.2f} s{cost.cpu_seconds:>9.2f} CPU s")
        print(f"{'ratio':<12}{ratio:>9.3f}")
    return 1 if options.check and ratio > MOST else 0


def prepare(files: Path, way: str, directory: Path) -> Measurement:
    """Prepare a pool by the command line, its files named by a pattern or by the log beside them.

    Args:
        files: their pattern.
        way: one of `WAYS`.
        directory: where the workspace is made.
    """
    with preparations.new_spec(files.parent, directory) as spec:
        if way == "delta":
            place = f"table: {{delta: '{files.parent}'}}"
            spec.write_text(spec.read_text().replace(f"path: '{files}'", place))
        return measured.measure_command("prepare", spec, "--in-process")


if __name__ == "__main__":
    sys.exit(main())
