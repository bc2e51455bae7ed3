"""Rows with several labels, or with many: from files and in memory."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import f1_score

from evalsampling import Evaluation, InputError
from tests.averages import EACH_F1, MACRO_F1, MICRO_F1
from tests.jobs import LABEL_SET, Job, Jobs, Pool, call, make_label_set_pool
from tests.many_labels import Tagged
from tests.slow import slowly

# --- up to eight labels, whose sets are classes


def flags(one: Job) -> tuple[np.ndarray, np.ndarray]:
    """Labels predicted and held of the rows of a pool, in its order."""
    predicted = np.stack([one.pool.table[f"is_{name}"].to_numpy() for name in LABEL_SET], axis=1)
    held = [[name in text.split("+") for name in LABEL_SET] for text in one.pool.truth.values()]
    return predicted.astype(bool), np.array(held)


def lists(flags: np.ndarray) -> list[list[str]]:
    return [[name for name, held in zip(LABEL_SET, row, strict=True) if held] for row in flags]


def of_sets(job: Jobs, budget: int, by_label: bool = True) -> Job:
    """A job whose predictions are a column for each label, or lists of labels."""
    columns: Any = {name: f"is_{name}" for name in LABEL_SET}
    one = job(
        make_label_set_pool(),
        pool={
            "prediction": columns if by_label else "tags",
            "probability": {name: f"p_{name}" for name in LABEL_SET},
        },
        labels={"multilabel": [*LABEL_SET]},
        measure=[MACRO_F1, MICRO_F1, EACH_F1, {"name": "recall", "average": "each"}, "accuracy"],
        sampler="poisson",
        round_size=budget,
        budget=budget,
    )
    if not by_label:
        table = one.pool.table.append_column("tags", pa.array(lists(flags(one)[0])))
        pq.write_table(table, one.directory / "pool/part-0.parquet")
    return one


@pytest.mark.parametrize("by_label", [True, *slowly(False)])
def test_prepare_sample_and_estimate(job: Jobs, by_label: bool) -> None:
    one = of_sets(job, 260, by_label).prepared()
    drawn = one.sample().json
    assert 180 < drawn["rows"] < 340
    result = one.answer(1).json
    assert result["labels"] == drawn["rows"]
    f, y = flags(one)
    found = {each["measure"]: each for each in result["measures"]}
    assert list(found)[2:5] == [f"class_f1[{name}]" for name in LABEL_SET]
    for name, true in [
        ("macro_f1", f1_score(y, f, average="macro")),
        ("micro_f1", f1_score(y, f, average="micro")),
        ("class_f1[toxic]", f1_score(y[:, 0], f[:, 0])),
        ("accuracy", np.mean(np.all(y == f, axis=1))),
    ]:
        told = found[name]
        assert told["value"] == pytest.approx(true, abs=4 * told["standard_error"])
        assert told["standard_error"] < 0.15
    bias = found["micro_f1"]["bias"]
    assert bias["total"] == pytest.approx(bias["covariance_term"] + bias["variance_term"])
    assert found["macro_f1"]["bias"]["covariance_term"] is None, "no ratio of two means"
    assert abs(found["macro_f1"]["bias"]["total"]) < found["macro_f1"]["standard_error"]
    assert result["sample_size"]["expected"] == pytest.approx(260)
    assert result["sample_size"]["realised"] == drawn["rows"]
    assert result["done"], "the expected number is spent"
    text = call("estimate", one.workspace).out
    assert f"Poisson sample: {drawn['rows']:,} rows drawn, 260 expected" in text
    asked = one.estimate("--interval", "beta").json["measures"]
    [macro] = [each for each in asked if each["measure"] == "macro_f1"]
    assert "beta" in [interval["method"] for interval in macro["intervals"]]
    assert one.sample().json["reason"] == "budget", "whatever the number of rows drawn"


@pytest.mark.slow
def test_a_delivery_without_the_column_of_a_label_takes_nothing_back(job: Jobs) -> None:
    one = of_sets(job, 60).drawn()
    task = one.batch(1)["task"][0]
    header = ",".join(f"label.{name}" for name in LABEL_SET)
    before = one.take([(task, "1", "1", "0")], "first.csv", f"task,{header}").json
    assert (before["labels"], before["rejects"]) == (1, 0)
    for option in ("--replace", "--labels"):
        lacking = f"task,label.toxic,label.threat,{option}"
        told = one.take([(task, "1", "0", "")], "second.csv", lacking, option)
        assert "first, line 2: column label.insult is missing: " in told.err
        assert told.json["measures"] == before["measures"]
    votes = [pq.read_table(path) for path in (one.workspace / "labels").glob("*.parquet")]
    assert [label for each in votes for label in each["label"].to_pylist()] == ["toxic+insult"]


@pytest.mark.slow
def test_simulation_takes_truth_of_lists_and_of_columns(job: Jobs) -> None:
    one = of_sets(job, 100, by_label=False)
    f, y = flags(one)
    truths: dict[str, Any] = {
        "lists": {"label": lists(y)},
        "flags": {f"label.{name}": y[:, i].astype(np.int8) for i, name in enumerate(LABEL_SET)},
    }
    results = []
    for name, columns in truths.items():
        path = one.directory / f"{name}.parquet"
        pq.write_table(pa.table({"id": list(one.pool.truth), **columns}), path)
        options = ("--repeats", "2", "--sampler", "poisson", "passive", "--budgets", "100")
        results.append(call("simulate", one.spec, "--json", "--truth", path, *options).json)
    assert results[0]["truth"] == results[1]["truth"]
    assert results[0]["truth"]["micro_f1"] == pytest.approx(f1_score(y, f, average="micro"))
    assert {each["sampler"] for each in results[0]["results"]} == {"poisson", "passive"}


# --- more labels


MEASURES: list[Any] = [
    MICRO_F1,
    MACRO_F1,
    EACH_F1,
    {"name": "precision", "average": "micro"},
    {"name": "recall", "average": "macro"},
]


def of_tags(job: Jobs, tagged: Tagged, **keys: Any) -> Job:
    spec, truth = tagged.spec(), dict(enumerate(tagged.lists(tagged.y)))
    pool = Pool(pa.table(tagged.columns()), truth)
    columns = {**spec["pool"], "payload": []}
    return job(pool, pool=columns, labels=spec["labels"], **{"measure": MEASURES, **keys})


def in_memory(tagged: Tagged, **keys: Any) -> Evaluation:
    spec = tagged.spec()
    given = {"labels": spec["labels"], "measure": MEASURES, "strata": {"leaves": 16}} | keys
    named = {key: spec["pool"][key] for key in ("prediction", "probability")}
    return Evaluation.from_frame(pa.table(tagged.columns()), **named, **given)


@pytest.mark.parametrize("labels", [3, 30])
def test_a_frame_of_which_all_is_known_is_exact(labels: int) -> None:
    tagged = Tagged.make(500, labels)
    evaluation = in_memory(tagged, measure=[MICRO_F1, MACRO_F1, EACH_F1])
    ids = evaluation.sample(500)
    evaluation.label(ids[:200], tagged.lists(tagged.y[ids[:200]]))
    evaluation.label(ids[200:], tagged.y[ids[200:]].astype(int))
    values = [one.value for one in evaluation.estimate()]
    y, f = tagged.y, tagged.f
    wanted = [f1_score(y, f, average="micro"), f1_score(y, f, average="macro")]
    assert values == pytest.approx([*wanted, *f1_score(y, f, average=None)])


def test_saved_it_goes_on_as_in_memory(tmp_path: Path) -> None:
    tagged = Tagged.make(500, 20)
    evaluation = in_memory(tagged, budget=200)
    ids = evaluation.sample(120)
    evaluation.label(ids, tagged.lists(tagged.y[ids]))
    evaluation.save(tmp_path / "work")
    opened = Evaluation.open(tmp_path / "work")
    assert [one.value for one in opened.estimate()] == [one.value for one in evaluation.estimate()]
    assert opened.sample(30).tolist() == evaluation.sample(30).tolist()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"measure": "f1"}, "measure: f1 is not about single labels"),
        ({"measure": "accuracy"}, "measure: accuracy is not about single labels"),
        ({"sampler": "ais"}, "sampler: ais: it models labels as classes"),
        ({"sampler": "calibrated"}, "rows have any number of labels: passive, stratified, imp"),
        ({"sampler": {"name": "poisson", "online": "exclude"}}, "as it stands here it models"),
        ({"measure": {**MACRO_F1, "over": ["tag 99"]}}, "measure.over: 'tag 99' is none"),
    ],
)  # fmt: skip
def test_what_many_labels_do_not_take(keys: dict[str, Any], words: str) -> None:
    tagged = Tagged.make(40, 12)
    with pytest.raises(InputError, match=words):
        in_memory(tagged, **keys)


def test_predictions_and_answers_that_are_no_labels(job: Jobs) -> None:
    tagged = Tagged.make(60, 12)
    one, columns = of_tags(job, tagged, budget=20), tagged.columns()
    assert call("plan", one.spec).err.startswith(
        "evalsampling plan: labels.multilabel: there is no plan for 12 labels"
    )
    columns["tags"][7] = ["tag 3", "tga 3"]
    pq.write_table(pa.table(columns), one.directory / "pool/part-0.parquet")
    words = "part-0.parquet: column 'tags', row 7: 'tga 3' is none of the 12 labels"
    assert words in one.prepare().refused
    evaluation = in_memory(tagged)
    ids = evaluation.sample(10)
    with pytest.raises(InputError, match=r"label 'tga 3' of id .* is not one of the sets of 12"):
        evaluation.label(ids[:1], [["tga 3"]])


def test_the_difference_estimator_is_exact_where_the_model_is() -> None:
    """Probabilities are the truth and every row is a cell, so no label differs from the model."""
    tagged = Tagged.make(150, 15)
    sure = Tagged(tagged.y.astype(float), tagged.f, tagged.y)
    spec, columns = sure.spec(), sure.columns() | {"score": np.arange(150.0)}
    evaluation = Evaluation.from_frame(
        pa.table(columns), score="score", prediction="tags", labels=spec["labels"],
        probability=spec["pool"]["probability"], measure=[MICRO_F1, MACRO_F1],
        sampler={"name": "poisson", "estimator": "difference"},
        strata={"edges": [row + 0.5 for row in range(149)]},
    )  # fmt: skip
    ids = evaluation.sample(60)
    evaluation.label(ids, sure.lists(sure.y[ids]))
    wanted = [f1_score(sure.y, sure.f, average=average) for average in ("micro", "macro")]
    assert [one.value for one in evaluation.estimate()] == pytest.approx(wanted)
