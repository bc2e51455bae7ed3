"""The columns that identify a row of a pool: one, or several whose values are one id together."""

from evalsampling.errors import InputError
from evalsampling.spec.sections import Section

IdColumns = str | tuple[str, ...]
"""Name of the column of ids; or of two columns or more."""


def columns_of(id: IdColumns) -> tuple[str, ...]:
    """Return the names of the columns, in order."""
    return (id,) if isinstance(id, str) else id


def in_words(id: IdColumns) -> str:
    """Return the columns for a message."""
    names = ", ".join(map(repr, columns_of(id)))
    return f"column {names}" if isinstance(id, str) else f"columns {names}"


def read_id(section: Section, of_items: bool) -> IdColumns:
    """Return the key ``id`` of a section: ``id`` if it is missing, a list of one as that column.

    Args:
        section: the section ``pool``.
        of_items: whether rows are queries, whose items are named by the id.

    Raises:
        InputError: if it is no column, or a list with a column twice, or of several for queries.
    """
    if not isinstance(section.get("id"), list):
        return section.text("id") or "id"
    columns = section.columns("id")
    if not columns or not all(columns):
        raise InputError(f"{section.name}.id: must be a list of columns, got {list(columns)!r}")
    if of_items and len(columns) > 1:
        raise InputError(f"{section.name}.id: a pool with lists has one column of ids")
    return columns[0] if len(columns) == 1 else columns
