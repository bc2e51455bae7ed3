"""The same rows as flat files, and as tables of every kind."""

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq
import yaml
from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog

from tests.jobs import Pool, call, make_pool

WHERE = "country IN ('DE', 'A B') AND NOT score < -3.5"
"""Keeps part of the rows, of files and of row groups."""

PARTITIONS = pa.schema([("country", pa.string()), ("year", pa.int32())])


def make_table(rows: int = 2000) -> pa.Table:
    """Rows of a pool, in the order of a year, with the columns that tables are partitioned by."""
    rng = np.random.default_rng(1)
    table = make_pool(rows).table
    year = np.sort(rng.integers(2020, 2023, rows)).astype(np.int32)
    day = [
        datetime.date(int(y), 1, 1 + int(d))
        for y, d in zip(year, rng.integers(0, 9, rows), strict=True)
    ]
    return (
        table.append_column("country", pa.array(rng.choice(["DE", "FR", "A B"], rows)))
        .append_column("year", pa.array(year))
        .append_column("day", pa.array(day))
    )


def wanted(table: pa.Table) -> pa.Table:
    """The rows that satisfy `WHERE`."""
    return table.filter(pc.field("country").isin(["DE", "A B"]) & (pc.field("score") >= -3.5))


def by_year(table: pa.Table) -> list[pa.Table]:
    """The rows of each year."""
    years = sorted(set(table["year"].to_pylist()))
    return [table.filter(pc.field("year") == year) for year in years]


def as_flat(folder: Path, table: pa.Table) -> dict[str, Any]:
    """Keys of `pool` for rows in two files."""
    folder.mkdir()
    half = len(table) // 2
    pq.write_table(
        table.slice(0, half), folder / "a.parquet", row_group_size=max(100, len(table) // 20)
    )
    pq.write_table(
        table.slice(half), folder / "b.parquet", row_group_size=max(100, len(table) // 20)
    )
    return {"path": str(folder / "*.parquet")}


def as_hive(folder: Path, table: pa.Table) -> dict[str, Any]:
    """Keys of `pool` for rows in folders of countries and years, without these columns."""
    pyarrow.dataset.write_dataset(
        table, folder, format="parquet",
        max_rows_per_file=max(100, len(table) // 20), max_rows_per_group=max(50, len(table) // 40),
        partitioning=pyarrow.dataset.partitioning(PARTITIONS, flavor="hive"),
    )  # fmt: skip
    return {"path": str(folder / "**" / "*.parquet")}


def as_delta(folder: Path, table: pa.Table) -> dict[str, Any]:
    """Keys of `pool` for a Delta table, written year by year."""
    for part in by_year(table):
        write_deltalake(str(folder), part, partition_by=["country"], mode="append")
    return {"table": {"delta": str(folder)}}


def catalog_of(folder: Path) -> dict[str, str]:
    """Properties of a catalog in a file."""
    folder.mkdir(exist_ok=True)
    return {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}


def as_iceberg(folder: Path, table: pa.Table) -> dict[str, Any]:
    """Keys of `pool` for an Iceberg table, written year by year."""
    properties = catalog_of(folder)
    catalog = load_catalog("default", **properties)
    catalog.create_namespace("db")
    made = catalog.create_table("db.events", schema=table.schema)
    with made.update_spec() as spec:
        spec.add_identity("country")
    for part in by_year(table):
        made.append(part)
    return {"table": {"iceberg": "db.events", "catalog": properties}}


KINDS: dict[str, Callable[[Path, pa.Table], dict[str, Any]]] = {
    "flat": as_flat, "hive": as_hive, "delta": as_delta, "iceberg": as_iceberg,
}  # fmt: skip


def spec_of(folder: Path, pool: dict[str, Any], **keys: Any) -> Path:
    """Write the spec of a pool of `make_table`; its workspace is beside it."""
    content = {
        "pool": {"payload": ["name", "country"], "slices": ["year"], **pool},
        "measure": ["f1", "precision"], "strata": {"leaves": 8}, "budget": 80, "round_size": 40,
        "seed": 5, "workspace": str(folder / "run"), **keys,
    }  # fmt: skip
    folder.mkdir(exist_ok=True)
    path = folder / "evaluation.yaml"
    path.write_text(yaml.safe_dump(content))
    return path


def evaluated(spec: Path, truth: Pool, *options: Any) -> dict[str, Any]:
    """What a whole evaluation says: cells, reserve, drawn rows with their payload, estimates."""
    workspace = spec.parent / "run"
    prepared = call("prepare", spec, "--json", *(options or ("--in-process",))).done
    assert call("sample", workspace).status == 0
    batch = pq.read_table(workspace / "rounds/0001/batch.parquet").to_pydict()
    labels = [f"{id},{truth.truth[id]}" for id in batch["id"]]
    path = spec.parent / "labels.csv"
    path.write_text("\n".join(["id,label", *labels, ""]))
    estimated = call("estimate", workspace, "--labels", path, "--json").done
    draws = pq.read_table(workspace / "rounds/0001/draws.parquet").to_pydict()
    reserve = pq.read_table(workspace / "reserve").sort_by(
        [("cell", "ascending"), ("rank", "ascending")]
    )
    shown = sorted(
        zip(*(batch[name] for name in ("id", "payload.name", "payload.country")), strict=True)
    )
    return {
        "cells": pq.read_table(workspace / "cells.parquet").to_pydict(),
        "reserve": reserve.select(["cell", "rank", "id", "slice.year"]).to_pydict(),
        "ids": sorted(batch["id"]), "draws": {k: v for k, v in draws.items() if k != "task"},
        "shown": shown, "rows": prepared.json["rows"], "measures": estimated.json["measures"],
    }  # fmt: skip
