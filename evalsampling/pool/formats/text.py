"""Text files cut into splits and blocks at the ends of records, and nowhere else."""

import contextlib
import dataclasses
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.pool.splits import Split, WorkItem
from evalsampling.storage.filesystems import open_file, readable

IntArray = npt.NDArray[np.int64]

BATCH_ROWS = 1 << 18
"""Most rows of a batch that is made of a block."""

BLOCK_BYTES = 1 << 22
"""Bytes that are read and parsed at a time."""

SPLIT_BYTES = 1 << 25
"""Size of a split in bytes, to the nearest block."""

RECORD_BYTES = 1 << 26
"""Longest record: a longer one means that a quote before it was never closed."""

COMPRESSIONS: Mapping[str, str] = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
"""Ends of the names of compressed files."""


class Lines(NamedTuple):
    """The lines of a text that begins where a line begins, but for what follows the last line end.

    Attributes:
        ends: shape (n,): where each of them ends, after its line end.
        filled: shape (n,): whether it holds a record: blank lines hold none.
        is_tidy: whether it is known of the text that no quote is misplaced.
    """

    ends: IntArray
    filled: npt.NDArray[np.bool_]
    is_tidy: bool = False


Splitter = Callable[[bytes], Lines]
"""Finds the lines of a text."""

BOM = b"\xef\xbb\xbf"
"""A byte order mark."""


@dataclasses.dataclass(frozen=True)
class Block:
    """Whole records of a text file, as bytes.

    Attributes:
        path: of the file.
        text: the records, and blank lines between them.
        ends: where each record ends in the text, shape (n,).
        begin: place of the text in the file, uncompressed.
        end: place after it.
        first_row: number of the first record in the file.
        is_tidy: whether it is known that no quote is misplaced.
    """

    path: str
    text: bytes
    ends: IntArray
    begin: int
    end: int
    first_row: int
    is_tidy: bool = False

    def record(self, number: int) -> bytes:
        """Return a record, blank lines before it and line end included."""
        return self.text[self._begin(number) : self.ends[number]]

    def part(self, first: int, last: int) -> "Block":
        """Return some of the records, the last one not among them."""
        begin, end = self._begin(first), self._begin(last)
        return dataclasses.replace(
            self,
            text=self.text[begin:end],
            ends=self.ends[first:last] - begin,
            begin=self.begin + begin,
            end=self.begin + end,
            first_row=self.first_row + first,
        )

    def _begin(self, number: int) -> int:
        return int(self.ends[number - 1]) if number else 0

    def error(self, record: int, problem: str, column: str | None = None) -> InputError:
        """Return the error of a record of this block, by its number."""
        place = _place(self.first_row + record)
        if column is not None:
            place = f"column {column!r}, {place}"
        return InputError(f"{self.path}: {place}: {problem}")


def _place(row: int) -> str:
    return "the header" if row < 0 else f"row {row}"


def first_block(path: str, split: Splitter, size: int, first_row: int = 0) -> Block | None:
    """Return the first records of a text, as many as end within some bytes, but at least one.

    Those from one on that is not UTF-8 are left out.

    Returns:
        None if there are no records.
    """
    blocks = _blocks(path, split, 0, None, first_row, size)
    with contextlib.closing(blocks):
        return next(_decodable(blocks), None)


def index(path: str, split: Splitter, begin: int = 0) -> tuple[Split, ...]:
    """Find the splits of a file by reading it once.

    Returns:
        The splits, with places in bytes of the uncompressed text. A compressed file is one
        split, since it can be read from its beginning only.
    """
    whole = compression_of(path) is not None
    splits = []
    rows = 0
    for block in _blocks(path, split, begin, None, 0, BLOCK_BYTES):
        rows += len(block.ends)
        end = block.end
        if end - begin >= SPLIT_BYTES and not whole:
            splits.append(Split(begin, end, rows))
            begin, rows = end, 0
    if rows:
        splits.append(Split(begin, end, rows))
    return tuple(splits)


def read_blocks(item: WorkItem, split: Splitter) -> Iterator[Block]:
    """Read a split as blocks of records."""
    rows = 0
    blocks = _blocks(item.path, split, item.begin, item.end, item.first_row, BLOCK_BYTES)
    for block in _decodable(blocks):
        rows += len(block.ends)
        yield block
    if rows != item.rows:
        raise InputError(
            f"{item.path}: has {rows} rows from row {item.first_row} where it had {item.rows}; "
            "was it changed meanwhile?"
        )


def _blocks(
    path: str, split: Splitter, begin: int, end: int | None, first_row: int, size: int
) -> Generator[Block]:
    """Read text as blocks of records, each of about a given number of bytes.

    What follows the last line end of a block is read again as the beginning of the next one, so
    that a splitter always begins at a record. A byte order mark at the beginning is left out.
    """
    rest, more, size = b"", True, max(size, len(BOM))
    with _open_text(path, begin) as source:
        while more:
            wanted = size if end is None else min(size, end - begin - len(rest))
            chunk = source.read(wanted) if wanted else b""
            more = bool(chunk)
            # The last line may lack its end; another one does no harm.
            text = rest + (chunk or b"\n")
            if begin == 0 and text.startswith(BOM):
                begin, text = len(BOM), text.removeprefix(BOM)
            lines, filled, is_tidy = split(text)
            length = int(lines[-1]) if len(lines) else 0
            rest = text[length:]
            if len(rest) > RECORD_BYTES or (rest and not more):
                place = _place(first_row + int(filled.sum()))
                limit = f" within {RECORD_BYTES:,} bytes" if more else ""
                raise InputError(f"{path}: {place} does not end{limit}; is a quote left open?")
            after = begin + length - (not more)
            if filled.any():
                yield Block(path, text[:length], lines[filled], begin, after, first_row, is_tidy)
                first_row += int(filled.sum())
            begin = after


@contextlib.contextmanager
def _open_text(path: str, begin: int) -> Iterator[Any]:
    """Open a file, decompressed, to read on from a place."""
    compression = compression_of(path)
    with open_file(path) as source, readable(path):
        if compression is None:
            source.seek(begin)
            yield source
            return
        with pa.CompressedInputStream(source, compression) as text:
            text.read(begin)
            yield text


def compression_of(path: str) -> str | None:
    """Return the codec that the end of a file's name tells, None for plain text."""
    ends = (kind for suffix, kind in COMPRESSIONS.items() if path.lower().endswith(suffix))
    return next(ends, None)


def _decodable(blocks: Iterator[Block]) -> Iterator[Block]:
    """Yield blocks up to the first record that is not UTF-8, if there is one, which is an error."""
    for block in blocks:
        try:
            if not block.text.isascii():
                block.text.decode()
        except UnicodeDecodeError as error:
            bad = int(np.searchsorted(block.ends, error.start, side="right"))
            # An error in an earlier record comes first, wherever blocks end.
            if bad:
                yield block.part(0, bad)
            raise block.error(bad, "is not UTF-8") from error
        yield block
