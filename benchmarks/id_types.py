"""Times `prepare` with ids of 36 characters, in one column and in two, against numbers of 64 bits.

    python benchmarks/id_types.py --rows 100000000

Every run is a process of its own on two threads, all in turn; figures are medians. Seconds are
those of the work, imports apart, the peak is the process's; ratios are to the numbers.
"""

import argparse
import functools
import json
import sys
from typing import Any

import preparations
from measured import Measurement, interleave

IDS = ("int", "text", "pair")


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--rows", type=int, default=10_000_000, metavar="N", help="default: 10,000,000"
    )
    preparations.add_options(parser, repeats=3)
    options = parser.parse_args(argv)
    ways = {}
    for ids in IDS:
        pool = preparations.make_pool(options.directory, options.rows, ids)
        preparations.read_through(pool)
        ways[ids] = functools.partial(preparations.prepare, pool, options.directory)
    found = interleave(ways, options.repeats)
    results = [_result(ids, options.rows, found) for ids in IDS]
    print(json.dumps(results, indent=1) if options.json else _table(results))
    return 0


def _result(ids: str, rows: int, found: dict[str, Measurement]) -> dict[str, Any]:
    (cost, workspace), (first_cost, first_workspace) = found[ids], found[IDS[0]]
    return {
        "ids": ids,
        "rows": rows,
        "seconds": cost.seconds,
        "cpu_seconds": cost.cpu_seconds,
        "peak_mib": cost.peak_mib,
        "workspace_mib": workspace["bytes"] / 2**20,
        "time_ratio": cost.seconds / first_cost.seconds,
        "memory_ratio": cost.peak_mib / first_cost.peak_mib,
        "workspace_ratio": workspace["bytes"] / first_workspace["bytes"],
    }


def _table(results: list[dict[str, Any]]) -> str:
    lines = [
        f"{'ids':<6}{'rows':>15}{'s':>9}{'CPU s':>9}{'ratio':>7}{'peak MiB':>10}{'ratio':>7}"
        f"{'workspace MiB':>15}{'ratio':>7}"
    ]
    lines += [
        f"{one['ids']:<6}{one['rows']:>15,}{one['seconds']:>9.2f}{one['cpu_seconds']:>9.2f}"
        f"{one['time_ratio']:>7.2f}{one['peak_mib']:>10,.0f}{one['memory_ratio']:>7.2f}"
        f"{one['workspace_mib']:>15.1f}{one['workspace_ratio']:>7.2f}"
        for one in results
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
