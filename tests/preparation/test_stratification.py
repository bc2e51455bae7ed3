"""How a pool is cut, for every kind of spec."""

from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest

from evalsampling import Evaluation
from evalsampling.measures.build import needs_signature_counts
from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import assign_cells
from evalsampling.preparation.stratification import Stratification
from evalsampling.preparation.summary import Wanted, summarize
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.kdtree import KdTree
from evalsampling.stats.strata import GreatestRank
from tests.cases import CASES
from tests.jobs import make_pool, make_rich_pool
from tests.reference import reference


def test_the_cases_are_what_they_are_called(job: Any) -> None:
    """So that the comparisons above are about something."""
    pools = {
        case: reference(job(make_rich_pool(**shape), budget=300, **keys))
        for case, (shape, keys) in CASES.items()
    }
    stratifications = {case: pool.stratification for case, pool in pools.items()}
    assert isinstance(stratifications["kd"].grouped, KdTree)
    assert isinstance(stratifications["systems"].grouped, GreatestRank)
    scores = {case: cut.scores for case, cut in stratifications.items()}
    assert (scores["kd"].prior, scores["kd"].rules) == ("even", ("none",))
    assert np.all(pools["kd"].table.prior == 0.5)
    assert scores["kd beside a score"].prior == "expit(score)"
    assert scores["systems"].rules == ("expit(score)", "column", "none")
    assert scores["systems and a score of their own"].prior == "column"
    assert not stratifications["systems and a score of their own"].binned_by_score
    assert [path for (path,) in pools["partition"].stratification.grouped.paths] == [
        "2019", "2020", "2021", "null",
    ]  # fmt: skip
    assert set(stratifications["hierarchy of columns"].parting) == {1, 2, 3}
    assert scores["hierarchy of columns"].prior == "expit(score)"
    assert len(stratifications["agglomerative"].parting) == 23
    assert len(stratifications["kd with its own tree"].parting) == 11
    assert len(stratifications["curve"].bin_edges) > 40 > len(stratifications["curve"].edges)
    assert scores["equal width"].prior == "score"
    pooled = pools["pooled signatures"]
    assert needs_signature_counts(pooled.spec.reading)
    assert len(stratifications["pooled signatures"].signatures.pooled) > 1
    assert len(pooled.table.kinds.cell) > len(pooled.table)
    assert pooled.stratification.grid.cells <= 4096
    assert pools["slices"].slices.values == (
        ("Bern", "Genève", "Zürich", "null"),
        ("2019", "2020", "2021", "null"),
        ("false", "null", "true"),
    )
    for counts in pools["slices"].slices.counts:
        np.testing.assert_array_equal(counts.sum(axis=0), pools["slices"].table.count)
    assert pools["classes of systems"].table.kinds.probability.shape[1:] == (2, 3)


@pytest.mark.parametrize("case", CASES)
def test_rows_known_from_the_first_pass_are_in_their_cells(job: Any, case: str) -> None:
    """What it says of the rows of a cell is never too much, and all if edges are cut from it.

    Of k-d trees, ranks by several scores, classes of magnitudes and more than eight signatures it
    says nothing.
    """
    shape, keys = CASES[case]
    rows = make_rich_pool(**shape)
    spec = EvaluationSpec.load(job(rows, budget=300, **keys).spec)
    if not Wanted.of(spec.reading).anything:
        return
    batch = PoolBatch(rows.table.combine_chunks().to_batches()[0])
    summary = summarize(batch, spec.reading, Wanted.of(spec.reading))
    stratification = Stratification.from_summary(summary, spec.reading)
    count = assign_cells(batch, stratification).sums().count.astype(np.int64)
    least = stratification.known_rows(summary)
    assert (least <= count).all()
    if case in ("csf", "equal count", "slices", "classes"):
        np.testing.assert_array_equal(least, count)
    unknown = (
        "kd", "kd beside a score", "kd with its own tree", "partition", "hierarchy of columns",
        "pooled signatures", "systems", "classes of systems", "slices that drive",
        "slices that share cells", "weights and costs",
    )  # fmt: skip
    assert least.sum() == 0 if case in unknown else least.sum() > 0.8 * count.sum()


def test_scores_that_predictions_contradict_are_told_of(job: Any) -> None:
    """Ten times as many are expected as are predicted, by probabilities or by stated log-odds."""
    pool = make_pool()
    log_odds = pc.add(pool.table["score"], 3.0)
    even, sure = np.linspace(0, 1, 2000), np.linspace(0.5, 1, 2000)
    percent = 100 * sure
    for score, keys, told in (
        (log_odds, {"score_is": "log-odds"}, "pool.score: 'score' expects 1,"),
        (even, {}, "pool.score: 'score' expects 1,000 positives where 57 are predicted"),
        (even, {"probability": "score"}, "pool.probability: 'score' expects 1,000 positives"),
        (even, {"score_is": "order"}, None),
        (sure, {}, "pool.score: 'score' is 0.5 or more in every row, also where 0 is predicted"),
        (percent, {}, "pool.score: 'score' is 50 or more in every row, also where 0 is predicted"),
        (percent, {"prediction": {"threshold": 90}}, None),
        (sure, {"score_is": "confidence"}, None),
        (sure, {"prediction": {"threshold": 0.9}}, None),
        (sure, {"prediction": {"threshold": 0.5}}, "pool.prediction: by the threshold 0.5 all"),
    ):
        one = job(pool.with_columns(score=score), pool=keys, strata={"leaves": 64})
        warnings = one.prepare("--in-process", "--json").json["warnings"]
        assert [told is not None and warning.startswith(told) for warning in warnings] == (
            [] if told is None else [True]
        )


def test_a_score_that_is_turned_round_is_told_of(job: Any) -> None:
    pool = make_pool()
    probability = pc.divide(1.0, pc.add(1.0, pc.exp(pool.table["score"])))  # of the other class
    for given, times in ((pool, 0), (pool.with_columns(score=probability), 1)):
        warnings = job(given).prepare("--in-process").json["warnings"]
        told = [each for each in warnings if "is lower where positives are predicted" in each]
        assert len(told) == times
        assert all(each.startswith("pool.score: 'score' is lower") for each in told)
        assert all("or say labels.positive: 0 if that is the class" in each for each in told)


@pytest.mark.parametrize("systems", [1, 2])
def test_a_probability_of_the_other_class_beside_a_score_is_told_of(systems: int) -> None:
    """Its Brier score was 1.034, and the true one 0.253."""
    score = np.linspace(0, 1, 2000)
    columns = {"score": score, "p": score, "other": 1 - score, "says": score > 0.5}
    own = {"score": "score", "prediction": "says", "probability": "other"}
    several = {"a": {**own, "probability": "p"}, "b": own}
    evaluation = Evaluation.from_frame(columns, **(own if systems == 1 else {"systems": several}))
    (told,) = evaluation.state.pool.stratification.about_scores(evaluation.analysis.table)
    whose = "pool" if systems == 1 else "pool.systems.b"
    assert told.startswith(f"{whose}.probability: 'other' is lower where positives are predicted")


@pytest.mark.parametrize(("of_b", "told"), [("score", 0), ("distance", 1)])
def test_of_several_systems_a_score_that_is_turned_round_is_told_of(of_b: str, told: int) -> None:
    """Cells of several systems know no scores, but the probabilities that they are."""
    score = np.linspace(0, 1, 2000)
    columns = {"score": score, "distance": 1 - score, "says": score > 0.9}
    systems = {
        name: {"score": of, "prediction": "says"} for name, of in (("a", "score"), ("b", of_b))
    }
    evaluation = Evaluation.from_frame(columns, systems=systems)
    warnings = evaluation.state.pool.stratification.about_scores(evaluation.analysis.table)
    turned = [each for each in warnings if "is lower where positives are predicted" in each]
    assert len(turned) == told
    assert all(each.startswith("pool.systems.b.score: 'distance'") for each in turned)


@pytest.mark.parametrize(
    ("threshold", "told"),
    [
        (0.5, None),
        (20, "no row is predicted positive"),
        (-0.1, "all rows are predicted"),
        (0.01, "1,996 of 2,000 rows are predicted"),
    ],
)
def test_a_threshold_off_the_scale_is_told_of(job: Any, threshold: float, told: Any) -> None:
    pool = make_pool()
    probability = pc.divide(1.0, pc.add(1.0, pc.exp(pc.negate(pool.table["score"]))))
    keys = {"prediction": {"threshold": threshold}}
    given = pool.with_columns(score=probability)
    warnings = job(given, pool=keys).prepare("--in-process").json["warnings"]
    first = f"pool.prediction: by the threshold {threshold:g} {told}"
    assert any(each.startswith(first) for each in warnings) == (told is not None)
    assert any("Scores go from 0.00" in each for each in warnings) == (told is not None)


def test_a_class_that_is_never_predicted_is_told_of(job: Any) -> None:
    """By all rows: none of the first ones may be, where positives are rare. All may be meant so."""
    alike = make_pool().with_columns(never=[0] * 2000, always=[1] * 2000)
    for column, times in (("never", 1), ("always", 0), ("prediction", 0)):
        warnings = job(alike, pool={"prediction": column}).prepare("--in-process").json["warnings"]
        told = [each for each in warnings if each.startswith("pool.prediction: no row is")]
        assert len(told) == times
        assert all(each.endswith("Is 1 the class you ask about?") for each in told)


def test_a_column_that_is_no_prediction_is_told_of(job: Any) -> None:
    """As a flag of the records, the only column of 0 and 1 beside a score."""
    flag = np.random.default_rng(0).integers(0, 2, 2000)
    flagged = make_pool().with_columns(has_phone=flag)
    for column, times in (("has_phone", 1), ("prediction", 0)):
        one = job(flagged, pool={"prediction": column})
        warnings = one.prepare("--in-process").json["warnings"]
        told = "pool.prediction: 'has_phone' has nothing to do with 'score', which is as high"
        assert sum(each.startswith(told) for each in warnings) == times


def test_links_alone_say_nothing_of_links_that_were_missed(job: Any) -> None:
    """A pool of what was predicted has a recall of 1. Who asks of precision alone means that."""
    links = make_pool().with_columns(link=[1] * 2000)
    for column, measure, times in (
        ("link", ["f1", "precision"], 1), ("link", "recall", 1), ("link", "precision", 0),
        ("link", "accuracy", 0), ({"threshold": -99}, "f1", 1),
        ({"threshold": -99}, "precision", 0), ("prediction", "f1", 0),
    ):  # fmt: skip
        one = job(links, pool={"prediction": column}, measure=measure)
        warnings = one.prepare("--in-process").json["warnings"]
        left_out = "recall and F1 leave out all positives that were missed"
        assert [each.endswith(left_out) for each in warnings if "all rows are" in each] == (
            [True] * times or [False] * (column == {"threshold": -99})
        )


def test_features_without_a_score_come_with_a_word(job: Any) -> None:
    """Not where a score says which rows are likely positive."""
    said = {}
    for case in ("kd", "kd beside a score"):
        shape, keys = CASES[case]
        pool = reference(job(make_rich_pool(**shape), budget=300, **keys))
        said[case] = pool.stratification.about_features()
        assert {*said[case]} <= {*pool.stratification.warnings(pool.table)}
    assert "features do not say which rows are likely positive" in said["kd"][0]
    assert said["kd beside a score"] == []
