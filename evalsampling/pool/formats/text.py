"""Text files as blocks of whole records, cut at the ends of records and nowhere else."""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.storage.filesystems import open_file, readable

IntArray = npt.NDArray[np.int64]

BLOCK_BYTES = 1 << 22
"""Bytes that are read and parsed at a time."""

RECORD_BYTES = 1 << 26
"""Longest record: a longer one means that a quote before it was never closed."""

COMPRESSIONS: Mapping[str, str] = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Ends of the names of compressed files."""

BOM = b"\xef\xbb\xbf"
"""A byte order mark."""


class Lines(NamedTuple):
    """The lines of a text that begins where a line begins, but for the text after the last."""

    ends: IntArray  # shape (n,): where each of them ends, after its line end
    filled: npt.NDArray[np.bool_]  # shape (n,): whether it holds a record: blank lines hold none


@dataclasses.dataclass(frozen=True)
class Block:
    """Whole records of a text file, as bytes."""

    path: str  # of the file
    text: bytes  # the records, and blank lines between them
    ends: IntArray  # where each record ends in the text, shape (n,)
    first_row: int  # number of the first record in the file

    def record(self, number: int) -> bytes:
        """Return a record, blank lines before it and line end included."""
        return self.part(number, number + 1).text

    def part(self, first: int, last: int) -> "Block":
        """Return some of the records, the last one not among them."""
        begin, end = (int(self.ends[number - 1]) if number else 0 for number in (first, last))
        ends = self.ends[first:last] - begin
        return Block(self.path, self.text[begin:end], ends, self.first_row + first)

    def error(self, record: int, problem: str, column: str | None = None) -> InputError:
        """Return the error of a record of this block, by its number."""
        place = "" if column is None else f"column {column!r}, "
        return InputError(f"{self.path}: {place}{_place(self.first_row + record)}: {problem}")


def _place(row: int) -> str:
    return "the header" if row < 0 else f"row {row}"


def read_blocks(
    path: str, split: Callable[[bytes], Lines], size: int, first_row: int = 0
) -> Generator[Block]:
    """Yield the records of a file in blocks of about ``size`` bytes, up to a block not in UTF-8."""
    rest, more, mark = b"", True, BOM
    with open_text(path) as source:
        while more:
            chunk = source.read(max(size, len(BOM)))
            more = bool(chunk)
            chunk, mark = chunk.removeprefix(mark), b""
            # The last line may lack its end; another one does no harm.
            text = rest + (chunk if more else b"\n")
            ends, filled = split(text)
            length = int(ends[-1]) if len(ends) else 0
            rest, rows = text[length:], int(filled.sum())
            if len(rest) > RECORD_BYTES or (rest and not more):
                limit = f" within {RECORD_BYTES:,} bytes" if more else ""
                place = _place(first_row + rows)
                raise InputError(f"{path}: {place} does not end{limit}; is a quote left open?")
            if rows:
                block = Block(path, text[:length], ends[filled], first_row)
                try:
                    if not text.isascii():
                        block.text.decode()
                except UnicodeDecodeError as error:
                    bad = int(np.searchsorted(block.ends, error.start, side="right"))
                    # An error in an earlier record comes first, wherever blocks end.
                    if bad:
                        yield block.part(0, bad)
                    raise block.error(bad, "is not UTF-8: save the file as UTF-8") from error
                yield block
                first_row += rows


@contextlib.contextmanager
def open_text(path: str) -> Iterator[Any]:
    """Open a file, decompressed as the end of its name tells."""
    ends = (kind for suffix, kind in COMPRESSIONS.items() if path.lower().endswith(suffix))
    compression = next(ends, None)
    with open_file(path) as source, readable(path):
        if compression is None:
            yield source
            return
        with pa.CompressedInputStream(source, compression) as text:
            yield text


_OTHERS = (";", "\t")
"""Delimiters that a header may show in place of the usual one."""

_QUOTED = re.compile(rb'"[^"]*"?')
_LINE_END = re.compile(rb"[\r\n]")


def delimiter_of(text: bytes, usual: str) -> str:
    """Return the character that separates cells, of a text that begins with a header.

    That is a semicolon or a tab, as spreadsheets of many countries write, if the header has that
    and not the usual delimiter; what is within quotes does not count.
    """
    header = _LINE_END.split(_QUOTED.sub(b"", text.lstrip(b"\r\n")), maxsplit=1)[0]
    if usual.encode() in header:
        return usual
    return next((mark for mark in _OTHERS if mark.encode() in header), usual)
