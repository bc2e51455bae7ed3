"""Ids of rows in deliveries: a column, or several whose values are one id together."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evalsampling.labels.vote import Vote, field_text, with_values
from evalsampling.pool.row_ids import parts_of, text_of
from evalsampling.spec.id_columns import IdColumns
from evalsampling.spec.sink import ID as ID


@dataclasses.dataclass(frozen=True)
class DeliveredIds:
    """How a delivery names rows, where it does not by task: by the pool's columns of ids."""

    columns: IdColumns = ID

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns in the rows that a reader makes."""
        return (ID,) if isinstance(self.columns, str) else self.columns

    def renamed(self, header: Sequence[str]) -> list[str]:
        """Return the columns of a delivery, a single column of ids being called ``id``."""
        if ID in header:
            return list(header)
        return [ID if name == self.columns else name for name in header]

    def rename(self, fields: dict[str, Any]) -> None:
        """Call a single column of ids ``id`` among the fields of a row, where no other is."""
        if isinstance(self.columns, str) and ID not in fields and self.columns in fields:
            fields[ID] = fields.pop(self.columns)

    @property
    def words(self) -> str:
        """The columns in a message."""
        return " and ".join(self.names)

    def text(self, row: Mapping[str, Any]) -> str | None:
        """Return the id that a row names, as `row_ids.as_text` has it; None if it names none."""
        parts = [field_text(row.get(name)) for name in self.names]
        texts = [part for part in parts if part is not None]
        if len(texts) < len(parts):
            return None
        return texts[0] if isinstance(self.columns, str) else text_of(texts)

    def values(self, id: str | None) -> dict[str, str | None]:
        """Return the values of the columns of an id, as `text` has it."""
        if isinstance(self.columns, str):
            return {ID: id}
        parts = [] if id is None else [*map(str, parts_of(id))]
        return dict(itertools.zip_longest(self.columns, parts[: len(self.columns)]))

    def vote(
        self, read: Callable[[int, Mapping[str, Any]], Vote], line: int, row: Mapping[str, Any]
    ) -> Vote:
        """Return the vote of a row, with its id as `row_ids.as_text` has it."""
        if isinstance(self.columns, str):
            return read(line, row)
        vote = read(line, {**row, ID: self.text(row)})
        if vote.task is None and vote.pair is None and vote.problem is None:
            lacking = " and ".join(name for name in self.names if field_text(row.get(name)) is None)
            if lacking:
                vote = with_values(vote, problem=f"neither task nor {lacking} is given")
        return vote
