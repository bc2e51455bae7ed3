"""A pool format: files whose names end in ``.arrow``."""

from collections.abc import Iterator

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.splits import Contents
from evalsampling.storage.filesystems import open_file


class ArrowFile:
    """Arrow IPC files, read by record batches."""

    untyped = False
    inferred = False

    def inspect(self, file: StoredFile) -> Contents:
        """Return the columns of a file."""
        with open_file(file.path) as source:
            return Contents(_reader(source, file.path).schema)

    def read(self, file: StoredFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows."""
        with open_file(file.path) as source:
            reader = _reader(source, file.path)
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number).select(schema.names)


def _reader(source: pa.NativeFile, path: str) -> pa.RecordBatchFileReader:
    try:
        return pa.ipc.open_file(source)
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: no Arrow file: {error}") from error


ARROW = ArrowFile()
