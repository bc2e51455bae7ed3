"""Files of tasks in each format, the same however their tasks come."""

import csv
import io
import json
import random
import re
from pathlib import PurePosixPath
from typing import Any

import pytest

from evalsampling.errors import InputError
from evalsampling.evaluation.round_rows import task_files
from evalsampling.spec import EvaluationSpec
from tests.jobs import text_of

TASKS = [
    {"task": f"t-{number}", "left": f"row {number}", "right": "=1+1", "label": ""}
    for number in range(7)
]


def spec(format: str, **sink: Any) -> EvaluationSpec:
    content = {
        "pool": {"path": "x", "payload": ["left", "right"], "prediction": "prediction"},
        "measure": "f1",
        "budget": 10,
        "sink": {"format": format, **sink},
        "workspace": "workspace",
    }
    return EvaluationSpec.from_mapping(content, ".")


@pytest.mark.parametrize("format", ["csv", "vendor", "xlsx", "label-studio", "jsonl"])
def test_order_and_repetition_of_tasks_decide_nothing(format: str, tmp_path: Any) -> None:
    files = task_files(spec(format), TASKS, "tasks-2026-01-05")
    shuffled = random.Random(1).sample(TASKS, len(TASKS)) + TASKS[:3]
    again = task_files(spec(format), shuffled, "tasks-2026-01-05")
    assert sorted(again) == sorted(files)
    assert all(PurePosixPath(path).parts[0].startswith("tasks-2026-01-05") for path in files)
    text = ""
    for path, content in files.items():
        texts = []
        for number, given in enumerate([content, again[path]]):
            file = tmp_path / f"{number}-{path.replace('/', '-')}"
            file.write_bytes(given)
            texts.append(re.sub(r"T[0-9:]+Z", "", text_of(file)))  # when it was written
        assert texts[0] == texts[1]
        text += texts[0]
    assert all(task["task"] in text for task in TASKS)


def test_a_csv_file_has_each_task_once() -> None:
    ((path, content),) = task_files(spec("csv"), [*TASKS, *TASKS], "tasks").items()
    assert path == "tasks.csv"
    assert list(csv.DictReader(io.StringIO(content.decode("utf-8-sig")))) == TASKS


def test_a_vendor_gets_a_folder_of_files() -> None:
    files = task_files(spec("vendor"), TASKS, "tasks")
    assert sorted(files) == ["tasks/batch.csv", "tasks/instructions.txt"]


def test_files_of_label_studio_have_no_more_tasks_than_they_may() -> None:
    files = task_files(spec("label-studio", chunk=3), TASKS, "tasks")
    sizes = [len(json.loads(content)) for path, content in files.items() if path.endswith(".json")]
    assert sizes == [3, 3, 1]


def test_payload_that_some_tasks_lack_stays_empty() -> None:
    tasks = [{**TASKS[0], "left": None}, TASKS[1]]
    (content,) = task_files(spec("csv"), tasks, "tasks").values()
    assert [row["left"] for row in csv.DictReader(io.StringIO(content.decode("utf-8-sig")))] == [
        "", "row 1"
    ]  # fmt: skip


def test_payload_of_two_types_is_refused() -> None:
    with pytest.raises(InputError, match="tasks: column 'left', row 1: "):
        task_files(spec("csv"), [TASKS[0], {**TASKS[1], "left": 3}], "tasks")
