"""Pools that change while they are read: one line names the file, no number is of two."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evalsampling.commands import plan as planning
from evalsampling.commands import simulate as simulating
from evalsampling.commands.top_up import TopUp
from evalsampling.pool.catalog import Catalog
from evalsampling.spec import EvaluationSpec
from tests.changing_pools import (
    CHANGES,
    MOMENTS,
    Change,
    added,
    assert_refused,
    assert_whole_when_run_again,
    changed,
    cut,
    files_of,
    gone,
    longer,
    of_same_size,
    of_same_size_and_time,
    other_payload,
    replaced,
    shorter,
    small,
)
from tests.jobs import Jobs, call, files_below

SEEN_BEFORE = {cut, gone, of_same_size_and_time}
"""Changes of a file that nobody has looked into yet: it is damaged or gone, or as good as any."""


BETWEEN = "between the passes"

TRIED: list[tuple[str, Change, str, tuple[str, ...]]] = [
    *(("parquet", change, moment, ("--in-process",)) for change in CHANGES for moment in MOMENTS),
    *((suffix, change, BETWEEN, ("--in-process",)) for suffix in ("csv", "jsonl")
      for change in CHANGES),
    *(("avro", change, BETWEEN, ("--in-process",)) for change in (shorter, longer)),
    *(("parquet", change, moment, ()) for change in (longer, of_same_size) for moment in MOMENTS),
]  # fmt: skip
"""Format, change, its moment, and options: by Beam if there are none."""

FAST = [
    *(("parquet", change, BETWEEN) for change in (added, of_same_size, of_same_size_and_time)),
    ("csv", longer, BETWEEN),
]
"""Places within a longer file of text that was there before are the middle of rows."""


@pytest.mark.parametrize(
    ("suffix", "change", "moment", "by"),
    [
        case if case[:3] in FAST and case[3] else pytest.param(*case, marks=pytest.mark.slow)
        for case in TRIED
        if case[2] != "found" or case[1] not in SEEN_BEFORE
    ],
)
def test_any_change_at_any_moment(
    job: Jobs, suffix: str, change: Change, moment: str, by: Sequence[str]
) -> None:
    one, path = small(job, suffix)
    before = files_of(one)
    with changed(moment, lambda: change(path)):
        result = one.prepare(*by)
    assert_refused(one, result, path, change)
    if suffix != "avro":  # Whose columns have other names than the reference's.
        assert_whole_when_run_again(one, before, lambda: one.prepare("--in-process"))


@pytest.mark.parametrize(
    "change",
    [
        other_payload,
        *(
            pytest.param(change, marks=pytest.mark.slow)
            for change in (of_same_size, of_same_size_and_time, replaced, longer)
        ),
    ],
)
def test_nothing_is_added_to_the_reserve_of_a_pool_that_changes(
    job: Jobs, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prepared pool that changes once the top-up has listed its items."""
    one, path = small(job)
    assert one.prepare("--in-process").status == 0
    before, items = files_below(one.workspace), TopUp.items

    def late(self: Any) -> Any:
        found = items(self)
        change(path)
        return found

    monkeypatch.setattr(TopUp, "items", late)
    result = one.prepare("--top-up", 300)
    assert result.status == 1
    assert f"{path.name}: has changed while it was read" in result.err.splitlines()[-1]
    assert files_below(one.workspace) == before


def change_after(
    monkeypatch: pytest.MonkeyPatch, module: Any, path: Path, first_pass: str = "stratify_pool"
) -> None:
    """Let a file change after the first pass of a module's work."""
    stratify = getattr(module, first_pass)

    def late(*given: Any) -> Any:
        stratification = stratify(*given)
        of_same_size(path)
        return stratification

    monkeypatch.setattr(module, first_pass, late)


def test_nothing_is_planned_on_two_versions(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    one, path = small(job)
    change_after(monkeypatch, planning, path)
    result = call("plan", one.spec, "--repeats", 2)
    assert (result.status, result.out) == (1, "")
    assert result.err == f"evalsampling plan: {path}: has changed while it was read\n"


def test_nothing_is_simulated_on_two_versions(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    one, path = small(job)
    truth = one.deliver([(id, label) for id, label in one.pool.truth.items()], "t.csv", "id,label")
    change_after(monkeypatch, simulating, path)
    result = call("simulate", one.spec, "--truth", truth, "--repeats", 2)
    assert (result.status, result.out) == (1, "")
    assert result.err == f"evalsampling simulate: {path}: has changed while it was read\n"


def test_a_pool_that_is_left_alone_passes(job: Jobs) -> None:
    """Also if somebody reads it, or changes who may."""
    one, path = small(job)
    spec = EvaluationSpec.load(one.spec)
    catalog = Catalog.read(spec.reading)
    path.read_bytes()
    path.chmod(0o600)
    catalog.check_unchanged(spec.pool)


def test_a_name_with_characters_of_patterns(job: Jobs) -> None:
    """Brackets in the name of a file, as browsers put them there, are no pattern."""
    one, path = small(job)
    path = path.rename(path.with_name("part[1].parquet"))
    assert one.prepare("--in-process").status == 0
    assert call("status", "--verify", one.workspace, "--json").json["absent"] == []
    of_same_size(path)
    told = call("status", "--verify", one.workspace)
    assert told.status == 1
    assert f"{path}: the pool's file has changed" in told.out


def test_a_damaged_file_that_has_not_changed_is_told_as_it_is(job: Jobs) -> None:
    one, path = small(job, "csv")
    path.write_text(path.read_text() + "1,no number,0,x\n")
    result = one.prepare("--in-process")
    assert "column 'score', row 200: must be a number" in result.err
