"""Pools whose rows have an id of two columns, or columns within columns."""

import json

import numpy as np
import pyarrow as pa

from tests.jobs import Pool, make_pool

IDS = ["unique_id_l", "unique_id_r"]

NAMES = {"score": "result.score", "prediction": "result.said.label"}
"""Columns of `nested_pool`."""


def pair_pool(rows: int = 2000, numbers: bool = False) -> Pool:
    """A pool of pairs; left records come several times, right ones too."""
    flat = make_pool(rows)
    number = np.arange(rows)
    left, right = number // 40, number % 40
    sides = [left, right + rows] if numbers else [[f"a{i}" for i in left], [f"b{i}" for i in right]]
    columns = dict(zip(IDS, map(pa.array, sides), strict=True))
    ids = [
        json.dumps([*pair], separators=(",", ":"))
        for pair in zip(*map(list, map(pa.Array.to_pylist, columns.values())), strict=True)
    ]
    table = flat.table.drop_columns(["id"])
    truth = dict(zip(ids, flat.truth.values(), strict=True))
    return Pool(pa.table({**columns, **{n: table[n] for n in table.column_names}}), truth)


def flat_of(pool: Pool) -> Pool:
    """The same pool with the id pasted into one column."""
    table = pool.table.drop_columns(IDS)
    return Pool(table.add_column(0, "id", pa.array(list(pool.truth))), pool.truth)


def nested_pool(flat: Pool) -> Pool:
    """A pool whose score and prediction are fields of a column; others are beside them."""
    score, prediction = (flat.table[name].combine_chunks() for name in NAMES)
    noise = pa.array([f"{'x' * 50} {i}" for i in range(len(score))])
    said = pa.StructArray.from_arrays([prediction, noise], ["label", "why"])
    result = pa.StructArray.from_arrays([score, said], ["score", "said"])
    columns = {"id": flat.table["id"], "name": flat.table["name"], "result": result}
    return Pool(pa.table(columns), flat.truth)
