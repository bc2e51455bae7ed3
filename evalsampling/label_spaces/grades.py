"""Labels that are grades of the items of a query: 0, 1, 2 and so on."""

import dataclasses
from typing import ClassVar, Self

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import Keys
from evalsampling.label_spaces.classes import Classes


@dataclasses.dataclass(frozen=True)
class Grades(Classes):
    """Grades, one of which each item of a query has; what cells know is of the query.

    A query has one outcome, graded, so its predictions are whether a list is another than the
    first system's.
    """

    kind: ClassVar[str] = "grades"
    default_sampler: ClassVar[str | None] = "ranking"
    has_classes: ClassVar[bool] = False
    has_items: ClassVar[bool] = True
    outputs: ClassVar[frozenset[str]] = frozenset({"grades"})
    are: ClassVar[str] = "labels are grades of items"

    @classmethod
    def read(cls, labels: Keys) -> Self:
        labels.refuse(("multilabel", "range", "space"), "an item of a list has one grade")
        grades = super().read(labels)
        if grades.values != tuple(range(len(grades.values))):
            raise InputError(
                "labels.classes: with pool.lists these are grades, 0, 1, 2 and so on, "
                f"got {list(grades.values)}"
            )
        if labels.get("oracle", "deterministic") != "deterministic":
            raise InputError("labels.oracle: an item of a list is graded once")
        for key in ("gold", "repeats"):
            if labels.get(key):
                raise InputError(f"labels.{key}: there are no control tasks among items of lists")
        return grades

    def signatures(self, systems: int) -> tuple[int, ...]:
        """Return 2, whether its list differs from that of the first system, which has 1."""
        return (1, *(2,) * (systems - 1))

    @property
    def row_classes(self) -> int:
        """One: a query is graded, or not yet."""
        return 1
