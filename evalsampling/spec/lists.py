"""The section ``pool.lists`` of a spec: pools whose rows are queries with lists of items."""

import dataclasses
from typing import Any

from evalsampling.errors import InputError
from evalsampling.spec.sections import Section


@dataclasses.dataclass(frozen=True)
class ListsSpec:
    """The columns of a query that all systems share.

    Attributes:
        items: column with the list of the items' ids, all different within a query.
    """

    items: str


def read_lists(pool: Section) -> ListsSpec | None:
    """Return the section ``pool.lists``, checked; None if rows are no queries."""
    if pool.get("lists") is None:
        return None
    section = pool.section("lists")
    section.check_keys("items")
    for_rows = ("score", "score_is", "prediction", "probability", "logits", "features", "variance")
    pool.refuse((*for_rows, "scorer"), "with pool.lists, rows are queries and have none")
    if pool.get("systems") is None:
        raise InputError("pool.systems: missing, with pool.lists the rankers are named there")
    return ListsSpec(str(section.text("items", required=True)))


def lists_mapping(lists: ListsSpec) -> dict[str, Any]:
    """Return the section ``pool.lists`` with every default filled in."""
    return {"items": lists.items}
