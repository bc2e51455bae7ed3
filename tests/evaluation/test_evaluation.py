"""Evaluations in memory."""

from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation, InputError, measures
from tests.evaluation.systems import three_systems
from tests.evaluation.user_measures import ErrorOdds
from tests.jobs import make_pool, make_rich_pool


def arrays(**changes: Any) -> dict[str, Any]:
    table = make_pool().table
    columns = {name: table[name].to_numpy() for name in ("score", "prediction", "id")}
    return {**columns, "strata": {"leaves": 16}, "seed": 5, **changes}


def test_probabilities_by_class_equal_those_of_the_positive_class() -> None:
    p = np.linspace(0, 1, 2000)
    one = Evaluation.from_arrays(**arrays(probability=p))
    both = Evaluation.from_arrays(**arrays(probability=np.stack([1 - p, p], axis=1)))
    np.testing.assert_array_equal(one.analysis.table.prior, both.analysis.table.prior)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"prediction": np.zeros(1999, dtype=int)}, "prediction: 1999 values for 2000 rows"),
        ({"score": np.full(2000, np.nan)}, "column 'score', row 0"),
        ({"id": np.zeros(2000, dtype=int)}, "duplicate id 0"),
        ({"measure": "f3"}, "unknown measure 'f3'"),
        ({"prediction": np.full(2000, 7)}, "column 'prediction', row 0: 7 is none of"),
        ({"score": None, "prediction": None}, "no columns are given"),
        ({"columns": {"city": np.zeros((2000, 2))}}, "city: must have one dimension, got 2"),
        ({"columns": {"city": np.zeros(3)}}, "city: 3 values for 2000 rows"),
        ({"pool": {"slices": ["city"]}}, "column 'city' is missing"),
        ({"pool": {"slices": ["score"]}}, "column 'score', row 0: slices are whole numbers"),
        (
            {"pool": {"slices": ["zip"]}, "columns": {"zip": np.arange(2000)}},
            "pool.slices: column 'zip' has 2000 values or more, at most 1000",
        ),
        (
            {
                "pool": {"features": ["f"]},
                "columns": {"f": np.full(2000, np.inf)},
                "strata": {"method": "kd"},
            },
            "column 'f', row 0: must be a finite number, got inf",
        ),
        (
            {"strata": {"method": "geometric"}},
            "strata.method: geometric: geometric edges need positive scores",
        ),
        ({"probability": np.full((2000, 2), 0.3)}, "probabilities of the classes sum to 0.6"),
    ],
)
def test_bad_arrays(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Evaluation.from_arrays(**arrays(**changes))


@pytest.mark.parametrize("size", [0, -1, 1.5, True])
def test_size_of_a_round(size: Any) -> None:
    evaluation = Evaluation.from_arrays(**arrays())
    with pytest.raises(InputError, match="whole number of at least 1"):
        evaluation.sample(size)
    assert not evaluation.history.rounds


def rich(**changes: Any) -> tuple[dict[str, Any], dict[Any, int]]:
    """Arguments of an evaluation of two systems with slices, and the truth."""
    pool = make_rich_pool(rows=2000)
    columns = {
        name: pool.table[name].to_numpy()
        for name in ("s0.score", "s0.prediction", "s1.chance", "s1.prediction", "x", "y", "year")
    }
    columns["city"] = np.array(pool.table["city"].to_pylist(), dtype=object)
    columns["new"] = np.array(pool.table["new"].to_pylist(), dtype=object)
    systems = {
        "old": {"score": "s0.score", "prediction": "s0.prediction"},
        "new": {"score": "s1.chance", "prediction": "s1.prediction"},
    }
    arguments = {
        "score": None,
        "prediction": None,
        "id": pool.table["id"].to_numpy(),
        "columns": columns,
        "pool": {"systems": systems, "slices": ["city", "new"]},
        "strata": {"leaves": 16},
        "seed": 5,
        **changes,
    }
    return arguments, pool.truth


def answered(
    evaluation: Evaluation, truth: dict[Any, int], rounds: int = 3, size: int = 100
) -> Evaluation:
    for _ in range(rounds):
        ids = evaluation.sample(size)
        evaluation.label(ids, np.array([truth[id] for id in ids.tolist()]))
    return evaluation


@pytest.mark.slow
def test_systems_and_slices_in_memory() -> None:
    arguments, truth = rich(measure=["f1", "recall"], sampler="ais")
    evaluation = answered(Evaluation.from_arrays(**arguments), truth, rounds=4)
    targets = {
        (e.measure, e.target.system, e.target.against, e.target.slice): e
        for e in evaluation.estimate()
    }
    assert len(targets) == 3 * 2 * (1 + 4 + 3)
    estimates = {
        (measure, system, slice): one
        for (measure, system, against, slice), one in targets.items()
        if against is None
    }
    table = make_rich_pool(rows=2000).table
    y = np.array([truth[id] for id in table["id"].to_pylist()])
    domains = {
        None: np.ones(2000, dtype=bool),
        "city=Bern": np.array(table["city"].to_pylist()) == "Bern",
        "new=false": np.array([value is False for value in table["new"].to_pylist()]),
        "new=null": np.array([value is None for value in table["new"].to_pylist()]),
    }
    for number, system in enumerate(("old", "new")):
        f = table[f"s{number}.prediction"].to_numpy()
        for title, inside in domains.items():
            hits = np.sum((f * y)[inside])
            for measure, true in [
                ("f1", 2 * hits / np.sum((f + y)[inside])),
                ("recall", hits / np.sum(y[inside])),
            ]:
                told = estimates[measure, system, title]
                assert told.intervals[0].low <= true <= told.intervals[0].high
                if title is None:
                    assert told.value == pytest.approx(true, abs=4 * told.standard_error)


def test_systems_in_memory_are_those_of_a_workspace(job: Any) -> None:
    arguments, _ = rich()
    keys = {k: arguments[k] for k in ("pool", "strata", "seed")}
    one = job(make_rich_pool(rows=2000), budget=2000, **keys).prepared()
    one.sample("--size", 30)
    asked = [id for _, id in one.asked(1)]
    assert Evaluation.from_arrays(**arguments).sample(30).tolist() == asked


def test_features_without_a_score() -> None:
    arguments, truth = rich(strata={"method": "kd", "leaves": 10}, measure=["f1", "accuracy"])
    arguments["prediction"] = arguments["columns"].pop("s0.prediction")
    arguments["pool"] = {"features": ["x", "y"], "slices": ["year"]}
    arguments["columns"]["year"] = arguments["columns"]["year"].astype(str)
    evaluation = answered(Evaluation.from_arrays(**arguments), truth)
    assert len(evaluation.analysis.table.leaves) == 10
    y = np.array(list(truth.values()))
    f1, *_ = evaluation.estimate()
    f = arguments["prediction"]
    true = 2 * np.sum(f * y) / np.sum(f + y)
    assert f1.value == pytest.approx(true, abs=4 * f1.standard_error)


def test_a_stochastic_oracle_is_asked_at_every_draw() -> None:
    evaluation = Evaluation.from_arrays(
        **arrays(labels={"oracle": "stochastic"}, strata={"leaves": 2}, sampler="importance")
    )
    seen: list[int] = []
    for _ in range(4):
        ids = evaluation.sample(150)
        assert len(ids) == 150, "repeats are questions too"
        seen += ids.tolist()
        evaluation.label(ids, np.arange(len(ids)) % 2)
        drawn = evaluation.history.rounds[-1]
        assert drawn.new.all()
        assert evaluation.history.label[drawn.question].tolist() == [0, 1] * 75
    assert len(set(seen)) < len(seen), "no row was drawn twice: the test would prove nothing"
    assert len(evaluation.history) == 600
    assert not evaluation.analysis.exhausted


def test_labels_of_a_stochastic_oracle_go_to_open_questions() -> None:
    evaluation = Evaluation.from_arrays(
        **arrays(labels={"oracle": "stochastic"}, strata={"leaves": 2}, sampler="importance")
    )
    ids = evaluation.sample(400)
    values, times = np.unique(ids, return_counts=True)
    twice = int(values[times == 2][0])
    with pytest.raises(InputError, match=f"id {twice} has more labels than it was drawn"):
        evaluation.label(np.array([twice] * 3), np.array([1, 0, 1]))
    assert len(evaluation.history.labelled) == 0
    evaluation.label(np.array([twice]), np.array([1]))
    evaluation.label(np.array([twice]), np.array([0]))
    mine = np.flatnonzero(ids == twice)
    assert evaluation.history.label[mine].tolist() == [1, 0]
    with pytest.raises(InputError, match=f"id {twice} has more labels than it was drawn"):
        evaluation.label(np.array([twice]), np.array([1]))
    with pytest.raises(InputError, match="id -5 was not drawn"):
        evaluation.label(np.array([-5]), np.array([1]))
    assert evaluation.history.label[mine].tolist() == [1, 0]


def test_an_answer_about_a_row_of_two_rounds_is_that_of_the_earlier_one() -> None:
    evaluation = Evaluation.from_arrays(
        **arrays(labels={"oracle": "stochastic"}, strata={"leaves": 2}, sampler="importance")
    )
    first, second = evaluation.sample(200), evaluation.sample(200)
    ids = np.concatenate([first, second])
    once = [id for id in first if np.sum(first == id) == 1 and np.sum(second == id) == 1]
    evaluation.label(np.array(once[:1]), np.array([1]))
    answered = np.flatnonzero(evaluation.history.label >= 0)
    assert answered.tolist() == [np.flatnonzero(ids == once[0])[0]]
    assert answered[0] < 200


def with_errors(sampler: str = "ais") -> Evaluation:
    """Precision and recall of predictions of which some of both kinds are wrong, two rounds."""
    pool = make_pool()
    prediction = (pool.table["score"].to_numpy() > 0.7).astype(int)
    truth = np.array(list(pool.truth.values()))
    prediction[np.flatnonzero(truth)[::4]] = 0
    measure = {"joint": ["precision", "recall"]}
    evaluation = Evaluation.from_arrays(
        **arrays(prediction=prediction, measure=measure, sampler=sampler)
    )
    answered(evaluation, pool.truth, rounds=2, size=40)
    return evaluation


def test_region() -> None:
    """It is centred on the estimates, and its projections are wider than single intervals."""
    evaluation = with_errors()
    estimates = evaluation.estimate()
    assert not any(estimate.intervals[0].method == "census" for estimate in estimates)
    joint = measures.Joint((measures.Precision(), measures.Recall()))
    region = evaluation.analysis.region(joint)
    assert region.centre.tolist() == [estimate.value for estimate in estimates]
    errors = np.sqrt(np.diag(region.covariance))
    np.testing.assert_allclose(errors, [e.standard_error for e in estimates], rtol=1e-9)
    assert region.radius > 5.99, "two things vary"


def test_regions_of_names() -> None:
    """As `estimate` takes them; of two systems without the difference, which follows from them."""
    evaluation = with_errors()
    joint = measures.Joint((measures.Precision(), measures.Recall()))
    expected = evaluation.analysis.region(joint)
    for asked in (["precision", "recall"], {"joint": ["precision", "recall"]}, joint.parts):
        found = evaluation.analysis.region(asked)
        assert found.centre.tolist() == expected.centre.tolist()
        assert found.radius == expected.radius
    assert evaluation.analysis.region("recall").centre.tolist() == expected.centre[1:].tolist()
    for wrong, words in (
        ("recal", "unknown measure 'recal'"),
        ([], "a region needs a measure"),
        (7, "no measure: 7"),
        (measures.Precision(system=1), "precision: there is no system 1"),
    ):
        with pytest.raises(InputError, match=words):
            evaluation.analysis.region(wrong)
    several, label = three_systems(sampler="passive")
    ids = several.sample(400)
    several.label(ids, label[ids])
    assert several.analysis.region("accuracy").centre.shape == (3,)


def test_a_region_of_an_undefined_measure_is_refused() -> None:
    """All rows have a label, none is positive and none is predicted so."""
    score = np.linspace(0.1, 0.9, 40)
    evaluation = Evaluation.from_arrays(score, np.zeros(40, int), budget=40, seed=1)
    rows = evaluation.sample(40)
    evaluation.label(rows, np.zeros(len(rows), int))
    with pytest.raises(InputError, match="a region needs finite values and covariances"):
        evaluation.analysis.region(["precision", "accuracy"])


@pytest.mark.parametrize("sampler", ["ais", "calibrated"])
def test_a_region_of_a_slice_that_cells_do_not_know_is_refused(sampler: str) -> None:
    """With the first of them it ended with an error that is no `InputError`."""
    pool = make_pool()
    half = np.where(np.arange(len(pool.table)) % 2, "a", "b")
    evaluation = Evaluation.from_arrays(
        **arrays(sampler=sampler, columns={"half": half}, pool={"slices": ["half"]})
    )
    answered(evaluation, pool.truth, rounds=1)
    entry = {"name": "recall", "where": {"half": "a"}}
    for asked in (entry, [entry, "precision"], {"joint": [entry, "precision"]}):
        with pytest.raises(InputError, match="half=a: cells do not tell these rows apart"):
            evaluation.analysis.region(asked)


def test_region_that_cannot_be_told() -> None:
    truth = make_pool().truth
    evaluation = Evaluation.from_arrays(**arrays(measure="precision", sampler="ais"))
    joint = measures.Joint((measures.Precision(), measures.Recall()))
    ids = evaluation.sample(30)
    evaluation.label(ids, np.array([truth[id] for id in ids.tolist()]))
    with pytest.raises(InputError, match=r"joint\(precision, recall\): rows that add to it had no"):
        evaluation.analysis.region(joint)
    other = Evaluation.from_arrays(**arrays())
    with pytest.raises(InputError, match="precision"):
        other.analysis.region(measures.Precision())


def test_measure_of_the_users_own() -> None:
    pool = make_pool()
    evaluation = answered(Evaluation.from_arrays(**arrays(sampler="passive")), pool.truth)
    odds, accuracy = evaluation.estimate([ErrorOdds(), measures.Accuracy()])
    assert (odds.measure, accuracy.measure) == ("error_odds", "accuracy")
    assert odds.value == pytest.approx((1 - accuracy.value) / accuracy.value)
    # The delta method by hand: the derivative of r / (1 - r) is 1 / (1 - r)^2.
    assert odds.standard_error == pytest.approx(accuracy.standard_error / accuracy.value**2)
    assert [e.measure for e in evaluation.estimate()] == ["f1"]


def test_rows_of_a_workspace_are_not_in_memory(job: Any) -> None:
    one = job().prepared()
    with pytest.raises(InputError, match="not in memory: use its workspace"):
        Evaluation.open(one.workspace).items([1])


def test_a_point_of_a_curve_at_the_threshold_of_predictions_is_their_precision() -> None:
    """No leaf is cut there."""
    rng = np.random.default_rng(1)
    match = rng.random(20_000) < 0.02
    score = rng.normal(np.where(match, 2.0, -6.0), 2.5)
    curve = {"name": "pr_curve", "thresholds": [0.0]}
    one = Evaluation.from_arrays(
        score, score >= 0, measure=["f1", "precision", curve], strata={"leaves": 12}, seed=1
    )
    ids = one.sample(200)
    one.label(ids, match[ids])
    _, precision, point, *_ = one.estimate()
    assert point.value == pytest.approx(precision.value, rel=1e-9)
    assert not point.warnings


def test_a_threshold_within_a_bin_is_not_taken_for_its_end() -> None:
    """Draws for recall leave negatives alone; some of the highest bin reach the threshold."""
    truth = make_pool().truth
    evaluation = Evaluation.from_arrays(
        **arrays(measure="recall", strata={"edges": [-2.0, 0.0, 1.5]}, sampler="ais")
    )
    answered(evaluation, truth, rounds=1)
    precision, recall, f1 = evaluation.estimate([{"name": "pr_curve", "thresholds": [2.5]}])
    for told in (precision, recall, f1):
        assert "cannot be estimated from rows drawn for recall" in str(told.reason)
