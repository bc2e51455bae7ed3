"""CSV files: a header, then rows of text cells."""

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.formats import text
from evalsampling.pool.formats.text import BOM, Block, IntArray, Lines, delimiter_of, read_blocks
from evalsampling.pool.splits import Contents, Format
from evalsampling.storage.filesystems import unreadable

_LINE_FEED, _RETURN, _QUOTE = b'\n\r"'

_HEADER_BYTES = 1 << 16
"""Read at a time to find the header."""


@dataclasses.dataclass(frozen=True)
class Csv(Format):
    """Rows of text: a cell is quoted if it begins with a quote, and may then hold line ends."""

    delimiter: str  # between cells, unless the header of a file shows another: `delimiter_of`

    untyped = True

    def inspect(self, file: StoredFile) -> Contents:
        """Return the columns in the header of a file, as text."""
        return Contents(pa.schema([(name, pa.string()) for name in self._opened(file.path)[1]]))

    def read(self, file: StoredFile, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield columns of all rows as text; an empty cell is null unless it is quoted."""
        own, names = self._opened(file.path)
        for name in schema.names:
            if name not in names:
                raise InputError(f"{file.path}: column {name!r} is missing")
        places = [names.index(name) for name in schema.names]
        for block in read_blocks(file.path, own._split, text.BLOCK_BYTES, first_row=-1):
            rows = block.part(1, len(block.ends)) if block.first_row < 0 else block
            if len(rows.ends):
                for batch in own._parse(rows, places, len(names)).to_batches():
                    yield batch.rename_columns(schema.names)

    def _opened(self, path: str) -> tuple["Csv", list[str]]:
        """Return how a file is written, and the names in its header, or those of pandas."""
        with text.open_text(path) as source:
            own = Csv(delimiter_of(source.read(_HEADER_BYTES), self.delimiter))
        with contextlib.closing(read_blocks(path, own._split, _HEADER_BYTES, -1)) as blocks:
            block = next(blocks, None)
        if block is None:
            raise InputError(f"{path}: there is no header")
        names = own._table(block.part(0, 1)).column_names
        return own, [name or f"Unnamed: {place}" for place, name in enumerate(names)]

    def _table(self, block: Block, names: Any = None, refuse: Any = None, cells: Any = None) -> Any:
        """Return records as Arrow reads them, without names those after the first."""
        # A parser drops a byte order mark, but not behind a line end.
        content = b"\n" + block.text if block.text.startswith(BOM) else block.text
        return pyarrow.csv.read_csv(
            pa.py_buffer(content),
            pyarrow.csv.ReadOptions(
                use_threads=False, block_size=2 * len(content), column_names=names
            ),
            pyarrow.csv.ParseOptions(
                delimiter=self.delimiter,
                newlines_in_values=b'"' in content,
                invalid_row_handler=refuse,
            ),
            cells,
        )

    def _parse(self, block: Block, places: Sequence[int], width: int) -> pa.Table:
        """Return the columns at some places, or the first, of rows of equal width."""
        stray = self._stray(block)
        if stray is not None:
            if stray:  # an error in an earlier record comes first
                self._parse(block.part(0, stray), places, width)
            raise block.error(stray, "text follows a closing quote; is one before it not doubled?")
        names = [str(place) for place in range(width)]
        cells = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            include_columns=[names[place] for place in places],
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        )
        ragged: list[Any] = []

        def refuse(row: Any) -> str:
            ragged.append(row)
            return "error"

        try:
            return self._table(block, names, refuse, cells)
        except pa.ArrowInvalid as error:
            if not ragged:
                raise unreadable(block.path, error) from error
            count = ragged[0].actual_columns
            problem = f"has {count} cell{'s' * (count != 1)}, not {width}"
            raise block.error(ragged[0].number - 1, problem) from error

    def _split(self, text: bytes) -> Lines:
        """Find the lines of a text that are not within quotes."""
        characters = np.frombuffer(text, np.uint8)
        line_ends = characters == _LINE_FEED
        if b"\r" in text:
            line_ends |= characters == _RETURN
        ends = np.flatnonzero(line_ends)
        if b'"' in text:
            begin, _, is_open = self._quotes(text)
            ends = ends[~np.append(False, is_open)[np.searchsorted(begin, ends)]]
        ends += 1
        # An end right after another, as of "\r\n", ends an empty line.
        return Lines(ends, np.diff(ends, prepend=0) > 1)

    def _quotes(self, text: bytes) -> tuple[IntArray, IntArray, Any]:
        """Return where odd runs of quotes begin and end, and whether a cell is open after them.

        Quotes in a row count as one, or as none if they are even: each pair stands for a quote or
        for an empty cell. One at the beginning of a cell opens it, or else, if the cell began
        before, closes it; any other closes what is open, and is text if nothing is.
        """
        characters = np.frombuffer(text, np.uint8)
        quotes = np.flatnonzero(characters == _QUOTE)
        first = np.flatnonzero(np.diff(quotes, prepend=-2) > 1)
        length = np.diff(first, append=len(quotes))
        odd = length % 2 == 1
        begin, length = quotes[first][odd], length[odd]
        toggles = self._ends_cell(characters[begin - 1]) | (begin == 0)
        count = np.cumsum(toggles)
        # Toggles in a row since the last run that closes for sure.
        since = count - np.maximum.accumulate(np.where(toggles, 0, count))
        return begin, begin + length, since % 2 == 1

    def _ends_cell(self, characters: Any) -> Any:
        """Tell which characters end a cell."""
        table = np.zeros(256, dtype=bool)
        table[[ord(self.delimiter), _LINE_FEED, _RETURN]] = True
        return table[characters]

    def _stray(self, block: Block) -> int | None:
        """Return the number of the first record with text behind a closing quote, None if none has.

        A quote that was never meant to open a cell closes at the next one, rows later; text behind
        that betrays it.
        """
        if b'"' not in block.text:
            return None
        _, end, is_open = self._quotes(block.text)
        behind = end[np.append(False, is_open)[:-1] & ~is_open]
        behind = behind[behind < len(block.text)]
        stray = ~self._ends_cell(np.frombuffer(block.text, np.uint8)[behind])
        if not stray.any():
            return None
        return int(np.searchsorted(block.ends, behind[np.argmax(stray)], side="right"))
