"""Measures `prepare` of one pool with and without `--check-ids`.

    python benchmarks/check_ids.py --rows 20000000

Every run is a process of its own on two threads, the two in turn; figures are medians. Seconds are
those of the work, imports apart, the peak is the process's. With ``--check`` it fails if the peak
with the check is more than 1.2 times that without: hashes of ids are in files, not in memory.
"""

import argparse
import functools
import json
import sys

import preparations
from measured import interleave

MOST = 1.2
"""Times the peak without the check."""

WAYS = {"without": (), "check-ids": ("--check-ids",)}


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--rows", type=int, default=20_000_000, metavar="N", help="default: 20,000,000"
    )
    parser.add_argument("--check", action="store_true", help=f"fail above {MOST} times the memory")
    preparations.add_options(parser, repeats=3)
    options = parser.parse_args(argv)
    pool = preparations.make_pool(options.directory, options.rows)
    preparations.read_through(pool)
    found = interleave(
        {
            way: functools.partial(preparations.prepare, pool, options.directory, *more)
            for way, more in WAYS.items()
        },
        options.repeats,
    )
    costs = {way: cost for way, (cost, _) in found.items()}
    for way, cost in costs.items():
        if options.json:
            told = {"seconds": cost.seconds, "cpu_seconds": cost.cpu_seconds}
            print(json.dumps({"way": way, **told, "peak_mib": cost.peak_mib}))
        else:
            line = f"{way:<12}{cost.seconds:>9.2f} s{cost.cpu_seconds:>9.2f} CPU s"
            print(f"{line}{cost.peak_mib:>9,.0f} MiB")
    ratio = costs["check-ids"].peak_mib / costs["without"].peak_mib
    return 1 if options.check and ratio > MOST else 0


if __name__ == "__main__":
    sys.exit(main())
