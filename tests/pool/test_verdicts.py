"""Specs that name no score, beside pools that have one or none."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evalsampling.evaluation import load_spec
from tests.jobs import call

ROWS = 200
VERDICTS: dict[str, Any] = {
    "id": list(range(ROWS)),
    "verdict": ["fail" if row % 10 == 3 else "pass" for row in range(ROWS)],
    "text": [f"t{row}" for row in range(ROWS)],
}
SPEC: dict[str, Any] = {
    "pool": {"path": "pool.parquet", "prediction": "verdict", "payload": ["text"]},
    "labels": {"classes": ["pass", "fail"]},
    "budget": 40,
    "round_size": 40,
    "workspace": "work",
}


def _spec(folder: Path, columns: dict[str, Any], **keys: Any) -> Path:
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    path = folder / "spec.yaml"
    pool = {**SPEC["pool"], **keys.pop("pool", {})}
    path.write_text(yaml.safe_dump({**SPEC, "pool": pool, **keys}))
    return path


def test_strata_are_verdicts_where_the_pool_has_no_score(tmp_path: Path) -> None:
    spec = load_spec(_spec(tmp_path, VERDICTS))
    assert spec.strata.by_predictions
    assert spec.pool.score is None
    assert spec.sampler.name == "calibrated"


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"pool": {"score": "score"}},
        {"strata": {"method": "csf"}},
        {"pool": {"prediction": {"threshold": 0.5}}, "labels": {"classes": [0, 1]}},
    ],
)
def test_a_score_that_is_there_or_asked_for_is_kept(tmp_path: Path, keys: Any) -> None:
    columns = VERDICTS if "strata" in keys else {**VERDICTS, "score": [0.5] * ROWS}
    spec = load_spec(_spec(tmp_path, columns, **keys))
    assert spec.strata.by_score
    assert spec.pool.score == "score"


def test_what_cannot_be_found_is_left_to_those_who_read_it(tmp_path: Path) -> None:
    spec = load_spec(_spec(tmp_path, VERDICTS, pool={"path": "elsewhere.parquet"}))
    assert spec.pool.score == "score"


def test_commands_from_check_to_report(tmp_path: Path) -> None:
    spec = _spec(tmp_path, VERDICTS, measure=["precision", "recall", "accuracy"])
    checked = call("prepare", "--check", spec)
    assert checked.status == 0, checked.out
    assert "no scores: what is predicted makes 2 strata of 20 to 180 rows" in checked.out
    prepared = call("prepare", spec)
    assert prepared.status == 0, prepared.err
    assert "no scores" in prepared.out
    planned = call("plan", spec, "--repeats", "2", "--budgets", "40")
    assert planned.status == 0, planned.err
    assert "if 70 % of the verdicts are right and the others are guesses" in planned.out
    assert call("sample", tmp_path / "work").status == 0
    (batch,) = (tmp_path / "work").rglob("batch.parquet")
    rows = pq.read_table(batch)
    texts = rows["payload.text"].to_pylist()
    labels = {"task": rows["task"], "label": [VERDICTS["verdict"][int(t[1:])] for t in texts]}
    pq.write_table(pa.table(labels), tmp_path / "labels.parquet")
    done = call("estimate", tmp_path / "work", "--labels", tmp_path / "labels.parquet", "--detail")
    assert done.status == 0, done.err
    assert "predicted alike" in done.out
    assert "rises with the score" not in done.out
    page = tmp_path / "report.html"
    assert call("report", tmp_path / "work", "--to", page).status == 0
    assert "No score orders the rows" in page.read_text()
    assert "Observed rate against score" not in page.read_text()


def test_a_null_is_refused_with_the_way_out(tmp_path: Path) -> None:
    spec = _spec(tmp_path, {**VERDICTS, "verdict": [*VERDICTS["verdict"][:-1], None]})
    refused = call("prepare", spec)
    assert refused.status == 1
    assert "pool.parquet: column 'verdict', row 199: null: give it one of ['pass', 'fail']" in (
        refused.err
    )
    assert "pool.where: verdict IS NOT NULL" in refused.err
    kept = _spec(
        tmp_path, pq.read_table(tmp_path / "pool.parquet").to_pydict(),
        pool={"where": "verdict IS NOT NULL"},
    )  # fmt: skip
    assert call("prepare", kept).status == 0


def test_a_missing_score_that_is_named_says_what_else_may_be_done(tmp_path: Path) -> None:
    refused = call("prepare", _spec(tmp_path, VERDICTS, pool={"score": "belief"}))
    assert refused.status == 1
    assert "column 'belief' is missing" in refused.err
    assert "strata.method: predictions" in refused.err
