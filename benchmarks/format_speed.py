"""How fast is a pool read in each format, beside Parquet?

    python benchmarks/format_speed.py

One pool of `make_pool.py`'s is written in every format the library reads, then looked into
(`inspect`: footers; others are imported) and read (id, score, prediction and name), by one thread.
Seconds are of processor time, the least of some repeats; ratios are to Parquet.
"""

import argparse
import dataclasses
import gzip
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import preparations
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats.registry import read_batches
from evalsampling.spec import EvaluationSpec

COLUMNS = ["id", "score", "prediction", "name"]


def main(argv: list[str] | None = None) -> int:
    """Write the files, measure, print, return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000, metavar="N", help="default: 10^6")
    preparations.add_options(parser, repeats=3)
    options = parser.parse_args(argv)
    pool = preparations.make_pool(options.directory, options.rows)
    rows = pq.read_table(pool, columns=COLUMNS)
    with tempfile.TemporaryDirectory(dir=options.directory) as folder:
        results = []
        for name, write in WRITERS.items():
            path = Path(folder) / name
            write(rows, path)
            runs = [read(path) for _ in range(options.repeats)]
            results.append({"format": name, **_result(path, runs)})
            path.unlink()
    for one in results:
        one["ratio"] = results[0]["rows_per_second"] / one["rows_per_second"]
    print(json.dumps(results, indent=1) if options.json else _table(results))
    return 0


@dataclasses.dataclass(frozen=True)
class Reading:
    """What a pool took: rows, and seconds of processor time to look into it and to read it."""

    rows: int
    inspect_seconds: float
    read_seconds: float


def read(path: Path) -> Reading:
    """Read a pool of one file as the library does, by one thread; return what it took."""
    pa.set_cpu_count(1)
    pool = {"path": str(path), "payload": ["name"]}
    spec = EvaluationSpec.from_mapping({"pool": pool, "budget": 1}, Path())
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        started = time.process_time()
        catalog = Catalog.read(spec, folder)
        middle = time.process_time()
        rows = sum(len(b) for item in catalog.items for b in read_batches(item, COLUMNS))
        end = time.process_time()
    assert rows == catalog.rows
    return Reading(rows, middle - started, end - middle)


def _result(path: Path, runs: Sequence[Reading]) -> dict[str, float]:
    inspect = min(one.inspect_seconds for one in runs)
    seconds = min(one.read_seconds for one in runs)
    return {
        "bytes": path.stat().st_size,
        "inspect_seconds": inspect,
        "read_seconds": seconds,
        "rows_per_second": runs[0].rows / (inspect + seconds),
    }


def _table(results: list[dict[str, Any]]) -> str:
    lines = [f"{'format':<18}{'MB':>8}{'inspect s':>11}{'read s':>9}{'M rows/s':>10}{'ratio':>8}"]
    lines += [
        f"{one['format']:<18}{one['bytes'] / 1e6:>8.1f}{one['inspect_seconds']:>11.3f}"
        f"{one['read_seconds']:>9.3f}{one['rows_per_second'] / 1e6:>10.2f}{one['ratio']:>8.1f}"
        for one in results
    ]
    return "\n".join(lines)


def _write_json_lines(rows: pa.Table, path: Path) -> None:
    with path.open("w") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows.to_pylist())


def _write_gzip(rows: pa.Table, path: Path) -> None:
    plain = path.with_suffix("")
    pyarrow.csv.write_csv(rows, plain)
    with plain.open("rb") as source, gzip.open(path, "wb", compresslevel=6) as target:
        shutil.copyfileobj(source, target)
    plain.unlink()


def _write_avro(rows: pa.Table, path: Path) -> None:
    types = {"id": "long", "score": "float", "prediction": "int", "name": "string"}
    fields = [{"name": name, "type": kind} for name, kind in types.items()]
    schema = {"type": "record", "name": "Row", "fields": fields}
    with path.open("wb") as file:
        fastavro.writer(file, schema, rows.to_pylist(), codec="deflate")


WRITERS: Mapping[str, Callable[[pa.Table, Path], None]] = {
    "pool.parquet": pq.write_table,
    "pool.csv": pyarrow.csv.write_csv,
    "pool.csv.gz": _write_gzip,
    "pool.jsonl": _write_json_lines,
    "pool.avro": _write_avro,
}


if __name__ == "__main__":
    sys.exit(main())
