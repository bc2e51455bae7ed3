"""What was erased is nowhere, and no number changes."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.storage.local import LocalStore
from evalsampling.workspace.workspace import Workspace
from tests.commands.votes import deliver, votes
from tests.jobs import Job, Pool, call, files_below, make_pool, text_of


def secret_pool() -> Pool:
    pool = make_pool()
    ids = pool.table["id"].to_pylist()
    table = pool.table.append_column("secret", pa.array([f"secret-of-{id}-end" for id in ids]))
    return Pool(table, pool.truth)


def holders(workspace: Path, text: str) -> list[str]:
    """Files that hold a text, Parquet and workbooks decoded."""
    found = []
    for path in sorted(workspace.rglob("*")):
        if path.is_file():
            told = text_of(path)
            if path.suffix == ".parquet":
                told = str(pq.read_table(path).to_pylist())
            if text in told:
                found.append(str(path.relative_to(workspace)))
    return found


@pytest.fixture(
    params=["csv", "jsonl", "parquet", "vendor", "xlsx", "label-studio", "ground-truth"]
)
def sent(request: Any, job: Callable[..., Job]) -> tuple[Job, int]:
    """A job with an answered round, and the id of one of its rows."""
    one = job(
        secret_pool(),
        pool={"payload": ["name", "secret"]},
        sink={"format": request.param},
        labels={"votes": 3, "repeats": 20},
    )
    one.prepare()
    one.sample()
    id = one.batch(1)["id"][3]
    rows = [(*row[:4], f"note {place}") for place, row in enumerate(votes(one, 1, wrong=0))]
    one.estimate("--labels", deliver(one, rows, "1.csv"))
    one.sample("--next")
    return one, id


def test_payload_is_erased_and_nothing_else(sent: tuple[Job, int]) -> None:
    one, id = sent
    secret, other = f"secret-of-{id}-end", f"secret-of-{one.batch(1)['id'][4]}-end"
    before, others = one.estimate().json, holders(one.workspace, other)
    assert len(holders(one.workspace, secret)) >= 5
    result = call("forget", one.workspace, id, "--json")
    assert result.status == 0, result.err
    assert "rounds/0001/batch.parquet" in result.json["files"]
    assert holders(one.workspace, secret) == []
    assert holders(one.workspace, other) == others
    assert one.estimate().json == before
    verified = call("verify", one.workspace)
    assert verified.status == 0, verified.out
    again = call("forget", one.workspace, id, "--json").json
    assert again["files"] == []
    assert one.sample().json["round"] == 2


def test_comments_on_the_row_go_too(sent: tuple[Job, int]) -> None:
    one, id = sent
    rows = votes(one, 1, wrong=0)
    task = dict(zip(one.batch(1)["id"], one.batch(1)["task"], strict=True))[id]
    place = next(place for place, row in enumerate(rows) if row[0] == task)
    assert holders(one.workspace / "labels", f"'note {place}'")
    call("forget", one.workspace, id)
    assert not holders(one.workspace / "labels", f"'note {place}'")
    assert holders(one.workspace / "labels", "'note 0'") or place < 3


def test_a_kill_at_any_file_can_be_made_good(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(secret_pool(), pool={"payload": ["secret"]})
    one.prepare()
    one.sample()
    one.estimate("--labels", one.deliver(one.answers(1)))
    id = one.batch(1)["id"][0]
    before = one.estimate().json
    whole = shutil.copytree(one.workspace, one.directory / "whole")

    class Killed(BaseException):
        pass

    replace = LocalStore.exchange
    for after in range(4):
        shutil.rmtree(one.workspace)
        shutil.copytree(whole, one.workspace)
        done: list[str] = []

        def die(self: LocalStore, *told: Any, done: list[str] = done, after: int = after) -> None:
            if len(done) == after:
                raise Killed
            done.append(told[0])
            replace(self, *told)

        with monkeypatch.context() as patch:
            patch.setattr(LocalStore, "exchange", die)
            try:
                call("forget", one.workspace, id)
            except Killed:
                assert len(done) == after
        assert one.estimate().json == before
        assert call("verify", one.workspace).status == 0
        assert call("forget", one.workspace, id).status == 0
        assert holders(one.workspace, f"secret-of-{id}-end") == []
        assert call("verify", one.workspace).status == 0


def test_what_is_in_a_draft_nobody_decided_on_is_told(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command was killed just before its round counted: its draft stays, and so the payload."""
    one, ids = two_rows(job)
    write, told = LocalStore.write_text, f"secret-of-{ids[0]}-end"

    class Killed(BaseException):
        pass

    def die(self: LocalStore, name: str, text: str) -> None:
        if name.endswith("/design.json"):
            raise Killed
        write(self, name, text)

    call("sample", one.workspace, "--withdraw", 1)
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "write_text", die)
        with pytest.raises(Killed):
            one.sample()
    result = call("forget", one.workspace, ids[0])
    (held, *_) = holders(one.workspace, told)
    assert held.startswith(".drafts/")
    assert result.status == 1
    assert f"{one.workspace}/{'/'.join(held.split('/')[:2])}: files that do not count" in result.err
    shutil.rmtree(one.workspace / ".drafts")
    assert call("forget", one.workspace, ids[0]).status == 0
    assert holders(one.workspace, told) == []


def test_unknown_ids(drawn: Job) -> None:
    before = files_below(drawn.workspace)
    result = call("forget", drawn.workspace, "nobody")
    assert result.status == 1
    assert "no row of id 'nobody' is kept here" in result.err
    assert files_below(drawn.workspace) == before


def test_what_was_put_back_by_others_is_damage(drawn: Job) -> None:
    """Only what `forget` wrote is taken for a batch that was cleared."""
    drawn.estimate("--labels", drawn.deliver(drawn.answers(1)))
    id = drawn.batch(1)["id"][0]
    call("forget", drawn.workspace, id)
    path = drawn.round_directory(1) / "batch.parquet"
    table = pq.read_table(path)
    forged = pa.array(["forged"] * len(table))
    place = table.column_names.index("payload.name")
    pq.write_table(table.set_column(place, "payload.name", forged), path)
    assert call("verify", drawn.workspace).status == 1


def two_rows(job: Callable[..., Job]) -> tuple[Job, list[str]]:
    """A job with a round, and the ids of two of its rows."""
    one = job(secret_pool(), pool={"payload": ["secret"]})
    one.prepare()
    one.sample()
    return one, one.batch(1)["id"][:2]


@contextlib.contextmanager
def nobody_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody is kept out, as in a bucket."""
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "one_at_a_time", lambda self: contextlib.nullcontext())
        yield


@pytest.mark.parametrize(
    ("kind", "step", "what"),
    [
        (Workspace, "add_forgotten", "erased something"),  # neither has begun to write
        (LocalStore, "exchange", "changed it"),  # the first is writing
    ],
)
def test_two_at_once(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, kind: type, step: str, what: str
) -> None:
    """Another command comes in between: it is done, and the first puts nothing back."""
    one, ids = two_rows(job)
    taken, told = getattr(kind, step), []

    def late(self: object, *given: Any) -> None:
        monkeypatch.setattr(kind, step, taken)
        told.append(call("forget", one.workspace, ids[1]).status)
        taken(self, *given)

    monkeypatch.setattr(kind, step, late)
    with nobody_waits(monkeypatch):
        lost = call("forget", one.workspace, ids[0])
    assert (told, lost.status) == ([0], 1)
    assert f"another command {what} meanwhile; run this one again" in lost.err
    assert holders(one.workspace, f"secret-of-{ids[1]}-end") == []
    assert call("verify", one.workspace).status == 0
    assert call("forget", one.workspace, ids[0]).status == 0
    assert [holders(one.workspace, f"secret-of-{id}-end") for id in ids] == [[], []]
    assert call("verify", one.workspace).status == 0
