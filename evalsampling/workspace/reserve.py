"""The files of the reserve in a workspace: written in parts, read by cell and rank."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.pool.stored_columns import CELL, FILE, GIVEN, HASH, ID, RANK, ROW
from evalsampling.preparation.reserve import Reserve
from evalsampling.stats.arrays import IntArray, UInt64Array
from evalsampling.storage import Store, write_parquet
from evalsampling.storage.checksums import Checksum

FOLDER = "reserve"
GROUP_ROWS = 4096


@dataclasses.dataclass(frozen=True)
class ReserveFiles:
    """The parts of the reserve: written by `prepare`, and by later top-ups.

    ``attempt`` is in the names of the parts of the `prepare` that finished, in a shared store.
    """

    store: Store
    attempt: str

    def write_part(self, part: int, reserve: Reserve) -> tuple[str, Checksum]:
        """Write a part, and return its name and checksum; its cells are in no other part."""
        name = f"part-{part:05d}-{self.attempt}".rstrip("-")
        return self._write(name, reserve.ranks, reserve)

    def write_top_up(self, number: int, part: int, reserve: Reserve, first_rank: IntArray) -> None:
        """Write a part of a top-up."""
        self._write(f"{top_up_name(number)}-{part:05d}", reserve.ranks + first_rank, reserve)

    def _write(self, name: str, ranks: IntArray, reserve: Reserve) -> tuple[str, Checksum]:
        assert reserve.rows is not None
        rows = reserve.rows.append_column(RANK, pa.array(ranks))
        file = f"{FOLDER}/{name}.parquet"
        with self.store.new_file(file) as path:
            write_parquet(rows, path, row_group_size=GROUP_ROWS)
        return file, self.store.checksum(file)  # Of the file that has the name now.

    def read(self, cell: IntArray, rank: IntArray, columns: Sequence[str]) -> pa.Table:
        """Return columns of rows by cell and rank, in the order of these."""
        stride = int(rank.max(initial=0)) + 1
        keys = cell * stride + rank
        key = pc.add(pc.multiply(pc.field(CELL), stride), pc.field(RANK))
        # The first two conditions skip whole row groups, the last selects the rows.
        condition = pc.field(CELL).isin(pa.array(np.unique(cell)))
        condition &= (pc.field(RANK) >= int(rank.min(initial=0))) & (pc.field(RANK) < stride)
        condition &= key.isin(pa.array(np.unique(keys)))
        held = self._read([CELL, RANK, *columns], condition)
        held_keys = held[CELL].to_numpy() * stride + held[RANK].to_numpy()
        missing = ~np.isin(keys, held_keys)
        if missing.any():
            raise InputError(
                f"{self.store.root}: cell {cell[missing][0]} needs more rows than its reserve "
                f"holds; run `evalsampling prepare SPEC --top-up {len(cell)}` and then this "
                "command again"
            )
        order = np.argsort(held_keys)
        rows = order[np.searchsorted(held_keys, keys, sorter=order)]
        return held.select(columns).take(pa.array(rows, type=pa.int64())).combine_chunks()

    def hashes(self) -> tuple[IntArray, UInt64Array]:
        """Return cell codes and hashes of all rows, ordered by cell and rank, shape (rows,)."""
        held = _each_once(self._read([CELL, RANK, HASH]))
        return held[CELL].to_numpy(), held[HASH].to_numpy()

    def places(self) -> pa.Table:
        """Return cell, rank, hash and id of all rows, ordered by cell and rank."""
        return _each_once(self._read([CELL, RANK, HASH, ID]))

    def given(self, columns: Sequence[str]) -> pa.Table:
        """Return columns of the rows that had a label already, ordered by cell and rank."""
        return _each_once(self._read(columns, pc.field(GIVEN).is_valid()))

    def with_hashes(self, hashes: UInt64Array) -> pa.Table:
        """Return hash, id, file and row of the rows with some hashes."""
        return self._read([HASH, ID, FILE, ROW], pc.field(HASH).isin(pa.array(hashes)))

    def _read(self, columns: Sequence[str], filters: Any = None) -> pa.Table:
        names = [
            f"{FOLDER}/{name}"
            for name in self.store.names(FOLDER)
            if self.attempt in name or _is_top_up(name)
        ]
        if not names:
            raise InputError(f"{self.store.url(FOLDER)}: cannot be read: no such files")
        return self.store.read_rows(names, columns=list(columns), filters=filters)

    @property
    def parts(self) -> int:
        """Number of parts that the `prepare` wrote."""
        names = self.store.names(FOLDER)
        return sum(self.attempt in name and not _is_top_up(name) for name in names)

    @property
    def top_ups(self) -> int:
        """Number of the last top-up that added rows, 0 for none."""
        names = filter(_is_top_up, self.store.names(FOLDER))
        return max((int(name.split("-")[2]) for name in names), default=0)


def top_up_name(number: int) -> str:
    """Return the beginning of the names of a top-up's files."""
    return f"top-up-{number:04d}"


def _each_once(held: pa.Table) -> pa.Table:
    """Return the rows of a reserve by cell and rank, without repetitions.

    A row may be in two top-ups that ran at once, or in one that was killed and its repetition.
    """
    cell, rank = held[CELL].to_numpy(), held[RANK].to_numpy()
    order = np.lexsort((rank, cell))
    cell, rank = cell[order], rank[order]
    differs = (np.diff(cell, prepend=-1) != 0) | (np.diff(rank, prepend=-1) != 0)
    return held.take(pa.array(order[differs]))


def _is_top_up(name: str) -> bool:
    return name.startswith("top-up-")
