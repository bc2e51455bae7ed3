"""Evaluations of rows with many labels: from files, in memory and by simulation."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from sklearn.metrics import f1_score, precision_score

from evalsampling import Evaluation, InputError
from tests.averages import EACH_F1, MACRO_F1, MICRO_F1
from tests.jobs import call
from tests.many_labels import Tagged

MEASURES: list[Any] = [
    MICRO_F1,
    MACRO_F1,
    EACH_F1,
    {"name": "precision", "average": "micro"},
    {"name": "recall", "average": "macro"},
]


def write_job(folder: Path, tagged: Tagged, **keys: Any) -> Path:
    pq.write_table(pa.table(tagged.columns()), folder / "pool.parquet")
    spec = tagged.spec()
    spec["pool"]["path"] = "pool.parquet"
    spec |= {"measure": MEASURES, "strata": {"leaves": 16}, "workspace": "work"}
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec | keys))
    return folder / "spec.yaml"


def delivery(folder: Path, tagged: Tagged, form: str) -> Path:
    """Labels of the first round, in one of the forms that annotators give."""
    batch = pq.read_table(folder / "work/rounds/0001/batch.parquet").to_pydict()
    lists = tagged.lists(tagged.y[batch["id"]])
    lines: dict[str, list[dict[str, Any]]] = {
        "lists": [{"label": names} for names in lists],
        "texts": [{"label": "+".join(reversed(names)) or "none"} for names in lists],
        "flags": [
            {f"label.{name}": int(name in names) for name in tagged.names} for names in lists
        ],
    }
    path = folder / f"{form}.jsonl"
    rows = [{"task": task, **row} for task, row in zip(batch["task"], lines[form], strict=True)]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


@pytest.mark.slow
def test_files_and_forms_of_labels(tmp_path: Path) -> None:
    """Lists, texts and columns of 0 and 1 say the same, and so does the pool in memory."""
    tagged = Tagged.make(900, 20)
    spec, said = write_job(tmp_path, tagged, budget=300, round_size=300), []
    assert call("prepare", spec).status == 0
    assert call("sample", tmp_path / "work").status == 0
    for form in ("lists", "texts", "flags"):
        option = "--replace" if said else "--labels"
        path = delivery(tmp_path, tagged, form)
        said.append(call("estimate", tmp_path / "work", "--json", option, path).json)
    assert said[0]["rejects"] == 0
    assert said[0]["measures"] == said[1]["measures"] == said[2]["measures"]
    found = {one["measure"]: one for one in said[0]["measures"]}
    y, f = tagged.y, tagged.f
    truth = {
        "micro_f1": f1_score(y, f, average="micro"),
        "class_f1[tag 3]": f1_score(y[:, 3], f[:, 3]),
    }
    truth["macro_f1"] = f1_score(y, f, average="macro")
    truth["micro_precision"] = precision_score(y, f, average="micro")
    for name, true in truth.items():
        assert found[name]["value"] == pytest.approx(true, abs=4 * found[name]["standard_error"])
    assert found["micro_f1"]["intervals"][0]["method"] == "beta"
    assert found["class_f1[tag 3]"]["intervals"][0]["method"] == "korn-graubard"
    assert [name for name in found if name.startswith("class_f1")] == [
        f"class_f1[{name}]" for name in tagged.names
    ]


def in_memory(tagged: Tagged, **keys: Any) -> Evaluation:
    spec = tagged.spec()
    given = {"labels": spec["labels"], "measure": MEASURES, "strata": {"leaves": 16}} | keys
    named = {key: spec["pool"][key] for key in ("prediction", "probability")}
    return Evaluation.from_frame(pa.table(tagged.columns()), **named, **given)


def test_a_frame_of_which_all_is_known_is_exact() -> None:
    tagged = Tagged.make(500, 30)
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


def test_two_systems_are_compared(tmp_path: Path) -> None:
    tagged = Tagged.make(600, 20)
    other = tagged.p > 0.5
    columns = tagged.columns() | {"less": tagged.lists(other)}
    spec = tagged.spec()
    systems = {"old": {"prediction": "tags"}, "new": {"prediction": "less"}}
    pool = {"systems": systems, "probability": spec["pool"]["probability"]}
    evaluation = Evaluation.from_frame(
        pa.table(columns), pool=pool, labels=spec["labels"], strata={"leaves": 16},
        measure=[{"difference": MICRO_F1}, MACRO_F1],
    )  # fmt: skip
    ids = evaluation.sample(600)
    evaluation.label(ids, tagged.lists(tagged.y[ids]))
    found = evaluation.estimate()[0]
    old, new = (f1_score(tagged.y, f, average="micro") for f in (tagged.f, other))
    assert abs(found.value) == pytest.approx(abs(old - new))


@pytest.mark.slow
def test_five_hundred_labels() -> None:
    tagged = Tagged.make(3000, 500)
    evaluation = in_memory(tagged, measure=[MICRO_F1, MACRO_F1, EACH_F1])
    ids = evaluation.sample(900)
    evaluation.label(ids, tagged.lists(tagged.y[ids]))
    micro, macro, *each = evaluation.estimate()
    y, f = tagged.y, tagged.f
    truth = [f1_score(y, f, average=average) for average in ("micro", "macro")]
    for one, true in zip((micro, macro), truth, strict=True):
        assert one.value == pytest.approx(true, abs=4 * one.standard_error)
        assert one.low < true < one.high
        assert one.high - one.low < 0.03, "of pairs of a row and a label there are 450,000"
    assert len(each) == 500
    assert np.mean([one.value for one in each]) == pytest.approx(macro.value)


@pytest.mark.slow
def test_simulated_errors_are_those_that_are_claimed(tmp_path: Path) -> None:
    """60 repeats of three designs: the standard error estimated is right to a quarter, as an RMSE
    of 60 runs is to .09; 95 % intervals hold the truth in at least .85 (three of 60 below 51)."""
    tagged = Tagged.make(2000, 20, seed=3)
    spec = write_job(tmp_path, tagged, measure=[MICRO_F1, MACRO_F1], budget=300)
    ids = np.arange(len(tagged.y))
    pq.write_table(
        pa.table({"id": ids, "label": tagged.lists(tagged.y)}), tmp_path / "truth.parquet"
    )
    result = call(
        "simulate", spec, "--json", "--truth", tmp_path / "truth.parquet", "--repeats", "60",
        "--budgets", "300", "--sampler", "poisson", "importance", "passive",
    ).json  # fmt: skip
    assert result["truth"]["micro_f1"] == pytest.approx(
        f1_score(tagged.y, tagged.f, average="micro")
    )
    found = {(one["sampler"], one["measure"]): one for one in result["results"]}
    for one in found.values():
        assert one["coverage"] >= 0.85
    for sampler in ("poisson", "importance"):
        assert found[sampler, "micro_f1"]["rmse"] < 0.95 * found["passive", "micro_f1"]["rmse"]


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


def test_predictions_and_answers_that_are_no_labels(tmp_path: Path) -> None:
    tagged = Tagged.make(60, 12)
    columns = tagged.columns()
    columns["tags"][7] = ["tag 3", "tga 3"]
    pq.write_table(pa.table(columns), tmp_path / "pool.parquet")
    spec = write_job(tmp_path, tagged, budget=20)
    pq.write_table(pa.table(columns), tmp_path / "pool.parquet")
    assert (
        "pool.parquet: column 'tags', row 7: 'tga 3' is none of the 12 labels"
        in call("prepare", spec).refused
    )
    evaluation = in_memory(tagged)
    ids = evaluation.sample(10)
    with pytest.raises(InputError, match=r"label 'tga 3' of id .* is not one of the sets of 12"):
        evaluation.label(ids[:1], [["tga 3"]])
    assert call("plan", write_job(tmp_path, tagged)).err.startswith(
        "evalsampling plan: labels.multilabel: there is no plan for 12 labels"
    )


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
