"""A Poisson sample as a filter: each row's own probability, and no matter how the pool is cut."""

import functools
import operator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling import InputError
from evalsampling.preparation.plan import read_cells, stratify_pool
from evalsampling.preparation.poisson import INCLUSION, PoissonFilter, fill_water, sizes_of_cells
from evalsampling.preparation.stratification import Stratification
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.cells import CellSums
from evalsampling.stats.hashing import hash_integers
from tests.drawn_by_row import poisson_sample
from tests.jobs import call

ROWS = 3000


def pool_table(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(3)
    score = rng.normal(-2, 1.5, rows)
    return pa.table(
        {
            "id": np.arange(rows),
            "score": score,
            "prediction": (score > 0).astype(np.int8),
            "probability": 1 / (1 + np.exp(-score)),
        }
    )


def spec_of(path: Path, **changed: object) -> EvaluationSpec:
    content = {
        "pool": {"path": str(path), "probability": "probability"},
        "measure": "f1",
        "sampler": {"name": "poisson"},
        "strata": {"leaves": 24},
        "budget": 200,
        "seed": 11,
    }
    return EvaluationSpec.from_mapping({**content, **changed}, Path())


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    path = tmp_path / "pool.parquet"
    pq.write_table(pool_table(), path)
    return path


def sums_of(cut: Stratification) -> CellSums:
    """The sums over the cells of a pool."""
    return functools.reduce(operator.add, (cells.sums() for cells in read_cells(cut)))


def filter_of(spec: EvaluationSpec, cut: Stratification) -> PoissonFilter:
    """The filter that a spec asks for."""
    return fill_water(sums_of(cut), spec.analysis, cut)


def by_hand(spec: EvaluationSpec, table: pa.Table) -> tuple[np.ndarray, PoissonFilter]:
    """b of every row by [Y] eq. 12 to 14, with the filter's kappa."""
    stratification = stratify_pool(spec.reading)
    chosen = filter_of(spec, stratification)
    p = np.maximum(table["probability"].to_numpy(), 1e-4)
    f = table["prediction"].to_numpy().astype(float)
    metric = np.sum(p * f) / np.sum((p + f) / 2)
    square = p * (f - metric * (1 + f) / 2) ** 2 + (1 - p) * (metric * f / 2) ** 2
    h = np.sqrt(square) / np.mean((p + f) / 2)
    return np.minimum(chosen.factor * h + chosen.least, 1), chosen


def test_rows_are_those_whose_hash_is_below_their_own_probability(pool: Path) -> None:
    spec, table = spec_of(pool), pool_table()
    chance, _ = by_hand(spec, table)
    hashes = hash_integers(table["id"].to_numpy(), 11)
    kept = np.flatnonzero(hashes < (chance * 2.0**64))
    found = poisson_sample(spec.analysis)
    assert found["id"].to_pylist() == kept.tolist()
    assert found[INCLUSION].to_numpy() == pytest.approx(chance[kept], rel=2e-3)
    assert chance.sum() == pytest.approx(200, rel=0.02)
    assert len(np.unique(found[INCLUSION])) > 24


def test_sizes_are_deviations_over_the_root_of_the_cost(tmp_path: Path) -> None:
    """Of 60 rows whose labels cost 1, 4 or 9."""
    cost = np.array([1.0, 4.0, 9.0])[np.arange(60) % 3]
    path = tmp_path / "pool.parquet"
    pq.write_table(pool_table(60).append_column("size", pa.array(cost)), path)
    pool = {"path": str(path), "cost": "size", "probability": "probability"}
    spec = spec_of(path, pool=pool, sampler={"name": "poisson", "delta": 0.25}, budget=5)
    cut = stratify_pool(spec.reading)
    table, chosen = cut.table(sums_of(cut)), filter_of(spec, cut)
    assert table.cost is not None
    deviation = chosen.deviation.of_cells(table, table.prior)
    sizes = sizes_of_cells(chosen.deviation, table)
    assert sizes == pytest.approx(deviation / np.sqrt(table.cost))
    even, own = chosen.least * 60, chosen.factor * float(sizes @ table.count)
    assert even / (even + own) == pytest.approx(0.25)
    (cells,) = read_cells(cut)
    assert cells.outputs.cost is not None
    of_rows = chosen.deviation.of_rows(cells.outputs, cells.prior) / np.sqrt(cells.outputs.cost)
    assert chosen.sizes(cells) == pytest.approx(of_rows)


def test_larger_budgets_keep_the_rows_of_smaller_ones(pool: Path) -> None:
    plans = (spec_of(pool, budget=n).analysis for n in (50, 400, 5000))
    kept = [set(poisson_sample(plan)["id"].to_pylist()) for plan in plans]
    assert kept[0] < kept[1] < kept[2]
    assert len(kept[2]) == ROWS


def test_pool_whose_rows_are_all_alike_is_sampled_evenly(tmp_path: Path) -> None:
    table = pool_table().set_column(2, "prediction", pa.array(np.zeros(ROWS, np.int8)))
    pq.write_table(table, tmp_path / "pool.parquet")
    found = poisson_sample(spec_of(tmp_path / "pool.parquet").analysis)
    assert found[INCLUSION].to_numpy() == pytest.approx(200 / ROWS)


@pytest.mark.parametrize("name", ["delta", "smoothing"])
def test_shares_beyond_1_are_refused(pool: Path, name: str) -> None:
    with pytest.raises(InputError, match=f"sampler: poisson: {name} must be between 0 and 1"):
        poisson_sample(spec_of(pool, sampler={"name": "poisson", name: 1.5}).analysis)


@pytest.mark.parametrize("parameter", [{"cap": True}, {"online": "exclude"}])
def test_what_a_filter_cannot_do_is_told(pool: Path, parameter: dict) -> None:
    with pytest.raises(InputError, match="a filter knows nothing of the other rows"):
        poisson_sample(spec_of(pool, sampler={"name": "poisson", **parameter}).analysis)


def test_rows_by_cell_are_those_of_a_workspace(pool: Path, tmp_path: Path) -> None:
    """One round of the whole budget, or three; with each row's own probability nearly the same."""
    wanted = set(poisson_sample(spec_of(pool).analysis, by_cell=True)["id"].to_pylist())
    assert len(wanted) > 150
    for name, sizes in (("one", [200]), ("three", [90, 60, 50])):
        content = spec_of(pool, workspace=str(tmp_path / name)).to_mapping()
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content))
        assert call("prepare", tmp_path / f"{name}.yaml").status == 0
        drawn: list[int] = []
        for number, size in enumerate(sizes, start=1):
            assert call("sample", tmp_path / name, "--size", size, "--next", "--json").status == 0
            batch = tmp_path / name / "rounds" / f"{number:04d}" / "batch.parquet"
            drawn += pq.read_table(batch)["id"].to_pylist()
        assert len(set(drawn)) == len(drawn)
        assert set(drawn) == wanted
    own = set(poisson_sample(spec_of(pool).analysis)["id"].to_pylist())
    assert len(own ^ wanted) < 0.1 * len(wanted)
