"""The full check that no two rows of a pool have the same id, in bounded memory.

Only hashes of ids, eight bytes each, are gathered: by the engine, or, where that has nothing but
memory to gather them in, in files of this machine. Where one comes twice, its rows are read once
more: either their ids are equal, or two ids share a hash of 64 bits by chance, which is no error.
"""

import errno
import itertools
import os
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import hash_ids
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.splits import WorkItem
from evalsampling.pool.stored_columns import FILE, HASH, ID, ROW
from evalsampling.preparation.assignment import CellBatch
from evalsampling.preparation.reserve import check_unique, repeated_values
from evalsampling.spec.id_columns import IdColumns, columns_of
from evalsampling.stats.arrays import UInt64Array

_SHARE_BITS = 8

_PLACE = struct.Struct("<QQ")
"""Begin and length in a file, in bytes."""

_MOST_SOUGHT = 1000
"""Hashes whose rows are looked up. Of a pool of a billion ids less than one comes twice by chance,
so of more than these some are of equal ids."""


def split_hashes(cells: CellBatch) -> Iterator[tuple[int, bytes]]:
    """Yield the hashes of a batch's ids in shares that hold all rows of an id, by their numbers."""
    ordered = np.sort(hash_ids(cells.ids, cells.stratification.plan.seed))
    shares = (ordered >> np.uint64(64 - _SHARE_BITS)).astype(np.int64)
    numbers, first = np.unique(shares, return_index=True)
    bounds = itertools.pairwise([*first, len(ordered)])
    for number, (begin, end) in zip(numbers.tolist(), bounds, strict=True):
        yield number, ordered[begin:end].tobytes()


def spill(shares: Iterable[tuple[int, bytes]], folder: Path) -> Iterator[tuple[int, bytes]]:
    """Append the hashes of shares to files of a folder; yield the number and the place of each.

    Threads and processes of one machine may do so at once. What is written in vain, for the engine
    does a piece of work twice, is in no place that counts.
    """
    for number, hashes in shares:
        with (folder / str(number)).open("ab", buffering=0) as file:
            if file.write(hashes) != len(hashes):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder))
            yield number, _PLACE.pack(file.tell() - len(hashes), len(hashes))


def spilled(number: int, places: Iterable[bytes], folder: Path) -> Iterator[bytes]:
    """Yield the hashes of a share that `spill` has kept at some places."""
    with (folder / str(number)).open("rb") as file:
        for begin, length in map(_PLACE.unpack, places):
            file.seek(begin)
            yield file.read(length)


def repeated_hashes(share: Iterable[bytes]) -> UInt64Array:
    """Return the hashes that come more than once in a share."""
    return repeated_values(np.frombuffer(b"".join(share), dtype=np.uint64))


def check_repeated(
    hashes: UInt64Array, items: Iterable[WorkItem], name: IdColumns, seed: int
) -> None:
    """Check that rows whose hashes are equal have different ids."""
    if not len(hashes):
        return
    sought = np.sort(hashes)[:_MOST_SOUGHT]
    first: dict[object, pa.Table] = {}
    for item in sorted(items, key=lambda item: (item.origin, item.first_row)):
        for batch in read_batches(item, columns_of(name)):
            ids = batch.ids(name)
            keys = hash_ids(ids, seed)
            for row in np.flatnonzero(np.isin(keys, sought)).tolist():
                place = pa.table(
                    {
                        HASH: pa.array(keys[row : row + 1]),
                        ID: ids.slice(row, 1),
                        FILE: [batch.path],
                        ROW: [batch.row_number(row)],
                    }
                )
                earlier = first.setdefault(ids[row].as_py(), place)
                if earlier is not place:
                    check_unique(pa.concat_tables([earlier, place]), name)


def check_unique_ids(batches: Iterable[PoolBatch], name: IdColumns, seed: int = 0) -> None:
    """Check that no two rows of batches in memory have the same id."""
    places = []
    for batch in batches:
        ids = batch.ids(name)
        rows = batch.row_numbers(np.arange(len(ids)))
        file = pa.repeat(batch.path, len(ids))
        places.append(pa.table({HASH: hash_ids(ids, seed), ID: ids, FILE: file, ROW: rows}))
    if places:
        check_unique(pa.concat_tables(places), name)
