"""Evaluations of rows with many labels: from files, in memory, by simulation; one reserve for all."""

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
from tests.jobs import call
from tests.many_labels import Tagged

MEASURES: list[Any] = ["micro_f1", "macro_f1", "class_f1", "micro_precision", "macro_recall"]


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


def test_files_and_forms_of_labels(tmp_path: Path) -> None:
    """Lists, texts and columns of 0 and 1 say the same, and so does the pool in memory."""
    tagged = Tagged.make(900, 20)
    spec, said = write_job(tmp_path, tagged, budget=300, round_size=300), []
    assert call("prepare", spec).status == 0
    assert call("sample", tmp_path / "work").status == 0
    for form in ("lists", "texts", "flags"):
        path = delivery(tmp_path, tagged, form)
        told = call("estimate", tmp_path / "work", "--json", "--labels", path, "--replace")
        said.append(told.json)
    assert said[0]["rejects"] == 0
    assert said[0]["measures"] == said[1]["measures"] == said[2]["measures"]
    found = {one["measure"]: one for one in said[0]["measures"]}
    y, f = tagged.y, tagged.f
    truth = {"micro_f1": f1_score(y, f, average="micro"), "class_f1[tag 3]": f1_score(y[:, 3], f[:, 3])}
    truth["macro_f1"] = f1_score(y, f, average="macro")
    truth["micro_precision"] = precision_score(y, f, average="micro")
    for name, true in truth.items():
        assert found[name]["value"] == pytest.approx(true, abs=4 * found[name]["standard_error"])
    assert found["micro_f1"]["intervals"][0]["method"] == "beta"
    assert found["class_f1[tag 3]"]["intervals"][0]["method"] == "korn-graubard"
    assert [name for name in found if name.startswith("class_f1")] == [
        f"class_f1[{name}]" for name in tagged.names
    ]
    opened = Evaluation.open(tmp_path / "work")
    in_memory = Evaluation.from_frame(
        pa.table(tagged.columns()), score="score", **_spec_in_memory(tagged), budget=300
    )
    np.testing.assert_allclose(
        in_memory.state.analysis.table.expected, opened.state.analysis.table.expected, atol=1e-9
    )


def _spec_in_memory(tagged: Tagged) -> dict[str, Any]:
    spec = tagged.spec()
    return {
        "prediction": "tags",
        "probability": spec["pool"]["probability"],
        "labels": spec["labels"],
        "measure": MEASURES,
        "strata": {"leaves": 16},
    }
