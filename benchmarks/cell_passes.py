"""One pass over a pool that sums its cells, by plain work, for `bench_ratios.py`.

What a program of pyarrow and numpy for these columns and statistics alone would do: rows a cell,
and the sums of round(p 2^32) for both classes, as whole numbers. A cell is a leaf of the score with
a predicted class. It is run with the folder of the pool's files and a JSON list of inner edges, and
loads pyarrow as it begins: limits and lines of `docs/bench.md` are of such a pass.
"""

import concurrent.futures
import json
import sys
from pathlib import Path
from typing import Any

import measured
import numpy as np

PROBABILITY_ONE = 2**32
THREADS = 2
READ = ["score", "prediction"]
ROWS_AT_A_TIME = 1 << 17
"""Rows whose arrays stay in the processor's cache: of what was tried, the fastest."""


def sums_of(pool: Path, edges: list[float]) -> list[list[int]]:
    """Return rows and both sums, each a list by cell: 2 x leaf + predicted class."""
    import pyarrow.parquet as pq

    cuts = np.array(edges)
    cells = 2 * (len(cuts) + 1)

    def add_part(path: Path, group: int) -> Any:
        sums = np.zeros((3, cells), dtype=np.int64)
        with pq.ParquetFile(path) as file:
            rows = file.read_row_group(group, READ, use_threads=False)
        scores, predictions = (rows[name].to_numpy() for name in READ)
        for begin in range(0, len(scores), ROWS_AT_A_TIME):
            part = slice(begin, begin + ROWS_AT_A_TIME)
            positive = scores[part].astype(np.float64)
            cell = 2 * np.searchsorted(cuts, positive, side="right") + predictions[part]
            sums[0] += np.bincount(cell, minlength=cells)
            for row, probability in ((1, 1 - positive), (2, positive)):
                integers = np.rint(probability * PROBABILITY_ONE)
                sums[row] += np.bincount(cell, integers, cells).astype(np.int64)
        return sums

    files = sorted(pool.iterdir())
    groups = ((path, n) for path in files for n in range(pq.read_metadata(path).num_row_groups))
    total = np.zeros((3, cells), dtype=object)
    with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
        for sums in threads.map(add_part, *zip(*groups, strict=True)):
            total += sums
    return total.tolist()


if __name__ == "__main__":
    folder, inner = map(Path, sys.argv[1:])
    measured.report(lambda: sums_of(folder, json.loads(inner.read_text())))
