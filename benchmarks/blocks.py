"""Repeats of studies in blocks, each with a file of results that is there whole or not at all."""

import concurrent.futures
import dataclasses
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


@dataclasses.dataclass(frozen=True)
class Block:
    """Some repeats of one sampler on one pool."""

    pool: str
    sampler: str
    first: int
    end: int

    def path(self, results: Path) -> Path:
        """Return the file of its results."""
        folder = results / "runs" / self.pool.replace(" ", "-") / self.sampler
        return folder / f"{self.first:05}-{self.end:05}.parquet"

    def write(self, rows: list[dict[str, Any]], schema: pa.Schema, results: Path) -> None:
        """Write the file of its results."""
        path = self.path(results)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        pq.write_table(pa.Table.from_pylist(rows, schema), unfinished, compression="zstd")
        os.replace(unfinished, path)


def run_missing(
    blocks: Sequence[Block], results: Path, workers: int, simulate: Callable[[Block], None]
) -> None:
    """Simulate the blocks that have no results yet, in processes, and tell how far it is.

    Args:
        blocks: all that are wanted.
        results: folder of their files.
        workers: processes.
        simulate: writes the file of a block.
    """
    todo = [one for one in blocks if not one.path(results).exists()]
    started = time.perf_counter()
    with concurrent.futures.ProcessPoolExecutor(workers) as executor:
        jobs = {executor.submit(simulate, one): one for one in todo}
        for done, job in enumerate(concurrent.futures.as_completed(jobs), start=1):
            job.result()
            one, minutes = jobs[job], (time.perf_counter() - started) / 60
            left = minutes / done * (len(todo) - done)
            told = f"{one.pool}, {one.sampler}, {one.first}-{one.end}"
            print(f"{done}/{len(todo)} {told}; about {left:.0f} min left", file=sys.stderr)
