"""The tidy table of all estimates: a file for each run in a folder, or in place of one file."""

import io
import posixpath
from pathlib import Path

import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.receivers.run import SCHEMA, Run
from evalsampling.storage import is_url, replace_file
from evalsampling.storage.outputs import Output, as_parquet

_ENDS = (".parquet", ".csv")


def output(where: str | None) -> Output:
    """Return the file or folder."""
    return Output(str(where), ",".join(f'"{name}"' for name in SCHEMA.names).encode())


def check(where: str | None) -> None:
    """Check that a file or folder is named."""
    name = posixpath.basename(where or "")
    if not where or ("." in name and not name.endswith(_ENDS)):
        raise InputError(
            f"--report-to table:{where or ''}: must be a folder, or a file that ends in "
            f"{' or '.join(_ENDS)}"
        )


def send(run: Run, where: str | None) -> str:
    """Write the file as a whole; in a folder its name is that of the run."""
    assert where is not None
    path = where if where.endswith(_ENDS) else posixpath.join(where, f"{run.id}.parquet")
    write(path, content(run.table, path))
    return path


def write(path: str, data: bytes) -> None:
    """Write a file as a whole, in a folder that may be new."""
    if not is_url(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, data)


def content(table: pa.Table, path: str) -> bytes:
    """Return a table as the bytes of a file, by the end of its name."""
    if not path.endswith(".csv"):
        return as_parquet(table)
    import pyarrow.csv  # Most tables are Parquet.

    file = io.BytesIO()
    pyarrow.csv.write_csv(table, file)
    return file.getvalue()
