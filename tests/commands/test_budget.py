"""A budget that grows: labels are not bought twice."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsampling.commands.budget import raise_budget
from evalsampling.spec.budget import NO_BUDGET, Budget
from evalsampling.workspace.snapshot import Snapshot
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Job, call, files_below, make_pool, make_rich_pool


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (Budget(1000), "1,000 labels"),
        (Budget(1), "1 label"),
        (Budget(20, 500.0), "money 500.00 and 20 labels"),
        (Budget(NO_BUDGET, 1234.5), "money 1,234.50"),
    ],
)
def test_a_budget_in_words(budget: Budget, words: str) -> None:
    assert budget.words == words


def spend(one: Job, number: int, *options: Any) -> dict[str, Any]:
    one.sample(*options)
    return one.answer(number, f"l{number}.csv").json


@pytest.mark.slow
def test_more_labels_after_the_budget_is_spent(job: Any) -> None:
    """The rounds go on as if the budget had been so large from the start."""
    small, large = job(budget=40), job(budget=60)
    for one in (small, large):
        one.prepare()
        for number in (1, 2):
            told = spend(one, number)
    assert small.sample().json["reason"] == "budget"
    before = files_below(small.workspace)
    raised = small.sample("--budget", "60").json
    assert raised["raised"] == {"budget": 60, "before": 40, "short": 0}
    assert raised["round"] == 3, "the next round is drawn by the same call"
    assert before.items() <= files_below(small.workspace).items(), "nothing else is changed"
    after = small.answer(3, "l3.csv").json
    assert after["measures"] == spend(large, 3)["measures"] != told["measures"]
    assert call("status", small.workspace, "--json").json["budget"] == 60
    assert small.sample().json["reason"] == "budget"
    assert call("status", "--verify", small.workspace).status == 0
    again = call("sample", small.workspace, "--budget", "60").out
    assert again.startswith("budget: 60 labels, 60 labels before\nnothing to label: the budget")
    assert small.prepare().status == 0, "the spec need not be changed"
    small.spec.write_text(small.spec.read_text().replace("budget: 40", "budget: 60"))
    assert small.prepare().status == 0, "and may be"


@pytest.mark.slow
def test_a_budget_that_is_raised_while_an_estimate_waits(
    job: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes by the budget that it finds when its turn comes, also where it looks again."""
    one: Job = job(budget=20, round_size=20).drawn()
    labels = one.deliver(one.answers(1))
    before = Snapshot.at(one.workspace)
    in_use, amounts = Workspace.in_use, [40]

    @contextlib.contextmanager
    def late(self: Workspace) -> Iterator[None]:
        if amounts:
            raise_budget(Workspace(one.workspace), amounts.pop())
        with in_use(self):
            yield

    monkeypatch.setattr(Workspace, "in_use", late)
    assert not one.estimate("--labels", labels).json["done"]
    assert before.reread().pool.spec.budget.labels == 40


def test_a_budget_that_is_not_raised(job: Any, tmp_path: Path) -> None:
    one: Job = job(budget=40)
    assert "not a prepared workspace" in call("sample", tmp_path / "nowhere", "--budget", "9").err
    one.prepare()
    lower = "the budget is 40 labels, and can only be raised, not set to 39 labels"
    assert lower in one.sample("--budget", "39").refused
    assert one.sample("--budget", "many").status == 2
    assert "a whole number, got 40.5" in one.sample("--budget", "40.5").err
    assert "the budget is of labels" in one.sample("--budget", "50", "--budget-labels", "60").err
    assert not (one.workspace / "budgets").exists()
    assert not (one.workspace / "rounds").exists()
    one.spec.write_text(one.spec.read_text().replace("budget: 40", "budget: 60"))
    assert "workspace --budget 60` raises it" in one.prepare().err


@pytest.mark.slow
def test_more_money(job: Any) -> None:
    """Also where labels are limited too; the rounds go on until the money is spent."""
    pool = {"score": "s0.score", "prediction": "s0.prediction", "cost": "size"}
    keys = {"pool": pool, "measure": "f1", "strata": {"leaves": 8}, "round_size": 30}
    one: Job = job(
        make_rich_pool(600), budget={"cost": 10, "labels": 500}, sampler="passive", **keys
    ).prepared()
    number = 0
    while one.sample().json["reason"] != "budget":
        number += 1
        told = one.answer(number, f"{number}.csv").json
    assert told["done"]
    one.spec.write_text(one.spec.read_text().replace("cost: 10", "cost: 90.5"))
    refused = one.prepare()
    assert "prepared with a budget of money 10.00 and 500 labels" in refused.err
    assert f"sample {one.workspace} --budget 90.5 --budget-labels 500` raises it" in refused.err
    again = one.sample("--budget", "90.5")
    before, now = {"cost": 10.0, "labels": 500}, {"cost": 90.5, "labels": 500}
    assert again.json["raised"] == {"budget": now, "before": before, "short": 0}
    assert one.prepare().status == 0
    assert again.json["reason"] != "budget", again.err
    assert call("status", one.workspace, "--json").json["money"] == 90.5
    limited = call("sample", one.workspace, "--budget", "120", "--budget-labels", "700")
    assert "budget: money 120.00 and 700 labels, money 90.50 and 500 labels before" in limited.out
    lowered = one.sample("--budget", "110")
    assert "is money 120.00 and 700 labels, and can only be raised" in lowered.err


def test_without_a_limit_of_labels_no_number_is_told(job: Any, tmp_path: Path) -> None:
    pool = {"score": "s0.score", "prediction": "s0.prediction", "cost": "size"}
    keys = {"pool": pool, "measure": "f1", "strata": {"leaves": 8}, "round_size": 30}
    one: Job = job(make_rich_pool(60), budget={"cost": 90}, **keys).prepared()
    assert ", 0 labels for 0.00 of 90.00, " in call("status", one.workspace).done.out
    assert call("status", one.workspace, "--json").json["budget"] is None
    assert call("report", one.workspace, "--to", tmp_path / "page.html").status == 0
    assert json.loads((tmp_path / "page.json").read_text())["evaluation"]["budget"] is None


@pytest.mark.slow
def test_a_reserve_that_runs_short_is_topped_up_where_the_workspace_is(job: Any) -> None:
    one: Job = job(
        make_pool(rows=400), budget=30, round_size=30, strata={"leaves": 1}, sampler="passive"
    ).prepared()
    spend(one, 1)
    shutil.copytree(one.workspace, copied := one.directory / "copied")
    assert "was topped up" in call("sample", copied, "--budget", "90").done.out
    assert not [*one.workspace.rglob("top-up-*")]
    one.spec.write_text(one.spec.read_text().replace(f"{one.workspace.name}\n", "copied\n"))
    assert one.prepare().json["workspace"] == str(copied)


def test_a_budget_that_was_lost_is_missed(drawn: Job) -> None:
    """The next one has a number that no other had."""
    for labels in ("300", "400"):
        assert drawn.sample("--budget", labels).status == 0
    (drawn.workspace / "budgets/0001.json").unlink()
    verified = call("status", "--verify", drawn.workspace)
    assert verified.status == 1
    assert f"{drawn.workspace}/budgets/0001.json: missing" in verified.out
    raised = drawn.sample("--budget", "500")
    assert raised.json["raised"]["before"] == 400, raised.err
    assert (drawn.workspace / "budgets/0003.json").exists()
    path = drawn.workspace / "budgets/0003.json"
    path.write_text(path.read_text().replace("500", "900"))
    assert "0003.json: damaged" in call("status", "--verify", drawn.workspace).out


def test_a_stray_folder_beside_the_rounds_is_verified_too(drawn: Job) -> None:
    stray = drawn.workspace / "rounds/copy"
    shutil.copytree(drawn.round_directory(1), stray)
    assert call("status", "--verify", drawn.workspace, "--json").json["bad"] == []
    (stray / "batch.parquet").write_bytes(b"PAR1")
    told = call("status", "--verify", drawn.workspace)
    assert told.status == 1
    assert "rounds/copy/batch.parquet: " in told.out
