"""Labels by the model of Dawid and Skene, if crowd-kit is there."""

from collections.abc import Callable

import numpy as np
import pytest

from evalsampling.labels.dawid_skene import fit_labels
from evalsampling.labels.tally import Answer, State, Subjects, Tally
from evalsampling.spec.labels import MODEL
from tests.commands.votes import deliver, numbers, votes
from tests.jobs import Job


def test_without_crowd_kit_it_is_named(job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(__import__("sys").modules, "crowdkit.aggregation", None)
    one = job(labels={"votes": 3, "rule": "dawid-skene"})
    assert one.prepare().status == 0
    one.sample()
    result = one.estimate("--labels", deliver(one, votes(one, 1), "all.csv"))
    assert result.status == 1
    assert "needs crowd-kit: pip install 'evalsampling[votes]'" in result.err


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
    tally.decide_by_model(fit_labels(tally), 1)
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
