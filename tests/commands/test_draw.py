"""Drawing rows one by one from the command line: rounds of files, and what is wrong with them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from evalsampling.preparation.with_replacement import WEIGHT, sample_with_replacement
from evalsampling.spec import EvaluationSpec
from tests.commands.drawn import DrawnFolder
from tests.jobs import Job, call, files_below


def test_rounds_ask_about_each_row_once(tmp_path: Path) -> None:
    one = DrawnFolder(tmp_path)
    asked: list[int] = []
    rounds: list[Any] = []
    spec = EvaluationSpec.load(one.spec)
    for number, draws in ((1, 90), (2, 60), (3, None)):
        more = [] if draws is None else ["--draws", draws]
        found = call("draw", one.spec, one.rounds, *more, "--json").json
        wanted = sample_with_replacement(spec, rounds, draws)
        rounds.append(pq.read_table(found["file"]))
        assert rounds[-1].equals(wanted)
        new = one.rows_of(number)
        assert (found["round"], found["draws"]) == (number, len(wanted))
        assert found["rows"] == len(set(wanted["id"].to_pylist()))
        assert found["to_label"] == len(new) == len(set(wanted["id"].to_pylist()) - {*asked})
        asked += new
    assert len(asked) == len({*asked})
    assert {*asked} == {id for drawn in rounds for id in drawn["id"].to_pylist()}
    text = call("draw", one.spec, one.rounds, "--draws", 5).out
    assert "round 4: 5 draws of " in text


def test_annotators_see_no_score_and_no_order(tmp_path: Path) -> None:
    one = DrawnFolder(tmp_path)
    assert call("draw", one.spec, one.rounds).status == 0
    tasks = one.batch(1)
    assert {*tasks[0]} == {"task", "length", "label"}
    assert {task["label"] for task in tasks} == {""}
    names = [task["task"] for task in tasks]
    assert names == sorted(names)
    # Neither scores nor draws are told by it: ranks of 150 rows correlate by .3 once in 5,000.
    rows = one.rows_of(1)
    drawn = pq.read_table(one.rounds / "draws-0001.parquet")["id"].to_pylist()
    for other in (one.pool["score"][rows], [drawn.index(id) for id in rows]):
        assert abs(np.corrcoef(np.arange(len(rows)), other)[0, 1]) < 0.3


def test_a_round_without_new_rows_has_no_batch(tmp_path: Path) -> None:
    one = DrawnFolder(tmp_path, labels={"oracle": "deterministic"})
    assert call("draw", one.spec, one.rounds, "--draws", 1).status == 0
    first = pq.read_table(one.rounds / "draws-0001.parquet")
    for number in range(2, 40):
        # A round that draws the first row again would be rare: its file stands for it.
        again = one.rounds / f"draws-{number:04d}.parquet"
        pq.write_table(first, again)
    found = call("draw", one.spec, one.rounds, "--draws", 1, "--json").json
    assert (found["round"], found["draws"]) == (40, 1)
    assert (found["tasks"] is None) == (found["to_label"] == 0)


def test_a_round_that_another_draw_made_meanwhile_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = DrawnFolder(tmp_path)
    written: dict[str, bytes] = {}

    def draw_meanwhile(*arguments: Any) -> Any:
        drawn = sample_with_replacement(*arguments)
        if not written:
            written[""] = b""  # The other call draws as it always does.
            assert call("draw", one.spec, one.rounds, "--draws", 40).status == 0
            written.update({path.name: path.read_bytes() for path in one.rounds.glob("*-0001.*")})
        return drawn

    monkeypatch.setattr("evalsampling.commands.draw.sample_with_replacement", draw_meanwhile)
    result = call("draw", one.spec, one.rounds, "--draws", 90)
    assert (result.status, result.out) == (1, "")
    assert "draws-0001.parquet: another draw made it meanwhile; run this again" in result.err
    del written[""]
    assert {path.name: path.read_bytes() for path in one.rounds.glob("[!.]*")} == written
    assert call("draw", one.spec, one.rounds, "--draws", 90, "--json").json["round"] == 2


@pytest.mark.parametrize(
    ("format", "names"),
    [
        ("vendor", ["batch-0001.csv", "instructions-0001.md"]),
        ("xlsx", ["batch-0001.xlsx"]),
        ("label-studio", ["batch-0001"]),
    ],
)
def test_batches_of_other_formats(tmp_path: Path, format: str, names: list[str]) -> None:
    one = DrawnFolder(tmp_path, sink={"format": format})
    one.rounds.mkdir()
    if format == "label-studio":  # A draw that was killed left it.
        (one.rounds / "batch-0001").mkdir()
        (one.rounds / "batch-0001" / "old.json").write_text("[]")
    found = call("draw", one.spec, one.rounds, "--draws", 20, "--json").json
    assert found["tasks"] == str(one.rounds / names[0])
    made = {path.name for path in one.rounds.glob("[!.]*")}
    assert made == {*names, "draws-0001.parquet"}
    assert not (one.rounds / "batch-0001" / "old.json").exists()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"sampler": "ais"}, "sampler: ais: has no chance of each row's own"),
        ({"budget": {"cost": 0.001}}, "is less than a draw is expected to cost"),
        ({"sampler": {"name": "importance", "calibration": "logistic"}}, "sampler.calibration"),
    ],
    ids=str,
)
def test_bad_specs_write_nothing(tmp_path: Path, keys: Any, words: str) -> None:
    one = DrawnFolder(tmp_path, **keys)
    result = call("draw", one.spec, one.rounds)
    assert (result.status, result.out) == (1, "")
    assert words in result.err
    assert not one.rounds.exists()


def test_bad_folders_are_told(tmp_path: Path) -> None:
    one = DrawnFolder(tmp_path)
    assert "kept on this machine" in call("draw", one.spec, "gs://bucket/rounds").err
    (tmp_path / "file").write_text("")
    assert "is no folder" in call("draw", one.spec, tmp_path / "file").err
    for _ in range(2):
        assert call("draw", one.spec, one.rounds, "--draws", 20).status == 0
    (one.rounds / "draws-0001.parquet").rename(tmp_path / "first")
    assert "draws-0001.parquet: is missing" in call("draw", one.spec, one.rounds).err
    (one.rounds / "draws-0001.parquet").write_bytes(b"PAR1")
    assert "draws-0001.parquet: cannot be read" in call("draw", one.spec, one.rounds).err
    (tmp_path / "first").rename(one.rounds / "draws-0001.parquet")
    other = DrawnFolder(tmp_path, seed=4)
    assert "was drawn with another" in call("draw", other.spec, one.rounds).err
    weight = pq.read_table(one.rounds / "draws-0001.parquet")[WEIGHT].to_numpy()
    assert np.all(weight > 0)


def test_only_what_differs_from_the_spec_is_told(tmp_path: Path) -> None:
    one = DrawnFolder(tmp_path)
    assert call("draw", one.spec, one.rounds, "--draws", 5).status == 0
    text = one.spec.read_text()
    for change, told in (
        ("seed: 4", 'another seed of the spec: {"seed": 3}'),
        ("seed: 3\nmeasure: [accuracy, f1]", 'another measure of the spec: {"measure": '),
    ):
        kept = [line for line in text.splitlines() if not line.startswith(("seed:", "measure:"))]
        kept = [line for line in kept if line not in ("- f1", "- accuracy")]
        measure = "" if "measure" in change else "\nmeasure: [f1, accuracy]"
        one.spec.write_text("\n".join([*kept, change + measure, ""]))
        assert (
            f"draws-0001.parquet: was drawn with {told}" in call("draw", one.spec, one.rounds).err
        )


def test_a_copy_of_a_round_is_named_and_not_the_round(tmp_path: Path) -> None:
    one = DrawnFolder(tmp_path)
    for _ in range(2):
        assert call("draw", one.spec, one.rounds, "--draws", 5).status == 0
    copy = one.rounds / "draws-0001 (copy).parquet"
    copy.write_bytes((one.rounds / "draws-0001.parquet").read_bytes())
    told = call("draw", one.spec, one.rounds).err
    assert f"{copy}: is no round, whose files are called draws-0001.parquet and so on" in told


def test_no_round_is_drawn_into_a_workspace(job: Callable[..., Job]) -> None:
    prepared = job(sampler="importance")
    assert prepared.prepare().status == 0
    before = files_below(prepared.workspace)
    result = call("draw", prepared.spec, prepared.workspace)
    assert result.status == 1
    assert "a workspace, whose rounds `sample` draws" in result.err
    assert files_below(prepared.workspace) == before
