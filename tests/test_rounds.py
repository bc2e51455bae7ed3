"""Rounds: batches out, labels in, over the command line."""

import csv
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import workspace
from evalsampling.measures import BY_NAME
from evalsampling.workspace.workspace import VERSION
from tests.jobs import Job, Pool, call, files_below, make_pool, make_rich_pool, strict_json


@pytest.fixture
def drawn(job: Any) -> Job:
    """A job with one open round."""
    one: Job = job(measure=["f1", "precision", "recall", "accuracy"])
    assert one.prepare().status == 0
    assert one.sample().json["rows"] == 20
    return one


# --- batches


def test_batch_is_blind_and_shuffled(drawn: Job) -> None:
    with (drawn.round_directory(1) / "batch.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["task", "name", "label"]
    assert all(row["label"] == "" for row in rows)
    tasks = [row["task"] for row in rows]
    assert tasks == sorted(tasks), "the order of the tasks must tell nothing"
    text = (drawn.round_directory(1) / "batch.csv").read_text()
    batch = drawn.batch(1)
    scores = dict(
        zip(drawn.pool.table["id"].to_pylist(), drawn.pool.table["score"].to_pylist(), strict=True)
    )
    assert not any(repr(scores[id]) in text for id in batch["id"])
    assert batch["kind"] == ["sample"] * 20
    draws = pq.read_table(drawn.round_directory(1) / "draws.parquet")
    order = draws.filter(draws["new"])["id"].to_pylist()
    assert order != batch["id"]
    assert sorted(order) == sorted(batch["id"])


def test_batch_formats_hold_the_same(job: Any) -> None:
    seen = []
    for format in ("csv", "jsonl", "parquet"):
        one = job(sink={"format": format})
        one.prepare()
        path = Path(one.sample().json["batch"])
        if format == "csv":
            with path.open() as file:
                rows = list(csv.DictReader(file))
        elif format == "jsonl":
            rows = [json.loads(line) for line in path.read_text().splitlines()]
        else:
            rows = pq.read_table(path).to_pylist()
        seen.append(rows)
    assert seen[0] == seen[1] == seen[2]


def test_payload_goes_with_its_row(drawn: Job) -> None:
    named = dict(
        zip(drawn.pool.table["id"].to_pylist(), drawn.pool.table["name"].to_pylist(), strict=True)
    )
    batch = drawn.batch(1)
    assert batch["payload.name"] == [named[id] for id in batch["id"]]


def test_sampling_an_open_round_returns_it_again(drawn: Job) -> None:
    before = files_below(drawn.workspace)
    again = drawn.sample().json
    assert again["round"] == 1
    assert again["rows"] == 20
    assert files_below(drawn.workspace) == before


def test_draws_hold_the_design(drawn: Job) -> None:
    draws = pq.read_table(drawn.round_directory(1) / "draws.parquet")
    assert draws.column_names == [
        "round", "draw", "question", "cell", "rank", "q", "new",
        "id", "prediction.0", "score.0", "probability.0.0", "probability.0.1",
    ]  # fmt: skip
    new, question = draws["new"].to_numpy(), draws["question"].to_numpy()
    assert question[new].tolist() == list(range(1, 21)), "questions are numbered as they are asked"
    of_id = dict(zip(draws["id"].to_pylist(), question.tolist(), strict=True))
    assert [of_id[id] for id in draws["id"].to_pylist()] == question.tolist()
    columns = ("id", "score", "prediction")
    pool = zip(*(drawn.pool.table[c].to_pylist() for c in columns), strict=True)
    known = {id: (score, prediction) for id, score, prediction in pool}
    told = zip(*(draws[c].to_pylist() for c in ("id", "score.0", "prediction.0")), strict=True)
    for id, score, prediction in told:
        assert known[id] == (score, prediction)
    design = json.loads((drawn.round_directory(1) / "design.json").read_text())
    assert design["draws"] == len(draws)
    assert design["new_rows"] == 20
    assert draws["new"].to_pylist()[-1], "a round stops on the draw that meets its last new row"


# --- closing


def test_a_round_closes_when_every_row_is_answered(drawn: Job) -> None:
    answers = drawn.answers(1)
    drawn.estimate("--labels", drawn.deliver(answers[:19], "a.csv"))
    assert drawn.sample().json["round"] == 1
    skip = [[answers[19][0], "", "yes"]]
    drawn.estimate("--labels", drawn.deliver(skip, "b.csv", "task,label,skipped"))
    assert drawn.sample().json["round"] == 2


def test_next_gives_up_the_open_rows_and_their_labels_still_count(drawn: Job) -> None:
    answers = drawn.answers(1)
    drawn.estimate("--labels", drawn.deliver(answers[:15], "a.csv"))
    assert drawn.sample("--next").json["round"] == 2
    assert set(drawn.batch(1)["id"]).isdisjoint(drawn.batch(2)["id"])
    status = call("status", drawn.workspace, "--json").json
    assert (status["labels"], status["open"]) == (15, 20)
    late = drawn.estimate("--labels", drawn.deliver(answers[15:], "late.csv")).json
    assert late["labels"] == 20


def test_closing_by_hand(drawn: Job) -> None:
    answers = drawn.answers(1)
    result = drawn.estimate("--labels", drawn.deliver(answers[:12]), "--close").json
    assert result["open"] == 0
    assert any("8 of 20 rows drawn have no label" in warning for warning in result["warnings"])
    assert drawn.sample().json["round"] == 2


def test_open_round_without_answers_changes_no_number(drawn: Job) -> None:
    first = drawn.estimate("--labels", drawn.deliver(drawn.answers(1))).json
    drawn.sample()
    assert drawn.estimate().json["measures"] == first["measures"]


def test_budget_is_spent_to_the_row(job: Any) -> None:
    one = job(budget=50)
    one.prepare()
    sizes = []
    for number in range(1, 5):
        sampled = one.sample().json
        sizes.append((sampled["rows"], sampled["reason"]))
        if sampled["rows"]:
            result = one.estimate("--labels", one.deliver(one.answers(number))).json
    assert sizes == [(20, None), (20, None), (10, None), (0, "budget")]
    assert result["done"]


def test_pool_smaller_than_the_budget_is_exhausted(job: Any) -> None:
    one = job(make_pool(rows=60), budget=500, sampler="passive", strata={"leaves": 4})
    one.prepare()
    for number in range(1, 20):
        sampled = one.sample().json
        if not sampled["rows"]:
            break
        result = one.estimate("--labels", one.deliver(one.answers(number))).json
    assert sampled["reason"] == "exhausted"
    assert result["labels"] == 60
    assert result["done"]


def test_rows_that_cannot_add_to_the_measure_are_left_alone(job: Any) -> None:
    """Precision needs the predicted positives and no more: then the pool is exhausted."""
    one = job(make_pool(rows=600), budget=500, measure="precision", strata={"leaves": 4})
    one.prepare()
    predicted = sum(one.pool.table["prediction"].to_pylist())
    for number in range(1, 20):
        sampled = one.sample().json
        if not sampled["rows"]:
            break
        one.estimate("--labels", one.deliver(one.answers(number)))
    assert sampled["reason"] == "exhausted"
    assert call("status", one.workspace, "--json").json["labels"] == predicted
    result = one.estimate().json
    assert result["done"]
    (precision,) = result["measures"]
    hits = one.pool.table.filter(one.pool.table["prediction"].to_numpy() == 1)["id"].to_pylist()
    truth = [one.pool.truth[id] for id in hits]
    assert precision["value"] == pytest.approx(np.mean(truth), abs=1e-12)
    assert precision["method"] == "census"
    assert precision["low"] == precision["high"] == precision["value"]


def test_fixed_draws_may_meet_no_new_row(job: Any) -> None:
    one = job(sampler={"name": "passive", "draws": 3}, strata={"leaves": 2})
    one.prepare()
    for number in range(1, 4):
        sampled = one.sample().json
        assert sampled["rows"] <= 3
        draws = pq.read_table(one.round_directory(number) / "draws.parquet")
        assert len(draws) == 3
        one.estimate("--labels", one.deliver(one.answers(number)))


# --- labels


def measures(job: Job) -> Any:
    return job.estimate().json["measures"]


def test_same_delivery_twice_is_one(drawn: Job) -> None:
    path = drawn.deliver(drawn.answers(1))
    first = drawn.estimate("--labels", path)
    before = files_below(drawn.workspace)
    again = drawn.estimate("--labels", path)
    assert again.json == first.json
    assert "taken before" in again.err
    copy = shutil.copy(path, path.with_name("renamed.csv"))
    assert drawn.estimate("--labels", copy).json == first.json
    assert files_below(drawn.workspace) == before


def test_any_order_of_deliveries_gives_the_same_numbers(job: Any) -> None:
    results = []
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        one = job()
        one.prepare()
        one.sample()
        answers = one.answers(1)
        paths = [one.deliver(answers[i::3], f"{i}.csv") for i in range(3)]
        for i in order:
            result = one.estimate("--labels", paths[i]).json
        results.append(result)
    assert results[0] == results[1] == results[2]
    together = job()
    together.prepare()
    together.sample()
    answers = together.answers(1)
    paths = [together.deliver(answers[i::3], f"{i}.csv") for i in range(3)]
    assert together.estimate("--labels", *paths).json == results[0]


def test_formats_of_deliveries_agree(job: Any) -> None:
    results = []
    for format in ("csv", "bom", "jsonl", "parquet", "floats", "ids"):
        one = job()
        one.prepare()
        one.sample()
        answers = one.answers(1)
        random.Random(format).shuffle(answers)
        path = one.directory / "labels.csv"
        if format in ("csv", "bom"):
            one.deliver(answers)
            if format == "bom":
                path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        elif format == "ids":
            batch = one.batch(1)
            of_task = dict(zip(batch["task"], batch["id"], strict=True))
            one.deliver([(of_task[task], label) for task, label in answers], header="id,label")
        else:
            path = one.directory / ("labels.jsonl" if format == "jsonl" else "labels.parquet")
            tasks, labels = [a[0] for a in answers], [int(a[1]) for a in answers]
            if format == "jsonl":
                lines = [
                    json.dumps({"task": t, "label": v, "annotator": "ann"})
                    for t, v in zip(tasks, labels, strict=True)
                ]
                path.write_text("\n".join(lines))
            else:
                kind = pa.float64() if format == "floats" else pa.int64()
                pq.write_table(pa.table({"task": tasks, "label": pa.array(labels, kind)}), path)
        result = one.estimate("--labels", path).json
        assert (result["labels"], result["rejects"]) == (20, 0)
        results.append(result["measures"])
    assert all(result == results[0] for result in results)


def reject(drawn: Job, rows: list[list[str]], header: str = "task,label") -> str:
    """Deliver bad rows: they are counted and listed, and no number changes; returns reasons."""
    answers = drawn.answers(1)
    drawn.estimate("--labels", drawn.deliver(answers[:10], "good.csv"))
    before = measures(drawn)
    path = drawn.deliver(rows, "bad.csv", header)
    strict = drawn.estimate("--labels", path, "--strict")
    assert strict.status == 1
    assert "bad.csv: line" in strict.err
    assert len(list((drawn.workspace / "labels").iterdir())) == 1
    result = drawn.estimate("--labels", path)
    assert result.status == 0
    assert result.json["rejects"] == len(rows)
    assert result.json["measures"] == before
    (listed,) = (drawn.workspace / "labels").glob("*.rejects.csv")
    with listed.open() as file:
        found = list(csv.DictReader(file))
    assert [int(row["line"]) for row in found] == list(range(2, len(rows) + 2))
    assert all(row["file"].endswith("bad.csv") for row in found)
    assert call("status", drawn.workspace, "--json").json["rejects"] == len(rows)
    return " | ".join(row["reason"] for row in found)


def test_unknown_task(drawn: Job) -> None:
    assert "unknown task 't_nobody'" in reject(drawn, [["t_nobody", "1"]])


def test_same_row_with_two_labels_in_one_delivery(drawn: Job) -> None:
    task = drawn.answers(1)[15][0]
    reason = reject(drawn, [[task, "1"], [task, "0"]])
    assert "two different labels for one row: '1' in line 2 and '0' in line 3" in reason


def test_label_that_contradicts_an_earlier_one(drawn: Job) -> None:
    task, label = drawn.answers(1)[0]
    other = "0" if label == "1" else "1"
    assert f"the row has '{label}' already" in reject(drawn, [[task, other]])


def test_label_outside_the_classes(drawn: Job) -> None:
    task = drawn.answers(1)[15][0]
    assert "label 'yes' is none of: 0, 1" in reject(drawn, [[task, "yes"]])


def test_text_is_compared_exactly(drawn: Job) -> None:
    tasks = [task for task, _ in drawn.answers(1)[15:18]]
    reasons = reject(drawn, [[tasks[0], "01"], [tasks[1], "1.0"], [tasks[2], " 1"]])
    assert reasons.count("is none of") == 3


def test_row_with_a_field_too_many(drawn: Job) -> None:
    task = drawn.answers(1)[15][0]
    assert "3 fields where the header has 2" in reject(drawn, [[task, "1", "?"]])


def test_id_that_lost_its_leading_zeros(job: Any) -> None:
    one = job(make_pool(text_ids=True))
    one.prepare()
    one.sample()
    lost = next(id for id in one.batch(1)["id"] if id.startswith("0"))
    reason = reject(one, [[lost.lstrip("0"), "1"]], header="id,label")
    assert f"did {lost!r} lose its leading zeros?" in reason


def test_good_rows_of_a_bad_delivery_are_taken(drawn: Job) -> None:
    rows = [*drawn.answers(1), ("t_nobody", "1")]
    result = drawn.estimate("--labels", drawn.deliver(rows)).json
    assert (result["labels"], result["rejects"]) == (20, 1)


def test_correction_by_replace(drawn: Job) -> None:
    answers = drawn.answers(1)
    drawn.estimate("--labels", drawn.deliver(answers))
    before = measures(drawn)
    task, label = next(answer for answer in answers if answer[1] == "1")
    path = drawn.deliver([(task, "0")], "correction.csv")
    result = drawn.estimate("--replace", path).json
    assert (result["labels"], result["rejects"]) == (20, 0)
    assert result["measures"] != before
    assert len(list((drawn.workspace / "labels").glob("*.parquet"))) == 2
    assert label == "1"


def test_correction_may_be_taken_back(drawn: Job) -> None:
    answers = drawn.answers(1)
    drawn.estimate("--labels", drawn.deliver(answers))
    before = measures(drawn)
    task = next(task for task, label in answers if label == "1")
    there = drawn.deliver([(task, "0")], "there.csv")
    back = drawn.deliver([(task, "1")], "back.csv")
    for path, same in [(there, False), (there, False), (back, True), (there, False), (back, True)]:
        assert (drawn.estimate("--replace", path).json["measures"] == before) is same
    assert len(list((drawn.workspace / "labels").glob("*.parquet"))) == 5


def test_master_file_delivered_again_brings_the_labels_of_the_new_round(drawn: Job) -> None:
    """Labels of the whole pool in one file: rejected rows of round 1 count in round 2."""
    rows = [(str(id), str(label)) for id, label in drawn.pool.truth.items()]
    master = drawn.deliver(rows, "master.csv", "id,label")
    first = drawn.estimate("--labels", master).json
    assert (first["labels"], first["rejects"]) == (20, 1980)
    drawn.sample()
    second = drawn.estimate("--labels", master).json
    assert (second["labels"], second["open"], second["rejects"]) == (40, 0, 1960)
    assert "taken before" in drawn.estimate("--labels", master).err


def test_strict_also_holds_for_a_delivery_taken_before(drawn: Job) -> None:
    bad = drawn.deliver([("t_nobody", "1")], "bad.csv")
    assert drawn.estimate("--labels", bad).status == 0
    good = drawn.deliver(drawn.answers(1), "good.csv")
    result = drawn.estimate("--labels", good, bad, "--strict")
    assert result.status == 1
    assert drawn.estimate().json["labels"] == 0


def test_strict_sees_contradictions_between_files_of_one_call(drawn: Job) -> None:
    task = drawn.answers(1)[0][0]
    paths = [drawn.deliver([(task, label)], f"{label}.csv") for label in "01"]
    result = drawn.estimate("--labels", *paths, "--strict")
    assert result.status == 1
    assert "1.csv: line 2" in result.err
    assert not (drawn.workspace / "labels").exists()


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", b"task,answer\nx,1\n", ["'label' is missing"]),
        ("a.csv", b"label\n1\n", ["'task' (or 'id') is missing"]),
        ("a.csv", b"", ["empty"]),
        ("a.csv", b'task,label\n"x,1\n', ["cannot be read"]),
        ("a.csv", b"task,label\n\xff\xfe,1\n", ["cannot be read"]),
        ("a.csv", b"task,label,label\nx,1,0\n", ["'label' is there twice"]),
        ("a.jsonl", b'{"task": "x", "label": 1}\n{oops\n', ["line 2", "not JSON"]),
        ("a.parquet", b"PAR1", ["cannot be read"]),
        ("a.csv", b"task;label\nx;1\n", ["commas, not by semicolons"]),
        ("a.csv", "task,label\nx,1\n".encode("utf-16"), ["not UTF-8"]),
        ("a.csv", b"Task,Label\nx,1\n", ["compared exactly"]),
        ("a.xlsx", b"", [".csv", ".jsonl", ".parquet"]),
    ],
)
def test_unreadable_delivery_takes_nothing(
    drawn: Job, name: str, content: bytes, words: list[str]
) -> None:
    path = drawn.directory / name
    path.write_bytes(content)
    good = drawn.deliver(drawn.answers(1), "good.csv")
    before = files_below(drawn.workspace)
    result = drawn.estimate("--labels", good, path)
    assert result.status == 1
    assert len(result.err.splitlines()) == 1
    assert all(word in result.err for word in [str(path), *words])
    assert files_below(drawn.workspace) == before


# --- estimates


def test_estimate_json(drawn: Job) -> None:
    result = drawn.estimate("--labels", drawn.deliver(drawn.answers(1))).json
    assert list(result) == [
        "round", "labels", "open", "rejects", "warnings", "done", "measures", "regions",
        "half_width",
    ]  # fmt: skip
    assert result["regions"] == []
    keys = [
        "measure", "system", "against", "slice", "threshold", "value", "standard_error", "low",
        "high", "confidence", "method", "intervals", "reason",
    ]  # fmt: skip
    assert all(list(one)[: len(keys)] == keys for one in result["measures"])
    assert [one["measure"] for one in result["measures"]] == [
        "f1", "precision", "recall", "accuracy"
    ]  # fmt: skip
    for one in result["measures"]:
        assert one["low"] == one["intervals"][0]["low"]
        assert one["low"] <= one["value"] <= one["high"]
        assert {interval["kind"] for interval in one["intervals"]} == {"design-based"}
    assert len(list((drawn.workspace / "estimates").iterdir())) == 1
    one = drawn.estimate("--measure", "recall").json["measures"]
    assert one == [result["measures"][2]]
    assert "unknown measure" in drawn.estimate("--measure", "recal").err


def test_estimate_before_any_label(drawn: Job) -> None:
    (first, *_) = drawn.estimate().json["measures"]
    assert first["value"] is None
    assert first["reason"] == "no labels yet"
    assert (first["low"], first["high"]) == (0, 1)


def test_estimates_converge_to_the_truth(job: Any) -> None:
    """Ten rounds of a pool of 2,000 rows: 400 labels, the truth inside the interval."""
    one = job(budget=1000, round_size=40)
    one.prepare()
    for number in range(1, 11):
        one.sample()
        result = one.estimate("--labels", one.deliver(one.answers(number))).json
    predicted = dict(
        zip(one.pool.table["id"].to_pylist(), one.pool.table["prediction"].to_pylist(), strict=True)
    )
    f = np.array(list(predicted.values()))
    y = np.array([one.pool.truth[id] for id in predicted])
    truth = 2 * np.sum(f * y) / (np.sum(f) + np.sum(y))
    (f1,) = result["measures"]
    assert f1["low"] < truth < f1["high"]
    assert abs(f1["value"] - truth) < 4 * f1["standard_error"]


def test_loading_a_workspace_gives_the_evaluation(drawn: Job) -> None:
    drawn.estimate("--labels", drawn.deliver(drawn.answers(1)))
    evaluation = workspace.load(drawn.workspace)
    estimates = {estimate.measure: estimate.value for estimate in evaluation.estimate()}
    assert estimates == {one["measure"]: one["value"] for one in measures(drawn)}


def test_a_round_of_many_starts_from_the_files_alone(job: Any) -> None:
    """Two evaluations, one in this process throughout, one read from files each round."""
    one = job(round_size=30)
    one.prepare()
    memory = workspace.load(one.workspace)
    for number in range(1, 4):
        one.sample()
        rows = memory.draw(30)
        draws = pq.read_table(one.round_directory(number) / "draws.parquet")
        np.testing.assert_array_equal(memory.history.rounds[-1].probability, draws["q"].to_numpy())
        one.estimate("--labels", one.deliver(one.answers(number)))
        ids = draws.filter(draws["new"])["id"].to_pylist()
        labels = memory.history.label.copy()
        labels[rows] = [one.pool.truth[id] for id in ids]
        memory.history = memory.history.with_labels(labels)


# --- systems, slices, curves


def rich_job(job: Any, **keys: Any) -> Job:
    """A job with two systems and slices, prepared."""
    systems = {
        "old": {"score": "s0.score", "prediction": "s0.prediction"},
        "new": {"score": "s1.chance", "prediction": {"threshold": 0.5}},
    }
    pool = {"systems": systems, "slices": ["city", "new"], **keys.pop("pool", {})}
    one: Job = job(make_rich_pool(), files=2, pool=pool, **{"budget": 900, **keys})
    assert one.prepare().status == 0
    return one


def labelled(one: Job, rounds: int = 1, *options: Any) -> Any:
    """Draw and label some rounds; return the last estimate."""
    done = len(list((one.workspace / "rounds").glob("*")))
    for number in range(done + 1, done + rounds + 1):
        assert one.sample(*options).json["round"] == number
        result = one.estimate("--labels", one.deliver(one.answers(number), f"{number}.csv"))
    return result.json


SLICES = [
    None, "city=Bern", "city=Genève", "city=Zürich", "city=null",
    "new=false", "new=null", "new=true",
]  # fmt: skip


def test_systems_and_slices_are_told_apart(job: Any) -> None:
    one = rich_job(job, measure=["f1", {"name": "recall", "system": "new"}], round_size=150)
    empty = one.estimate().json["measures"]
    result = labelled(one, 2)
    for told in (empty, result["measures"]):
        assert [(m["measure"], m["system"], m["slice"]) for m in told] == [
            (measure, system, slice)
            for measure, system in [("f1", "old"), ("f1", "new"), ("recall", "new")]
            for slice in SLICES
        ]
        assert all(m["threshold"] is None and m["against"] is None for m in told)
    for told in empty:
        nothing = (
            "no labels yet" if told["slice"] is None else f"no labelled row where {told['slice']}"
        )
        assert (told["reason"], told["value"], told["low"], told["high"]) == (nothing, None, 0, 1)
    rows = one.pool.table.to_pylist()
    for told in result["measures"]:
        system = {"old": "s0.prediction", "new": "s1.chance"}[told["system"]]
        column, _, value = (told["slice"] or "=").partition("=")
        inside = [
            (row[system] >= 0.5, one.pool.truth[row["id"]])
            for row in rows
            if not column or str(row[column]).lower() == value.replace("null", "none").lower()
        ]
        assert inside
        f, y = np.array(inside).T
        denominator = np.sum(y) if told["measure"] == "recall" else np.sum(f + y) / 2
        truth = np.sum(f * y) / denominator
        if told["value"] is None:
            assert f"where {told['slice']}" in told["reason"]
        else:  # of 24 intervals one may miss
            error = 4 * told["standard_error"] + 1e-12
            assert abs(told["value"] - truth) <= error or told["low"] <= truth <= told["high"]
    assert all(m["value"] is not None for m in result["measures"] if not m["slice"])


def test_curves_have_a_number_for_each_threshold(job: Any) -> None:
    thresholds = [-4.0, 0.0, 2.0, 1000.0]
    curve = {"name": "pr_curve", "thresholds": thresholds, "system": "old"}
    one = rich_job(job, measure=[curve, "roc_auc"], round_size=60)
    result = labelled(one, 2)
    whole = [m for m in result["measures"] if m["slice"] is None]
    assert [(m["measure"], m["threshold"], m["system"]) for m in whole] == [
        *(("pr_curve.precision", t, "old") for t in thresholds),
        *(("pr_curve.recall", t, "old") for t in thresholds),
        ("roc_auc", None, "old"),
        ("roc_auc", None, "new"),
    ]
    nothing = whole[3]
    assert nothing["value"] is nothing["standard_error"] is None, "no row reaches 1000"
    assert "pr_curve.precision at 1000 of old is undefined" in nothing["reason"]
    assert whole[7]["value"] == 0
    kinds = [[interval["kind"] for interval in m["intervals"]] for m in whole]
    assert all(kind.count("simultaneous") == 1 for kind in kinds[:3])
    assert not any("simultaneous" in kind for kind in kinds[8:])
    sliced = [m for m in result["measures"] if m["slice"] is not None]
    assert not any(i["kind"] == "simultaneous" for m in sliced for i in m["intervals"])
    kept = list((one.workspace / "estimates").iterdir())
    assert kept
    for path in kept:
        strict_json(path.read_text())


@pytest.mark.parametrize("rows", [0, 1, 2, 5])
def test_estimates_from_next_to_nothing_are_json(job: Any, rows: int) -> None:
    """Every measure with no label, with one, with a few: numbers or null with a reason."""
    names = [name for name in BY_NAME if name not in ("f_beta", "pr_curve")]
    listed = [*names, {"name": "pr_curve", "thresholds": 5}]
    keys = {"score": "s0.score", "prediction": "s0.prediction", "slices": ["new"]}
    one = job(make_rich_pool(), pool=keys, measure=listed, sampler="passive", round_size=5)
    assert one.prepare().status == 0
    one.sample()
    for label in ("0", "1"):
        answers = [(task, label) for task, _ in one.answers(1)[:rows]]
        result = one.estimate("--replace", one.deliver(answers, f"{label}.csv")).json
        assert result["labels"] == rows
        for told in result["measures"]:
            assert (told["value"] is None) == (told["reason"] is not None)
            if told["value"] is not None and told["low"] is not None:
                assert told["low"] <= told["value"] <= told["high"]
    for path in (one.workspace / "estimates").iterdir():
        strict_json(path.read_text())


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
def test_open_round_without_answers_changes_no_number_of_any_kind(job: Any, oracle: str) -> None:
    """Neither the band of a curve nor what depends on the latest proposal."""
    curve = {"name": "pr_curve", "thresholds": 6, "system": "old"}
    one = rich_job(job, measure=["f1", curve], labels={"oracle": oracle})
    before = labelled(one, 2)
    assert one.sample().json["round"] == 3
    assert one.estimate().json["measures"] == before["measures"]
    one.sample("--next")
    assert one.estimate().json["measures"] == before["measures"]


def test_regions_of_joint_measures(job: Any) -> None:
    one = rich_job(job, measure=[{"joint": ["accuracy", "recall"]}, "f1"], round_size=60)
    (none,) = one.estimate().json["regions"]
    assert (none["centre"], none["covariance"], none["radius"]) == (None, None, None)
    assert none["reason"]
    (region,) = labelled(one, 2)["regions"]
    assert region["measures"] == [
        {"measure": measure, "system": system}
        for measure in ("accuracy", "recall")
        for system in ("old", "new")
    ]
    assert region["reason"] is None
    told = [m for m in one.estimate().json["measures"] if m["slice"] is None]
    names = [*region["measures"], *({"measure": "f1", "system": s} for s in ("old", "new"))]
    assert [{"measure": m["measure"], "system": m["system"]} for m in told] == names
    assert region["centre"] == pytest.approx([m["value"] for m in told[:4]], rel=1e-12)
    errors = [m["standard_error"] for m in told[:4]]
    np.testing.assert_allclose(np.sqrt(np.diag(region["covariance"])), errors, atol=1e-9)


# --- other measures later


def test_other_measures_later(drawn: Job) -> None:
    drawn.estimate("--labels", drawn.deliver(drawn.answers(1)))
    (beta,) = drawn.estimate("--measure", "f_beta").json["measures"]
    (f1,) = drawn.estimate("--measure", "f1").json["measures"]
    assert beta == f1, "with its defaults"
    mcc, specificity = drawn.estimate("--measure", "mcc", "specificity").json["measures"]
    assert mcc["value"] is not None, "its loss is 0 where that of f1 is"
    assert specificity["value"] is None
    assert "specificity cannot be estimated from rows drawn for f1" in specificity["reason"]
    assert [specificity[key] for key in ("low", "high", "method")] == [0, 1, "no support"]
    curve = drawn.estimate("--measure", "fowlkes_mallows", "pr_curve").json["measures"]
    assert len(curve) == 1 + 2 * 1024
    assert curve[0]["value"] is not None
    before = files_below(drawn.workspace)
    wrong = drawn.estimate("--measure", "no_such_module_at_all:x")
    assert wrong.status == 1
    assert "no_such_module_at_all:x: No module" in wrong.err
    assert files_below(drawn.workspace) == before


def test_other_measures_from_draws_that_support_them_all(job: Any) -> None:
    one = job(make_rich_pool(), sampler={"name": "ais", "delta": 0.3}, round_size=100,
              pool={"score": "s0.score", "prediction": "s0.prediction"})  # fmt: skip
    one.prepare()
    labelled(one)
    names = ["mcc", "specificity", "npv", "brier", "prevalence", "balanced_accuracy"]
    told = one.estimate("--measure", *names).json["measures"]
    assert [m["measure"] for m in told] == names
    assert all(m["value"] is not None and m["reason"] is None for m in told)
    again = one.estimate("--measure", *names).json["measures"]
    assert again == told


def test_a_curve_later_needs_scores_whose_range_is_known(job: Any) -> None:
    table = make_pool().table
    p = 1 / (1 + np.exp(-table["score"].to_numpy()))
    rows = Pool(table.append_column("p", pa.array(p)), make_pool().truth)
    one = job(rows, pool={"probability": "p"})
    one.prepare()
    labelled(one)
    result = one.estimate("--measure", "pr_curve")
    assert result.status == 1
    assert "the range of the scores is not known here" in result.err


OWN_MEASURE = """
import dataclasses
from evalsampling.measures import Measure


@dataclasses.dataclass(frozen=True)
class Cost(Measure):
    miss: float = 10.0
    system: int = 0
    positive: int = 1
    name = "cost"
    bounds = (0.0, float("inf"))

    def loss(self, outputs, label):
        f = outputs.prediction[:, self.system] == self.positive
        y = label == self.positive
        return (self.miss * (y & ~f) + (f & ~y))[:, None].astype(float)

    def value(self, risk):
        return risk
"""


def test_measure_of_the_users_own_beside_the_spec(job: Any, tmp_path: Path) -> None:
    """Found by every command, from whatever directory and process it is called."""
    module = f"own_{tmp_path.name.replace('-', '_')}"
    measure = [{"name": f"{module}:Cost", "miss": 5}, "f1"]
    one = job(make_pool(), measure=measure, round_size=100, budget=500)
    (one.directory / f"{module}.py").write_text(OWN_MEASURE)
    assert one.prepare().status == 0
    one.sample()
    path = one.deliver(one.answers(1))
    command = [sys.executable, "-m", "evalsampling", "estimate", str(one.workspace), "--json"]
    elsewhere = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    done = subprocess.run(
        [*command, "--labels", str(path)], cwd="/", env=elsewhere, capture_output=True, check=True
    )
    cost, _ = strict_json(done.stdout.decode())["measures"]
    assert cost["measure"] == "cost"
    assert cost["value"] >= 0
    assert cost["high"] is None or cost["high"] >= cost["value"]
    assert one.estimate().json["measures"][0] == cost
    rows = one.pool.table.to_pylist()
    costs = [
        5 * (y > f) + (f > y)
        for f, y in ((row["prediction"], one.pool.truth[row["id"]]) for row in rows)
    ]
    cost = labelled(one, 2)["measures"][0]
    assert abs(cost["value"] - np.mean(costs)) <= 4 * cost["standard_error"] + 1e-12


def test_growing_rounds(job: Any) -> None:
    one = job(round_size={"first": 10, "growth": 1.5}, budget=70)
    one.prepare()
    sizes = []
    for number in range(1, 5):
        sizes.append(one.sample().json["rows"])
        one.estimate("--labels", one.deliver(one.answers(number)))
    assert sizes == [10, 15, 22, 23], "22 is 22.5 cut, 23 what is left of the budget"
    assert one.sample().json["reason"] == "budget"


# --- a stochastic oracle


@pytest.fixture
def asked(job: Any) -> Job:
    """A job whose oracle is stochastic, with one open round of few distinct rows."""
    one: Job = job(
        make_pool(text_ids=True),
        labels={"oracle": "stochastic"},
        strata={"leaves": 2},
        sampler="importance",
        round_size=90,
        budget=200,
    )
    assert one.prepare().status == 0
    assert one.sample().json["rows"] == 90
    return one


def doubtful(one: Job, number: int) -> list[tuple[str, str]]:
    """Answers that differ between the questions about one row."""
    return [(task, str(i % 3 % 2)) for i, (task, _) in enumerate(one.asked(number))]


def repeated(one: Job, number: int = 1) -> tuple[str, list[str]]:
    """An id drawn more than once in a round, and its tasks."""
    tasks: dict[str, list[str]] = {}
    for task, id in one.asked(number):
        tasks.setdefault(id, []).append(task)
    return next((id, of) for id, of in tasks.items() if len(of) > 1)


def test_every_draw_is_a_task_of_its_own(asked: Job) -> None:
    batch = asked.batch(1)
    draws = pq.read_table(asked.round_directory(1) / "draws.parquet")
    assert len(batch["task"]) == len(set(batch["task"])) == len(draws) == 90
    assert len(set(batch["id"])) < 90
    assert draws["new"].to_pylist() == [True] * 90
    assert draws["question"].to_pylist() == list(range(1, 91))
    names = [batch["payload.name"][batch["id"].index(id)] for id in batch["id"]]
    assert batch["payload.name"] == names


def test_votes_are_counted_and_budgeted(asked: Job) -> None:
    sizes = [90]
    for number in (1, 2, 3):
        result = asked.estimate("--labels", asked.deliver(doubtful(asked, number))).json
        assert result["labels"] == sum(sizes)
        assert call("status", asked.workspace, "--json").json["labels"] == sum(sizes)
        sampled = asked.sample().json
        sizes.append(sampled["rows"])
    assert sizes == [90, 90, 20, 0]
    assert (sampled["reason"], result["done"]) == ("budget", True)
    first, second = asked.asked(1), asked.asked(2)
    assert {task for task, _ in first}.isdisjoint(task for task, _ in second)
    assert {id for _, id in first} & {id for _, id in second}, "rows come again in later rounds"


def test_label_by_id_is_refused_where_it_is_ambiguous(asked: Job) -> None:
    id, tasks = repeated(asked)
    once = next(i for i in asked.batch(1)["id"] if asked.batch(1)["id"].count(i) == 1)
    path = asked.deliver([(id, "1"), (once, "1")], header="id,label")
    result = asked.estimate("--labels", path).json
    assert (result["labels"], result["rejects"]) == (1, 1)
    (listed,) = (asked.workspace / "labels").glob("*.rejects.csv")
    assert f"id {id!r} was drawn {len(tasks)} times: name the task" in listed.read_text()


def test_questions_about_one_row_may_be_answered_differently(asked: Job) -> None:
    _, (one, other, *_) = repeated(asked)
    result = asked.estimate("--labels", asked.deliver([(one, "1"), (other, "0")])).json
    assert (result["labels"], result["rejects"], result["open"]) == (2, 0, 88)
    same = asked.estimate("--labels", asked.deliver([(one, "0")], "other.csv")).json
    assert (same["labels"], same["rejects"]) == (2, 1), "but not one question"


@pytest.mark.parametrize("sampler", ["ais", "importance", "passive", "oasis"])
def test_stochastic_rounds_start_from_the_files_alone(job: Any, sampler: str) -> None:
    """Two evaluations, one in this process throughout, one read from files each round."""
    one = job(
        make_rich_pool(),
        labels={"oracle": "stochastic"},
        strata={"leaves": 4},
        sampler=sampler,
        round_size=40,
        pool={"score": "s0.score", "prediction": "s0.prediction"},
    )
    one.prepare()
    memory = workspace.load(one.workspace)
    for number in range(1, 4):
        assert one.sample().json["rows"] == 40
        rows = memory.draw(40)
        draws = pq.read_table(one.round_directory(number) / "draws.parquet")
        here = memory.history
        np.testing.assert_array_equal(here.rounds[-1].probability, draws["q"].to_numpy())
        np.testing.assert_array_equal(here.rank[rows], draws["rank"].to_numpy())
        answers = doubtful(one, number)
        one.estimate("--labels", one.deliver(answers))
        labels = memory.history.label.copy()
        labels[rows] = [int(label) for _, label in answers]
        memory.history = memory.history.with_labels(labels)
    rival = shutil.copytree(one.workspace, one.directory / "rival")
    here, there = one.sample().json, call("sample", rival, "--json").json
    assert (here["round"], here["rows"]) == (there["round"], there["rows"])
    theirs = pq.read_table(rival / "rounds" / "0004" / "draws.parquet")
    assert pq.read_table(one.round_directory(4) / "draws.parquet") == theirs


# --- killed or raced


def test_sample_killed_before_the_round_is_whole(drawn: Job, monkeypatch: Any) -> None:
    drawn.estimate("--labels", drawn.deliver(drawn.answers(1)))
    before = files_below(drawn.workspace)

    class Killed(BaseException):
        pass

    def die(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("evalsampling.commands.ledger.write_tasks", die)
        with pytest.raises(Killed):
            drawn.sample()
    assert files_below(drawn.workspace) == before
    assert drawn.sample().json["round"] == 2


def test_two_commands_drawing_the_same_round(drawn: Job, monkeypatch: Any) -> None:
    drawn.estimate("--labels", drawn.deliver(drawn.answers(1)))
    rival = shutil.copytree(drawn.workspace, drawn.directory / "rival")
    call("sample", rival)
    theirs = rival / "rounds" / "0002"
    from evalsampling.commands import ledger

    write = ledger.write_tasks

    def lose(*arguments: Any) -> Path:
        shutil.copytree(theirs, drawn.round_directory(2))
        return write(*arguments)

    monkeypatch.setattr("evalsampling.commands.ledger.write_tasks", lose)
    result = drawn.sample()
    assert result.status == 1
    assert "another command made this round" in result.err
    assert files_below(drawn.round_directory(2)) == files_below(theirs)
    monkeypatch.undo()
    assert drawn.sample().json["round"] == 2


def test_sampling_at_once_gives_one_round(drawn: Job) -> None:
    drawn.estimate("--labels", drawn.deliver(drawn.answers(1)))
    command = [sys.executable, "-m", "evalsampling", "sample", str(drawn.workspace), "--json"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(3)]
    printed = [process.communicate()[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert {json.loads(text)["round"] for text in printed} == {2}
    assert len(list((drawn.workspace / "rounds").iterdir())) == 2


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("evaluation.json", "[]", ["evaluation.json", "damaged"]),
        ("evaluation.json", f'{{"version": {VERSION}}}', ["evaluation.json", "damaged", "'spec'"]),
        ("evaluation.json", '{"version": 0}', ["evaluation.json: version 0, expected"]),
        ("rounds/0001/design.json", "{}", ["design.json", "damaged", "'exported'"]),
        ("rounds/0001/draws.parquet", "PAR1", ["draws.parquet", "cannot be read"]),
        ("cells.parquet", "PAR1", ["cells.parquet", "cannot be read"]),
        ("estimates", "", ["estimates"]),
    ],
)
def test_damaged_workspace(drawn: Job, name: str, content: str, words: list[str]) -> None:
    (drawn.workspace / name).write_text(content)
    result = drawn.estimate()
    assert result.status == 1
    assert len(result.err.splitlines()) == 1, result.err
    assert all(word in result.err for word in words)


def test_reserve_that_is_gone(drawn: Job) -> None:
    shutil.rmtree(drawn.workspace / "reserve")
    result = drawn.sample("--next")
    assert result.status == 1
    assert "reserve: cannot be read" in result.err


def test_drafts_of_killed_commands_are_removed(drawn: Job) -> None:
    drafts = drawn.workspace / ".drafts"
    (drafts / "x" / "rounds" / "0002").mkdir(parents=True)
    (drafts / "x" / "rounds" / "0002" / "draws.parquet").write_text("PAR1")
    (drafts / "y").write_text("")
    drawn.estimate()
    assert not list(drafts.iterdir())


def test_others_may_read_the_batch(drawn: Job) -> None:
    umask = os.umask(0)
    os.umask(umask)
    assert drawn.round_directory(1).stat().st_mode & 0o777 == 0o777 & ~umask


# --- reserve


@pytest.mark.parametrize("scored", [False, True], ids=["columns", "scored"])
def test_top_up(job: Any, scored: bool) -> None:
    one = job(
        budget=1000,
        strata={"leaves": 2},
        sampler="passive",
        round_size=90,
        pool={"scorer": "same_scorer:score"} if scored else {},
    )
    (one.directory / "same_scorer.py").write_text("def score(batch):\n    return batch\n")
    assert one.prepare().status == 0
    reserve = one.workspace / "reserve"
    whole = pq.read_table(reserve).sort_by([("cell", "ascending"), ("rank", "ascending")])
    kept = whole.filter(pa.array(whole["rank"].to_numpy() < 20))
    shutil.rmtree(reserve)
    reserve.mkdir()
    pq.write_table(kept, reserve / "part-00000.parquet")
    before = files_below(one.workspace)
    short = one.sample()
    assert short.status == 1
    assert "--top-up 90`" in short.err
    assert files_below(one.workspace) == before

    assert one.prepare("--top-up").json["reserve_rows"] > len(kept)
    topped = pq.read_table(reserve).sort_by([("cell", "ascending"), ("rank", "ascending")])
    expected = whole.filter(pa.array(whole["rank"].to_numpy() < 20 + 2 * 90))
    columns = [name for name in whole.column_names if name != "file"]
    assert {"cell", "rank", "id", "score.0", "prediction.0", "payload.name"} <= set(columns)
    counts = np.bincount(expected["cell"].to_numpy())
    assert topped.select(columns) == expected.select(columns)
    assert counts.max() == 200
    assert one.sample().json["rows"] == 90
    again = one.prepare("--top-up")
    assert again.status == 0


def test_top_up_refuses_a_changed_pool(job: Any) -> None:
    one = job(budget=100)
    one.prepare()
    path = one.directory / "pool" / "part-0.parquet"
    table = pq.read_table(path)
    pq.write_table(pa.concat_tables([table, table.slice(0, 1)]), path)
    result = one.prepare("--top-up")
    assert result.status == 1
    assert "part-0.parquet: the pool has changed" in result.err


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
def test_reserve_may_be_deleted_after_sampling(job: Any, oracle: str) -> None:
    """Outputs and slices of the rows drawn are with the draws, for every kind of measure."""
    curve = {"name": "pr_curve", "thresholds": 6, "system": "old"}
    one = rich_job(job, measure=["f1", "brier", curve], labels={"oracle": oracle})
    expected = labelled(one, 2)
    one.sample()
    shutil.rmtree(one.workspace / "reserve")
    shutil.rmtree(one.directory / "pool")
    for number in (1, 2, 3):
        path = one.round_directory(number) / "batch.parquet"
        pq.write_table(pq.read_table(path).drop_columns(["payload.name"]), path)
        (one.round_directory(number) / "batch.csv").unlink()
    assert one.estimate().json["measures"] == expected["measures"]
    more = one.estimate("--labels", one.deliver(one.answers(3), "3.csv")).json
    assert more["labels"] > expected["labels"]
    assert more["measures"] != expected["measures"]
    assert "reserve: cannot be read" in one.sample().err


def test_payload_may_be_deleted_after_sampling(drawn: Job) -> None:
    """Ids, draws and labels suffice to estimate."""
    drawn.estimate("--labels", drawn.deliver(drawn.answers(1)))
    before = measures(drawn)
    shutil.rmtree(drawn.workspace / "reserve")
    path = drawn.round_directory(1) / "batch.parquet"
    table = pq.read_table(path).drop_columns(["payload.name"])
    pq.write_table(table, path)
    (drawn.round_directory(1) / "batch.csv").unlink()
    assert measures(drawn) == before
