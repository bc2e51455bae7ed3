"""Decodes Parquet files in a process that may end: by a crash of Arrow, or at a limit.

`parquet_process` starts it and talks with it. A request is a line of JSON and the content of a
file; a reply is a line of JSON and what Arrow wrote. It imports nothing but Arrow, so that it
starts fast.
"""

import json
import resource
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

MOST_MEMORY = 1 << 31
"""Bytes of address space that requests may take, beside those of the process at its start."""

MOST_SECONDS = 120
"""Wall clock that a request may take."""

_BATCH_ROWS = 1 << 16

Reply = tuple[dict[str, Any], bytes]


def serve() -> None:
    """Answer requests on standard input until it ends; a request over time ends the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's.
    limit_memory()
    requests, replies = sys.stdin.buffer, sys.stdout.buffer
    while line := requests.readline():
        request = json.loads(line)
        content = requests.read(request["bytes"])
        signal.alarm(MOST_SECONDS)
        facts, payload = answer(content, request["columns"], request["most"])
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


def answer(content: bytes, columns: Sequence[str] | None, most: int) -> Reply:
    """Return the rows and the schema of a file, or some of its columns, or what is wrong with it.

    Args:
        content: of the file.
        columns: to decode; None for the schema.
        most: bytes of the columns as Arrow writes them, text once where it is repeated.

    Returns:
        Facts, and a schema or a stream of record batches. ``rows`` are those of the file,
        ``damaged`` is why it cannot be read, ``invalid`` what is wrong with a column, and
        ``too_large`` says that it takes more bytes or memory than it may.
    """
    try:
        metadata = pq.read_metadata(pa.BufferReader(content))
        schema = metadata.schema.to_arrow_schema()
        if columns is None:
            return {"rows": metadata.num_rows}, schema.serialize().to_pybytes()
        return _decoded(content, metadata, schema, columns, most)
    except MemoryError:
        return {"too_large": True}, b""
    except KeyError as error:
        return {"damaged": f"a row group has a column {error} of no schema"}, b""
    except (OSError, ValueError, pa.ArrowException) as error:
        return {"damaged": str(error)}, b""


def _decoded(
    content: bytes, metadata: pq.FileMetaData, schema: pa.Schema, columns: Sequence[str], most: int
) -> Reply:
    """Return some columns of a file, of which no value may be on another row.

    A damaged page may say that it has fewer values or more. So row groups are read one by one, as
    what one lacks is not taken of the next then; and pages are counted to their end, since Arrow
    reads rows no further than a row group goes, and would leave the last ones out.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    file = pq.ParquetFile(
        pa.BufferReader(content),
        metadata=metadata,
        read_dictionary=_repeated(groups, schema, columns),
        page_checksum_verification=True,
    )
    kinds = [file.schema_arrow.field(name) for name in columns]
    sink = pa.BufferOutputStream()
    rows = 0
    with pa.ipc.new_stream(sink, pa.schema(kinds)) as stream:
        for number, group in enumerate(groups):
            rows_of_group = 0
            for batch in file.iter_batches(_BATCH_ROWS, [number], columns, use_threads=False):
                for name in columns:
                    if problem := _problem(batch.column(name), len(batch)):
                        return {"invalid": f"column {name!r}: {problem}"}, b""
                stream.write_batch(batch.select(columns))
                if sink.tell() > most:
                    return {"too_large": True}, b""
                rows_of_group += len(batch)
            if rows_of_group != group.num_rows:
                what = f"damaged, {rows_of_group} of {group.num_rows} rows can be read"
                return {"invalid": what}, b""
            rows += rows_of_group
    if rows != metadata.num_rows:
        return {"invalid": f"damaged, {rows} of {metadata.num_rows} rows can be read"}, b""
    for name in columns:
        if (values := file.scan_contents([name])) != rows:
            return {"invalid": f"column {name!r}: damaged, its pages have {values} values"}, b""
    return {}, sink.getvalue().to_pybytes()


def _repeated(
    groups: Sequence[pq.RowGroupMetaData], schema: pa.Schema, columns: Sequence[str]
) -> list[str]:
    """Return the columns of text that Arrow decodes with each text once."""
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    differences = {
        chunk.path_in_schema
        for chunk in chunks
        if any(encoding.startswith("DELTA") for encoding in chunk.encodings)
    }
    return [
        name
        for name in columns
        if name not in differences and not pa.types.is_nested(schema.field(name).type)
    ]


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
