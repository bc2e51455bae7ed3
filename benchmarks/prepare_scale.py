"""Does `prepare` cost the same for each row, however large the pool?

At each size a pool is made and prepared on two threads, in a process of its own; seconds are those
of its work, imports apart. Pools are made one at a time and removed unless they were there. A row
takes about 30 bytes on disk.
"""

import argparse
import dataclasses
import shutil
import statistics
from pathlib import Path

import measured

FOLDER = Path(__file__).resolve().parents[1] / "build" / "pools"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sizes", default="10000000,100000000", metavar="N,N", help="rows")
    parser.add_argument("--directory", type=Path, default=FOLDER, metavar="DIR")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="medians are printed")
    parser.add_argument("--beam", action="store_true", help="by Beam in process")
    options = parser.parse_args()
    print("rows,prepare_s,cpu_s,million_rows_s,peak_mib")
    for rows in map(int, options.sizes.split(",")):
        was_there = (options.directory / f"{rows}-int").exists()
        pool = measured.make_pool(options.directory, rows)
        measured.read_through(pool)
        how = measured.BY_BEAM if options.beam else ()
        runs = (measured.prepare(pool, options.directory, *how) for _ in range(options.repeats))
        costs = zip(*map(dataclasses.astuple, runs), strict=True)
        seconds, cpu, peak = map(statistics.median, costs)
        print(f"{rows},{seconds:.2f},{cpu:.2f},{rows / seconds / 1e6:.2f},{peak:.0f}")
        if not was_there:
            shutil.rmtree(pool)


if __name__ == "__main__":
    main()
