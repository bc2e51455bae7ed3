"""Fields of struct columns in tables of every kind, and in conditions."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from evalsampling.pool.catalog import Catalog
from evalsampling.pool.formats.registry import read_batches
from evalsampling.pool.source import pinned
from evalsampling.spec import EvaluationSpec
from tests.slow import slowly
from tests.tables import KINDS, make_table

NAMES = {"id": ["id", "result.day"], "score": "result.score", "prediction": "result.prediction"}


def nested(table: pa.Table) -> pa.Table:
    """A table whose scores, predictions and days are fields of one column."""
    inner = {name: table[name].combine_chunks() for name in ("score", "prediction")}
    inner["day"] = pc.strftime(table["day"].combine_chunks(), format="%F")
    result = pa.StructArray.from_arrays([*inner.values()], [*inner])
    return table.select(["id", "country", "year"]).append_column("result", result)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "where", ["result.score > 0.5 AND year > 2020", *slowly('"result.score" > 0.5')]
)
def test_fields_are_columns(tmp_path: Path, kind: str, where: str) -> None:
    table = make_table(400)
    keys: dict[str, Any] = {**KINDS[kind](tmp_path / kind, nested(table)), **NAMES, "where": where}
    spec = EvaluationSpec.from_mapping({"pool": keys, "budget": 10, "workspace": "w"}, tmp_path)
    spec = spec.with_pool(pinned(spec.pool))
    rows = {
        (id, score)
        for item in Catalog.read(spec.reading).items
        for batch in read_batches(item, ["id", "result.score", "result.day"])
        for id, score in zip(
            batch.ids(spec.pool.id).to_pylist(), batch.numbers("result.score"), strict=True
        )
    }
    kept = table.filter(pc.field("score") > 0.5)
    if "year" in where:
        kept = kept.filter(pc.field("year") > 2020)
    assert 0 < len(kept) < len(table)
    assert rows == {(f'[{row["id"]},"{row["day"]:%F}"]', row["score"]) for row in kept.to_pylist()}
