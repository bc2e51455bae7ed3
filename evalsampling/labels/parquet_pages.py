"""What the pages of a Parquet file say they hold, read without decoding any.

Footer and headers of pages are structs of Thrift's compact protocol. Arrow's own view of them ends
the process where they are damaged, and does not show the headers of pages, by which memory is
taken.
"""

import dataclasses
from collections.abc import Collection
from typing import Any

from evalsampling.pool.formats.thrift import Struct, Thrift, field

MOST_FOOTER_BYTES = 1 << 22
MOST_PAGES = 1 << 17

_MAGIC = b"PAR1"


@dataclasses.dataclass(frozen=True)
class Pages:
    """What the pages of some columns say.

    Attributes:
        bytes: of all of them together, before compression.
        expanding: columns with values that are stored as differences to others, so that they may
            be longer than what is stored.
    """

    bytes: int
    expanding: frozenset[str]


def look(content: bytes, columns: Collection[str]) -> Pages:
    """Return what the pages of some columns of a file say they hold.

    Raises:
        ValueError: if the file is damaged, or has too many pages.
    """
    length = int.from_bytes(content[-8:-4], "little")
    begin = len(content) - 8 - length
    if content[-4:] != _MAGIC or begin < len(_MAGIC):
        raise ValueError("no Parquet file")
    if length > MOST_FOOTER_BYTES:
        raise ValueError(f"a footer of {length:,} bytes, at most {MOST_FOOTER_BYTES:,} are read")
    footer = Thrift(content, begin).struct()
    rows, totals = 0, _Totals()
    for group in _structs(footer, 4):
        rows += _field(group, 3, int)
        for chunk in _structs(group, 1):
            metadata = _field(chunk, 3, dict)
            # A flat column's path is its name; that of a list goes on.
            name, *inner = _field(metadata, 3, list)
            if isinstance(name, bytes) and name.decode() in columns:
                values = totals.add(content, begin, name.decode(), metadata)
                # A column that lacks values would put those behind on other rows. A list has at
                # least one place, be it empty.
                held = _field(group, 3, int)
                enough = values >= held if inner else values == held
                if not enough or values != _field(metadata, 5, int):
                    raise ValueError(f"column {name.decode()!r} is damaged: {values} values")
    if rows != _field(footer, 3, int):
        raise ValueError(f"{rows} rows in its groups, {_field(footer, 3, int)} in all")
    return Pages(totals.bytes, frozenset(totals.expanding))


class _Totals:
    """Bytes and number of the pages read so far, and the columns that may expand."""

    def __init__(self) -> None:
        self.bytes = 0
        self.pages = 0
        self.expanding: set[str] = set()

    def add(self, content: bytes, most: int, name: str, metadata: Struct) -> int:
        """Add the pages of a column, which end before ``most``; return their number of values."""
        begin, length, values = _field(metadata, 9, int), _field(metadata, 7, int), 0
        if 11 in metadata and 0 < _field(metadata, 11, int) < begin:
            begin = metadata[11]
        if not 0 < begin <= begin + length <= most:
            raise ValueError(f"column {name!r} lies outside of the file")
        place = begin
        while place < begin + length:
            thrift = Thrift(content, place)
            page = thrift.struct()
            self.pages += 1
            if self.pages > MOST_PAGES:
                raise ValueError(f"more than {MOST_PAGES:,} pages")
            packed, plain = _field(page, 3, int), _field(page, 2, int)
            if packed < 0 or plain < 0:
                raise ValueError(f"column {name!r} has a page of no size")
            self.bytes += plain
            for kind, encoding in _ENCODING.items():
                if kind in page and _field(page[kind], encoding, int) not in _AS_THEY_ARE:
                    self.expanding.add(name)
            values += sum(_field(page[kind], 1, int) for kind in _DATA if kind in page)
            place = thrift.place + packed
        return values


_DATA = (5, 8)
"""Fields of the header of a page that holds values, of the first and the second version."""

_ENCODING = {5: 2, 7: 2, 8: 4}
"""Where such headers, and that of a dictionary, name the encoding."""

_AS_THEY_ARE = frozenset({0, 2, 3, 4, 8})
"""Plain, by a dictionary, run lengths: each value is stored once, as it is."""


def _structs(struct: Struct, number: int) -> list[Struct]:
    structs: list[Struct] = _field(struct, number, list)
    if not all(isinstance(item, dict) for item in structs):
        raise ValueError("damaged")
    return structs


def _field(struct: Any, number: int, kind: type) -> Any:
    value = field(struct, number, kind)
    if value == []:
        raise ValueError("its footer or the header of a page is damaged")
    return value
