"""An evaluation of predicted numbers from files: labels, range, median, results, comparisons."""

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling import Evaluation
from evalsampling.errors import InputError
from evalsampling.labels.controls import records
from evalsampling.labels.formats import read_votes
from evalsampling.labels.label_studio import label_config
from evalsampling.labels.vendor import instructions
from evalsampling.spec.sink import SinkSpec
from evalsampling.workspace.snapshot import Snapshot
from tests.compared_numbers import make_compared_numbers, spec_of
from tests.jobs import Job, Pool, call
from tests.spec.specs import parse

ROWS = 800
MEASURES = ["mse", "rmse", "mae", "mean_error", "r2"]


def made_up(seed: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions, their variances, and labels from 0 to 100."""
    rng = np.random.default_rng(seed)
    variance = rng.gamma(1.0, 8.0, ROWS)
    predicted = rng.uniform(20, 80, ROWS)
    label = np.clip(predicted + 0.5 + np.sqrt(variance) * rng.normal(size=ROWS), 0, 100)
    return predicted, variance, label


def write_job(folder: Path, suffix: str = "parquet", **changes: Any) -> np.ndarray:
    predicted, variance, label = made_up()
    table = pa.table({"id": np.arange(ROWS), "prediction": predicted, "variance": variance})
    pool = Pool(table, {})
    below = folder / "pool"
    path = pool.write(below) if suffix == "parquet" else pool.write_as(suffix, below)
    spec = {
        "pool": {"path": str(path)},
        "labels": {"range": [0, 100]},
        "measure": MEASURES,
        "strata": {"leaves": 32},
        "budget": 240,
        "round_size": 120,
        "workspace": "work",
        **changes,
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec))
    return label


def tasks(folder: Path, number: int) -> tuple[list[str], np.ndarray]:
    batch = pq.read_table(folder / f"work/rounds/{number:04d}/batch.parquet").to_pydict()
    return batch["task"], np.array(batch["id"]).astype(int)


def prepared(folder: Path, **changes: Any) -> np.ndarray:
    """The labels of a job that is prepared and has a first round."""
    label = write_job(folder, **changes)
    assert call("prepare", folder / "spec.yaml", "--in-process").status == 0
    assert call("sample", folder / "work").status == 0
    return label


def estimated(folder: Path, *options: Any) -> Any:
    return call("estimate", folder / "work", "--json", *options).json


def write_csv(path: Path, task: list[str], label: list[float]) -> None:
    pyarrow.csv.write_csv(pa.table({"task": task, "label": label}), path)


def write_export(path: Path, task: list[str], label: list[float]) -> None:
    """An export of Label Studio with a Number for each task."""
    result = [
        {"from_name": "label", "to_name": "task", "type": "number", "value": {"number": one}}
        for one in label
    ]
    annotations = [{"was_cancelled": False, "completed_by": 1, "result": [one]} for one in result]
    told = [
        {"data": {"task": t}, "annotations": [one]}
        for t, one in zip(task, annotations, strict=True)
    ]
    path.write_text(json.dumps(told))


WRITERS: Mapping[str, Callable[[Path, list[str], list[float]], None]] = {
    "labels.csv": write_csv,
    "export.json": write_export,
}


def test_estimate_is_the_self_normalised_one(tmp_path: Path) -> None:
    """R^ = sum v l / sum v over all draws, by hand from the files of the round."""
    label = prepared(tmp_path)
    task, rows = tasks(tmp_path, 1)
    write_csv(tmp_path / "a.csv", task, label[rows].tolist())
    result = estimated(tmp_path, "--labels", tmp_path / "a.csv")
    draws = pq.read_table(tmp_path / "work/rounds/0001/draws.parquet").to_pydict()
    predicted, _, _ = made_up()
    drawn = np.array(draws["id"])
    weight = 1 / np.array(draws["q"])
    loss = (predicted - label)[drawn] ** 2
    assert result["measures"][0]["value"] == pytest.approx(np.average(loss, weights=weight))


@pytest.mark.parametrize("name", WRITERS)
def test_labels_come_as_numbers(tmp_path: Path, name: str) -> None:
    label = write_job(tmp_path)
    assert call("prepare", tmp_path / "spec.yaml", "--in-process").status == 0
    for number in (1, 2):
        assert call("sample", tmp_path / "work", "--json").json["rows"] == 120
        task, rows = tasks(tmp_path, number)
        delivery = tmp_path / f"{number}-{name}"
        WRITERS[name](delivery, task, label[rows].tolist())
        result = estimated(tmp_path, "--labels", delivery)
    assert (result["labels"], result["rejects"]) == (240, 0)
    predicted, _, _ = made_up()
    error = predicted - label
    truth = {
        "mse": np.mean(error**2),
        "rmse": np.sqrt(np.mean(error**2)),
        "mae": np.mean(np.abs(error)),
        "mean_error": np.mean(error),
        "r2": 1 - np.mean(error**2) / np.var(label),
    }
    for one in result["measures"]:
        # 240 labels: four standard errors.
        off = abs(one["value"] - truth[one["measure"]])
        assert off < 4 * one["standard_error"], one["measure"]
        is_above_0 = one["measure"] not in ("mean_error", "r2")
        assert one["method"] == ("student, logarithm" if is_above_0 else "student")
    assert call("status", tmp_path / "work").status == 0
    assert call("status", "--verify", tmp_path / "work").status == 0


def write_votes(folder: Path, given: Mapping[str, list[float | str]]) -> Path:
    """A delivery of the answers of some annotators to the tasks of the first round."""
    task, _ = tasks(folder, 1)
    lines = [
        f"{one},{name},{'' if said == 'skip' else said},{'yes' if said == 'skip' else ''}"
        for name, answers in given.items()
        for one, said in zip(task, answers, strict=True)
    ]
    path = folder / f"{'-'.join(given)}.csv"
    path.write_text("\n".join(["task,annotator,label,skipped", *lines]) + "\n")
    return path


def test_the_median_of_several_numbers_decides(tmp_path: Path) -> None:
    label = prepared(tmp_path, labels={"range": [0, 100], "votes": 3}, round_size=60)
    _, rows = tasks(tmp_path, 1)
    truth = np.clip(np.round(label[rows], 3), 2, 98)
    off = np.where(np.arange(60) % 2 == 0, 100.0, 0.0)
    first: list[float | str] = list(truth)
    second: list[float | str] = list(truth + 1)
    third: list[float | str] = list(off)
    third[:2] = "skip", "skip"
    second[0] = "skip"
    result = {}
    for given in ({"a": first}, {"b": second}, {"c": third}):
        path = write_votes(tmp_path, given)
        result = estimated(tmp_path, "--labels", path)
    # One row has a single number of three answers: it waits, until there are two.
    assert (result["labels"], result["open"]) == (59, 1)
    assert call("status", tmp_path / "work", "--json").json["disputed"] == 1
    path = write_votes(tmp_path, {"d": [truth[0] + 1, *[""] * 59]})
    result = estimated(tmp_path, "--labels", path)
    assert (result["labels"], result["open"]) == (60, 0)
    median = np.where(off == 100, truth + 1, truth)
    median[:2] = truth[:2] + 0.5
    predicted, _, _ = made_up()
    draws = pq.read_table(tmp_path / "work/rounds/0001/draws.parquet").to_pydict()
    found = dict(zip(rows.tolist(), (predicted[rows] - median) ** 2, strict=True))
    squares, weight = [found[one] for one in draws["id"]], 1 / np.array(draws["q"])
    value = result["measures"][0]["value"]
    assert value == pytest.approx(np.average(squares, weights=weight), rel=1e-9)
    assert [one.labels for one in records(Snapshot.at(tmp_path / "work").tally, ())] == [
        60, 59, 58, 1
    ]  # fmt: skip


def test_report(tmp_path: Path) -> None:
    label = write_job(tmp_path)
    call("prepare", tmp_path / "spec.yaml", "--in-process")
    for number in (1, 2):
        call("sample", tmp_path / "work")
        task, rows = tasks(tmp_path, number)
        write_csv(tmp_path / "a.csv", task, label[rows].tolist())
        told = estimated(tmp_path, "--labels", tmp_path / "a.csv")
    page = tmp_path / "report.html"
    assert call("report", tmp_path / "work", "--to", page).status == 0
    text = page.read_text()
    assert "<strong>MSE " in text
    assert "The mean of the squared errors" in text
    assert "Where labels were spent" not in text
    twin = json.loads(page.with_suffix(".json").read_text())
    assert twin["estimate"] == told
    assert [len(one["measures"]) for one in twin["rounds"]] == [5, 5]
    assert twin["bands"] == twin["evaluation"]["classes"] == []


def test_labels_are_checked_against_the_range(tmp_path: Path) -> None:
    label = prepared(tmp_path)
    task, rows = tasks(tmp_path, 1)
    told = [f"{one:.3f}" for one in label[rows]]
    told[:5] = ["100.5", "nan", "about 30", "unsure", "5,5"]
    pq.write_table(pa.table({"task": task, "label": told}), tmp_path / "a.parquet")
    result = estimated(tmp_path, "--labels", tmp_path / "a.parquet")
    assert (result["labels"], result["rejects"]) == (115, 4)
    (rejects,) = (tmp_path / "work/labels").glob("*.rejects.csv")
    assert "label '100.5' is no number from 0 to 100" in rejects.read_text()
    # The same number is no contradiction, another one is.
    again = [f"{float(told[5]):.6f}", "1.25"]
    path = tmp_path / "b.csv"
    path.write_text(f"task,label\n{task[5]},{again[0]}\n{task[6]},{again[1]}\n")
    result = estimated(tmp_path, "--labels", path)
    assert (result["labels"], result["rejects"]) == (115, 5)


@pytest.mark.slow
def test_simulate_and_plan(tmp_path: Path) -> None:
    label = write_job(tmp_path)
    pq.write_table(pa.table({"id": np.arange(ROWS), "label": label}), tmp_path / "truth.parquet")
    names = ("active_risk", "passive", "stratified", "importance", "optimal_importance", "poisson")
    options = ["--budgets", "60", "--repeats", 3, "--sampler", *names, "--json"]
    spec = tmp_path / "spec.yaml"
    told = call("simulate", spec, "--truth", tmp_path / "truth.parquet", *options).json
    predicted, variance, _ = made_up()
    square = np.mean((predicted - label) ** 2)
    assert told["truth"]["mse"] == pytest.approx(square)
    assert told["truth"]["r2"] == pytest.approx(1 - square / np.var(label))
    assert {one["sampler"] for one in told["results"]} == set(names)
    assert all(one["rmse"] > 0 for one in told["results"])
    assert (
        "measure: r2 cannot be planned for: no label is expected before it"
        in call("plan", spec, *options).refused
    )
    write_job(tmp_path, measure=MEASURES[:-1])
    planned = call("plan", spec, *options).json
    errors = {(one["sampler"], one["measure"]): one["standard_error"] for one in planned}
    # Of normal errors the mean square of 60 has the variance (3 E t^4 - (E t^2)^2) / 60.
    expected = np.sqrt((3 * np.mean(variance**2) - np.mean(variance) ** 2) / 60)
    assert errors["passive", "mse"] == pytest.approx(expected, rel=1)
    bad = tmp_path / "truth.csv"
    for value, words in (("300", "300 is not from 0 to 100"), ("many", "must be numbers")):
        bad.write_text(f"id,label\n0,{value}\n")
        assert words in call("simulate", spec, "--truth", bad, *options).err


def test_in_memory() -> None:
    predicted, variance, label = made_up()
    columns = {"mean": predicted, "tau2": variance}
    evaluation = Evaluation.from_arrays(
        None,
        None,
        columns=columns,
        pool={"prediction": "mean", "variance": "tau2"},
        labels={"range": [0, 100]},
        measure=["mae"],
        seed=2,
    )
    ids = evaluation.sample(150)
    with pytest.raises(InputError, match="not one of the numbers from 0 to 100"):
        evaluation.label(ids[:1], np.array([101.0]))
    with pytest.raises(InputError, match=r"has two labels, '1' and '2\.5'"):
        evaluation.label([ids[0]] * 2, [1.0, 2.5])
    evaluation.label(ids, label[ids])
    with pytest.raises(InputError, match="replace=True takes the new one"):
        evaluation.label(ids[:1], [label[ids[0]] + 1])
    (found,) = evaluation.estimate()
    truth = np.mean(np.abs(predicted - label))
    assert found.value == pytest.approx(truth, abs=4 * found.standard_error)


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("variance", -1.0, "column 'variance', row 7: a variance is at least 0, got -1"),
        ("variance", np.nan, "column 'variance', row 7: must be a number, got nan"),
        ("prediction", 1e12, "column 'prediction', row 7: 1e\\+12 is too far from labels.range"),
    ],
)
def test_bad_values_of_the_pool(column: str, value: float, words: str) -> None:
    predicted, variance, _ = made_up()
    columns = {"prediction": predicted, "variance": variance}
    columns[column][7] = value
    with pytest.raises(InputError, match=words):
        Evaluation.from_arrays(None, None, columns=columns, labels={"range": [0, 100]})


NUMBERS = {"range": [0, 100]}


def test_spec_is_stored_as_it_was() -> None:
    spec = parse(labels=NUMBERS, pool={"path": "x", "variance": "tau2", "prediction": "mean"})
    assert spec.to_mapping()["labels"] == {"oracle": "deterministic", "range": [0, 100]}
    assert parse(**spec.to_mapping()) == spec
    assert spec.sampler.name == "active_risk"
    assert [one.name for one in spec.measures] == ["mse"]


def test_annotators_are_asked_for_a_number() -> None:
    labels = parse(labels=NUMBERS).labels
    page = ElementTree.fromstring(label_config(["title"], labels, SinkSpec()))
    (number,) = page.iter("Number")
    assert (number.get("name"), number.get("min"), number.get("max")) == ("label", "0", "100")
    assert not list(page.iter("Choices"))
    sheet = instructions("batch.csv", 5, ["title"], SinkSpec(), labels)
    assert "a number:\n\nfrom 0 to 100, with a point before decimals" in sheet
    damaged = [{"from_name": "label", "type": "number", "value": {"number": True}}]
    task = {"data": {"task": "t"}, "annotations": [
        {"was_cancelled": False, "completed_by": 1, "result": damaged}]}  # fmt: skip
    (vote,) = read_votes("x.json", json.dumps([task]).encode())
    assert vote.problem == "the result is damaged"


# --- several systems


def labelled(one: Job) -> Job:
    """With a first round, and the labels that are true."""
    one.drawn()
    labels = [(task, repr(one.pool.truth[row])) for task, row in one.asked(1)]
    assert call("estimate", one.workspace, "--labels", one.deliver(labels)).done
    return one


@pytest.mark.slow
def test_the_command_line_says_what_python_says(job: Any) -> None:
    """Three systems: values, differences, who beats whom; the same rows and the same numbers."""
    both = {"name": "compare", "variant": "active_risk"}
    pool = {"cost": "cost", "slices": ["low"]}
    spec = spec_of(3, measure=["mse", "mae"], pool=pool, sampler=both, round_size=150)
    one = labelled(job(make_compared_numbers(700, 3), files=2, group_rows=100, **spec))
    said = one.estimate().json
    table = pq.read_table(one.spec.parent / "pool")
    columns = {name: table[name] for name in table.column_names if name not in ("id", "name")}
    full = yaml.safe_load(one.spec.read_text())
    keys = {key: full[key] for key in ("labels", "measure", "sampler", "seed", "strata", "budget")}
    pool = {key: value for key, value in full["pool"].items() if key not in ("path", "payload")}
    evaluation = Evaluation.from_arrays(
        None, None, id=table["id"], columns=columns, pool=pool, round_size=150, **keys
    )
    ids = evaluation.sample(150)
    assert sorted(ids.tolist()) == sorted(row for _, row in one.asked(1))
    evaluation.label(ids, [one.pool.truth[row] for row in ids.tolist()])
    here = [estimate.value for estimate in evaluation.estimate()]
    there = [each["value"] for each in said["measures"]]
    np.testing.assert_allclose(there, here, rtol=1e-9)
    opened = Evaluation.open(one.workspace).estimate()
    np.testing.assert_allclose([each.value for each in opened], here, rtol=1e-9)


def test_a_report_and_the_stop_at_a_fixed_test(job: Any) -> None:
    spec = spec_of(2, stop={"significance": 0.999, "test": "fixed"}, round_size=120)
    one = labelled(job(make_compared_numbers(), **spec))
    difference = one.estimate().json["measures"][0]
    assert difference["significance"]["p_value"] is not None
    assert "anytime_p_value" not in difference["significance"] or (
        difference["significance"]["anytime_p_value"] is None
    )
    assert "significant" in call("sample", one.workspace).out
    page = one.directory / "report.html"
    assert call("report", one.workspace, "--to", page).status == 0
    assert "MSE of " in page.read_text()


@pytest.mark.slow
def test_plans_of_power_need_the_difference(job: Any) -> None:
    one = job(make_compared_numbers(), **spec_of(2))
    arguments = ("plan", one.spec, "--budgets", 60, "--repeats", 3, "--power", 0.8)
    refused = call(*arguments)
    assert refused.status != 0
    assert "--effect" in refused.err
    planned = call(*arguments, "--effect", 20, "--json").done
    powers = [one for one in json.loads(planned.out) if one.get("power") == 0.8]
    needed = {one["sampler"]: one["labels"] for one in powers}
    assert needed.keys() == {"passive", "compare"}
    assert needed["compare"] > 2
