"""Dagster Pipes: the messages for Dagster, in a file, as a process that it started writes them."""

import base64
import json
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster_pipes
import pytest

from evalsampling import InputError
from evalsampling.receivers import dagster
from evalsampling.receivers.dagster import check_name
from evalsampling.receivers.registry import Address
from tests.receivers.runs import lines_of, run


def encoded(content: Any) -> str:
    return base64.b64encode(zlib.compress(json.dumps(content).encode())).decode()


@pytest.fixture
def messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Let Dagster have started this process for one asset; where its messages are written."""
    path = tmp_path / "messages.jsonl"
    context = {
        "asset_keys": ["pairs"], "code_version_by_asset_key": {"pairs": None},
        "provenance_by_asset_key": {"pairs": None}, "partition_key": None,
        "partition_key_range": None, "partition_time_window": None,
        "run_id": "run-of-dagster", "job_name": None, "retry_number": 0, "extras": {},
    }  # fmt: skip
    monkeypatch.setenv("DAGSTER_PIPES_CONTEXT", encoded({"data": context}))
    monkeypatch.setenv("DAGSTER_PIPES_MESSAGES", encoded({"path": str(path)}))
    monkeypatch.setattr(dagster_pipes.PipesContext, "_instance", None)
    yield path
    monkeypatch.setattr(dagster_pipes.PipesContext, "_instance", None)


def reported(path: Path, method: str) -> list[dict[str, Any]]:
    return [line["params"] for line in lines_of(path) if line["method"] == method]


def test_checks_and_metadata(messages: Path) -> None:
    receipt = Address.read("dagster").send(run())
    assert receipt.where == "the asset of Dagster's run run-of-dagster"
    checks = reported(messages, "report_asset_check")
    outcomes = {True: (True, "ERROR"), False: (False, "ERROR"), None: (False, "WARN")}
    for gate, check in zip(run().gates.gates, checks, strict=True):
        assert check["asset_key"] == "pairs"
        assert (check["passed"], check["severity"]) == outcomes[gate.reached]
        assert check["metadata"]["target"] == {"raw_value": gate.target, "type": "float"}
        assert check["metadata"]["statement"]["raw_value"] == gate.statement
    [made] = reported(messages, "report_asset_materialization")
    assert made["data_version"] == run().id
    f1 = next(number for number in run().numbers if number.system == "new")
    assert made["metadata"]["f1 of new"] == {"raw_value": f1.value, "type": "float"}
    assert made["metadata"]["f1 of new, low"] == {"raw_value": f1.low, "type": "float"}
    assert made["metadata"]["labels"] == {"raw_value": 150, "type": "int"}
    assert not [name for name in made["metadata"] if "city" in name or "pr_curve" in name]
    assert [line["method"] for line in lines_of(messages)][-1] == "closed"


def test_a_context_that_is_open_stays_open(messages: Path) -> None:
    with dagster_pipes.open_dagster_pipes() as context:
        dagster.send(run(), None)
        context.report_custom_message("more")
    methods = [line["method"] for line in lines_of(messages)]
    assert methods[0] == "opened"
    assert methods[-2:] == ["report_custom_message", "closed"]


def test_names_of_checks_do_not_change_with_the_target() -> None:
    assert [check_name(gate) for gate in run().gates.gates] == [
        "recall_of_new_at_least", "f1_of_new_at_least",
        "f1_of_old_against_new_at_least", "recall_of_new_at_most",
    ]  # fmt: skip


def test_dagster_must_have_started_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DAGSTER_PIPES_CONTEXT", raising=False)
    with warnings.catch_warnings(), pytest.raises(InputError, match="has not started this process"):
        Address.read("dagster")
    with pytest.raises(InputError, match="takes no place"):
        Address.read("dagster:here")
