"""Rows that count more or cost more: in every number, format and report, and in what is spent."""

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.measures import Joint, Recall, Sliced
from evalsampling.measures.build import entry_of
from tests.jobs import Job, Pool, call, make_pool, make_rich_pool

MEASURES = [
    "f1", {"f1": {"by": "rows"}}, "accuracy", "precision",
    {"name": "recall", "where": {"part": "a"}}, {"pr_curve": {"thresholds": [0.0, 1.0]}},
]  # fmt: skip


def counted_pool(rows: int = 400, scale: float = 1.0) -> Pool:
    """A pool whose rows count 0 to 9 times; the score knows nothing of it."""
    pool, rng = make_pool(rows, seed=3), np.random.default_rng(1)
    views = scale * rng.permutation(np.arange(rows) % 10) * rng.choice([1, 1000], rows)
    part = [("a", "b")[row % 2] for row in range(rows)]
    return pool.with_columns(views=views, even=np.arange(rows) % 2 == 0, part=part)


def keys(**more: Any) -> dict[str, Any]:
    """A spec whose rows count by views."""
    own = {"weight": "views", "slices": ["part"], "payload": []}
    return {"pool": own, "measure": MEASURES, "strata": {"leaves": 8}, **more}


def weighted_values(pool: Pool, inside: np.ndarray | None = None) -> dict[str, float]:
    """What the numbers are by all labels, each row standing as often as it counts."""
    views = pool.table["views"].to_numpy()
    if inside is not None:
        views = views * inside
    label = np.array([pool.truth[id] for id in pool.table["id"].to_pylist()])
    predicted = pool.table["prediction"].to_numpy()

    def f1(weight: np.ndarray) -> float:
        return float(2 * weight @ (label * predicted) / (weight @ (label + predicted)))

    return {
        "f1 by views": f1(views),
        "f1 by rows": f1((pool.table["views"].to_numpy() > 0) * (views > 0)),
        "accuracy by views": float(views @ (label == predicted) / views.sum()),
        "precision by views": float(views @ (label * predicted) / (views @ predicted)),
    }


def all_labelled(one: Job) -> Any:
    one.drawn()
    return one.answer(1).json


def test_names_say_what_rows_count_by_wherever_they_are(job: Any) -> None:
    one = job(counted_pool(), **keys(sampler="passive", budget=360, round_size=360))
    all_labelled(one)
    text = call("estimate", one.workspace).out
    assert "F1 by views " in text
    assert "F1 by rows " in text
    assert call("estimate", one.workspace, "--at-least", "accuracy=0.1").status == 0
    unclear = call("estimate", one.workspace, "--at-least", "f1=0.1").err
    assert "no estimate 'f1'; there are: 'f1 by views', " in unclear
    page = one.directory / "report.html"
    assert call("report", one.workspace, "--to", page).status == 0
    shown = page.read_text()
    assert "pr curve by views by threshold" in shown
    assert "The harmonic mean of precision and recall." in shown


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (-1.0, "row 41: a row counts 0 or more, got -1"),
        (None, "row 41: null"),
        (np.nan, "row 41: must be a finite number, got nan"),
        (np.inf, "row 41: must be a finite number, got inf"),
    ],
)
def test_what_is_no_weight_is_named(job: Any, bad: Any, words: str) -> None:
    pool = counted_pool()
    views = pool.table["views"].cast(pa.float64()).to_pylist()
    views[241] = bad
    pool = pool.with_columns(views=views)
    one, table = job(pool, 2, **keys()), pool.table
    assert f"part-1.parquet: column 'views', {words}" in one.prepare().refused
    frame = {name: table[name].to_pylist() for name in table.column_names}
    with pytest.raises(InputError, match=words.replace("row 41", "row 241").split(":")[1]):
        Evaluation.from_frame(frame, weight="views")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"pool": {"weight": "weights"}}, "column 'weights' is missing"),
        ({"pool": {"weight": "even"}}, "pool.weight: column 'even' has type bool, no number"),
        ({"pool": {"weight": "name"}}, "column 'name', row 0: must be a number, got 'row"),
        ({"sampler": "oasis"}, "not for f1 by views"),
        ({"sampler": "adastrat"}, "adastrat: it ranks rows that all count the same"),
        ({"measure": [{"f1": {"by": "views"}}]}, "by"),
    ],
)
def test_wrong_specs(job: Any, change: Any, words: str) -> None:
    pool = {**keys()["pool"], **change.pop("pool", {})}
    found = job(counted_pool(), **keys(**change) | {"pool": pool}).prepare()
    assert found.status == 1
    assert words in found.err


def test_a_pool_whose_rows_all_count_nothing_is_empty(job: Any) -> None:
    assert "pool.weight: no row of" in job(counted_pool(scale=0.0), **keys()).prepare().refused


def test_simulations_and_plans_count_by_weight(job: Any) -> None:
    pool = counted_pool()
    one = job(pool, **keys(measure=["f1", {"f1": {"by": "rows"}}]))
    options = ("--sampler", "passive", "--repeats", 2, "--budgets", 50, "--json")
    told = call("simulate", one.spec, "--truth", one.write_truth(), *options).done
    expected = weighted_values(pool)
    names = ("f1 by views", "f1 by rows")
    assert told.json["truth"] == pytest.approx({name: expected[name] for name in names})
    assert call("plan", one.spec, *options).done


class Nameless(Recall):
    """A measure whose name cannot say what rows count by."""

    @property
    def name(self) -> str:  # type: ignore[override]
        """Its name."""
        return "nameless"


def test_objects_are_measures_of_rows_with_weights() -> None:
    """A measure of slices, too; not one that is made of several, which a spec has a form for."""
    table = counted_pool().table
    frame = {name: table[name].to_pylist() for name in table.column_names}
    where = {"part": "a"}
    measure = [{"name": "recall", "where": where}]
    evaluation = Evaluation.from_frame(frame, weight="views", measure=[Recall(), *measure])
    assert [entry_of(each) for each in evaluation.analysis.measures] == [
        {"name": "recall"},
        *measure,
    ]
    names = [each.measure for each in evaluation.estimate([Recall(), Sliced(Recall(), where)])]
    assert names == ["recall by views", "recall(part=a) by views"]
    with pytest.raises(InputError, match="rows have weights, so give its name"):
        evaluation.estimate(Joint((Recall(),)))
    with pytest.raises(InputError, match="nameless: its name must be an attribute"):
        evaluation.estimate(Nameless())


# --- costs


def costly(job: Any, **keys: Any) -> Job:
    pool = {"score": "s0.score", "prediction": "s0.prediction", "cost": "size"}
    spec = {"measure": "f1", "strata": {"leaves": 8}, "round_size": 30, **keys}
    one: Job = job(make_rich_pool(600), pool=pool, **spec)
    return one


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_costs_that_are_not_above_nothing_are_named(job: Any, bad: float) -> None:
    cost = np.ones(100)
    cost[41] = bad
    columns = {"score": "s0.score", "prediction": "s0.prediction", "cost": "price"}
    one: Job = job(make_rich_pool(100).with_columns(price=cost), pool=columns)
    refused = one.prepare().refused
    assert f"column 'price', row 41: a label costs more than 0, got {bad:g}" in refused


def test_money_that_buys_nothing_leaves_nothing_to_do(job: Any) -> None:
    one = costly(job, sampler="passive", budget={"cost": 0.01})
    assert one.prepare().status == 0
    found = one.sample().json
    assert (found["round"], found["rows"], found["reason"]) == (0, 0, "budget")
