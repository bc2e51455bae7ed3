"""Pools read in as few passes as can be, and what transforms of the passes keep of them."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.pool.formats import registry as formats
from evalsampling.preparation.reserve_builder import ReserveBuilder
from tests.jobs import Pool, make_pool
from tests.reference import assert_same, reference
from tests.slow import slowly


@pytest.mark.parametrize("prior", ["column", *slowly("score")])
def test_explicit_edges(job: Any, prior: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves as given, one of them empty; with prior probabilities given too, one pass."""
    pool = make_pool()
    p = 1 / (1 + np.exp(-pool.table["score"].to_numpy()))
    named = {"probability": "p"} if prior == "column" else {}
    edges = {"edges": [-3.0, -1.5, 0.0, 2.0, 900.0]}
    table = Pool(pool.table.append_column("p", pa.array(p)), pool.truth)
    one = job(table, files=3, pool=named, strata=edges, budget=300)
    read = []
    fetch = formats.read_batches

    def counting(item: Any, columns: Any) -> Any:
        read.append(item.rows)
        return fetch(item, columns)

    monkeypatch.setattr("evalsampling.preparation.plan.read_batches", counting)
    assert one.prepare().json["leaves"] == 6
    assert sum(read) == (2000 if prior == "column" else 4000)
    assert_same(one.workspace, reference(one), budget=300)
    assert one.sample().json["rows"] == 20
    assert one.estimate("--labels", one.deliver(one.answers(1))).json["labels"] == 20
    assert one.sample().json["rows"] == 20


@pytest.mark.slow
def test_limits_from_the_first_pass_change_nothing(job: Any, monkeypatch: Any) -> None:
    """Most rows fall at once, and the reserve is what it is without limits."""
    one = job(make_pool(20_000), files=3, group_rows=1000, budget=15)
    taken: list[int] = []
    add = ReserveBuilder.add

    def counting(self: ReserveBuilder, cells: Any) -> int:
        taken.append(add(self, cells))
        return taken[-1]

    monkeypatch.setattr(ReserveBuilder, "add", counting)
    assert one.prepare().status == 0
    with_limits, taken = sum(taken), []
    assert_same(one.workspace, reference(one), budget=15)
    assert with_limits < 0.6 * 20_000
