"""Names of files: what others deliver is in none of them."""

import json
import os
import re

import pyarrow as pa
import pytest

from tests.jobs import Jobs, Pool, call, files_below, make_pool

HOSTILE = [
    "../../escaped", "/escaped", "..", "-rf", "--next", "a/b\\c", "'quo\"te`", "new\nline\r",
    "nul\0nul", "$(touch escaped)", "; touch escaped", "=1+1", "x" * 5000, " ", "ünï\u202ecode",
]  # fmt: skip


CLASSES = ["..", "--next"]


KNOWN = re.compile(
    r"evaluation\.json|(cells|slices)\.parquet|reserve/(part-\d{5}|top-up-\d{4}-\d{5})\.parquet"
    r"|rounds/\d{4}/((design|closed)\.json|(draws|batch)\.parquet|batch\.(csv|jsonl)|tasks\.parquet)"
    r"|labels/[0-9a-f]{64}(-\d+)?\.parquet|labels/\w[\w.-]*-[0-9a-f]{12}(-\d+)?\.rejects\.csv"
    r"|taken/\d{4}\.json"
    r"|estimates/[0-9a-f]{64}\.json"
    r"|jobs/(prepare|sample-\d{4}|top-up-\d{4}|estimate-[0-9a-f]{64})\.json"
)
"""Every name a workspace may have in it."""


def hostile_pool() -> Pool:
    pool = make_pool(rows=len(HOSTILE) * 4, text_ids=True)
    ids = [f"{text}{i or ''}" for i in range(4) for text in HOSTILE]
    predicted = [CLASSES[value] for value in pool.table["prediction"].to_pylist()]
    table = pool.table.set_column(0, "id", pa.array(ids))
    table = table.set_column(2, "prediction", pa.array(predicted))
    table = table.set_column(3, "name", pa.array(HOSTILE * 4)).append_column("city", table["name"])
    return Pool(table, dict.fromkeys(ids, 1))


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["csv", "jsonl", "parquet"])
def test_what_others_deliver_names_no_file(job: Jobs, sink: str) -> None:
    one = job(
        hostile_pool(), pool={"slices": ["city"]}, sink={"format": sink},
        labels={"classes": CLASSES, "positive": CLASSES[1]},
    )  # fmt: skip
    assert one.prepare().done
    assert one.sample().json["rows"] == 20
    batch = one.batch(1)
    rows = [
        {"task": task, "label": "..", "annotator": text, "time": text}
        for task, text in zip(batch["task"], HOSTILE, strict=False)
    ]
    rows += [{"task": text, "label": text} for text in HOSTILE]
    rows += [{"id": id, "label": "--next"} for id in batch["id"][len(HOSTILE) :]]
    deliveries = one.directory / "deliveries"
    deliveries.mkdir()
    names = [text for text in HOSTILE if not {"/", "\0"} & set(text) and len(text) < 99]
    assert len(names) > 8
    for number, name in enumerate(names):
        path = deliveries / f"{name}.jsonl"
        path.write_text("\n".join(json.dumps(row) for row in rows[number:]))
        result = one.estimate("--labels", path).done
    assert result.json["labels"] == 20
    path = deliveries / os.fsdecode(b"latin-\xfc.jsonl")
    path.write_text("{}")
    refused = one.estimate("--labels", path)
    assert (refused.status, refused.err.count("\n")) == (1, 1)
    assert "its name is not UTF-8" in refused.err
    for command in ("status", "estimate"):
        assert call(command, one.workspace).status == 0
    assert one.sample().json["round"] == 2
    written = [name for name in files_below(one.workspace) if not KNOWN.fullmatch(name)]
    assert written == []
    there = {path.name for path in one.directory.iterdir()}
    assert there == {"pool", "evaluation.yaml", "workspace", "deliveries"}
