"""Keeps Arrow from importing pandas in a process of the command line."""

import sys
from typing import Any

import pyarrow as pa


class _NoPandas:
    """An import finder that makes pandas look as if it were not installed.

    It has no base class: `importlib.abc` would import all that reads resources of packages.
    """

    def find_spec(self, fullname: str, *_: Any) -> None:
        """Return None, so that the next finder is asked, for every module except pandas."""
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def postpone_pandas() -> None:
    """Keep Arrow from importing pandas until a data frame is asked for.

    If pandas is installed, Arrow imports it with its first array, to distinguish series from other
    sequences, which takes longer than a short command. Arrow still imports it when it makes or
    gets a data frame. But it then treats a series given to ``pyarrow.array`` as any sequence, so
    this is not for processes that run a user's scorer.
    """
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])  # Arrow looks for pandas once.
    finally:
        sys.meta_path.remove(finder)
