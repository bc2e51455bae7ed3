"""Exports of labelling tools, in the forms that the tools write or document."""

import dataclasses
import gzip
import json
import random
from collections.abc import Mapping
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.labels.formats import read_votes
from evalsampling.labels.votes import check_votes
from evalsampling.spec import EvaluationSpec
from tests.labels.deliveries import parquet, register_of
from tests.labels.exported import (
    ANSWERS,
    FILES,
    NUMBERED,
    SKIPPED,
    TASKS,
    annotations,
    argilla,
    doccano,
    labelbox,
    lines,
    minimal,
    prodigy,
    prodigy_binary,
    prodigy_choice,
    table,
    toloka,
)


def spec_of(
    *classes: Any, payload: tuple[str, ...] = ("text",), id: Any = "id", **labels: Any
) -> EvaluationSpec:
    content: dict[str, Any] = {"pool": {"path": "x", "id": id, "payload": [*payload]}}
    content["labels"] = {"classes": list(classes), **labels} if classes else labels
    names = labels.get("multilabel", classes if len(classes) > 2 else ())
    content["pool"] |= {"probability": {c: f"p{c}" for c in names}} if names else {}
    return EvaluationSpec.from_mapping(content, "/")


SPEC = spec_of("other", "sports")


def taken_of(
    name: str, content: bytes | str, spec: EvaluationSpec = SPEC, ids: Any = None
) -> tuple[list[tuple[str, str | None, str | None]], list[str]]:
    """Task, annotator and answer of what counts, in order, and reasons of what does not."""
    content = content.encode() if isinstance(content, str) else content
    votes = read_votes(name, content, spec.labelling)
    ids = ids or [f"d{row}" for row in range(len(TASKS))]
    register = register_of(TASKS, ids, spec.labels.space, votes=2)
    taken, rejects = check_votes(votes, dataclasses.replace(register, id=spec.pool.id))
    return [
        (TASKS[row], vote.annotator, SKIPPED if vote.skipped else vote.label) for row, vote in taken
    ], [reject.reason for reject in rejects]


def binary_rows() -> list[dict[str, Any]]:
    """Rows of Prodigy that say accept, reject or ignore of one class."""
    return [json.loads(line) for line in prodigy_binary().splitlines()]


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("tool", FILES)
def test_answers_of_each_tool(tool: str, compressed: bool) -> None:
    name, text, expected = FILES[tool]
    content = gzip.compress(text.encode()) if compressed else text.encode()
    if tool.startswith("doccano"):  # which names nobody
        votes = read_votes(name + ".gz" * compressed, content, SPEC.labelling)
        found = [(vote.task, vote.annotator, vote.label) for vote in votes if vote.label]
        assert sorted(found, key=str) == sorted(expected, key=str)
        return
    taken, reasons = taken_of(name + ".gz" * compressed, content)
    assert sorted(taken, key=str) == sorted(expected, key=str)
    if tool == "Toloka":
        assert reasons == [
            "GOLDEN:RESULT is given: it is a control task",
            "the assignment was rejected",
        ]
    else:
        assert reasons == []


@pytest.mark.parametrize("place", ["top", "meta", "data", "metadata", "fields", "Vars"])
@pytest.mark.parametrize("name", ["task", "Task", "doc_id"])
def test_the_name_of_a_row_is_found_a_level_deep(place: str, name: str) -> None:
    rows = binary_rows()
    for row, (task, *_) in zip(rows, ANSWERS, strict=True):
        names = {name: task if name != "doc_id" else f"d{TASKS.index(task)}"}
        del row["meta"]
        row.update(names if place == "top" else {place: names})
    taken, reasons = taken_of("x.jsonl", lines(rows), spec_of("other", "sports", id="doc_id"))
    assert (sorted(taken), reasons) == (sorted(ANSWERS), [])


@pytest.mark.parametrize("spell", [str, json.dumps])
@pytest.mark.parametrize("name", ["meta", "metadata"])
def test_the_name_of_a_row_in_a_table_made_of_objects(spell: Any, name: str) -> None:
    """As pandas writes them: an object in a cell, or a column for each of its fields."""
    rows = binary_rows()
    in_cells = [{**row, name: spell(row["meta"])} for row in rows]
    if name != "meta":
        in_cells = [{key: value for key, value in row.items() if key != "meta"} for row in in_cells]
    apart = [{f"{name}.task": row.pop("meta")["task"], **row} for row in rows]
    for content in (table(in_cells), table(apart)):
        taken, reasons = taken_of("x.csv", content)
        assert (sorted(taken), reasons) == (sorted(ANSWERS), [])


def test_ids_of_several_columns_in_a_field() -> None:
    rows = binary_rows()
    for row, (task, *_) in zip(rows, ANSWERS, strict=True):
        row["meta"] = {"left": "a", "right": str(TASKS.index(task))}
    spec = spec_of("other", "sports", id=["left", "right"])
    ids = [f'["a","{row}"]' for row in range(len(TASKS))]
    taken, reasons = taken_of("x.jsonl", lines(rows), spec, ids)
    assert (sorted(taken), reasons) == (sorted(ANSWERS), [])


def test_the_key_of_a_tool_may_be_a_task_or_an_id() -> None:
    ids = labelbox(lambda task: f"d{TASKS.index(task)}")
    assert sorted(taken_of("x.ndjson", ids)[0]) == sorted(ANSWERS)
    records = [{**record, "id": record["metadata"].pop("task")} for record in argilla()]
    assert sorted(taken_of("x.json", json.dumps(records))[0]) == sorted(ANSWERS)


@pytest.mark.parametrize(
    ("words", "name"), [("accept reject ignore", "answer"), ("ACCEPT REJECT IGNORE", "Answer")]
)
def test_a_table_with_the_answer_beside_what_was_asked(words: str, name: str) -> None:
    yes, no, skip = words.split()
    rows = [
        {"task": task, "Label": "sports", "annotator": who,
         name: {SKIPPED: skip, "sports": yes}.get(label, no)}
        for task, who, label in ANSWERS
    ]  # fmt: skip
    columns = parquet(**{name: [row[name] for row in rows] for name in rows[0]})
    for file, content in (("x.csv", table(rows)), ("x.jsonl", lines(rows)), ("x.parquet", columns)):
        taken, reasons = taken_of(file, content)
        assert (sorted(taken), reasons) == (sorted(ANSWERS), [])


@pytest.mark.parametrize("name", ["answer", "is_correct", "verdict"])
def test_a_yes_or_no_beside_a_label_is_asked_about(name: str) -> None:
    """The label may be the prediction that somebody was to check."""
    rows = [{"task": task, "label": "sports", name: "no"} for task in TASKS]
    for file, content in (("x.csv", table(rows)), ("x.jsonl", lines(rows))):
        with pytest.raises(InputError, match=f"fields 'label' and '{name}': .* leave out the one"):
            taken_of(file, content)
    shown = spec_of("other", "sports", payload=("text", name))
    rows = [{**row, "annotator": "ann"} for row in rows]
    for file, content in (("x.csv", table(rows)), ("x.jsonl", lines(rows))):
        expected = [(task, "ann", "sports") for task in TASKS]
        assert taken_of(file, content, shown) == (expected, [])


OPEN = "the answer is not 'sports', which leaves open what else holds: ask for all"
OF_SETS = OPEN.replace("not 'sports'", "'sports'")


@pytest.mark.parametrize(
    ("spec", "counted", "reasons"),
    [
        (spec_of("news", "other", "sports"), {"sports", SKIPPED}, [OPEN] * 3),
        (spec_of(multilabel=["sports", "politics"]), {SKIPPED},
         [OF_SETS, OPEN, OPEN, OPEN, OF_SETS]),
        (spec_of(0, 1), {SKIPPED}, ["label 'sports' is none of: 0, 1"] * 5),
    ],
)  # fmt: skip
def test_an_answer_about_one_class_leaves_others_open(
    spec: EvaluationSpec, counted: set[str], reasons: list[str]
) -> None:
    taken, found = taken_of("x.jsonl", prodigy_binary(), spec)
    assert sorted(taken) == sorted(one for one in ANSWERS if one[2] in counted)
    assert found == reasons


def test_yes_and_no_without_a_label() -> None:
    """A recipe that marks rows asks what the page asks: accept is the class that is a yes."""
    rows = binary_rows()
    for row in rows:
        del row["label"]
    taken, reasons = taken_of("x.jsonl", lines(rows), spec_of(0, 1))
    as_classes = {"sports": "1", "other": "0"}
    assert sorted(taken) == sorted((t, w, as_classes.get(o, o)) for t, w, o in ANSWERS)
    assert reasons == []


def test_an_option_that_was_rejected_says_of_none_that_it_is_right() -> None:
    rows = [json.loads(line) for line in prodigy_choice().splitlines()]
    rows[0]["answer"] = "reject"
    taken, reasons = taken_of("x.jsonl", lines(rows))
    assert len(taken) == len(ANSWERS) - 1
    assert reasons == ["answer is 'reject': it says of no option that it is right"]


def test_options_whose_texts_are_the_classes() -> None:
    rows = [json.loads(line) for line in prodigy_choice().splitlines()]
    for row in rows:
        row["accept"] = [{"sports": 1, "other": 2}[one] for one in row["accept"]]
        row["options"] = [{"id": 1, "text": "Sports"}, {"id": 2, "text": "Other"}]
    taken, reasons = taken_of("x.jsonl", lines(rows))
    assert (sorted(taken), reasons) == (sorted(ANSWERS), [])


def spans() -> list[dict[str, Any]]:
    tasks = annotations(kind="labels")
    for task in tasks:
        for annotation in task["annotations"]:
            for result in annotation["result"]:
                result["value"] = {"start": 0, "end": 4, "text": "Text", "labels": ["PER"]}
    return tasks


OTHER_KINDS: Mapping[str, tuple[str, Any, str]] = {
    "Label Studio, spans": (
        "x.json", json.dumps(spans()),
        "'topic' holds what a control of type 'labels' takes, not a class of the row: ask by the "
        "control Choices or Number",
    ),
    "doccano, spans": (
        "x.jsonl", lines([{**row, "label": [[0, 4, "PER"]]} for row in doccano()]),
        "an export of doccano in which 'label' holds spans, boxes or ranks, not a class",
    ),
    "doccano, its ids alone": (
        "x.jsonl", lines([{k: v for k, v in row.items() if k != "task"} for row in doccano()]),
        "no row of this export of doccano has 'task' (or id): its `id` is a number of its own: "
        "give the tool the column `task` beside the text",
    ),
    "Prodigy, spans": (
        "x.jsonl",
        lines([{**row, "spans": [{"start": 0, "end": 4, "label": "PER"}], "answer": "accept"}
               for row in prodigy()]),
        "an export of Prodigy in which 'spans' holds spans, not a class of the row",
    ),
    "Argilla, ranks": (
        "x.json",
        json.dumps([{**record, "responses": {"best": [{"user_id": "a", "value": [
            {"value": "x", "rank": 1}, {"value": "y", "rank": 2}]}]}} for record in argilla()]),
        "'best' holds spans, boxes or ranks, not a class of the row: ask by a LabelQuestion",
    ),
    "Labelbox, boxes": (
        "x.ndjson",
        labelbox().replace('"objects": []', '"objects": [{"name": "car", "bounding_box": {}}]')
        .replace('"classifications": [{"feature_id": "g"', '"others": [{"feature_id": "g"'),
        "'objects' holds boxes or other objects, not a class of the row",
    ),
    "two questions of the same classes": (
        "x.tsv", toloka().replace("HINT:text", "OUTPUT:sure").replace("\t\thttp", "\tother\thttp"),
        "'result' and 'sure' may hold the labels",
    ),
    "two columns of the same classes": (
        "x.csv", table([dict(sorted(row.items())) for row in minimal(prediction=True)]),
        "may hold the labels",
    ),
    "an object": ("x.json", '{"version": 3, "results": 7}', "not a list of rows"),
    "no gzip": ("x.csv.gz", "task,label\nt_0,sports\n", "cannot be read: Not a gzipped file"),
    "half a gzip": ("x.csv.gz", gzip.compress(b"task,label\n" * 99)[:20], "cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_an_export_of_another_kind_is_named_with_the_way_out(kind: str) -> None:
    name, content, words = OTHER_KINDS[kind]
    with pytest.raises(InputError) as error:
        taken_of(name, content)
    assert words in str(error.value)
    assert str(error.value).startswith(name)
    assert "\n" not in str(error.value)


def test_a_control_beside_others_is_told_by_its_classes() -> None:
    tasks = annotations()
    more = {"from_name": "sure", "to_name": "text", "type": "rating", "value": {"rating": 4}}
    note = {"from_name": "why", "type": "textarea", "value": {"text": ["because"]}}
    tags = {
        "from_name": "people",
        "type": "labels",
        "value": {"start": 0, "end": 1, "labels": ["P"]},
    }
    for task in tasks:
        for annotation in task["annotations"]:
            annotation["result"] = [more, tags, *annotation["result"], note]
    taken, reasons = taken_of("x.json", json.dumps(tasks))
    assert (sorted(taken), reasons) == (sorted(NUMBERED), [])


def test_numbers_of_a_rating() -> None:
    tasks = annotations(kind="rating")
    for task in tasks:
        for annotation in task["annotations"]:
            for result in annotation["result"]:
                result["value"] = {"rating": 4}
    taken, _ = taken_of("x.json", json.dumps(tasks), spec_of(1, 4))
    assert {label for *_, label in taken} == {"4", SKIPPED}


def test_several_labels_of_a_row() -> None:
    spec = spec_of(multilabel=["sports", "politics"])
    rows = [json.loads(line) for line in prodigy_choice().splitlines()]
    rows[0]["accept"], rows[1]["accept"] = ["politics", "sports"], []
    rows = rows[:2]
    taken, reasons = taken_of("x.jsonl", lines(rows), spec)
    assert [label for *_, label in taken] == ["sports+politics", "none"]
    assert reasons == []


def test_plain_rows_come_as_tsv_ndjson_json_and_compressed() -> None:
    rows = [{"task": task, "label": "sports", "annotator": "ann"} for task in TASKS]
    expected = [(task, "ann", "sports") for task in TASKS]
    files = {
        "x.tsv": table(rows, "\t"), "x.ndjson": lines(rows), "x.json": json.dumps(rows),
        "x.csv": table(rows),
    }  # fmt: skip
    for name, content in files.items():
        assert taken_of(name, content) == (expected, [])
        assert taken_of(f"{name}.gz", gzip.compress(content.encode())) == (expected, [])


def parts_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values within a value of JSON."""
    inner = dict(enumerate(value)) if isinstance(value, list) else value
    found = [path] if path else []
    for key, part in inner.items() if isinstance(inner, dict) else ():
        found += parts_of(part, (*path, key))
    return found


@pytest.mark.parametrize("tool", [one for one in FILES if FILES[one][0].endswith("json")])
def test_a_damaged_export_is_refused_or_its_answers_are_in_it(tool: str) -> None:
    """Any value is replaced by one of another type; no answer comes that nobody gave."""
    _, text, expected = FILES[tool]
    draw = random.Random(tool)
    rows = [json.loads(line) for line in text.splitlines()] if "\n" in text else json.loads(text)
    paths = [path for path in parts_of(rows) if path[-1] != "status"]
    told = {(task, label) for task, _, label in expected}
    for _ in range(150):
        damaged = json.loads(json.dumps(rows))
        *way, last = draw.choice(paths)
        place = damaged
        for key in way:
            place = place[key]
        place[last] = draw.choice([None, True, 7, "x", "", [], {}, [{}], {"a": [1]}])
        try:
            votes = read_votes("x.json", json.dumps(damaged).encode(), SPEC.labelling)
        except InputError:
            continue
        given = {
            (vote.task or vote.id, "other" if vote.says is False else vote.label)
            for vote in votes
            if vote.problem is None
        }
        known = {(task, label) for task, label in given if label in ("sports", "other")}
        assert {one for one in known if one[0] in TASKS} <= told | {("t_2", "other")}


def test_the_numbers_of_rows_that_pandas_writes_name_nobody() -> None:
    rows = [{"": row, "task": task, "label": "sports", "answer": "accept"}
            for row, task in enumerate(TASKS)]  # fmt: skip
    votes = read_votes("x.csv", table(rows).encode(), SPEC.labelling)
    assert [(vote.task, vote.annotator) for vote in votes] == [(task, None) for task in TASKS]


def test_a_column_of_the_pool_is_no_answer() -> None:
    """Somebody joined the labels with the pool, whose predictions say yes or no."""
    content = {"pool": {"path": "x", "id": "id", "score": "s", "prediction": "verdict"},
               "labels": {"classes": ["no", "yes"]}}  # fmt: skip
    spec = EvaluationSpec.from_mapping(content, "/")
    rows = [{"task": task, "verdict": "yes", "label": "no", "annotator": "a"} for task in TASKS]
    assert [label for *_, label in taken_of("x.csv", table(rows), spec)[0]] == ["no"] * 4


def test_a_status_that_nobody_knows_is_no_answer() -> None:
    records = argilla()
    records[0]["responses"][0]["status"] = "lost"
    taken, reasons = taken_of("x.json", json.dumps(records))
    assert len(taken) == len(ANSWERS) - 1
    assert reasons == ["status is 'lost', which is unknown"]


def test_a_task_goes_before_ids_of_others() -> None:
    rows = [{**row, "id": 7} for row in binary_rows()]
    assert sorted(taken_of("x.jsonl", lines(rows))[0]) == sorted(ANSWERS)


def test_a_bomb_is_no_delivery(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsampling.labels.formats.MOST_BYTES", 1 << 16)
    with pytest.raises(InputError, match="has more bytes when it is decompressed"):
        read_votes("x.csv.gz", gzip.compress(b"task,label\n" + b"t,1\n" * (1 << 16)))


def test_a_row_whose_answer_stands_twice_counts_for_nothing() -> None:
    answers = '"answer": "reject", "answer": "accept"'
    line = f'{{"_task_hash": 1, "task": "t_0", "label": "sports", {answers}}}'
    for name, content in (("x.jsonl", line), ("x.json", f"[{line}]")):
        assert taken_of(name, content) == ([], ["'answer' is there twice"])
