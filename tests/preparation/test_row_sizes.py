"""Sizes of rows: those of the deviation over the root of the cost, and what is refused."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.preparation.local import read_cells, read_sums, stratify_pool
from evalsampling.preparation.row_sizes import RowSizes, sizes_of_rows
from evalsampling.spec import EvaluationSpec


def spec_of(folder: Path, sampler: object = "poisson") -> EvaluationSpec:
    """A pool of 60 rows whose labels cost 1, 4 or 9."""
    rng = np.random.default_rng(2)
    score = rng.random(60)
    columns = {"id": np.arange(60), "score": score, "prediction": (score > 0.5).astype(int)}
    columns["size"] = np.array([1.0, 4.0, 9.0])[np.arange(60) % 3]
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    pool = {"path": "pool.parquet", "cost": "size", "probability": "score"}
    content = {"pool": pool, "measure": "f1", "sampler": sampler, "strata": {"leaves": 4}}
    return EvaluationSpec.from_mapping(content, folder)


def test_sizes_are_deviations_over_the_root_of_the_cost(tmp_path: Path) -> None:
    spec = spec_of(tmp_path)
    cut = stratify_pool(spec)
    sizes = RowSizes.from_spec(spec, cut, read_sums(spec, cut), {"delta": 0.25})
    assert sizes.delta == 0.25
    table = sizes.table
    assert table.cost is not None
    deviation = sizes.deviation.of_cells(table, table.prior)
    assert sizes.of_cells() == pytest.approx(deviation / np.sqrt(table.cost))
    (cells,) = read_cells(spec, cut)
    assert cells.outputs.cost is not None
    own = sizes.deviation.of_rows(cells.outputs, cells.prior) / np.sqrt(cells.outputs.cost)
    assert sizes_of_rows(sizes.deviation, cells) == pytest.approx(own)


@pytest.mark.parametrize("name", ["delta", "smoothing"])
def test_shares_beyond_1_are_refused(tmp_path: Path, name: str) -> None:
    spec = spec_of(tmp_path)
    cut = stratify_pool(spec)
    sums = read_sums(spec, cut)
    with pytest.raises(InputError, match=f"sampler: poisson: {name} must be between 0 and 1"):
        RowSizes.from_spec(spec, cut, sums, {name: 1.5})
