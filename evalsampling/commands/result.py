"""What commands return."""

import dataclasses
from typing import Any, ClassVar

from evalsampling.parts.records import finite


@dataclasses.dataclass(frozen=True)
class Result:
    """Base of the records that commands return, named by their fields."""

    only_if_any: ClassVar[tuple[str, ...]] = ()
    """Fields that are left out of the JSON where they hold nothing."""

    for_text: ClassVar[tuple[str, ...]] = ()
    """Fields that are never part of the JSON."""

    @property
    def ok(self) -> bool:
        """Whether nothing that was looked at is wrong."""
        return True

    @property
    def exit_code(self) -> int:
        """Exit code of a program that does the work of the command."""
        return int(not self.ok)

    def to_json(self) -> Any:
        """Return the object that `--json` prints; a number that JSON does not have is None."""
        return {
            key: held
            for key, held in finite(dataclasses.asdict(self)).items()
            if key not in self.for_text and (held or key not in self.only_if_any)
        }
