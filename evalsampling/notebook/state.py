"""Where rounds and labels of an evaluation are: in memory, or in the files of a workspace."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from evalsampling.evaluation.analysis import Analysis, Pool
from evalsampling.notebook.turns import Turns
from evalsampling.pool.frames import Ids


class State(Protocol):
    """Rounds and labels so far, and how further ones come in: each whole or not at all.

    Attributes:
        turns: of the threads that share it.
    """

    turns: Turns

    @property
    def pool(self) -> Pool:
        """The pool and its spec."""

    @property
    def analysis(self) -> Analysis:
        """What stands now."""

    def ids(self) -> list[Any]:
        """Return the id of the row of each question, of those that others asked too."""

    def sample(self, new_rows: int) -> Ids:
        """Draw one round and return the ids of its new rows."""

    def draw(self, new_rows: int, budget: int | None, money: float | None) -> npt.NDArray[np.int64]:
        """Draw one round and return the indices of its new questions."""

    def label(self, codes: Mapping[int, int], replace: bool) -> None:
        """Take checked labels, the class code of each question that has one."""

    def grade(self, id: Any, grades: Any) -> None:
        """Take the grades of all items of queries, in a form that `Evaluation.label` takes."""

    def items(self, id: Any) -> list[list[Any]]:
        """Return the items to be graded of queries that were drawn."""

    def save(self, path: str | Path) -> None:
        """Write all of it to a workspace."""
