"""Labels by the model of Dawid and Skene, if crowd-kit is there."""

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from evalsampling.labels.dawid_skene import DAWID_SKENE
from evalsampling.labels.tally import Answer, State, Subjects, Tally
from evalsampling.labels.vote_rules import cast_votes
from evalsampling.spec.labels import MODEL
from tests.commands.votes import deliver, numbers, votes
from tests.jobs import Job, call

NEEDED = "labels.rule: dawid-skene needs crowd-kit: pip install 'evalsampling[votes]'"


class Greatest:
    """A model in place of crowd-kit's: of the classes voted for the greatest one."""

    def __init__(self, n_iter: int) -> None:
        pass

    def fit_predict(self, votes: Any) -> Any:
        return votes.groupby("task")["label"].max()


def install(monkeypatch: pytest.MonkeyPatch, is_there: bool) -> None:
    """Let crowd-kit be there, or not."""
    module = types.ModuleType("crowdkit.aggregation")
    module.DawidSkene = Greatest  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "crowdkit", types.ModuleType("crowdkit"))
    monkeypatch.setitem(sys.modules, "crowdkit.aggregation", module if is_there else None)


def test_without_crowd_kit_nothing_is_prepared(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, False)
    one = job(labels={"votes": 3, "rule": "dawid-skene"})
    for options in ((), ("--in-process",)):
        refused = call("prepare", one.spec, *options)
        assert refused.status == 1
        assert NEEDED in refused.err
        assert not one.workspace.exists()
    (problem,) = call("check", one.spec, "--json").json["problems"]
    assert problem.startswith(NEEDED)


def test_without_crowd_kit_nothing_is_stored_and_status_tells_the_same(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, True)
    one = job(labels={"votes": 3, "rule": "dawid-skene"})
    one.prepare()
    one.sample()
    rows = votes(one, 1, skipped=0.6)[:45]
    path = deliver(one, rows, "some.csv")
    install(monkeypatch, False)
    result = one.estimate("--labels", path)
    assert result.status == 1
    assert NEEDED in result.err
    assert not (one.workspace / "labels").exists()
    install(monkeypatch, True)
    result = one.estimate("--labels", path)
    assert result.status == 0, result.err
    before = call("status", one.workspace, "--json").json
    assert 0 < before["labels"] == result.json["labels"] < 15
    assert before["open"] == result.json["open"]
    install(monkeypatch, False)
    assert call("status", one.workspace, "--json").json == before
    assert NEEDED in one.sample().err


def test_it_needs_several_votes(job: Callable[..., Job]) -> None:
    one = job(labels={"rule": "dawid-skene"})
    assert "labels.rule: dawid-skene needs labels.votes of at least 2" in one.prepare().err


def test_a_good_annotator_outweighs_two_bad_ones() -> None:
    """Rows of known class: the fit is right where the majority of three is wrong."""
    pytest.importorskip("crowdkit.aggregation")
    rng = np.random.default_rng(1)
    truth = (rng.random(400) < 0.5).astype(int)
    tally = Tally(Subjects(400, votes=5), rule=MODEL)
    rates = {"a": 0.97, "b": 0.95, "c": 0.6, "d": 0.55, "e": 0.55}
    for name, rate in rates.items():
        said = np.where(rng.random(400) < rate, truth, 1 - truth).tolist()
        tally.add([Answer(row, name, code) for row, code in enumerate(said)], False, 1)
    assert tally.state(0) is State.DISPUTED, "nothing is decided before the fit"
    tally.decide_together(DAWID_SKENE.decide(cast_votes(tally)), 1)
    majority = Tally(Subjects(400, votes=5), answers=tally.answers)
    wrong = (tally.codes != truth).sum()
    assert wrong < 0.05 * 400 < (majority.codes != truth).sum()


def test_no_order_matters(job: Callable[..., Job]) -> None:
    pytest.importorskip("crowdkit.aggregation")
    found = []
    for split in (False, True):
        one = job(labels={"votes": 3, "rule": "dawid-skene"}, round_size=40)
        one.prepare()
        one.sample()
        of_id = dict(zip(one.batch(1)["task"], one.batch(1)["id"], strict=True))
        rows = sorted(votes(one, 1, skipped=0), key=lambda row: (of_id[row[0]], row[1]))
        rows = [(*row[:2], str((of_id[row[0]] * 7 + ord(row[1])) % 3 % 2), *row[3:])
                for row in rows]  # fmt: skip
        parts = [rows[1::2], rows[::2]] if split else [rows]
        paths = [deliver(one, part, f"{place}.csv") for place, part in enumerate(parts)]
        for path in paths:
            result = one.estimate("--labels", path)
        assert result.json["labels"] == 40
        found.append(numbers(result.json))
    assert found[0] == found[1]
