"""Ids made of several columns: as one text, which rows are hashed and known by, and as columns.

The text is the JSON array of the values, without blanks: ``["a","bc"]``, ``[1,"b"]``. It names its
parts without ambiguity, tells whole numbers from texts, and any program can make it.
"""

import functools
import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.arrow import characters
from evalsampling.spec.id_columns import IdColumns, sides_of

_ESCAPED = r'["\\\x00-\x1f]'
"""Characters that stand in a JSON text as something else."""

_TEXT = pa.large_string()


def joined(parts: Sequence[pa.Array]) -> pa.Array:
    """Return the ids of rows, shape (n,), as text."""
    pieces: list[Any] = []
    glue = "["
    for part in parts:
        quote = "" if pa.types.is_integer(part.type) else '"'
        pieces += [pa.scalar(glue + quote, _TEXT), _inside(part)]
        glue = quote + ","
    end = pa.scalar(glue.removesuffix(",") + "]", _TEXT)
    return pc.binary_join_element_wise(*pieces, end, pa.scalar("", _TEXT))


def _inside(part: pa.Array) -> pa.Array:
    """Return values as they stand in JSON, texts without the quotes around them."""
    texts = part.cast(_TEXT)
    if pa.types.is_integer(part.type):
        return texts
    bounds, text = characters(texts)
    text = text[bounds[0] : bounds[-1]]
    if not ((text < 0x20) | (text == 0x22) | (text == 0x5C)).any():  # as most have none
        return texts
    escaped = pc.match_substring_regex(texts, _ESCAPED)
    values = [_dumped(text)[1:-1] for text in texts.filter(escaped).to_pylist()]
    return pc.replace_with_mask(texts, escaped, pa.array(values, _TEXT))


_dumped = functools.partial(json.dumps, ensure_ascii=False, separators=(",", ":"))


def text_of(parts: Sequence[int | str]) -> str:
    """Return the id of one row, as `joined` makes it."""
    return _dumped(list(parts))


def parts_of(id: str) -> list[int | str]:
    """Return the values that an id is made of; of any other text, the text alone."""
    try:
        parts = json.loads(id)
    except (ValueError, RecursionError):
        return [id]
    return parts if isinstance(parts, list) else [id]


def as_text(id: Any, columns: IdColumns) -> str:
    """Return an id as deliveries name it: where texts stand for whole numbers too."""
    return str(id) if isinstance(columns, str) else text_of([*map(str, parts_of(id))])


def in_other_order(id: str, columns: IdColumns) -> list[str]:
    """Return the id of a pair with its records in the other order, nothing if it is no pair."""
    sides, parts = sides_of(columns), parts_of(id)
    if sides is None or len(parts) != len(columns):
        return []
    values = dict(zip(columns, parts, strict=True))
    other = dict(zip([*sides[0], *sides[1]], [*sides[1], *sides[0]], strict=True))
    return [text_of([values[other[name]] for name in columns])]


def as_columns(ids: pa.Array | pa.ChunkedArray, columns: IdColumns) -> dict[str, Any]:
    """Return ids as the columns that people know them by, whole numbers and texts as they were."""
    if isinstance(columns, str):
        return {columns: ids}
    rows = [None if id is None else parts_of(id) for id in ids.to_pylist()]
    return {
        name: _column([row[place] if row and place < len(row) else None for row in rows])
        for place, name in enumerate(columns)
    }


def _column(values: list[Any]) -> pa.Array:
    made = pa.array(values)
    return made.cast(pa.string()) if pa.types.is_null(made.type) else made
