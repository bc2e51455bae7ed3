"""Rows of small tables, and what a spec reads of them."""

from typing import Any

import pyarrow as pa

from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.source import pinned
from evalsampling.spec import EvaluationSpec


def rows(begin: int, end: int, **more: Any) -> pa.Table:
    size = end - begin
    columns = {"id": range(begin, end), "score": [n / 100 for n in range(begin, end)]}
    return pa.table(columns | {"prediction": [1] * size} | more)


def pinned_spec(table: dict[str, Any], where: str | None, pool: dict[str, Any]) -> EvaluationSpec:
    content = {"table": table, **pool} | ({} if where is None else {"where": where})
    spec = EvaluationSpec.from_mapping({"pool": content, "budget": 10}, "/")
    return spec.with_pool(pinned(spec.pool))


def read(spec: EvaluationSpec, columns: list[str] | None) -> list[dict[str, Any]]:
    return [
        row for item in Catalog.read(spec.reading).items for batch in read_batches(item, columns)
        for row in batch.rows.to_pylist()
    ]  # fmt: skip


def ids(spec: EvaluationSpec) -> list[int]:
    return sorted(row["id"] for row in read(spec, ["id"]))
