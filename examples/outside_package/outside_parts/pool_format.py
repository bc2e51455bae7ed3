"""A pool format: files whose names end in ``.arrow``."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.splits import Contents, Split, WorkItem
from evalsampling.storage.filesystems import open_file


class ArrowFile:
    """Arrow IPC files, read by record batches."""

    columnar = False
    untyped = False
    inferred = False

    def inspect(self, file: StoredFile) -> Contents:
        """Return the columns and splits of a file."""
        with open_file(file.path) as source, _reader(source, file.path) as reader:
            batches = range(reader.num_record_batches)
            rows = [reader.get_batch(number).num_rows for number in batches]
            return Contents(
                reader.schema, tuple(map(Split, batches, range(1, len(rows) + 1), rows))
            )

    def read(self, item: WorkItem, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a work item."""
        with open_file(item.path) as source, _reader(source, item.path) as reader:
            for number in range(item.begin, item.end):
                batch = reader.get_batch(number)
                yield batch if columns is None else batch.select(columns)


def _reader(source: pa.NativeFile, path: str) -> pa.RecordBatchFileReader:
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: no Arrow file: {error}") from error


ARROW = ArrowFile()
