"""What commands return."""

import dataclasses
from typing import Any

from evalsampling.stats.finite import finite


@dataclasses.dataclass(frozen=True)
class Result:
    """Base of the records that commands return, named by their fields."""

    def to_json(self) -> Any:
        """Return the object that the command prints with `--json`: the fields in their order.

        A number that JSON does not have is None.
        """
        return finite(dataclasses.asdict(self))
