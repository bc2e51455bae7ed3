"""What a kind of tables provides."""

from collections.abc import Sequence
from typing import Any, Protocol

from evalsampling.pool.layout import PlannedFile
from evalsampling.spec.sections import Section
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import Condition


class TableKind(Protocol):
    """A kind of tables: settles which version is read, and plans the files to read.

    Attributes:
        keys: further keys that ``pool.table`` may have.
        is_path: whether a table's name is a path, relative to the folder of the spec.
    """

    keys: Sequence[str]
    is_path: bool

    def check(self, section: Section) -> None:
        """Check the values of the further keys; nothing is opened.

        Raises:
            InputError: naming the key that is wrong.
        """

    def pin(self, table: TableSpec) -> Any:
        """Return the version to read, as JSON: that of the spec, else the current one.

        Raises:
            InputError: if there is no such table or version, or a package is not installed.
        """

    def plan(self, table: TableSpec, where: Condition | None) -> Sequence[PlannedFile]:
        """Return the files of the pinned version, but for those without a row that is wanted.

        Args:
            table: with the version that `pin` returned.
            where: the rows that are wanted; None for all. Files may be left out only if none of
                their rows satisfies it: rows are filtered again when they are read.

        Raises:
            InputError: if the version is gone, or has what cannot be read as it is meant.
        """
