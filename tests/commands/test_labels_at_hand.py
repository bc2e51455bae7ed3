"""Labels that a pool has already: the first round of its workspace, on every engine."""

import json
import shutil
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from evalsampling import Evaluation
from evalsampling.commands import labels_at_hand
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.workspace.snapshot import Snapshot
from tests.engines import Case, StartSpark, on_engines
from tests.jobs import Job, call, files_below
from tests.labels_at_hand import WAYS, keys, labelled_pool


def rows_of(history: History, ids: list[Any]) -> dict[Any, tuple[Any, ...]]:
    """Return label and chance of each row of the first round, by id."""
    first = history.rounds[0]
    facts = zip(history.label[first.question].tolist(), first.probability.tolist(), strict=True)
    return dict(zip(ids, facts, strict=True))


def in_memory(one: Job, way: str) -> Evaluation:
    """Return the evaluation of the pool of a job, in memory."""
    spec = EvaluationSpec.load(one.spec).to_mapping()
    kept = ("strata", "budget", "round_size", "seed", "labels", "sampler")
    own = {key: spec[key] for key in kept}
    return Evaluation.from_frame(one.pool.table, **own, **keys(way).get("pool", {}))


@pytest.mark.parametrize(
    ("engine", "way"),
    on_engines([(way,) for way in WAYS], [("within",), ("chance",), ("clusters",)]),
)
def test_the_first_round_is_that_of_memory(
    job: Any, start_spark: StartSpark, engine: Case, way: str
) -> None:
    """Whatever the shares: rows, labels, chances, the estimates, and the rows drawn next."""
    one = job(labelled_pool(way), files=3, group_rows=150, **keys(way))
    engine.prepare(EvaluationSpec.load(one.spec), start_spark, False)
    stored, memory = Evaluation.open(one.workspace), in_memory(one, way)
    truth, history = one.pool.truth, stored.history
    assert rows_of(history, stored.state.ids()) == rows_of(memory.history, memory.state.ids())
    assert all(truth[id] == label for id, label in zip(stored.state.ids(), history.label,
                                                       strict=True))  # fmt: skip
    assert (history.label != NO_LABEL).all()
    assert repr(stored.estimate()) == repr(memory.estimate())
    ids = memory.sample(20)
    assert set(stored.sample(20).tolist()) == set(ids.tolist())
    human = dict(zip(*(one.pool.table[c].to_pylist() for c in ("id", "human")), strict=True))
    assert {human[id] for id in ids.tolist()} == {None}


def test_nothing_of_them_is_for_annotators(job: Any) -> None:
    one = job(labelled_pool(), **keys("random")).prepared()
    status = call("status", one.workspace, "--json").json
    assert (status["rounds"], status["labels"], status["open"]) == (1, 150, 0)
    assert not list((one.workspace / "rounds").rglob("batch.csv"))
    drawn = one.sample().json
    assert (drawn["round"], drawn["rows"]) == (2, 20)
    assert "human" not in (one.workspace / drawn["batch"]).read_text().splitlines()[0]


def test_killed_between_the_round_and_its_labels(job: Any, monkeypatch: Any) -> None:
    def kill(*_: Any) -> None:
        raise KeyboardInterrupt

    one = job(labelled_pool(), **keys("random"))
    with monkeypatch.context() as patch:
        patch.setattr(labels_at_hand, "store", kill)
        assert one.prepare().status != 0
    assert len(Snapshot.at(one.workspace).rounds) == 1
    assert not Snapshot.at(one.workspace).deliveries
    assert one.estimate().json["labels"] == 150
    before = files_below(one.workspace)
    assert one.prepare().status == 0
    assert one.estimate().json["labels"] == 150
    assert files_below(one.workspace) == before


def test_a_correction_and_more_rows_of_the_reserve(job: Any) -> None:
    """A label at hand is corrected as any other; a top-up adds no row that has one."""
    one = job(
        labelled_pool(), strata={"leaves": 2}, budget=300, round_size=90, **keys("random")
    ).prepared()
    snapshot = Snapshot.at(one.workspace)
    wrong = [[snapshot.tasks[0], 1 - int(snapshot.labels[0])]]
    assert one.take(wrong, "mended.csv", option="--replace").json["labels"] == 150
    assert Snapshot.at(one.workspace).labels[0] != snapshot.labels[0]
    reserve = one.workspace / "reserve"
    before = pq.read_table(reserve, columns=["id", "given"])
    assert one.prepare("--top-up", "400").status == 0
    after = pq.read_table(reserve, columns=["id", "given"])
    assert len(after) > len(before)
    assert len(after["id"].unique()) == len(after)
    assert after["given"].is_valid().to_numpy().sum() == 150


def test_rows_drawn_by_the_design_of_another_workspace(job: Any) -> None:
    """Their chances are those of its rounds."""
    pool = labelled_pool()
    old = job(pool, budget=100, round_size=50).prepared()
    for number in (1, 2):
        old.sample()
        old.answer(number)
    snapshot = Snapshot.at(old.workspace)
    given = {id: pool.truth[int(id)] for id in snapshot.ids}
    human = [given.get(str(id)) for id in pool.table["id"].to_pylist()]
    design = old.workspace / "rounds" / "0002" / "design.json"
    labels = {"column": "human", "drawn": {"design": str(design)}}
    new = job(pool.with_columns(human=human), labels=labels).prepared()
    history, weights = snapshot.history, snapshot.analysis.sampler.weigh
    inclusion = 1 / (weights(snapshot.pool.table, history).weight * snapshot.pool.table.rows)
    stored = Evaluation.open(new.workspace)
    chances = dict(zip(stored.state.ids(), stored.history.rounds[0].probability, strict=True))
    assert [chances[int(id)] for id in snapshot.ids] == pytest.approx(inclusion.tolist())
    thinned = [None if id % 5 == 0 else label for id, label in enumerate(human)]
    some = Evaluation.from_frame(pool.with_columns(human=thinned).table, labels=labels)
    told = f"{100 - len(some.history)} of 100 rows drawn by {design} have no label, which is seldom"
    assert some.estimate().warnings[0].startswith(told)
    part = Evaluation.from_frame(pool.with_columns(human=human).table[:1500], labels=labels)
    of_part = part.history.rounds[0].probability.tolist()
    assert of_part == pytest.approx([chances[id] for id in part.state.ids()])
    assert "at random" not in str(part.estimate().warnings), "rows that are gone miss no label"
    shutil.rmtree(old.workspace)  # It is read once.
    assert new.estimate().json["labels"] == len(given)


def test_rows_that_another_design_did_not_draw(job: Any) -> None:
    """They are refused, and so is a file that is no design of a round."""
    pool = labelled_pool()
    old = job(pool, budget=100, round_size=50).drawn()
    design = old.workspace / "rounds" / "0001" / "design.json"
    labels: Any = {"column": "human", "drawn": {"design": str(design)}}
    assert "has a label and was not drawn by it" in job(pool, labels=labels).prepare().refused
    told = "drawn of 2,000 rows, not 3,000; pool.where leaves out what it could not draw"
    assert told in job(labelled_pool(rows=3000), labels=labels).prepare().refused
    whole = job(labelled_pool("clusters"), **keys("clusters")).prepared()
    labels["drawn"]["design"] = str(whole.workspace / "rounds" / "0001" / "design.json")
    told = "drawn by clusters, which draws whole clusters: say labels.drawn: clusters"
    assert told in job(pool, labels=labels).prepare().refused
    wrong = job(pool, labels={"column": "human", "drawn": {"design": "design.json"}})
    assert "is no design of a round" in wrong.prepare().err


def test_the_design_says_that_people_picked(job: Any) -> None:
    one = job(labelled_pool("picked"), **keys("picked")).prepared()
    design = json.loads((one.workspace / "rounds" / "0001" / "design.json").read_text())
    assert (design["origin"], design["exported"]) == ("people", None)
    assert not np.any(design["cell_probability"])
    assert "people picked all rows with a label" in one.estimate().json["measures"][0]["reason"]
