"""How a pool is cut, for every kind of spec."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling.measures.build import needs_signature_counts
from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import assign_cells
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import summarize
from evalsampling.spec import EvaluationSpec
from tests.cases import CASES
from tests.jobs import Pool, make_pool, make_rich_pool
from tests.reference import reference


def test_the_cases_are_what_they_are_called(job: Any) -> None:
    """So that the comparisons above are about something."""
    pools = {
        case: reference(job(make_rich_pool(**shape), budget=300, **keys))
        for case, (shape, keys) in CASES.items()
    }
    stratifications = {case: pool.stratification for case, pool in pools.items()}
    assert stratifications["kd"].tree is not None
    assert (stratifications["kd"].prior, stratifications["kd"].rules) == ("even", ("none",))
    assert np.all(pools["kd"].table.prior == 0.5)
    assert stratifications["kd beside a score"].prior == "expit(score)"
    assert stratifications["systems"].rules == ("expit(score)", "column", "none")
    assert stratifications["systems and a score of their own"].prior == "column"
    assert not stratifications["systems and a score of their own"].binned_by_score
    assert [path for (path,) in pools["partition"].stratification.partition.paths] == [
        "2019", "2020", "2021", "null",
    ]  # fmt: skip
    assert set(stratifications["hierarchy of columns"].parting) == {1, 2, 3}
    assert stratifications["hierarchy of columns"].prior == "expit(score)"
    assert len(stratifications["agglomerative"].parting) == 23
    assert len(stratifications["kd with its own tree"].parting) == 11
    assert len(stratifications["curve"].bin_edges) > 40 > len(stratifications["curve"].edges)
    assert stratifications["equal width"].prior == "score"
    pooled = pools["pooled signatures"]
    assert needs_signature_counts(pooled.spec)
    assert len(stratifications["pooled signatures"].signatures.pooled) > 1
    assert len(pooled.table.kind_cell) > len(pooled.table)
    assert pooled.stratification.grid.cells <= 4096
    assert pools["slices"].slices.values == (
        ("Bern", "Genève", "Zürich", "null"),
        ("2019", "2020", "2021", "null"),
        ("false", "null", "true"),
    )
    for counts in pools["slices"].slices.counts:
        np.testing.assert_array_equal(counts.sum(axis=0), pools["slices"].table.count)
    assert pools["classes of systems"].table.outputs.probability.shape[1:] == (2, 3)


@pytest.mark.parametrize("case", CASES)
def test_rows_known_from_the_first_pass_are_in_their_cells(job: Any, case: str) -> None:
    """What it says of the rows of a cell is never too much, and all if edges are cut from it.

    Of k-d trees and of more than eight signatures it says nothing.
    """
    shape, keys = CASES[case]
    rows = make_rich_pool(**shape)
    spec = EvaluationSpec.load(job(rows, budget=300, **keys).spec)
    if Stratification.given(spec) is not None:
        return
    batch = PoolBatch(rows.table.combine_chunks().to_batches()[0])
    summary = summarize(batch, spec)
    stratification = Stratification.from_summary(summary, spec)
    count = assign_cells(batch, spec, stratification).sums().count.astype(np.int64)
    least = stratification.known_rows(summary)
    assert (least <= count).all()
    if case in ("csf", "equal count", "slices", "classes"):
        np.testing.assert_array_equal(least, count)
    unknown = (
        "kd", "kd beside a score", "kd with its own tree", "partition", "hierarchy of columns",
        "pooled signatures", "classes of systems", "slices that drive", "slices that share cells",
    )  # fmt: skip
    assert least.sum() == 0 if case in unknown else least.sum() > 0.8 * count.sum()


@pytest.mark.parametrize(
    ("scores", "told"),
    [
        (lambda rng: rng.uniform(0, 100, 2000), "'score' from 0."),
        (lambda rng: np.round(rng.exponential(6, 2000), 1), "from 0 to "),
        (lambda rng: rng.normal(40, 20, 2000), "surely: calibrate the scores, or name a column of"),
        (lambda rng: rng.normal(-20, 5, 2000), None),
        (lambda rng: np.where(rng.random(2000) < 0.01, 40.0, -20.0) + rng.normal(size=2000), None),
        (lambda rng: rng.normal(0, 12, 2000), None),
        (lambda rng: rng.uniform(0, 8, 2000), None),
        (lambda rng: rng.uniform(0, 1, 2000), None),
    ],
)
def test_scores_that_are_no_log_odds_are_told_of(job: Any, scores: Any, told: str | None) -> None:
    """A similarity from 0 to 100 makes all rows positive; log-odds of rare positives do not."""
    pool = make_pool()
    place = pool.table.schema.get_field_index("score")
    table = pool.table.set_column(place, "score", pa.array(scores(np.random.default_rng(3))))
    one = job(Pool(table, pool.truth), strata={"leaves": 64})
    prepared = one.prepare("--in-process", "--json").json
    found = [warning for warning in prepared["warnings"] if "pool.score: " in warning]
    assert len(found) == (told is not None)
    assert told is None or (told in found[0] and "is read as log-odds" in found[0])


def test_probabilities_beside_the_score_need_no_log_odds(job: Any) -> None:
    pool = make_pool()
    place = pool.table.schema.get_field_index("score")
    table = pool.table.set_column(place, "score", pa.array(np.linspace(0, 100, 2000)))
    table = table.append_column("chance", pa.array(np.linspace(0, 1, 2000)))
    one = job(Pool(table, pool.truth), pool={"probability": "chance"}, strata={"leaves": 64})
    assert one.prepare("--in-process", "--json").json["warnings"] == []


def test_features_without_a_score_come_with_a_word(job: Any) -> None:
    """Not where a score says which rows are likely positive."""
    said = {}
    for case in ("kd", "kd beside a score"):
        shape, keys = CASES[case]
        pool = reference(job(make_rich_pool(**shape), budget=300, **keys))
        said[case] = pool.stratification.about_features(pool.spec)
        assert {*said[case]} <= {*pool.stratification.warnings(pool.spec, pool.table)}
    assert "features do not say which rows are likely positive" in said["kd"][0]
    assert said["kd beside a score"] == []
