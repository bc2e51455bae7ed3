"""What intervals rest on."""

from evalsampling import Evaluation
from evalsampling.inference.assumptions import ASSUMES, assumed
from evalsampling.inference.class_rates import ClassRates
from evalsampling.inference.intervals import Interval
from tests.samplers.pools import make_pool


def test_every_kind_that_an_estimate_has_says_what_it_rests_on() -> None:
    pool = make_pool(2000, 12, seed=3, positive=0.05, strength=3)
    score, label = pool.probability[:, 1], pool.label
    evaluation = Evaluation.from_frame(
        {"score": score, "says": score > 0.5}, score="score", prediction="says", seed=1
    )
    ids = evaluation.sample(100)
    evaluation.label(ids, label[ids])
    (one,) = evaluation.estimate()
    assert set(assumed(one.intervals)) == {interval.kind for interval in one.intervals}


def test_kinds_come_in_one_order_and_others_are_left_out() -> None:
    kinds = ["design-based", "simultaneous", "model-based"]
    intervals = [Interval(0, 1, kind, "any") for kind in kinds]
    assert list(assumed(intervals)) == ["model-based", "design-based"]
    assert assumed([]) == {}
    assert all(ASSUMES.values())


def test_no_score_is_named_where_there_is_none() -> None:
    of_strata = assumed([Interval(0, 1, "model-based", ClassRates.method)])["model-based"]
    assert "predicted alike" in of_strata
    assert "rises with the score" not in of_strata
