"""`status` in words."""

import argparse
import dataclasses
from typing import Any

import pytest

from evalsampling.cli import status


def test_jobs_fit_a_terminal(job: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    one = job().drawn()
    one.answer(1)
    arguments = argparse.Namespace(workspace=str(one.workspace), jobs=True, verify=False)
    result = status.COMMAND.run(arguments, print)
    cost = {"rows": 100_000_000, "seconds": 2.4, "batches": 1, "peak_mebibytes": 555}
    steps = {"FetchCells/ReadCells": cost, "CountSlices/CountValues": {**cost, "seconds": 0.0}}
    first = dataclasses.replace(result.jobs[0], steps=steps)
    result = dataclasses.replace(result, jobs=(first, *result.jobs[1:]))
    lines = status.COMMAND.text(arguments, result).splitlines()
    assert max(map(len, lines)) <= 80
    assert [line.split()[0] for line in lines if line.startswith(("prepare ", "sample-"))] == [
        "prepare", "sample-0001", "prepare"
    ]  # fmt: skip
    assert "  draws 20, new_rows 20" in lines
    head, *told = lines[-3:]
    assert head.split() == ["prepare", "rows", "seconds", "rows/s", "peak", "MiB"]
    assert told[0].split() == ["FetchCells/ReadCells", "100,000,000", "2.4", "41,666,667", "555"]
    assert told[1].split() == ["CountSlices/CountValues", "100,000,000", "0.0", "555"]
    assert len({len(line) for line in (head, *told)}) == 1


def test_a_long_version_of_a_table_is_cut() -> None:
    """A kind of tables may have a list of files for its version; a condition is shown whole."""
    assert len(status._shown([f"a/{number}.parquet" for number in range(999)])) == 200
    assert status._shown("a" * 300) == "a" * 300
