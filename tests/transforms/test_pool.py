"""Pools read in as few passes as can be."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.pool.formats import registry as formats
from tests.jobs import Pool, make_pool
from tests.reference import (
    assert_same,
    reference,
)


@pytest.mark.parametrize("prior", ["column", "score"])
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

    def counting(item: Any, columns: Any, payload: Any) -> Any:
        read.append(item.rows)
        return fetch(item, columns, payload)

    monkeypatch.setattr("evalsampling.preparation.plan.read_batches", counting)
    assert one.prepare().json["leaves"] == 6
    assert sum(read) == (2000 if prior == "column" else 4000)
    assert_same(one.workspace, reference(one), budget=300)
    assert one.sample().json["rows"] == 20
    assert one.estimate("--labels", one.deliver(one.answers(1))).json["labels"] == 20
    assert one.sample().json["rows"] == 20
