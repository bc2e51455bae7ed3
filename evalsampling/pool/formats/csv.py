"""CSV files: a header, then rows of text cells."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv

from evalsampling.errors import InputError
from evalsampling.pool.files import StoredFile
from evalsampling.pool.formats.delimiter import delimiter_of
from evalsampling.pool.formats.text import (
    BATCH_ROWS,
    BOM,
    Block,
    IntArray,
    Lines,
    first_block,
    index,
    read_blocks,
)
from evalsampling.pool.splits import Contents, WorkItem
from evalsampling.storage.filesystems import unreadable

_LINE_FEED, _RETURN, _QUOTE = b'\n\r"'

_HEADER_BYTES = 1 << 16
"""Read at a time to find the header."""


@dataclasses.dataclass(frozen=True)
class Csv:
    """Rows of text: a cell is quoted if it begins with a quote, and may then hold line ends.

    Attributes:
        delimiter: between cells, unless the header of a file shows another: `delimiter_of`.
    """

    delimiter: str

    columnar = False
    untyped = True
    inferred = False

    def inspect(self, file: StoredFile) -> Contents:
        """Read the header of a file and find its splits."""
        names, begin, own = self._header(file.path)
        schema = pa.schema([(name, pa.string()) for name in names])
        return Contents(schema, index(file.path, own._split, begin))

    def read(self, item: WorkItem, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
        """Read columns of a split as text; an empty cell is null unless it is quoted."""
        names, _, own = self._header(item.path)
        columns = item.schema.names if columns is None else columns
        for name in columns:
            if name not in names:
                raise InputError(f"{item.path}: column {name!r} is missing")
        places = [names.index(name) for name in columns]
        for block in read_blocks(item, own._split):
            table = own._parse(block, places, len(names))
            for batch in table.to_batches(max_chunksize=BATCH_ROWS):
                yield batch.select(range(len(columns))).rename_columns(list(columns))

    def _header(self, path: str) -> tuple[list[str], int, "Csv"]:
        """Return the names of the columns, where the rows begin, and how the file is written."""
        own: list[Csv] = []

        def split(text: bytes) -> Lines:
            if not own:  # The first text begins with the header.
                own.append(Csv(delimiter_of(text, self.delimiter)))
            return own[0]._split(text)

        block = first_block(path, split, _HEADER_BYTES, first_row=-1)
        if block is None:
            raise InputError(f"{path}: there is no header")
        header = pyarrow.csv.read_csv(
            pa.py_buffer(block.record(0)),
            pyarrow.csv.ReadOptions(use_threads=False, block_size=2 * len(block.text)),
            own[0]._dialect(block),
        )
        return header.column_names, block.begin + int(block.ends[0]), own[0]

    def _parse(self, block: Block, places: Sequence[int], width: int) -> pa.Table:
        """Return the columns at some places, or the first, of rows of equal width."""
        stray = None if block.is_tidy else self._stray(block)
        if stray is not None:
            if stray:  # an error in an earlier record comes first
                self._parse(block.part(0, stray), places, width)
            raise block.error(stray, "text follows a closing quote; is one before it not doubled?")
        cells = [str(place) for place in range(width)]
        ragged: list[Any] = []

        def refuse(row: Any) -> str:
            ragged.append(row)
            return "error"

        # A parser drops a byte order mark, but not behind a line end.
        text = b"\n" + block.text if block.text.startswith(BOM) else block.text
        try:
            table = pyarrow.csv.read_csv(
                pa.py_buffer(text),
                pyarrow.csv.ReadOptions(
                    use_threads=False, block_size=2 * len(block.text), column_names=cells
                ),
                self._dialect(block, refuse),
                pyarrow.csv.ConvertOptions(
                    column_types=dict.fromkeys(cells, pa.string()),
                    include_columns=[cells[place] for place in places or [0]],
                    null_values=[""],
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                ),
            )
        except pa.ArrowInvalid as error:
            if not ragged:
                raise unreadable(block.path, error) from error
            cells = ragged[0].actual_columns
            problem = f"has {cells} cell{'s' * (cells != 1)}, not {width}"
            raise block.error(ragged[0].number - 1, problem) from error
        assert len(table) == len(block.ends)
        return table

    def _dialect(self, block: Block, refuse: Any = None) -> Any:
        return pyarrow.csv.ParseOptions(
            delimiter=self.delimiter,
            newlines_in_values=b'"' in block.text,
            invalid_row_handler=refuse,
        )

    def _split(self, text: bytes) -> Lines:
        """Find the lines of a text that are not within quotes."""
        characters = np.frombuffer(text, np.uint8)
        line_ends = characters == _LINE_FEED
        if b"\r" in text:
            line_ends |= characters == _RETURN
        ends, is_tidy = np.flatnonzero(line_ends), True
        if b'"' in text:
            quotes = np.flatnonzero(characters == _QUOTE)
            # Then they do so up to the last line end, too.
            is_tidy = self._alternate(characters, quotes)
            if is_tidy:
                ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
            else:
                begin, _, is_open = self._runs(characters, quotes)
                ends = ends[~np.append(False, is_open)[np.searchsorted(begin, ends)]]
        ends += 1
        # An end right after another, as of "\r\n", ends an empty line.
        return Lines(ends, np.diff(ends, prepend=0) > 1, is_tidy)

    def _alternate(self, characters: npt.NDArray[np.uint8], quotes: IntArray) -> bool:
        """Tell whether quotes open and close cells in turn, each at an end of a cell.

        So it is where no cell holds a quote, and found out much faster than `_runs`.
        """
        opening, closing = quotes[::2], quotes[1::2]
        before = characters[opening[opening > 0] - 1]
        behind = characters[closing[closing < len(characters) - 1] + 1]
        ends_cell = np.zeros(256, dtype=bool)
        ends_cell[self._ends_of_cells] = True
        return bool(ends_cell[before].all() and ends_cell[behind].all())

    def _runs(
        self, characters: npt.NDArray[np.uint8], quotes: IntArray
    ) -> tuple[IntArray, IntArray, npt.NDArray[np.bool_]]:
        """Return where odd runs of quotes begin and end, and whether a cell is open after them.

        Quotes in a row count as one, or as none if they are even: each pair stands for a quote or
        for an empty cell. One at the beginning of a cell opens it, or else, if the cell began
        before, closes it; any other closes what is open, and is text if nothing is.
        """
        first = np.flatnonzero(np.diff(quotes, prepend=-2) > 1)
        length = np.diff(first, append=len(quotes))
        odd = length % 2 == 1
        begin, length = quotes[first][odd], length[odd]
        ends_cell = np.isin(characters[begin - 1], self._ends_of_cells)
        toggles = ends_cell | (begin == 0)
        count = np.cumsum(toggles)
        # Toggles in a row since the last run that closes for sure.
        since = count - np.maximum.accumulate(np.where(toggles, 0, count))
        return begin, begin + length, since % 2 == 1

    @property
    def _ends_of_cells(self) -> list[int]:
        return [ord(self.delimiter), _LINE_FEED, _RETURN]

    def _stray(self, block: Block) -> int | None:
        """Return the number of the first record with text behind a closing quote, None if none has.

        A quote that was never meant to open a cell closes at the next one, rows later; text behind
        that betrays it.
        """
        characters = np.frombuffer(block.text, np.uint8)
        quotes = np.flatnonzero(characters == _QUOTE)
        if self._alternate(characters, quotes):
            return None
        _, end, is_open = self._runs(characters, quotes)
        behind = end[np.append(False, is_open)[:-1] & ~is_open]
        behind = behind[behind < len(characters)]
        stray = ~np.isin(characters[behind], self._ends_of_cells)
        if not stray.any():
            return None
        return int(np.searchsorted(block.ends, behind[np.argmax(stray)], side="right"))
