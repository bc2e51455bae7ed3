"""The pool of candidate pairs: every left record with every right record, as Parquet files."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from febrl_records import FIELDS, entity, load_records

PEOPLE = 5_000
"""People known to both data sets, and so records on each side and true matches."""

PAYLOAD = tuple(f"{side}_{field}" for side in ("left", "right") for field in FIELDS)
"""Text columns of a pair, what an annotator sees."""

MATCHES = "matches.parquet"
"""File of the ids of the true matches; every other id of the pool is a non-match."""

_ROWS_PER_GROUP = 1_000_000
_GROUPS_PER_FILE = 5
_SIZE_KEY = b"records_per_side"
_TEXT = pa.dictionary(pa.int32(), pa.string())
_SCHEMA = pa.schema([("id", pa.int64()), *((name, _TEXT) for name in PAYLOAD)])


def write_pairs(directory: Path, people: int = PEOPLE, seed: int = 4) -> None:
    """Writes the pool `pairs-*.parquet` and the true matches, unless they are there already.

    Both sides are shuffled, so that the id of a pair, `left * people + right`, says nothing
    about its label. One row group is held in memory at a time.

    Args:
        directory: Folder to write, made when absent.
        people: Size of each side: people 0 to `people - 1` are kept on both.
        seed: Seed of the two shuffles.
    """
    if is_complete(directory, people):
        return
    directory.mkdir(parents=True, exist_ok=True)
    (directory / MATCHES).unlink(missing_ok=True)
    for stale in directory.glob("pairs-*.parquet"):
        stale.unlink()
    rng = np.random.default_rng(seed)
    left, right = (_shuffled_side(name, people, rng) for name in ("left", "right"))
    step = max(1, _ROWS_PER_GROUP // people)
    starts = range(0, people, step)
    for number, first in enumerate(range(0, len(starts), _GROUPS_PER_FILE)):
        groups = (
            _cross(left.slice(start, step), right, start)
            for start in starts[first : first + _GROUPS_PER_FILE]
        )
        _write_groups(directory / f"pairs-{number:05d}.parquet", groups)
    _write_matches(directory / MATCHES, left, right)


def is_complete(directory: Path, people: int = PEOPLE) -> bool:
    """Tells whether a whole pool of this size is there; the matches are written last."""
    matches = directory / MATCHES
    if not matches.exists():
        return False
    size: bytes = pq.read_schema(matches).metadata[_SIZE_KEY]
    return int(size) == people


def read_matches(path: Path) -> np.ndarray:
    """Reads the ids of the true matches, sorted."""
    return np.sort(pq.read_table(path, columns=["id"])["id"].to_numpy())


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yields a temporary path, renamed to `path` when the block has ended well."""
    part = path.with_name(f".{path.name}.part")
    yield part
    os.replace(part, path)


def pair_columns(
    left: pa.RecordBatch, right: pa.RecordBatch, left_rows: np.ndarray, right_rows: np.ndarray
) -> dict[str, pa.Array]:
    """Builds the payload columns of pairs of records, dictionary-encoded.

    Args:
        left: Records of the left side.
        right: Records of the right side.
        left_rows: Row of the left record of each pair.
        right_rows: Row of the right record of each pair.
    """
    columns = {}
    for side, records, rows in (("left", left, left_rows), ("right", right, right_rows)):
        for field in FIELDS:
            encoded = records.column(field).dictionary_encode()
            columns[f"{side}_{field}"] = encoded.take(pa.array(rows))
    return columns


def _shuffled_side(name: str, people: int, rng: np.random.Generator) -> pa.RecordBatch:
    records = load_records(name)
    rows = [row for row, key in enumerate(_entities(records)) if key < people]
    return records.take(pa.array(rng.permutation(rows)))


def _entities(records: pa.RecordBatch) -> list[int]:
    return [entity(record_id) for record_id in records.column("rec_id").to_pylist()]


def _cross(left: pa.RecordBatch, right: pa.RecordBatch, start: int) -> pa.RecordBatch:
    """Pairs every row of `left`, which begins at row `start` of its side, with all of `right`."""
    left_rows = np.repeat(np.arange(len(left)), len(right))
    right_rows = np.tile(np.arange(len(right)), len(left))
    ids = pa.array((start + left_rows) * len(right) + right_rows, pa.int64())
    return pa.record_batch({"id": ids, **pair_columns(left, right, left_rows, right_rows)})


def _write_groups(path: Path, groups: Iterator[pa.RecordBatch]) -> None:
    """Writes record batches as the row groups of one file."""
    # Ids rise by one and values repeat: delta and dictionary encoding leave next to nothing,
    # provided that a page spans several repetitions. Statistics of text would take longer to
    # compute than all the rest.
    with (
        whole_file(path) as part,
        pq.ParquetWriter(
            part,
            _SCHEMA,
            compression="zstd",
            use_dictionary=list(PAYLOAD),
            column_encoding={"id": "DELTA_BINARY_PACKED"},
            write_statistics=["id"],
            max_rows_per_page=_ROWS_PER_GROUP,
        ) as writer,
    ):
        for group in groups:
            writer.write_batch(group, row_group_size=len(group))


def _write_matches(path: Path, left: pa.RecordBatch, right: pa.RecordBatch) -> None:
    place = {key: row for row, key in enumerate(_entities(right))}
    ids = [row * len(right) + place[key] for row, key in enumerate(_entities(left))]
    table = pa.table({"id": pa.array(ids, pa.int64())})
    with whole_file(path) as part:
        pq.write_table(table.replace_schema_metadata({_SIZE_KEY: str(len(right))}), part)
