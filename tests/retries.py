"""Functions that fail now and then, and a runner that tries bundles again."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

RETRYING = "--runner=BundleBasedDirectRunner"
"""The runner on this machine that tries bundles again; the default one does not."""


def failing_now_and_then(function: Callable[..., Any], log: Path) -> Callable[..., Any]:
    """A function whose first and third calls fail, the third after it has done its work.

    Calls are counted in a file: runners copy functions, and what these hold.
    """
    log.write_text("")

    def call(*arguments: Any, **named: Any) -> Any:
        number = len(log.read_text())
        log.write_text("x" * (number + 1))
        if number == 0:
            raise RuntimeError("a worker was lost")
        result = function(*arguments, **named)
        if number == 2:
            raise RuntimeError("a worker was lost after its work")
        return result

    return call
