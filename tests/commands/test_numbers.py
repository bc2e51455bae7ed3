"""An evaluation of predicted numbers from files: labels, range, median, results, comparisons."""

import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import Evaluation
from evalsampling.errors import InputError
from evalsampling.labels.controls import records
from evalsampling.labels.formats import read_votes
from evalsampling.labels.label_studio import label_config
from evalsampling.labels.vendor import instructions
from evalsampling.spec.sink import SinkSpec
from evalsampling.workspace.snapshot import Snapshot
from tests.compared_numbers import make_compared_numbers, spec_of
from tests.jobs import Job, Jobs, Pool, call
from tests.spec.specs import parse

ROWS = 800
NUMBERS = {"range": [0, 100]}
MEASURES = ["mse", "rmse", "mae", "mean_error", "r2"]


def made_up(seed: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions, their variances, and labels from 0 to 100."""
    rng = np.random.default_rng(seed)
    variance = rng.gamma(1.0, 8.0, ROWS)
    predicted = rng.uniform(20, 80, ROWS)
    label = np.clip(predicted + 0.5 + np.sqrt(variance) * rng.normal(size=ROWS), 0, 100)
    return predicted, variance, label


def numbered(job: Jobs, **keys: Any) -> Job:
    """A job on such a pool, whose labels are its truth."""
    predicted, variance, label = made_up()
    table = pa.table({"id": np.arange(ROWS), "prediction": predicted, "variance": variance})
    spec = {"labels": NUMBERS, "measure": MEASURES, "budget": 240, "round_size": 120, **keys}
    pool = Pool(table, dict(enumerate(label.tolist())))
    return job(pool, pool={"payload": []}, strata={"leaves": 32}, **spec)


def rows_of(one: Job, number: int = 1) -> np.ndarray:
    """The rows of a round in the order of its tasks."""
    return np.array(one.batch(number)["id"]).astype(int)


def weighted_mean(one: Job, values: np.ndarray) -> float:
    """Return sum v l / sum v over all draws of the first round, by hand from its files."""
    draws = pq.read_table(one.round_directory(1) / "draws.parquet").to_pydict()
    return float(np.average(values[draws["id"]], weights=1 / np.array(draws["q"])))


def test_estimate_is_the_self_normalised_one(job: Jobs) -> None:
    one = numbered(job).drawn()
    predicted, _, label = made_up()
    value = one.answer(1).json["measures"][0]["value"]
    assert value == pytest.approx(weighted_mean(one, (predicted - label) ** 2))


def exported(answers: list[tuple[str, str]]) -> str:
    """An export of Label Studio with a Number for each task."""
    return json.dumps([
        {"data": {"task": task}, "annotations": [{"was_cancelled": False, "completed_by": 1,
            "result": [{"from_name": "label", "to_name": "task", "type": "number",
                        "value": {"number": float(label)}}]}]}
        for task, label in answers
    ])  # fmt: skip


@pytest.mark.parametrize("name", ["labels.csv", "export.json"])
def test_labels_come_as_numbers(job: Jobs, name: str) -> None:
    one = numbered(job).prepared()
    for number in (1, 2):
        assert one.sample().json["rows"] == 120
        path = one.deliver(one.answers(number), f"{number}-{name}")
        if name == "export.json":
            path.write_text(exported(one.answers(number)))
        result = one.estimate("--labels", path).json
    assert (result["labels"], result["rejects"]) == (240, 0)
    predicted, _, label = made_up()
    error = predicted - label
    truth = {
        "mse": np.mean(error**2),
        "rmse": np.sqrt(np.mean(error**2)),
        "mae": np.mean(np.abs(error)),
        "mean_error": np.mean(error),
        "r2": 1 - np.mean(error**2) / np.var(label),
    }
    for told in result["measures"]:
        # 240 labels: four standard errors.
        off = abs(told["value"] - truth[told["measure"]])
        assert off < 4 * told["standard_error"], told["measure"]
        is_above_0 = told["measure"] not in ("mean_error", "r2")
        assert told["method"] == ("student, logarithm" if is_above_0 else "student")
    assert call("status", "--verify", one.workspace).status == 0


def test_the_median_of_several_numbers_decides(job: Jobs) -> None:
    one = numbered(job, labels={**NUMBERS, "votes": 3}, round_size=60).drawn()
    predicted, _, label = made_up()
    tasks, rows = one.batch(1)["task"], rows_of(one)
    truth = np.clip(np.round(label[rows], 3), 2, 98)
    off = np.where(np.arange(60) % 2 == 0, 100.0, 0.0)
    said = {"a": [*truth], "b": ["skip", *truth[1:] + 1], "c": ["skip", "skip", *off[2:]]}

    def taken(name: str, answers: list[Any]) -> Any:
        given = [("", "yes") if each == "skip" else (each, "") for each in answers]
        votes = [(task, name, *each) for task, each in zip(tasks, given, strict=True)]
        return one.take(votes, f"{name}.csv", "task,annotator,label,skipped").json

    for name, answers in said.items():
        result = taken(name, answers)
    # One row has a single number of three answers: it waits, until there are two.
    assert (result["labels"], result["open"]) == (59, 1)
    assert call("status", one.workspace, "--json").json["disputed"] == 1
    result = taken("d", [truth[0] + 1, *[""] * 59])
    assert (result["labels"], result["open"]) == (60, 0)
    median = label.copy()
    median[rows] = np.where(off == 100, truth + 1, truth)
    median[rows[:2]] = truth[:2] + 0.5
    value = result["measures"][0]["value"]
    assert value == pytest.approx(weighted_mean(one, (predicted - median) ** 2), rel=1e-9)
    people = records(Snapshot.at(one.workspace).tally, ())
    assert [each.labels for each in people] == [60, 59, 58, 1]


def test_report(job: Jobs) -> None:
    one = numbered(job).prepared()
    for number in (1, 2):
        one.sample()
        told = one.answer(number).json
    page = one.directory / "report.html"
    assert call("report", one.workspace, "--to", page).status == 0
    text = page.read_text()
    assert "<strong>MSE " in text
    assert "The mean of the squared errors" in text
    assert "Where labels were spent" not in text
    twin = json.loads(page.with_suffix(".json").read_text())
    assert twin["estimate"] == told
    assert [len(each["measures"]) for each in twin["rounds"]] == [5, 5]
    assert twin["bands"] == twin["evaluation"]["classes"] == []


def test_labels_are_checked_against_the_range(job: Jobs) -> None:
    one = numbered(job).drawn()
    tasks, told = (list(column) for column in zip(*one.answers(1), strict=True))
    told[:5] = ["100.5", "nan", "about 30", "unsure", "5,5"]
    path = one.directory / "a.parquet"
    pq.write_table(pa.table({"task": tasks, "label": told}), path)
    result = one.estimate("--labels", path).json
    assert (result["labels"], result["rejects"]) == (115, 4)
    assert "label '100.5' is no number from 0 to 100" in [row["reason"] for row in one.rejects()]
    # The same number is no contradiction, another one is.
    result = one.take([(tasks[5], f"{float(told[5]):.17f}"), (tasks[6], "1.25")], "b.csv").json
    assert (result["labels"], result["rejects"]) == (115, 5)


@pytest.mark.slow
def test_simulate_and_plan(job: Jobs) -> None:
    one = numbered(job)
    names = ("active_risk", "passive", "stratified", "optimal_importance", "poisson")
    options = ["--budgets", "60", "--repeats", 3, "--sampler", *names, "--json"]
    told = call("simulate", one.spec, "--truth", one.write_truth(), *options).json
    predicted, variance, label = made_up()
    square = np.mean((predicted - label) ** 2)
    assert told["truth"]["mse"] == pytest.approx(square)
    assert told["truth"]["r2"] == pytest.approx(1 - square / np.var(label))
    assert {each["sampler"] for each in told["results"]} == set(names)
    assert all(each["rmse"] > 0 for each in told["results"])
    refused = call("plan", one.spec, *options).refused
    assert "measure: r2 cannot be planned for: no label is expected before it" in refused
    planned = call("plan", numbered(job, measure=MEASURES[:-1]).spec, *options).json
    in_words = call("plan", numbered(job, measure=MEASURES[:-1]).spec, *options[:-1])
    assert "if the predictive variances are right:" in in_words.out
    errors = {(each["sampler"], each["measure"]): each["standard_error"] for each in planned}
    # Of normal errors the mean square of 60 has the variance (3 E t^4 - (E t^2)^2) / 60.
    expected = np.sqrt((3 * np.mean(variance**2) - np.mean(variance) ** 2) / 60)
    assert errors["passive", "mse"] == pytest.approx(expected, rel=1)
    bad = one.directory / "truth.csv"
    for value, words in (("300", "300 is not from 0 to 100"), ("many", "must be a number")):
        bad.write_text(f"id,label\n0,{value}\n")
        assert words in call("simulate", one.spec, "--truth", bad, *options).err


def test_in_memory() -> None:
    predicted, variance, label = made_up()
    columns = {"mean": predicted, "tau2": variance}
    evaluation = Evaluation.from_arrays(
        None,
        None,
        columns=columns,
        pool={"prediction": "mean", "variance": "tau2"},
        labels=NUMBERS,
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
    assert one.drawn().answer(1).done
    return one


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
