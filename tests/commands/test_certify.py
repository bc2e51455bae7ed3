"""`estimate --certify`: sentences, files, exit codes, and what `status --verify` makes of files."""

import json
from typing import Any

import pytest

from evalsampling import Evaluation
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Job, Jobs, call, make_pool

PROMISE = "precision >= 0.8"
NEVER = "precision >= 0.99 and recall >= 0.99"


@pytest.fixture
def certified(job: Jobs) -> Job:
    """A job with a promise in its spec, after two rounds."""
    one: Job = job(
        make_pool(4000), measure=[{"certify": {"precision": 0.8}}], budget=240, round_size=120
    ).prepared()
    for number in (1, 2):
        assert one.sample().status == 0
        one.answer(number, f"{number}.csv")
    return one


def certificates(one: Job) -> dict[str, Any]:
    folder = one.workspace / "certificates"
    return {path.name: json.loads(path.read_text()) for path in folder.glob("*.json")}


def test_a_certificate_is_said_kept_and_checked_again(certified: Job) -> None:
    result = certified.estimate().done.json
    [found] = result["certificates"]
    assert found["holds"]
    above = [row for row in certified.pool.table.to_pylist() if row["score"] >= found["threshold"]]
    assert found["rows"] == len(above)
    truth = certified.pool.truth
    assert sum(truth[row["id"]] for row in above) / len(above) >= 0.8
    kept = certificates(certified)
    assert {**found, "sha256": None} in [{**each, "sha256": None} for each in kept.values()]
    text = call("estimate", certified.workspace).out
    assert f"precision is at least 0.8 for the {found['rows']:,} rows" in " ".join(text.split())
    before = {name: content["sha256"] for name, content in kept.items()}
    assert certified.estimate().status == 0
    assert {name: each["sha256"] for name, each in certificates(certified).items()} == before
    assert call("status", certified.workspace, "--verify").status == 0


def test_a_report_has_it_on_top(certified: Job) -> None:
    [found] = certified.estimate().json["certificates"]
    page = certified.directory / "report.html"
    assert call("report", certified.workspace, "--short", "--to", page).status == 0
    first, _, rest = found["statement"].partition(". ")
    text = page.read_text("utf-8")
    assert f"<strong>{first}.</strong> {rest}" in text
    assert text.index("What may be claimed") < text.index(first)


def test_it_is_the_same_in_python_and_holds_after_later_rounds(certified: Job) -> None:
    [found] = certified.estimate().json["certificates"]
    assert Evaluation.open(certified.workspace).certify(PROMISE).to_json() == found
    certified.estimate("--certify", "recall >= 0.1")
    assert call("sample", "--budget", "300", certified.workspace).status == 0
    certified.answer(3, "3.csv")
    assert call("status", certified.workspace, "--verify").status == 0
    [later] = certified.estimate("--certify", PROMISE).json["certificates"]
    assert later["planned"] == 240  # Bets look ahead to what was planned at first.
    assert later["rounds"] == 3


def test_a_certificate_that_does_not_follow_is_found_out(certified: Job) -> None:
    name, content = next(iter(certificates(certified).items()))
    del content["sha256"]
    changed = {"threshold": 0.5, "rows": 1, "labels_hash": "0", "design": "0", "pool": "0"}
    for key, value in changed.items():
        (certified.workspace / "certificates" / name).unlink()
        wrong = {**content, key: value}
        Workspace(certified.workspace).store.write_json(f"certificates/{name}", wrong)
        result = call("status", certified.workspace, "--verify")
        assert result.status == 1
        assert f"certificates/{name}: does not follow from the workspace: {key} is" in result.out


def test_what_is_not_proved_ends_with_11_and_leaves_no_file(certified: Job) -> None:
    kept = certificates(certified)
    result = certified.estimate("--certify", NEVER)
    assert result.status == 11
    assert not result.json["certificates"][0]["holds"]
    assert certificates(certified) == kept
    assert certified.estimate("--certify", NEVER, "--exit-zero").status == 0
    both = certified.estimate("--certify", PROMISE, "--certify", NEVER)
    assert both.status == 11
    assert [each["holds"] for each in both.json["certificates"]] == [True, False]


def test_a_promise_of_slices_that_are_none_is_refused(certified: Job) -> None:
    before = certificates(certified)
    refused = certified.estimate("--certify", "precision >= 0.9 in each shop").refused
    assert "certify: in each shop: no slice; known: the spec has" in refused
    assert certificates(certified) == before


def test_a_budget_of_money_plans_no_number_of_labels(job: Jobs) -> None:
    pool = make_pool(4000).with_columns(cost=[2.0] * 4000)
    one: Job = job(pool, pool={"cost": "cost"}, budget={"cost": 200}, round_size=80).prepared()
    one.sample()
    one.answer(1)
    [found] = one.estimate("--certify", PROMISE).json["certificates"]
    assert found["planned"] is None
