"""Arrow without pandas, in a process of the command line."""

import sys
from typing import Any

import pyarrow as pa


class _NoPandas:
    """Lets pandas be as if it were not installed.

    It has no base: `importlib.abc` brings all that reads resources of packages.
    """

    def find_spec(self, fullname: str, *_: Any) -> None:
        """Find nothing, and say so of pandas.

        Raises:
            ModuleNotFoundError: for pandas.
        """
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def postpone_pandas() -> None:
    """Keep Arrow from importing pandas until somebody asks it for a frame.

    Where pandas is installed, Arrow imports it with its first array, to tell series from other
    sequences, which takes longer than a short command. Asked for a frame, or given one, Arrow
    imports it all the same; but a series given to ``pyarrow.array`` is then any sequence, so this
    is not for processes that run a user's scorer.
    """
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([])  # Arrow looks for pandas once.
    finally:
        sys.meta_path.remove(finder)
