"""Writes a pool of any size that stands for the output of a record linker.

    python benchmarks/make_pool.py --rows 100000000 --output build/pools/large

Columns:

- `id`: a number below 2^63 in no order, no two alike; or with `--ids text` 36 characters in the
  form of a UUID; with `--ids pair` two columns, `left` and `right`, of 18 of these each;
- `score`: float32, a match probability. One row in 10,000 is a match and scores high, nearly all
  others are close to 0;
- `prediction`: int8, whether the score is 0.5 or more, with some noise about that;
- `name`: text of `--payload-bytes` characters, the first of which is `m` for a match, else `n`.

A row depends on its number and the seed alone, if row groups are alike. Parquet is written as
pyarrow does by default, with snappy. Memory does not grow with the pool: each of two threads holds
one row group. A file is written as a whole or not at all; one that is there with the right columns
and rows is kept, so a run that was killed can be run again.
"""

import argparse
import concurrent.futures
import itertools
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

MATCHES = 1e-4
"""Share of the rows that are matches."""

_ODD = np.uint64(0x9E3779B97F4A7C15)
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz012345", dtype=np.uint8)
_HEX = np.array([f"{byte:02x}".encode() for byte in range(256)], dtype="S2").view(np.uint16)
_DASHES = (8, 13, 18, 23)


def main(argv: list[str] | None = None) -> int:
    """Write, print, return the exit status."""
    options = _parse(argv)
    started = time.perf_counter()
    _check_folder(options)
    bounds = [options.rows * file // options.files for file in range(options.files + 1)]
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        jobs = [
            threads.submit(_write_file, options, number, begin, end)
            for number, (begin, end) in enumerate(itertools.pairwise(bounds))
        ]
        written = sum(job.result() for job in jobs)
    paths = sorted(options.output.glob("part-*.parquet"))
    result = {
        "pool": str(options.output),
        "rows": options.rows,
        "written": written,
        "bytes": sum(path.stat().st_size for path in paths),
        "seconds": round(time.perf_counter() - started, 3),
    }
    if options.json:
        print(json.dumps(result))
    else:
        print(
            f"{result['rows']:,} rows, {result['written']:,} of them written now, "
            f"{result['bytes'] / 1e9:.2f} GB, {result['seconds']:.1f} s"
        )
    return 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, required=True, metavar="N")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--files", type=int, default=4, metavar="N", help="default: 4")
    parser.add_argument(
        "--group-rows", type=int, default=1_000_000, metavar="N", help="default: 1,000,000"
    )
    parser.add_argument(
        "--ids", choices=["int", "text", "pair"], default="int", help="default: int"
    )
    parser.add_argument(
        "--payload-bytes", type=int, default=16, metavar="N", help="of each name (default: 16)"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="default: 1")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args(argv)


def _check_folder(options: argparse.Namespace) -> None:
    """Make the folder; end if it holds files that would not be of this pool."""
    options.output.mkdir(parents=True, exist_ok=True)
    known = {_name(number, options.files) for number in range(options.files)}
    for path in options.output.glob("*.parquet"):
        if path.name not in known:
            sys.exit(f"{path}: of another pool; choose another folder")


def _name(number: int, files: int) -> str:
    return f"part-{number:05d}-of-{files:05d}.parquet"


def _write_file(options: argparse.Namespace, number: int, begin: int, end: int) -> int:
    """Write the rows from begin to end unless they are there; return how many were written."""
    path = options.output / _name(number, options.files)
    schema = _schema(options.ids)
    if path.exists():
        with pq.ParquetFile(path) as file:
            if file.metadata.num_rows == end - begin and file.schema_arrow.equals(schema):
                return 0
    draft = path.with_suffix(".draft")
    with pq.ParquetWriter(draft, schema) as writer:
        for first in range(begin, end, options.group_rows):
            rows = min(options.group_rows, end - first)
            writer.write_batch(_make_rows(options, schema, first, rows), rows)
    os.replace(draft, path)
    return end - begin


def _schema(ids: str) -> pa.Schema:
    text = dict.fromkeys(("left", "right") if ids == "pair" else ("id",), pa.string())
    return pa.schema(
        {
            **({"id": pa.int64()} if ids == "int" else text),
            "score": pa.float32(),
            "prediction": pa.int8(),
            "name": pa.string(),
        }
    )


def _make_rows(
    options: argparse.Namespace, schema: pa.Schema, first: int, rows: int
) -> pa.RecordBatch:
    rng = np.random.default_rng([options.seed, first])
    match = rng.random(rows, dtype=np.float32) < MATCHES
    logit = 2 * rng.standard_normal(rows, dtype=np.float32)
    logit += np.where(match, np.float32(3), np.float32(-8))
    prediction = logit + rng.standard_normal(rows, dtype=np.float32) / 4 >= 0
    np.negative(logit, out=logit)
    score = 1 / (1 + np.exp(logit))
    number = np.arange(first, first + rows, dtype=np.uint64)
    ids = [_number_ids(number) if options.ids == "int" else _text_ids(number)]
    if options.ids == "pair":
        ids = [pc.utf8_slice_codeunits(ids[0], begin, begin + 18) for begin in (0, 18)]
    names = _LETTERS[rng.integers(0, 32, (rows, options.payload_bytes), dtype=np.uint8)]
    names[:, 0] = np.where(match, ord("m"), ord("n"))
    return pa.record_batch(
        [*ids, pa.array(score), pa.array(prediction.astype(np.int8)), _text(names)], schema
    )


def _number_ids(number: npt.NDArray[np.uint64]) -> pa.Array:
    """Return numbers times an odd constant modulo 2^63, which no two have alike."""
    return pa.array((number * _ODD & np.uint64(2**63 - 1)).astype(np.int64))


def _text_ids(number: npt.NDArray[np.uint64]) -> pa.Array:
    """Return two scrambled forms of each number as hexadecimal digits in groups."""
    one = number * _ODD
    halves = np.stack([one, (one ^ one >> np.uint64(31)) * _ODD], axis=1)
    digits = _HEX[halves.view(np.uint8)].view(np.uint8)
    text = np.full((len(number), 36), ord("-"), dtype=np.uint8)
    text[:, [place for place in range(36) if place not in _DASHES]] = digits
    return _text(text)


def _text(characters: npt.NDArray[np.uint8]) -> pa.Array:
    """Return rows of characters as strings."""
    rows, width = characters.shape
    offsets = np.arange(0, (rows + 1) * width, width, dtype=np.int32)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(characters))]
    return pa.Array.from_buffers(pa.string(), rows, buffers)


if __name__ == "__main__":
    sys.exit(main())
