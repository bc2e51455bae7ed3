"""Files of a workspace that were damaged on the disk: never another estimate, never a traceback."""

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.verify import verify
from evalsampling.errors import InputError
from evalsampling.storage.local import LocalStore
from evalsampling.workspace import deliveries, rounds
from evalsampling.workspace.workspace import Workspace
from tests.faults.contents import known
from tests.jobs import Job, Jobs, call, files_below, make_pool

NEEDED = ("evaluation.json", "cells.parquet", "slices.parquet", "rounds/", "taken/", "labels/")
"""Files that an estimate is made of."""


@pytest.fixture
def tiny(job: Jobs) -> Job:
    """Two rounds, the first one answered."""
    one = job(make_pool(120), budget=20, round_size=10, strata={"leaves": 3})
    for status in (one.prepare(), one.sample()):
        assert status.status == 0, status.err
    assert one.answer(1).status == 0
    assert one.sample().status == 0
    return one


def needed(one: Job) -> list[str]:
    """Names of the files that an estimate is made of, but for what annotators get."""
    names = sorted(files_below(one.workspace))
    return [n for n in names if n.startswith(NEEDED) and not n.endswith((".csv",))]


class Damaged(Workspace):
    """A workspace of whose files one is read with another content."""

    def __init__(self, path: Path, name: str, content: bytes) -> None:
        super().__init__(path)
        self.store = _Damaged(path, name, content)


class _Damaged(LocalStore):
    def __init__(self, directory: Path, name: str, content: bytes) -> None:
        super().__init__(directory)
        self.damaged, self.content = name, content

    def read(self, name: str) -> bytes:
        return self.content if name == self.damaged else super().read(name)


def flips(
    one: Job, step: int, rng: np.random.Generator, only: str = ""
) -> Iterator[tuple[str, int, bytes]]:
    """Yield contents with one bit flipped: one at random of each ``step`` bits in a row."""
    for name in filter(lambda name: only in name, needed(one)):
        content = (one.workspace / name).read_bytes()
        begins = np.arange(0, 8 * len(content) - step + 1, step)
        for bit in (begins + rng.integers(step, size=len(begins))).tolist():
            changed = bytearray(content)
            changed[bit // 8] ^= 1 << bit % 8
            yield name, bit, bytes(changed)


def silent(one: Job, changes: Iterator[tuple[str, int, bytes]]) -> tuple[int, list[Any]]:
    """Return how many changes were tried, and those that went through and changed something."""
    expected, tried, bad = known(Workspace(one.workspace)), 0, []
    for name, bit, content in changes:
        tried += 1
        try:
            if known(Damaged(one.workspace, name, content)) != expected:
                bad.append((name, bit, "another content"))
        except InputError as error:
            if Path(name).name not in str(error) or "\n" in str(error):
                bad.append((name, bit, str(error)))
    return tried, bad


def test_names_of_columns_that_are_no_text(tiny: Job) -> None:
    """A batch is parsed though it is not as it was written: its payload may have been removed."""
    name = "rounds/0001/batch.parquet"
    content = (tiny.workspace / name).read_bytes()
    changed = content.replace(b"task", b"\xf4ask")
    assert changed != content
    assert silent(tiny, iter([(name, 0, changed)])) == (1, [])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("only", "step"),
    [
        *(("json", 1), ("labels", 1), ("cells", 4), ("0001/draws", 2), ("0002/draws", 2)),
        *(("0001/batch", 1), ("0002/batch", 1)),
    ],
)
def test_no_flipped_bit_changes_anything_silently(
    tiny: Job, monkeypatch: pytest.MonkeyPatch, only: str, step: int
) -> None:
    """Every bit of the files that an estimate is made of; of the largest one bit of two or four."""
    # Files one after the other: starting threads takes longer than reading so small ones.
    for module in (deliveries, rounds):
        monkeypatch.setattr(module, "at_once", lambda read, names: list(map(read, names)))
    tried, bad = silent(tiny, flips(tiny, step, np.random.default_rng(1), only))
    assert tried == sum(
        8 * len((tiny.workspace / name).read_bytes()) // step
        for name in needed(tiny)
        if only in name
    )
    assert tried > 4_000
    assert bad == []


def test_files_of_which_every_bit_is_flipped_are_all_that_are_needed(tiny: Job) -> None:
    kinds = ("json", "labels", "cells", "/draws", "/batch")
    assert [n for n in needed(tiny) if not any(kind in n for kind in kinds)] == []


def commands(one: Job) -> list[Sequence[Any]]:
    return [("estimate", one.workspace), ("status", one.workspace)]


def damages(content: bytes) -> dict[str, bytes | None]:
    """What may become of a file."""
    half = len(content) // 2
    return {"deleted": None, "empty": b"", "half": content[:half], "short": content[:-2]}


@pytest.mark.slow
def test_damaged_files_are_named_in_one_line(tiny: Job) -> None:
    """Truncated or deleted: the commands fail with the file, or say what they said before."""
    before = {c[0]: call(*c, "--json").json for c in commands(tiny)}
    for name in needed(tiny):
        path = tiny.workspace / name
        content = path.read_bytes()
        for damage, changed in damages(content).items():
            path.unlink()
            if changed is not None:
                path.write_bytes(changed)
            for command in commands(tiny):
                result = call(*command, "--json")
                where = (name, damage, command[0], result.err)
                if result.status == 0:
                    known_keys = set(before[command[0]]) - {"jobs"}
                    assert all(result.json[k] == before[command[0]][k] for k in known_keys), where
                    continue
                assert result.status == 1, where
                assert result.err.count("\n") == 1, where
                assert name.rpartition("/")[0] in result.err, where
            assert not verify_or_bad(tiny.workspace), (name, damage)
            path.write_bytes(content)
    assert verify(WorkspaceOptions(str(tiny.workspace))).ok


def verify_or_bad(workspace: Path) -> bool:
    """Tell whether all is well with a workspace."""
    try:
        return verify(WorkspaceOptions(str(workspace))).ok
    except InputError:
        return False


def test_verify_finds_every_file(tiny: Job) -> None:
    """One bit of each, the last one; reserve, manifests and exported files too."""
    for name, content in files_below(tiny.workspace).items():
        if name.startswith("."):
            continue
        path = tiny.workspace / name
        changed = bytearray(content)
        changed[len(content) // 2] ^= 4
        path.write_bytes(changed)
        result = verify(WorkspaceOptions(str(tiny.workspace)))
        assert not result.ok, name
        assert any(line.startswith(f"{path}: ") for line in result.bad), (name, result.bad)
        assert len(result.bad) == 1 or name.endswith("json"), result.bad
        path.write_bytes(content)
    found = verify(WorkspaceOptions(str(tiny.workspace)))
    assert (found.ok, found.bad, found.unprotected) == (True, (), 0)


def test_verify_of_what_may_be_deleted(tiny: Job) -> None:
    shutil.rmtree(tiny.workspace / "reserve")
    shutil.rmtree(tiny.workspace / "estimates")
    shutil.rmtree(tiny.workspace / "jobs")
    (tiny.workspace / "rounds" / "0001" / "batch.csv").unlink()
    assert verify(WorkspaceOptions(str(tiny.workspace))).ok
    with pytest.raises(InputError, match="not a prepared workspace"):
        verify(WorkspaceOptions(str(tiny.directory)))


def test_verify_tells_what_is_missing_though_nothing_names_it(job: Jobs) -> None:
    """The last budget, and the marker of a batch of adjudication: the manifests of jobs say so."""
    one = job(
        make_pool(120), budget=20, round_size=5, labels={"votes": 2}, strata={"leaves": 3}
    ).drawn()
    rows = [(task, who, who) for task, _ in one.answers(1) for who in "01"]
    given = one.deliver(rows, header="task,annotator,label")
    assert one.estimate("--labels", given).status == 0
    assert call("sample", one.workspace, "--adjudicate").status == 0
    assert call("sample", one.workspace, "--budget", 30).status == 0
    for name in ("budgets/0001.json", "adjudications/0001/design.json", "rounds/0001/design.json"):
        path = one.workspace / name
        content = path.read_bytes()
        path.unlink()
        assert f"{path}: missing" in verify(WorkspaceOptions(str(one.workspace))).bad
        path.write_bytes(content)
    shutil.rmtree(one.workspace / "adjudications")
    assert verify(WorkspaceOptions(str(one.workspace))).bad == (
        f"{one.workspace}/adjudications/0001/design.json: missing",
    )


def missing_after(one: Job, *names: str) -> tuple[str, ...]:
    """Return what `verify` tells while some files are away."""
    contents = {name: (one.workspace / name).read_bytes() for name in names}
    for name in names:
        (one.workspace / name).unlink()
    bad = verify(WorkspaceOptions(str(one.workspace))).bad
    for name, content in contents.items():
        (one.workspace / name).write_bytes(content)
    assert verify(WorkspaceOptions(str(one.workspace))).ok
    return bad


def test_verify_tells_of_rounds_that_were_closed(job: Jobs) -> None:
    """By `sample --next`, which the next round says, and by `estimate --close`."""
    one = job(make_pool(120), budget=40, round_size=5, strata={"leaves": 3}).drawn()
    assert one.sample("--next").status == 0
    assert one.estimate("--close").status == 0
    one.sample()
    for number in (1, 2):
        name = f"rounds/000{number}/closed.json"
        assert missing_after(one, name) == (f"{one.workspace}/{name}: missing",)
    # Without a round after it, the last one may have been drawn by a command that was killed.
    assert one.sample("--next").status == 0
    assert missing_after(one, "rounds/0003/closed.json") == ()


def test_verify_tells_of_a_delivery_that_has_gone_as_a_whole(job: Jobs) -> None:
    one = job(make_pool(120), budget=40, round_size=5, strata={"leaves": 3}).drawn()
    answers = one.answers(1)
    files = [one.deliver([row], f"{place}.csv") for place, row in enumerate(answers)]
    assert one.estimate("--labels", *files[:2]).status == 0
    for file in files[2:4]:
        assert one.estimate("--labels", file).status == 0
    [label] = json.loads((one.workspace / "taken/0003.json").read_text())["deliveries"]
    assert missing_after(one, "taken/0003.json", f"labels/{label}.parquet") == (
        f"{one.workspace}/taken/0003.json: missing",
    )
    labels = json.loads((one.workspace / "taken/0001.json").read_text())["deliveries"]
    parts = [f"labels/{one}.parquet" for one in labels]
    assert missing_after(one, "taken/0001.json", *parts) == (
        f"{one.workspace}/taken/0001.json: missing",
    )


@pytest.mark.slow
def test_verify_tells_of_a_part_of_a_top_up(job: Jobs) -> None:
    one = job(
        make_pool(600), budget=20, round_size=5, strata={"leaves": 2}, sampler="passive"
    ).prepared()
    reserve = one.workspace / "reserve"
    before = {*reserve.iterdir()}
    assert one.prepare("--top-up", 100).status == 0
    added = {*reserve.iterdir()} - before
    assert added
    for path in added:
        [told] = missing_after(one, f"reserve/{path.name}")
        assert told.startswith(f"{reserve}: ")
        assert told.endswith("after `prepare --top-up`: a part is missing")
    shutil.rmtree(reserve)
    assert verify(WorkspaceOptions(str(one.workspace))).ok


@pytest.mark.slow
def test_verify_tells_whether_the_pool_is_what_was_prepared(tiny: Job) -> None:
    (path,) = (tiny.directory / "pool").glob("*")
    content, options = path.read_bytes(), WorkspaceOptions(str(tiny.workspace))
    found = verify(options)
    assert (found.ok, found.absent, found.unfinished) == (True, (), 0)
    path.write_bytes(content + b" ")
    told = f"has {len(content) + 1} bytes in place of {len(content)}"
    assert verify(options).bad == (f"{path}: the pool's file {told} since it was prepared",)
    path.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    assert verify(options).bad == (f"{path}: the pool's file has changed since it was prepared",)
    top_up = call("prepare", tiny.spec, "--top-up", 30)
    assert f"{path}: the pool has changed since it was prepared" in top_up.err
    path.unlink()
    result = call("status", "--verify", tiny.workspace).done
    assert f"1 files of the pool not compared; {path}: no such file" in result.out
    path.write_bytes(content)
    assert verify(options).ok
    assert call("prepare", tiny.spec, "--top-up", 30).status == 0
