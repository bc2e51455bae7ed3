"""Results whose numbers JSON can represent."""

import math
from typing import Any


def finite(result: Any) -> Any:
    """Return a result of any nesting with None for every number that is not finite."""
    if isinstance(result, dict):
        return {key: finite(value) for key, value in result.items()}
    if isinstance(result, list | tuple):
        return [finite(value) for value in result]
    return None if isinstance(result, float) and not math.isfinite(result) else result
