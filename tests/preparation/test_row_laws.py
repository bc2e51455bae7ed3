"""Laws of rows: the proposal of each sampler where every row is a cell, and what they refuse."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.errors import InputError
from evalsampling.preparation.local import read_cells, read_sums, stratify_pool
from evalsampling.preparation.row_laws import DESIGNS, Design, RowLaw
from evalsampling.samplers.base import no_rounds
from evalsampling.samplers.build import build_sampler
from evalsampling.spec import EvaluationSpec

ROWS = 30


def spec_of(folder: Path, sampler: Any, **keys: Any) -> EvaluationSpec:
    """A pool of rows with a score of their own each, which the strata tell apart."""
    rng = np.random.default_rng(2)
    score = np.sort(rng.uniform(0.03, 0.97, ROWS))
    columns = {
        "id": np.arange(ROWS),
        "score": score,
        "prediction": (rng.random(ROWS) < score) * 1,
        # A class of costs is a power of two, and all rows of a class cost the same.
        "cost": 4.0 ** rng.integers(0, 2, ROWS),
        "own": rng.uniform(0.05, 0.95, ROWS),
    }
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    content = {
        "pool": {"path": str(folder / "pool.parquet"), "cost": "cost"},
        "measure": "f1",
        "strata": {"edges": ((score[1:] + score[:-1]) / 2).tolist()},
        "sampler": sampler,
        **keys,
    }
    return EvaluationSpec.from_mapping(content, folder)


@pytest.mark.parametrize(
    "sampler",
    [
        *DESIGNS,
        {"name": "active_risk", "model": "uniform"},
        {"name": "active_risk", "model": "prior"},
        {"name": "active_risk", "model": "prior", "class_prior": [0.9, 0.1]},
        {"name": "optimal_importance", "smoothing": 0.7, "delta": 0.3},
    ],
    ids=str,
)
@pytest.mark.parametrize("measure", ["f1", "accuracy", {"joint": ["precision", "recall"]}], ids=str)
def test_a_law_is_the_proposal_of_the_sampler_where_each_row_is_a_cell(
    tmp_path: Path, sampler: Any, measure: Any
) -> None:
    """The sampler knows cells, the law rows; the probabilities are those of rows in both."""
    spec = spec_of(tmp_path, sampler, measure=measure)
    stratification = stratify_pool(spec)
    law, table = RowLaw.from_spec(spec, stratification, read_sums(spec, stratification))
    (cells,) = read_cells(spec, stratification)
    size, delta = law.of_rows(cells), Design.of(spec).delta
    found = (1 - delta) * size / size.sum() + delta / ROWS
    assert np.all(table.count == 1)
    proposal = build_sampler(spec, stratification.ranges).proposal(table, no_rounds(table))
    assert proposal is not None
    place = np.searchsorted(table.code, cells.cell)
    assert found == pytest.approx(proposal.cell_probability[place], rel=1e-6)
    assert law.of_cells(table)[place] == pytest.approx(size, rel=1e-6)


def test_a_stochastic_oracle_has_the_law_of_equation_5(tmp_path: Path) -> None:
    """[MR] eq. 5: the root of sum_y n^2 p, of accuracy the root of the chance of an error."""
    spec = spec_of(tmp_path, "importance", measure="accuracy", labels={"oracle": "stochastic"})
    stratification = stratify_pool(spec)
    law, _ = RowLaw.from_spec(spec, stratification, read_sums(spec, stratification))
    (cells,) = read_cells(spec, stratification)
    table = pq.read_table(tmp_path / "pool.parquet").to_pydict()
    score, cost = np.array(table["score"]), np.array(table["cost"])
    error = np.where(np.array(table["prediction"]) == 1, 1 - score, score)
    assert law.of_rows(cells) == pytest.approx(np.sqrt(error / cost), rel=1e-6)


def test_several_systems_have_the_mean_of_their_distributions(tmp_path: Path) -> None:
    """[AE] eq. 5.11, of accuracy of a system with probabilities of its own: sqrt(h / cost)."""
    systems = {
        "a": {"score": "score", "prediction": "prediction", "probability": "own"},
        "b": {"score": "score", "prediction": "prediction"},
    }
    pool = {"path": str(tmp_path / "pool.parquet"), "cost": "cost", "systems": systems}
    spec = spec_of(tmp_path, "active_risk", pool=pool, measure="accuracy")
    stratification = stratify_pool(spec)
    law, _ = RowLaw.from_spec(spec, stratification, read_sums(spec, stratification))
    (cells,) = read_cells(spec, stratification)
    table = pq.read_table(tmp_path / "pool.parquet").to_pydict()
    own, score = np.array(table["own"]), np.array(table["score"])
    assert law.believed.of_rows(cells)[:, 1] == pytest.approx((own + score) / 2, rel=1e-6)


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        ("ais", "sampler: ais: has no chance of each row's own; row by row draw passive, imp"),
        ({"name": "importance", "calibration": "logistic"}, "sampler.calibration: importance"),
        ({"name": "passive", "smoothing": 0.5}, "sampler.smoothing: passive takes none"),
        ({"name": "active_risk", "delta": -1}, "sampler: active_risk: delta"),
        ({"name": "active_uniD", "smoothing": 3}, "sampler: active_uniD: smoothing"),
        ({"name": "active_risk", "model": "guess"}, "sampler.model: must be scores, uniform or"),
        (
            {"name": "active_risk", "model": "prior", "class_prior": [0.5, 0.4]},
            "sampler.class_prior: must be 2 shares",
        ),
    ],
    ids=str,
)
def test_wrong_samplers_are_refused(tmp_path: Path, sampler: Any, words: str) -> None:
    spec = spec_of(tmp_path, sampler)
    stratification = stratify_pool(spec)
    with pytest.raises(InputError, match=words):
        RowLaw.from_spec(spec, stratification, read_sums(spec, stratification))


def test_queries_are_refused(tmp_path: Path) -> None:
    content = {
        "pool": {"path": "x", "lists": {"items": "document"}, "systems": {"a": {"score": "r"}}},
        "measure": "dcg",
        "sampler": "passive",
    }
    with pytest.raises(InputError, match="queries are not drawn row by row"):
        Design.of(EvaluationSpec.from_mapping(content, tmp_path))
