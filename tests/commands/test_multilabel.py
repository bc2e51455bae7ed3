"""A multi-label evaluation from files: list columns, rounds, labels in every form, results."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from sklearn.metrics import f1_score

from evalsampling import Evaluation
from tests.averages import EACH_F1, MACRO_F1, MICRO_F1
from tests.jobs import call
from tests.slow import slowly

NAMES = ("toxic", "insult", "threat")
ROWS = 900


def made_up(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Probabilities, predictions and labels: rare positives of three labels."""
    rng = np.random.default_rng(seed)
    logit = (
        np.array([-1.5, -2.5, -3.0]) + rng.normal(0, 1.5, (ROWS, 1)) + rng.normal(0, 1, (ROWS, 3))
    )
    p = 1 / (1 + np.exp(-logit))
    return p, p > 0.35, rng.random((ROWS, 3)) < p


def lists(flags: np.ndarray) -> list[list[str]]:
    return [[name for name, held in zip(NAMES, row, strict=True) if held] for row in flags]


def write_job(folder: Path, by_label: bool, budget: int) -> np.ndarray:
    p, f, y = made_up(4)
    columns: dict[str, Any] = {"id": np.arange(ROWS), "score": p.max(axis=1)}
    columns |= {f"p_{name}": p[:, i] for i, name in enumerate(NAMES)}
    if by_label:
        columns |= {f"is_{name}": f[:, i].astype(np.int8) for i, name in enumerate(NAMES)}
    else:
        columns["tags"] = lists(f)
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    spec = {
        "pool": {
            "path": "pool.parquet",
            "prediction": {name: f"is_{name}" for name in NAMES} if by_label else "tags",
            "probability": {name: f"p_{name}" for name in NAMES},
        },
        "labels": {"multilabel": list(NAMES)},
        "measure": [MACRO_F1, MICRO_F1, EACH_F1, {"name": "recall", "average": "each"}, "accuracy"],
        "sampler": "poisson",
        "strata": {"leaves": 16},
        "round_size": budget,
        "budget": budget,
        "workspace": "work",
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(spec))
    return y


@pytest.mark.parametrize("by_label", [True, *slowly(False)])
def test_prepare_sample_and_estimate(tmp_path: Path, by_label: bool) -> None:
    y = write_job(tmp_path, by_label, 260)
    assert call("prepare", tmp_path / "spec.yaml", "--json").status == 0
    drawn = call("sample", tmp_path / "work", "--json").json
    assert 180 < drawn["rows"] < 340
    batch = pq.read_table(tmp_path / "work/rounds/0001/batch.parquet").to_pydict()
    told = lists(y[batch["id"]])
    delivery = tmp_path / "labels.jsonl"
    delivery.write_text(
        "\n".join(
            json.dumps({"task": task, "label": one})
            for task, one in zip(batch["task"], told, strict=True)
        )
    )
    result = call("estimate", tmp_path / "work", "--json", "--labels", delivery).json
    assert result["labels"] == drawn["rows"]
    _, f, _ = made_up(4)
    found = {one["measure"]: one for one in result["measures"]}
    assert list(found)[2:5] == [f"class_f1[{name}]" for name in NAMES]
    for name, true in [
        ("macro_f1", f1_score(y, f, average="macro")),
        ("micro_f1", f1_score(y, f, average="micro")),
        ("class_f1[toxic]", f1_score(y[:, 0], f[:, 0])),
        ("accuracy", np.mean(np.all(y == f, axis=1))),
    ]:
        one = found[name]
        assert one["value"] == pytest.approx(true, abs=4 * one["standard_error"])
        assert one["standard_error"] < 0.15
    assert found["micro_f1"]["bias"]["total"] == pytest.approx(
        found["micro_f1"]["bias"]["covariance_term"] + found["micro_f1"]["bias"]["variance_term"]
    )
    assert found["macro_f1"]["bias"]["covariance_term"] is None, "no ratio of two means"
    assert abs(found["macro_f1"]["bias"]["total"]) < found["macro_f1"]["standard_error"]
    size = result["sample_size"]
    assert size["expected"] == pytest.approx(260)
    assert size["realised"] == drawn["rows"]
    assert result["done"], "the expected number is spent"
    text = call("estimate", tmp_path / "work").out
    assert f"Poisson sample: {drawn['rows']:,} rows drawn, 260 expected" in text
    asked = call("estimate", tmp_path / "work", "--interval", "beta", "--json").json["measures"]
    (macro,) = [one for one in asked if one["measure"] == "macro_f1"]
    assert "beta" in [one["method"] for one in macro["intervals"]]
    # The expected number is spent, whatever the number of rows drawn.
    assert call("sample", tmp_path / "work", "--json").json["reason"] == "budget"


@pytest.mark.slow
def test_a_delivery_without_the_column_of_a_label_takes_nothing_back(tmp_path: Path) -> None:
    write_job(tmp_path, True, 60)
    assert call("prepare", tmp_path / "spec.yaml", "--in-process").status == 0
    assert call("sample", tmp_path / "work").status == 0
    batch = pq.read_table(tmp_path / "work/rounds/0001/batch.parquet").to_pydict()
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    flags = ",".join(f"label.{name}" for name in NAMES)
    first.write_text(f"task,{flags}\n{batch['task'][0]},1,1,0\n")
    before = call("estimate", tmp_path / "work", "--json", "--labels", first).json
    assert (before["labels"], before["rejects"]) == (1, 0)
    for option in ("--replace", "--labels"):
        second.write_text(f"task,label.toxic,label.threat,{option}\n{batch['task'][0]},1,0,\n")
        told = call("estimate", tmp_path / "work", "--json", option, second)
        assert "first, line 2: column label.insult is missing: " in told.err
        assert told.json["measures"] == before["measures"]
    votes = [pq.read_table(path) for path in (tmp_path / "work/labels").glob("*.parquet")]
    assert [label for one in votes for label in one["label"].to_pylist()] == ["toxic+insult"]


def test_whole_pool_in_memory_is_exact() -> None:
    p, f, y = made_up(5)
    evaluation = Evaluation.from_arrays(
        p.max(axis=1),
        f.astype(int),
        probability=p,
        labels={"multilabel": list(NAMES)},
        measure=[MACRO_F1, EACH_F1],
        sampler="poisson",
        strata={"leaves": 8},
    )
    ids = evaluation.sample(ROWS)
    evaluation.label(ids[:100], lists(y[ids[:100]]))
    evaluation.label(ids[100:], y[ids[100:]].astype(int))
    values = [one.value for one in evaluation.estimate()]
    assert values == pytest.approx([f1_score(y, f, average="macro"), *f1_score(y, f, average=None)])


@pytest.mark.slow
def test_simulation_takes_truth_of_lists_and_of_columns(tmp_path: Path) -> None:
    y = write_job(tmp_path, False, 100)
    ids = np.arange(ROWS)
    pq.write_table(pa.table({"id": ids, "label": lists(y)}), tmp_path / "lists.parquet")
    flags = {f"label.{name}": y[:, i].astype(np.int8) for i, name in enumerate(NAMES)}
    pq.write_table(pa.table({"id": ids, **flags}), tmp_path / "flags.parquet")
    results = [
        call(
            "simulate", tmp_path / "spec.yaml", "--json", "--truth", tmp_path / name,
            "--repeats", "2", "--sampler", "poisson", "passive", "--budgets", "100",
        ).json
        for name in ("lists.parquet", "flags.parquet")
    ]  # fmt: skip
    assert results[0]["truth"] == results[1]["truth"]
    _, f, _ = made_up(4)
    assert results[0]["truth"]["micro_f1"] == pytest.approx(f1_score(y, f, average="micro"))
    assert {one["sampler"] for one in results[0]["results"]} == {"poisson", "passive"}
