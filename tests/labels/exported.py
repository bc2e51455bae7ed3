"""What labelling tools write of the same answers, in the forms that they write or document."""

import csv
import io
import json
from collections.abc import Callable, Mapping
from typing import Any

SKIPPED = "(skipped)"
ANSWERS = [
    ("t_0", "ann", "sports"),
    ("t_1", "ann", "other"),
    ("t_2", "ann", SKIPPED),
    ("t_0", "bob", "other"),
    ("t_1", "bob", "other"),
    ("t_3", "bob", "sports"),
]
"""Task, annotator and answer, of tasks that two people were asked about."""

TASKS = sorted({task for task, *_ in ANSWERS})
TEXTS = {task: f'Text of {task}, "quoted", [1] and {{x}}' for task in TASKS}


def lines(rows: list[Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def table(rows: list[dict[str, Any]], delimiter: str = ",") -> str:
    text = io.StringIO(newline="")
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(text, names, delimiter=delimiter, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


# --- what each tool writes of `ANSWERS`


def prodigy(**of_task: Any) -> list[dict[str, Any]]:
    """Rows of ``db-out``: the task as it was sent, hashes, and the answer."""
    return [
        {"text": TEXTS[task], "meta": {"task": task}, "_input_hash": -1178431211 - row,
         "_task_hash": 640130921 + row, "_view_id": "classification", "_timestamp": 1683213409,
         "_annotator_id": who, "_session_id": who, "answer": "ignore"}
        for row, (task, who, _) in enumerate(ANSWERS)
    ]  # fmt: skip


def prodigy_binary() -> str:
    rows = prodigy()
    for row, (*_, label) in zip(rows, ANSWERS, strict=True):
        row["label"] = "sports"
        if label != SKIPPED:
            row["answer"] = "accept" if label == "sports" else "reject"
    return lines(rows)


def prodigy_choice() -> str:
    rows = prodigy()
    for row, (*_, label) in zip(rows, ANSWERS, strict=True):
        row["options"] = [{"id": "sports", "text": "Sports!"}, {"id": "other", "text": "Other"}]
        row["accept"], row["answer"] = ([], "ignore") if label == SKIPPED else ([label], "accept")
    return lines(rows)


def annotations(*, control: str = "topic", kind: str = "choices") -> list[dict[str, Any]]:
    """A JSON export of Label Studio."""
    people = {"ann": 1, "bob": 2}
    tasks = []
    for number, task in enumerate(TASKS, start=901):
        made = []
        for one, who, label in ANSWERS:
            result = {
                "id": "x1", "type": kind, "from_name": control, "to_name": "text",
                "origin": "manual", "value": {kind: [label]},
            }  # fmt: skip
            if one == task:
                made.append({
                    "id": 50 + number, "completed_by": people[who],
                    "result": [] if label == SKIPPED else [result],
                    "was_cancelled": label == SKIPPED, "ground_truth": False,
                    "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:05:05Z",
                    "lead_time": 3.5, "task": number, "project": 7,
                })  # fmt: skip
        tasks.append({
            "id": number, "data": {"text": TEXTS[task], "task": task}, "annotations": made,
            "drafts": [], "predictions": [{"result": [{"from_name": control, "value": {
                "choices": ["sports"]}}]}], "meta": {}, "inner_id": 1, "project": 7,
        })  # fmt: skip
    return tasks


def minimal(prediction: bool = False) -> list[dict[str, Any]]:
    """Rows of JSON_MIN: what was shown, the task's number, the controls, then the annotation."""
    shown = {"prediction": "sports"} if prediction else {}
    return [
        {"text": TEXTS[task], "task": task, **shown, "id": 900 + row, "topic": label,
         "annotator": {"ann": 1, "bob": 2}[who], "annotation_id": row,
         "created_at": "2026-01-02T03:04:05Z", "updated_at": "2026-01-02T03:05:05Z",
         "lead_time": 2.5}
        for row, (task, who, label) in enumerate(ANSWERS) if label != SKIPPED
    ]  # fmt: skip


def minimal_table(delimiter: str = ",") -> str:
    """The same as a table, whose columns are in the order of their names."""
    return table([dict(sorted(row.items())) for row in minimal()], delimiter)


def argilla() -> list[dict[str, Any]]:
    """Records as the server has them: a response of each user with its status."""
    status = {SKIPPED: "discarded"}
    return [
        {"id": f"record-{task}", "fields": {"text": TEXTS[task]}, "metadata": {"task": task},
         "status": "completed", "vectors": {}, "_server_id": "9b0c",
         "suggestions": {"topic": {"value": "sports", "score": 0.9, "agent": "model"}},
         "responses": [
             {"values": {} if label == SKIPPED else {"topic": {"value": label}}, "user_id": who,
              "status": status.get(label, "submitted")}
             for one, who, label in ANSWERS if one == task
         ] + [{"values": {"topic": {"value": "sports"}}, "user_id": "cyd", "status": "draft"}]}
        for task in TASKS
    ]  # fmt: skip


def argilla_flat() -> list[dict[str, Any]]:
    """What ``to_list(flatten=True)`` returns."""
    rows = []
    for task in TASKS:
        given = [(who, label) for one, who, label in ANSWERS if one == task]
        rows.append({
            "id": f"record-{task}", "_server_id": "9b0c", "text": TEXTS[task], "task": task,
            "status": "completed",
            "topic.responses": ["other" if label == SKIPPED else label for _, label in given],
            "topic.responses.users": [who for who, _ in given],
            "topic.responses.status": [
                "discarded" if label == SKIPPED else "submitted" for _, label in given
            ],
            "topic.suggestion": "sports", "topic.suggestion.score": 0.9,
            "topic.suggestion.agent": "model",
        })  # fmt: skip
    return rows


def argilla_columns() -> dict[str, list[Any]]:
    """What ``to_dict(flatten=True)`` returns."""
    return {name: [row[name] for row in argilla_flat()] for name in argilla_flat()[0]}


def labelbox(of_key: Callable[[str], str] = str) -> str:
    """NDJSON of an export v2."""
    rows = []
    for task in TASKS:
        labels = []
        for one, who, label in ANSWERS:
            radio = {
                "feature_id": "f",
                "name": label.title(),
                "value": label,
                "classifications": [],
            }
            asked = [{"feature_id": "g", "name": "Topic", "value": "topic", "radio_answer": radio}]
            if one == task:
                labels.append({
                    "label_kind": "Default", "version": "1.0.0", "id": "cl",
                    "label_details": {"created_at": "2026-01-02T03:04:05.000+00:00",
                                      "created_by": who, "reviews": []},
                    "performance_details": {"seconds_to_create": 3, "skipped": label == SKIPPED},
                    "annotations": {"objects": [], "relationships": [],
                                    "classifications": [] if label == SKIPPED else asked},
                })  # fmt: skip
        project = {"name": "p", "labels": labels, "project_details": {"workflow_status": "DONE"}}
        rows.append({
            "data_row": {"id": f"c{task}", "global_key": of_key(task), "row_data": TEXTS[task]},
            "media_attributes": {"asset_type": "text"}, "projects": {"clg": project},
        })  # fmt: skip
    return lines(rows)


def toloka() -> str:
    """A TSV of assignments, with a control task, one that was rejected, and blank lines."""
    given = [
        {"INPUT:text": "a\tb", "INPUT:task": task,
         "OUTPUT:result": "" if label == SKIPPED else label,
         "GOLDEN:result": "", "HINT:text": "", "ASSIGNMENT:link": "https://x", "ASSIGNMENT:task_id":
         "7", "ASSIGNMENT:assignment_id": "8", "ASSIGNMENT:worker_id": who, "ASSIGNMENT:status":
         "SKIPPED" if label == SKIPPED else "APPROVED", "ASSIGNMENT:started": "2026-01-02T03:04"}
        for task, who, label in ANSWERS
    ]  # fmt: skip
    golden = {**given[0], "INPUT:task": "t_3", "GOLDEN:result": "sports"}
    refused = {**given[0], "INPUT:task": "t_3", "ASSIGNMENT:status": "REJECTED"}
    return table([*given, golden, refused], "\t").replace("\r\n", "\r\n\r\n", 2)


def doccano(name: str = "label") -> list[dict[str, Any]]:
    """Rows of doccano, whose ``id`` is its own and whose metadata stand beside it."""
    return [
        {"id": row, "text": TEXTS[task], "task": task, name: [] if label == SKIPPED else [label],
         "Comments": []}
        for row, (task, _, label) in enumerate(ANSWERS[:3] + ANSWERS[5:], start=1)
    ]  # fmt: skip


PEOPLE = {"ann": "1", "bob": "2"}
NUMBERED = [(task, PEOPLE[who], label) for task, who, label in ANSWERS]
UNNAMED = [("t_0", None, "sports"), ("t_1", None, "other"), ("t_3", None, "sports")]
FILES: Mapping[str, tuple[str, Any, list[tuple[str, Any, str]]]] = {
    "Prodigy, binary": ("x.jsonl", prodigy_binary(), ANSWERS),
    "Prodigy, lines in .json": ("x.json", prodigy_binary(), ANSWERS),
    "Prodigy, choice": ("x.jsonl", prodigy_choice(), ANSWERS),
    "Prodigy, a list": (
        "x.json", json.dumps([json.loads(line) for line in prodigy_binary().splitlines()]), ANSWERS,
    ),
    "Label Studio": ("x.json", json.dumps(annotations()), NUMBERED),
    "Label Studio, JSON_MIN": (
        "x.json", json.dumps(minimal(prediction=True)), [o for o in NUMBERED if o[2] != SKIPPED],
    ),
    "Label Studio, CSV": ("x.csv", minimal_table(), [o for o in NUMBERED if o[2] != SKIPPED]),
    "Label Studio, TSV": ("x.tsv", minimal_table("\t"), [o for o in NUMBERED if o[2] != SKIPPED]),
    "Argilla": ("x.json", json.dumps(argilla()), ANSWERS),
    "Argilla, by id": ("x.json", json.dumps({r["id"]: r for r in argilla()}), ANSWERS),
    "Argilla, lines": ("x.jsonl", lines(argilla()), ANSWERS),
    "Argilla, flat": ("x.json", json.dumps(argilla_flat()), ANSWERS),
    "Argilla, columns": ("x.json", json.dumps(argilla_columns()), ANSWERS),
    "Argilla, flat table": ("x.csv", table(argilla_flat()), ANSWERS),
    "Labelbox": ("x.ndjson", labelbox(), ANSWERS),
    "Toloka": ("x.tsv", toloka(), ANSWERS),
    "doccano": ("x.jsonl", lines(doccano()), UNNAMED),
    "doccano, labels": (
        "x.json", json.dumps(doccano("labels")), UNNAMED,
    ),
}  # fmt: skip
