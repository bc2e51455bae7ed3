"""A kind of tables: files whose paths stand in a text file, a line each."""

from collections.abc import Sequence

from evalsampling.pool.files import find_file
from evalsampling.pool.layout import PlannedFile
from evalsampling.spec.sections import Section
from evalsampling.spec.tables import TableSpec
from evalsampling.spec.where import Condition
from evalsampling.storage import read_file


class Listed:
    """A list of paths; its version is the list itself, so later changes of it do not matter."""

    keys = ()
    is_path = True

    def check(self, section: Section) -> None:
        """There are no further keys."""

    def pin(self, table: TableSpec) -> list[str]:
        """Return the paths."""
        return read_file(table.name).decode().split()

    def plan(self, table: TableSpec, where: Condition | None) -> Sequence[PlannedFile]:
        """Return the files; none is left out."""
        return [PlannedFile(find_file(path)) for path in table.pinned]


LISTED = Listed()
