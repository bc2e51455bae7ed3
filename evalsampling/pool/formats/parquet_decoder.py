"""Decodes Parquet files in a process that may end: by a crash of Arrow, or at a limit.

`parquet_process` starts it and talks with it. A request is a line of JSON and the content of a
file; a reply is a line of JSON and what Arrow wrote. It imports nothing but Arrow, so that it
starts fast.
"""

import json
import math
import resource
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MOST_MEMORY = 1 << 31
"""Bytes of address space that requests may take, beside those of the process at its start."""

MOST_SECONDS = 120
"""Wall clock that a request may take."""

_BATCH_ROWS = 1 << 16


def serve() -> None:
    """Answer requests on standard input until it ends; a request over time ends the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's.
    limit_memory()
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    while line := requests.readline():
        request = json.loads(line)
        content = requests.read(request["bytes"])
        signal.alarm(MOST_SECONDS)
        facts, payload = answer(content, request["columns"], request["most"], request["looked_at"])
        signal.alarm(0)
        replies.write(json.dumps({**facts, "bytes": len(payload)}).encode() + b"\n" + payload)
        replies.flush()


def limit_memory() -> None:
    """Limit the memory of this process, and keep it from dumping what it holds.

    Linux alone heeds a limit of address space; elsewhere there is none.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + MOST_MEMORY
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def answer(
    content: bytes, columns: Sequence[str] | None, most: int, looked_at: Sequence[str] = ()
) -> tuple[dict[str, Any], bytes]:
    """Return what the footer of a file says, or some of its columns, or what is wrong with it.

    Args:
        content: of the file; for the footer, that with the magic words around it is enough.
        columns: to decode; None for the footer.
        most: bytes of the columns as Arrow writes them, text once where it is repeated.
        looked_at: columns whose statistics are wanted beside the footer.

    Returns:
        Facts, and a schema or a stream of record batches. ``rows`` are those of the file,
        ``groups`` the fields of each `parquet_footer.RowGroup`, ``damaged`` is why it cannot be
        read, and ``too_large`` says that it takes more bytes or memory than it may.
    """
    try:
        metadata = pq.read_metadata(pa.BufferReader(content))
        if columns is None:
            schema = metadata.schema.to_arrow_schema().serialize().to_pybytes()
            return {
                "rows": metadata.num_rows,
                "groups": [_facts(group, looked_at) for group in _groups(metadata)],
            }, schema
        return {}, _decoded(content, metadata, columns, most)
    except MemoryError:
        return {"too_large": True}, b""
    except KeyError as error:
        return {"damaged": f"a row group has a column {error} of no schema"}, b""
    except (OSError, ValueError, pa.ArrowException) as error:
        return {"damaged": str(error)}, b""


def _groups(metadata: pq.FileMetaData) -> list[pq.RowGroupMetaData]:
    return [metadata.row_group(number) for number in range(metadata.num_row_groups)]


def _chunks(group: pq.RowGroupMetaData) -> list[pq.ColumnChunkMetaData]:
    return [group.column(place) for place in range(group.num_columns)]


def _facts(
    group: pq.RowGroupMetaData, looked_at: Sequence[str]
) -> tuple[int, int, list[tuple[Any, ...]], dict[str, Any]]:
    """Return rows, plain bytes, chunks and statistics of a row group."""
    chunks = [
        (
            chunk.path_in_schema,
            chunk.physical_type == "BYTE_ARRAY",
            chunk.has_dictionary_page,
            chunk.num_values,
            chunk.total_compressed_size,
            chunk.total_uncompressed_size,
        )
        for chunk in _chunks(group)
    ]
    if min(group.num_rows, group.total_byte_size, *(min(chunk[3:]) for chunk in chunks)) < 0:
        raise ValueError("its footer is damaged")
    statistics = {
        chunk.path_in_schema: _statistics(chunk)
        for chunk in (_chunks(group) if looked_at else ())
        if chunk.path_in_schema in looked_at and chunk.is_stats_set
    }
    return group.num_rows, group.total_byte_size, chunks, statistics


def _statistics(chunk: pq.ColumnChunkMetaData) -> tuple[Any, Any, int | None]:
    """Return the least and the greatest value of a column, and how many are null.

    Points of time are nanoseconds since 1970, dates days. What is not known is None.
    """
    statistics = chunk.statistics
    nulls = statistics.null_count if statistics.has_null_count else None
    if not statistics.has_min_max:
        return None, None, nulls
    kind = statistics.logical_type
    factor = {"NONE": 1, "INT": 1, "DATE": 1, "STRING": 1, "TIMESTAMP": None}.get(kind.type, 0)
    if factor is None:
        units = json.loads(kind.to_json())
        factor = {"milliseconds": 10**6, "microseconds": 1000}.get(units["timeUnit"], 1)
    low, high = (_plain(value, factor) for value in (statistics.min_raw, statistics.max_raw))
    return low, high, nulls


def _plain(value: Any, factor: int) -> Any:
    """Return a bound as JSON has it, None if it is none."""
    if isinstance(value, bytes):
        try:
            return value.decode() if factor else None
        except UnicodeDecodeError:
            return None  # Cut off within a character.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, bool | float) else value * factor if factor else None


def _decoded(content: bytes, metadata: pq.FileMetaData, columns: Sequence[str], most: int) -> bytes:
    """Return some columns of a file as a stream, of which no value is on the row of another.

    Raises:
        MemoryError: if they take more than ``most`` bytes.
        ValueError: if a column is damaged.
    """
    groups = _groups(metadata)
    file = pq.ParquetFile(
        pa.BufferReader(content),
        metadata=metadata,
        read_dictionary=_texts(groups, metadata, columns),
        page_checksum_verification=True,
    )
    sink = pa.BufferOutputStream()
    kinds = pa.schema([file.schema_arrow.field(name) for name in columns])
    with pa.ipc.new_stream(sink, kinds) as stream:
        for batch in _batches(file, groups, columns):
            stream.write_batch(batch.select(columns))
            if sink.tell() > most:
                raise MemoryError
    _check_pages(file, columns)
    return sink.getvalue().to_pybytes()


def _texts(
    groups: Sequence[pq.RowGroupMetaData], metadata: pq.FileMetaData, columns: Sequence[str]
) -> list[str]:
    """Return the columns of single values that Arrow can decode with each text once."""
    schema = metadata.schema.to_arrow_schema()
    flat = [name for name in columns if not pa.types.is_nested(schema.field(name).type)]
    by_differences = set()
    for group in groups:
        for chunk in _chunks(group):
            name = chunk.path_in_schema
            if name in flat and chunk.num_values != group.num_rows:
                raise ValueError(f"column {name!r}: damaged, it has {chunk.num_values} values")
            if any(encoding.startswith("DELTA") for encoding in chunk.encodings):
                by_differences.add(name)
    return [name for name in flat if name not in by_differences]


def _batches(
    file: pq.ParquetFile, groups: Sequence[pq.RowGroupMetaData], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield valid batches, row group by row group: what one lacks is not taken of the next."""
    for number, group in enumerate(groups):
        rows = 0
        for batch in file.iter_batches(_BATCH_ROWS, [number], columns, use_threads=False):
            for name in columns:
                if problem := _problem(batch.column(name), len(batch)):
                    raise ValueError(f"column {name!r}: {problem}")
            rows += len(batch)
            yield batch
        if rows != group.num_rows:
            raise ValueError(f"damaged, {rows} of {group.num_rows} rows of a group can be read")


def _check_pages(file: pq.ParquetFile, columns: Sequence[str]) -> None:
    """Check that the pages of columns have as many values as there are rows.

    A damaged page may say that it has more than it has. Arrow reads as many rows as a row group
    has, so that those of later pages would move down, and the last ones be left out.
    """
    for name in columns:
        if (values := file.scan_contents([name])) != file.metadata.num_rows:
            raise ValueError(f"column {name!r}: damaged, its pages have {values} values")


def _problem(column: pa.Array, rows: int) -> str | None:
    """Return what is wrong with a decoded column, if anything.

    In a damaged file codes may be out of range, and values be missing.
    """
    try:
        column.validate(full=True)
    except pa.ArrowInvalid as error:
        is_text = "UTF8" in str(error)
        return "text that is not UTF-8" if is_text else f"damaged, {' '.join(str(error).split())}"
    return None if len(column) == rows else f"damaged, it has {len(column)} of {rows} rows"
