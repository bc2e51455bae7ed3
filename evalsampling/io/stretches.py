"""What a file of a pool holds: its columns, and the stretches it is read in."""

import dataclasses

import pyarrow as pa


@dataclasses.dataclass(frozen=True)
class Stretch:
    """A part of a file that can be read by itself.

    Attributes:
        begin: where it begins: number of a row group, or a place in bytes.
        end: where it ends, itself outside.
        rows: its rows.
    """

    begin: int
    end: int
    rows: int


@dataclasses.dataclass(frozen=True)
class Contents:
    """What a file holds.

    Attributes:
        schema: all its columns; dictionaries are not told from their values.
        stretches: in their order.
        warning: what is wrong with the way it was written, if anything is.
    """

    schema: pa.Schema
    stretches: tuple[Stretch, ...]
    warning: str | None = None
