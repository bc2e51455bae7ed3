"""Writes a pool of `make_pool.py`'s again in another format, file by file.

    python benchmarks/convert_pool.py build/pools/large csv --output build/pools/large-csv

A file is written as a whole or not at all; one that is there is kept, so a run that was killed can
be run again.
"""

import argparse
import os
from pathlib import Path

import pyarrow.parquet as pq
from format_speed import COLUMNS, WRITERS


def main() -> None:
    """Write the files that are not there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("pool", type=Path, help="folder of Parquet files")
    parser.add_argument("format", choices=[name.removeprefix("pool.") for name in WRITERS])
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for source in sorted(options.pool.glob("*.parquet")):
        path = options.output / f"{source.stem}.{options.format}"
        if not path.exists():
            draft = path.with_name(f".draft-{path.name}")
            WRITERS[f"pool.{options.format}"](pq.read_table(source, columns=COLUMNS), draft)
            os.replace(draft, path)


if __name__ == "__main__":
    main()
