"""Writes a pool of any size that stands for the output of a record linker.

    python benchmarks/make_pool.py build/pools/large 100000000

Columns: `id`, a number below 2^63 in no order; `score`, float32, a match probability; `prediction`,
int8, whether that is 0.5 or more, with some noise; `name`, 16 characters, the first of which is `m`
for a match, else `n`. One row in 10,000 is a match and scores high.

A row depends on its number alone. Memory does not grow with the pool: each of two threads holds one
row group. The folder is there whole or not at all.
"""

import concurrent.futures
import shutil
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

MATCHES = 1e-4  # share of the rows that are matches
FILES, GROUP_ROWS, SEED, NAME_BYTES = 4, 1_000_000, 1, 16

_ODD = np.uint64(0x9E3779B97F4A7C15)
_LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz012345", dtype=np.uint8)

SCHEMA = pa.schema(
    {"id": pa.int64(), "score": pa.float32(), "prediction": pa.int8(), "name": pa.string()}
)


def write(folder: Path, rows: int) -> None:
    """Write the files of a pool of so many rows, in a folder that is not there yet."""
    draft = folder.with_suffix(".draft")
    shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True)
    paths = [draft / f"part-{n:05d}-of-{FILES:05d}.parquet" for n in range(FILES)]
    bounds = [rows * file // FILES for file in range(FILES + 1)]
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        for _ in threads.map(_write_file, paths, bounds, bounds[1:]):
            pass
    draft.rename(folder)


def _write_file(path: Path, begin: int, end: int) -> None:
    """Write the rows from begin to end."""
    with pq.ParquetWriter(path, SCHEMA) as writer:
        for first in range(begin, end, GROUP_ROWS):
            rows = min(GROUP_ROWS, end - first)
            writer.write_batch(_make_rows(first, rows), rows)


def _make_rows(first: int, rows: int) -> pa.RecordBatch:
    rng = np.random.default_rng([SEED, first])
    match = rng.random(rows, dtype=np.float32) < MATCHES
    logit = 2 * rng.standard_normal(rows, dtype=np.float32)
    logit += np.where(match, np.float32(3), np.float32(-8))
    prediction = logit + rng.standard_normal(rows, dtype=np.float32) / 4 >= 0
    np.negative(logit, out=logit)
    score = 1 / (1 + np.exp(logit))
    # Numbers times an odd constant modulo 2^63, which no two have alike.
    number = np.arange(first, first + rows, dtype=np.uint64)
    ids = (number * _ODD & np.uint64(2**63 - 1)).astype(np.int64)
    names = _LETTERS[rng.integers(0, 32, (rows, NAME_BYTES), dtype=np.uint8)]
    names[:, 0] = np.where(match, ord("m"), ord("n"))
    text = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(NAME_BYTES), rows, [None, pa.py_buffer(names)]
    )
    columns = [pa.array(each) for each in (ids, score, prediction.astype(np.int8))]
    return pa.record_batch([*columns, text.cast(pa.binary()).cast(pa.string())], SCHEMA)


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]))
