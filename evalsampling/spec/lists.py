"""The section ``pool.lists`` of a spec: pools whose rows are queries with lists of items."""

import msgspec

from evalsampling.errors import InputError
from evalsampling.spec.sections import Section
from evalsampling.spec.values import Text


class ListsSpec(msgspec.Struct, frozen=True):
    """The columns of a query that all systems share.

    Attributes:
        items: column with the list of the items' ids, all different within a query.
    """

    items: Text


def read_lists(pool: Section) -> ListsSpec | None:
    """Return the section ``pool.lists``, checked; None if rows are no queries."""
    if pool.get("lists") is None:
        return None
    for_rows = ("score", "score_is", "prediction", "probability", "logits", "features", "variance")
    others = ("scorer", "weight", "cluster")
    pool.refuse((*for_rows, *others), "with pool.lists, rows are queries and have none")
    if pool.get("systems") is None:
        raise InputError("pool.systems: missing, with pool.lists the rankers are named there")
    return pool.section("lists").read(ListsSpec)
