"""Pools in memory, whatever library holds them."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.measures import Least, Precision, Recall, Sliced
from tests.jobs import Pool, make_rich_pool
from tests.slow import slowly

pd = pytest.importorskip("pandas")

ROWS = 200


def columns() -> dict[str, Any]:
    """Columns as lists, some with missing values."""
    rng = np.random.default_rng(4)
    score = rng.random(ROWS)
    return {
        "key": [f"k{row}" for row in range(ROWS)],
        "score": score.tolist(),
        "guess": (score > 0.6).astype(int).tolist(),
        "city": [("Bern", "Basel", None)[row % 3] for row in range(ROWS)],
        "year": [(2019, 2020, None)[row % 3] for row in range(ROWS)],
        "other": [object()] * ROWS,
    }


def evaluate(frame: Any) -> Evaluation:
    pool = {"slices": ["city", "year"]}
    return Evaluation.from_frame(frame, id="key", prediction="guess", pool=pool, seed=2)


def arrow() -> pa.Table:
    return pa.table({name: values for name, values in columns().items() if name != "other"})


def polars_frame() -> Any:
    return pytest.importorskip("polars").from_arrow(arrow())


FRAMES = {
    "mapping": columns,
    "pandas": lambda: pd.DataFrame(columns()),
    "pandas with its new types": lambda: pd.DataFrame(columns()).convert_dtypes(),
    "pandas in Arrow": lambda: arrow().to_pandas(types_mapper=pd.ArrowDtype),
    "arrow": arrow,
    "polars": polars_frame,
}


@pytest.mark.parametrize("name", FRAMES)
def test_frames_of_any_library_are_one_pool(name: str) -> None:
    """Nulls are a slice of their own; columns that are not named may hold anything."""
    one, other = evaluate(FRAMES[name]()), evaluate(FRAMES["mapping"]())
    assert one.sample(20).tolist() == other.sample(20).tolist()
    titles = [domain.title for domain in one.analysis.scope.domains]
    assert titles == [
        None, "city=Basel", "city=Bern", "city=null", "year=2019", "year=2020", "year=null",
    ]  # fmt: skip
    np.testing.assert_array_equal(one.analysis.table.prior, other.analysis.table.prior)


@pytest.mark.parametrize("kind", ["object", "string", "str", "category"])
def test_text_of_pandas(kind: str) -> None:
    frame = pd.DataFrame(columns())
    frame["key"] = frame["key"].astype(kind)
    frame["city"] = frame["city"].astype(kind if kind != "str" else "object")
    assert all(id.startswith("k") for id in evaluate(frame).sample(5).tolist())


def test_the_index_names_the_rows() -> None:
    """A frame that was filtered, say: its rows are not what their numbers say."""
    frame = pd.DataFrame(columns()).set_index("key")[["score", "guess"]][::-1]
    one = Evaluation.from_frame(frame, prediction="guess", seed=2)
    two = Evaluation.from_arrays(frame["score"], frame["guess"], seed=2)
    ids = one.sample(10)
    assert ids.tolist() == two.sample(10).tolist()
    truth = (frame["score"] > 0.7).astype(int)
    one.label(ids, truth.loc[ids])
    two.label(ids, truth)
    assert one.history.label.tolist() == truth[ids].tolist() == two.history.label.tolist()


def test_columns_of_from_arrays_may_be_a_frame() -> None:
    frame = pd.DataFrame(columns())
    by_frame = Evaluation.from_arrays(
        frame["score"], frame["guess"], columns=frame, pool={"slices": ["city"]}, seed=2
    )
    by_arrays = Evaluation.from_arrays(
        frame["score"].to_numpy(), frame["guess"].to_numpy(), seed=2,
        columns={"city": frame["city"].to_numpy()}, pool={"slices": ["city"]},
    )  # fmt: skip
    assert by_frame.sample(20).tolist() == by_arrays.sample(20).tolist()
    assert len(by_frame.analysis.scope.domains) == 4


def test_keys_of_the_pool_may_be_given_by_themselves() -> None:
    keys = {"id": "key", "prediction": "guess", "seed": 2}
    one = Evaluation.from_frame(columns(), slices=["city", "year"], **keys)
    assert one.sample(20).tolist() == evaluate(columns()).sample(20).tolist()
    assert len(one.analysis.scope.domains) == 7
    score, guess, city = (columns()[name] for name in ("score", "guess", "city"))
    two = Evaluation.from_arrays(score, guess, columns={"city": city}, slices=["city"])
    assert len(two.analysis.scope.domains) == 4
    keys = {"columns": {"x": score}, "features": ["x"], "strata": {"method": "kd"}}
    three = Evaluation.from_arrays(score, guess, **keys)
    assert three.analysis.sampler.name == "calibrated", "the score is not passed over"


@pytest.mark.parametrize("classes", [None, ["no", "yes"]])
@pytest.mark.parametrize(
    "words", [("no", "yes"), (" No", "YES "), *slowly(("n", "Y"), (False, True))]
)
def test_yes_and_no_are_classes(classes: Any, words: tuple[Any, Any]) -> None:
    table = columns() | {"guess": [words[value] for value in columns()["guess"]]}
    labels = {} if classes is None else {"labels": {"classes": classes}}
    keys = {"id": "key", "prediction": "guess", "seed": 2}
    one = Evaluation.from_frame(table, **keys, **labels)
    two = Evaluation.from_frame(columns(), **keys)
    ids = one.sample(20)
    assert ids.tolist() == two.sample(20).tolist()
    one.label(ids, [words[int(id[1:]) % 2] for id in ids])
    two.label(ids, [int(id[1:]) % 2 for id in ids])
    assert one.estimate() == two.estimate()


def test_other_words_are_no_classes() -> None:
    guess = [("maybe", "no", "yes")[row % 3] for row in range(ROWS)]
    with pytest.raises(InputError, match=r"column 'guess', row 0: 'maybe' is none of \[0, 1\]"):
        Evaluation.from_frame(columns() | {"guess": guess}, id="key", prediction="guess")


def test_probabilities_of_many_classes_are_enough() -> None:
    """Neither a score nor the names of the classes need be given beside them."""
    rng = np.random.default_rng(1)
    share = rng.dirichlet(np.full(6, 0.3), size=500)
    table = {f"p{k}": share[:, k] for k in range(6)} | {"guess": share.argmax(axis=1)}
    named = {k: f"p{k}" for k in range(6)}
    keys = {"prediction": "guess", "probability": named, "measure": "accuracy", "seed": 1}
    evaluation = Evaluation.from_frame(table, **keys)
    ids = evaluation.sample(60)
    evaluation.label(ids, share[ids].argmax(axis=1))
    assert evaluation.estimate()["accuracy"].high > 0.95
    spec = evaluation.state.pool.spec
    assert spec.labels.classes == tuple(range(6))
    assert spec.pool.features == tuple(named.values())
    keys = {"labels": {"classes": [*range(6)]}, "measure": "accuracy", "seed": 1}
    made = Evaluation.from_arrays(None, share.argmax(axis=1), probability=share, **keys)
    assert made.sample(60).tolist() == ids.tolist()
    keys["systems"] = {name: {"prediction": "guess", "probability": named} for name in "ab"}
    two = Evaluation.from_frame(table, **keys)
    assert two.state.pool.spec.pool.features == spec.pool.features
    assert two.sample(60).tolist() == ids.tolist()
    with pytest.raises(InputError, match=r"a column for each of .*, as `labels` has them, got"):
        Evaluation.from_frame(
            {"no": [0.5], "yes": [0.5], "guess": [1]},
            prediction="guess",
            probability={"yes": "yes", "no": "no"},
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"slice": ["city"]}, "unknown key slice; did you mean slices, a key of pool"),
        ({"id": "uid"}, "column 'uid' is missing; there are: key, score, guess, city, year, other"),
        ({"score": "city"}, "column 'city', row 2: null"),
        ({"score": "key"}, "column 'key', row 0: must be a number, got 'k0'"),
        ({"prediction": "score"}, "column 'score', row 0: 0.943.* is none of \\[0, 1\\]"),
        ({"id": "other"}, "other: cannot be read as a column"),
        ({"prediction": None}, "column 'prediction' is missing"),
        ({"score": pd.Series([1.0])}, "score: name a column of the table; from_arrays takes"),
        ({"pool": {"slice": ["city"]}}, "unknown key pool.slice; did you mean pool.slices"),
    ],
)
def test_bad_frames(change: dict[str, Any], message: str) -> None:
    keys = {"id": "key", "prediction": "guess", **change}
    with pytest.raises(InputError, match=message):
        Evaluation.from_frame(pd.DataFrame(columns()), **keys)


@pytest.mark.parametrize("given", [np.array, pd.Series, pl.Series, pd.Categorical, tuple])
def test_classes_as_pandas_lists_them(given: Any) -> None:
    """By `unique`; and a seed and a budget of NumPy are whole numbers."""
    frame = {"score": [0.1, 0.9, 0.3], "prediction": ["ham", "spam", "ham"]}
    evaluation = Evaluation.from_frame(
        frame, labels={"classes": given(["ham", "spam"])}, seed=np.int64(3), budget=np.int32(2)
    )
    assert len(evaluation.sample(3)) == 2
    numbers = Evaluation.from_frame(
        {**frame, "prediction": [7, 8, 7]}, labels={"classes": [*np.array([7, 8])]}
    )
    assert len(numbers.sample(2)) == 2


def test_indexes_that_differ_are_refused() -> None:
    frame = pd.DataFrame(columns())
    with pytest.raises(InputError, match="prediction: its index is not that of score; bring"):
        Evaluation.from_arrays(frame["score"], frame["guess"][::-1])
    with pytest.raises(InputError, match="duplicate id 'a'"):
        Evaluation.from_arrays(
            pd.Series([0.1, 0.2], index=["a", "a"]), pd.Series([0, 1], index=["a", "a"])
        )
    with pytest.raises(InputError, match="must be a DataFrame, an Arrow table or a mapping"):
        Evaluation.from_frame([1, 2])


@pytest.mark.parametrize("given", [{}, {"id": "id"}, {"pool": {"id": "id"}}])
def test_a_column_called_id_names_the_rows(given: dict[str, Any]) -> None:
    """Not the index, or labels by ids would go to other rows without a word."""
    frame = pd.DataFrame(columns()).rename(columns={"key": "id"})
    frame.index = frame.index[::-1]
    ids = Evaluation.from_frame(frame, prediction="guess", seed=1, **given).sample(10)
    assert set(ids.tolist()) <= set(frame["id"])


def test_probabilities_by_the_names_of_classes() -> None:
    frame = pd.DataFrame(columns())
    chance = frame["score"]
    labels = {"classes": ["no", "yes"]}
    guess = frame["guess"].map({0: "no", 1: "yes"})
    keys = {"labels": labels, "measure": "accuracy"}
    by_name = Evaluation.from_arrays(
        chance, guess, probability=pd.DataFrame({"yes": chance, "no": 1 - chance}), **keys
    )
    by_place = Evaluation.from_arrays(
        chance, guess, probability=np.stack([1 - chance, chance], axis=1), **keys
    )
    np.testing.assert_array_equal(by_name.analysis.table.prior, by_place.analysis.table.prior)
    with pytest.raises(InputError, match="probability: 1 columns for 2 classes"):
        Evaluation.from_arrays(chance, guess, probability=np.ones((ROWS, 1)), **keys)


ON_NEW = {"name": "recall", "where": {"new": True}}


def on_slice(measure: Any, **keys: Any) -> tuple[Evaluation, Pool]:
    """Evaluate a measure of a pool with slices."""
    pool = make_rich_pool(900, seed=6)
    named = {"id": "id", "score": "s0.score", "prediction": "s0.prediction"}
    return Evaluation.from_frame(pool.table, **named, measure=measure, seed=2, **keys), pool


@pytest.mark.parametrize(
    ("sampler", "least"), [("ais", 1), ("importance", 1), ("calibrated", 0.5), ("poisson", 0.5)]
)
def test_rows_are_drawn_for_a_slice(sampler: str, least: float) -> None:
    """All, or most, of a slice of three rows in ten; the column need not be reported."""
    evaluation, pool = on_slice(ON_NEW, sampler=sampler)
    ids = [*evaluation.sample(40), *evaluation.sample(20)]
    inside = dict(zip(pool.table["id"].to_pylist(), pool.table["new"].to_pylist(), strict=True))
    assert np.mean([inside[id] is True for id in ids]) >= least


def test_a_slice_whose_rows_are_all_labelled_is_exact() -> None:
    """A census of the slice, equal to the truth; no other slice of it is reported."""
    evaluation, pool = on_slice([ON_NEW, {"least": "recall", "over": {"new": [True, False]}}],
                                sampler="ais", slices=["city"])  # fmt: skip
    while len(ids := evaluation.sample(200)):
        evaluation.label(ids, [pool.truth[id] for id in ids.tolist()])
    recall, least = evaluation.estimate()
    inside = np.array([one is True for one in pool.table["new"].to_pylist()])
    predicted = pool.table["s0.prediction"].to_numpy()
    label = np.array([pool.truth[id] for id in pool.table["id"].to_pylist()])
    assert recall.value == pytest.approx(predicted[inside & (label == 1)].mean())
    assert recall.intervals[0].method == "census"
    assert recall.target.title == "recall(new=true)"
    assert least.value is None
    assert "rows that add to it had no chance" in str(least.reason)


@pytest.mark.parametrize("type", ["int8", "uint64"])
def test_predictions_of_any_width_go_with_slices(type: str) -> None:
    guess = (np.arange(ROWS) > 120).astype(type)
    frame = pd.DataFrame(
        {"score": np.linspace(0, 1, ROWS), "guess": guess, "city": ["a", "b"] * 100}
    )
    evaluation = Evaluation.from_frame(
        frame, prediction="guess", strata={"slices": {"city": ["a"]}}, seed=3
    )
    assert len(evaluation.sample(20)) == 20


def test_measures_of_slices_that_are_asked_for_later() -> None:
    evaluation, pool = on_slice(ON_NEW, strata={"slices": {"city": "Bern"}})
    ids = evaluation.sample(60)
    evaluation.label(ids, [pool.truth[id] for id in ids.tolist()])
    by_name, by_object = evaluation.estimate(
        [{"name": "precision", "where": {"new": True}}, Sliced(Precision(), {"new": "true"})]
    )
    assert by_name.value == by_object.value
    for unnamed in (
        {"name": "recall", "where": {"new": False}},
        Sliced(Recall(), {"city": "Zürich"}),
    ):
        with pytest.raises(InputError, match="cells do not tell these rows apart; name the slice"):
            evaluation.estimate([unnamed])
    with pytest.raises(InputError, match="it has no region, which needs a derivative"):
        evaluation.analysis.region([Least(Recall(), {"new": ["true"], "city": ["Bern"]}), "f1"])


def test_a_measure_of_ones_own_sees_the_slices_that_the_spec_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_slices.py").write_text(
        "import numpy as np\n"
        "from evalsampling.measures import Accuracy\n"
        "class Doubled(Accuracy):\n"
        "    name, bounds = 'doubled', (-1.0, 1.0)\n"
        "    def loss(self, outputs, label):\n"
        "        loss = super().loss(outputs, label)\n"
        "        return loss * np.where(outputs.within({'new': ['true']}), 2, 1)[:, None]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"measure: doubled: new=true: cells do not tell"):
        on_slice("own_slices:Doubled")
    evaluation, pool = on_slice("own_slices:Doubled", strata={"slices": {"new": True}})
    ids = pool.table["id"].to_pylist()
    while len(drawn := evaluation.sample(300)):
        evaluation.label(drawn, [pool.truth[id] for id in drawn.tolist()])
    [estimate] = evaluation.estimate()
    wrong = np.array([pool.truth[id] for id in ids]) != pool.table["s0.prediction"].to_numpy()
    price = np.where([one is True for one in pool.table["new"].to_pylist()], 2, 1)
    assert estimate.value == pytest.approx(1 - np.mean(wrong * price))


def test_a_condition_is_not_ignored() -> None:
    """It would be an estimate of all rows under the name of some."""
    for given in ({"where": "city = 'Bern'"}, {"pool": {"where": "city = 'Bern'"}}):
        with pytest.raises(InputError, match=r"^pool\.where: rows in memory are taken as they"):
            Evaluation.from_frame(columns(), id="key", prediction="guess", **given)


def test_a_workspace_is_not_taken_and_forgotten() -> None:
    columns = {"id": [1, 2], "score": [0.1, 0.9], "prediction": [0, 1]}
    with pytest.raises(InputError, match="workspace: a pool in memory has none; `save` writes"):
        Evaluation.from_frame(columns, workspace="run")
