"""What was erased is nowhere, and no number changes."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.commands import sample as sample_module
from evalsampling.labels.delivered_ids import DeliveredIds
from evalsampling.storage.local import LocalStore
from evalsampling.workspace.forgotten import ERASED, rejects_without_text
from evalsampling.workspace.workspace import Workspace
from tests.commands.votes import deliver, votes
from tests.faults.operations import CHANGES, Killed, faults
from tests.jobs import Job, Pool, call, files_below, make_pool, text_of
from tests.slow import fast


def secret_pool() -> Pool:
    pool = make_pool()
    ids = pool.table["id"].to_pylist()
    table = pool.table.append_column("secret", pa.array([f"secret-of-{id}-end" for id in ids]))
    return Pool(table, pool.truth)


@pytest.mark.parametrize("place", range(3))
def test_every_line_of_rejects_is_erased_and_no_other(place: int) -> None:
    lines = [[f"t_{n}", f"{n}", "a name", "unknown label 'a name'"] for n in range(3)]
    head = ["task", "id", "label", "reason"]
    content = "".join(",".join(line) + "\r\n" for line in [head, *lines])
    erased = [line if n != place else [*line[:2], "", ERASED] for n, line in enumerate(lines)]
    expected = "".join(",".join(line) + "\r\n" for line in [head, *erased])
    for tasks, ids in (({f"t_{place}"}, set()), (set(), {f"{place}"})):
        left = rejects_without_text(content.encode("utf-8-sig"), tasks, ids, DeliveredIds())
        assert left.decode("utf-8-sig") == expected


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


@pytest.fixture(params=fast(2, ["csv", "xlsx", "jsonl", "parquet", "vendor", "label-studio"]))
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


@pytest.mark.slow
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
    verified = call("status", "--verify", one.workspace)
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

    replace = LocalStore.overwrite
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
            patch.setattr(LocalStore, "overwrite", die)
            try:
                call("forget", one.workspace, id)
            except Killed:
                assert len(done) == after
        assert one.estimate().json == before
        verified = call("status", "--verify", one.workspace).out
        assert ("run it again for the same row" in verified) == (after < 3)
        assert call("forget", one.workspace, id).status == 0
        assert holders(one.workspace, f"secret-of-{id}-end") == []
        assert call("status", "--verify", one.workspace).status == 0


@pytest.mark.parametrize("at", fast(1, ["/design.json", "/draws.parquet", "/batch.parquet"]))
def test_what_killed_commands_left_is_erased_too(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, at: str
) -> None:
    """A command was killed before its round counted: its files stay, and so the payload."""
    one, ids = two_rows(job)
    create, told = LocalStore.create, f"secret-of-{ids[0]}-end"
    written = sample_module.write_parquet

    def die(self: LocalStore, name: str, content: bytes | Path) -> bool:
        if name.endswith(at):
            raise Killed
        return create(self, name, content)

    def die_half(table: Any, path: Path, *told: Any) -> None:
        if str(path).endswith(at) and "batch" in at:
            raise Killed
        written(table, path, *told)

    call("sample", one.workspace, "--withdraw", 1)
    with monkeypatch.context() as patch:
        patch.setattr(LocalStore, "create", die)
        patch.setattr(sample_module, "write_parquet", die_half)
        # What the process that ends had not named is left.
        patch.setattr(shutil, "rmtree", lambda *_, **__: None)
        with pytest.raises(Killed):
            one.sample()
    assert any(held.startswith(".unfinished/") for held in holders(one.workspace, told))
    result = call("forget", one.workspace, ids[0])
    assert (result.status, holders(one.workspace, told)) == (0, [])
    assert one.sample().json["round"] == 2
    assert call("status", "--verify", one.workspace).status == 0


@pytest.mark.slow
@pytest.mark.parametrize("rejected", [False, True])
def test_text_of_deliveries_is_erased_and_not_taken_again(
    job: Callable[..., Job], rejected: bool
) -> None:
    """A comment, and what a rejected vote says in place of a label; other rows keep theirs."""
    one, ids = two_rows(job)
    tasks = {id: task for task, id in one.asked(1)}
    rows = [
        (tasks[id], "ann", f"=text on {id} end" if rejected else "1", "", f"text on {id} end")
        for id in ids
    ]
    text, other = (f"text on {id} end" for id in ids)
    assert one.estimate("--labels", deliver(one, rows, "1.csv")).status == 0
    held = holders(one.workspace, text)
    assert held
    assert all(name.endswith(".rejects.csv" if rejected else ".parquet") for name in held)
    result = call("forget", one.workspace, ids[0], "--json")
    assert (result.status, set(held) <= set(result.json["files"])) == (0, True)
    assert holders(one.workspace, text) == []
    assert holders(one.workspace, other) == held
    again = [(*row[:1], "bob", *row[2:]) for row in rows]
    assert one.estimate("--labels", deliver(one, again, "2.csv")).status == 0
    assert holders(one.workspace, text) == []
    assert len(holders(one.workspace, other)) > len(held)
    assert call("status", "--verify", one.workspace).status == 0
    assert call("forget", one.workspace, ids[0], "--json").json["files"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "steps"),
    [("csv", 6), *(pytest.param(name, None, marks=pytest.mark.slow) for name in ("csv", "xlsx"))],
)
def test_killed_at_any_file_operation(
    job: Callable[..., Job], format: str, steps: int | None
) -> None:
    """No dot file keeps the payload, `verify` says that it is not done, and it is run again."""
    one = job(secret_pool(), pool={"payload": ["secret"]}, sink={"format": format})
    one.prepare()
    one.sample()
    rows = [(*row[:4], f"note {place}") for place, row in enumerate(votes(one, 1, ("ann",)))]
    rows.append(("t_mistyped", "ann", "1", "", ""))
    one.estimate("--labels", deliver(one, rows, "1.csv"))
    id, whole = one.batch(1)["id"][0], shutil.copytree(one.workspace, one.directory / "whole")
    told, before = f"secret-of-{id}-end", one.estimate().json
    with faults(CHANGES, None) as counted:
        assert call("forget", one.workspace, id).status == 0
    assert counted.done > 30
    unfinished = 0
    for at in np.linspace(1, counted.done, steps or counted.done).astype(int).tolist():
        shutil.rmtree(one.workspace)
        shutil.copytree(whole, one.workspace)
        with faults(CHANGES, at), contextlib.suppress(Killed):
            call("forget", one.workspace, id)
        verified = call("status", "--verify", one.workspace)
        begun = list((one.workspace / "forgotten").glob("*.json"))
        if begun and [name for name in holders(one.workspace, told) if name[0] != "."]:
            assert verified.status == 1
            assert f"{begun[-1].name}: `forget` has not come to its end" in verified.out
            unfinished += 1
        assert one.estimate().json == before
        assert call("forget", one.workspace, id).status == 0
        assert holders(one.workspace, told) == []
        assert call("status", "--verify", one.workspace).status == 0
    assert unfinished > (1 if steps else 10)


def test_what_a_job_told_a_killed_command_is_removed(job: Callable[..., Job]) -> None:
    """The first reject of a delivery, with the text of the label; whenever it was killed."""
    one = job(secret_pool(), pool={"payload": ["secret"]})
    one.prepare()
    one.sample()
    id, path = one.batch(1)["id"][0], one.workspace / f".answer-{'0a' * 16}.json"
    for _ in range(2):
        path.write_text('{"messages": ["label \'Mr Smith is ill\' is none of: 0, 1"]}')
        result = call("forget", one.workspace, id, "--json")
        assert (result.status, path.exists()) == (0, False)
        assert path.name in result.json["files"]
    assert call("forget", one.workspace, id, "--json").json["files"] == []


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
    assert call("status", "--verify", drawn.workspace).status == 1


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
        (LocalStore, "overwrite", "changed it"),  # the first is writing
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
    verified = call("status", "--verify", one.workspace)
    assert verified.status == (kind is LocalStore), "the first has begun"
    assert call("forget", one.workspace, ids[0]).status == 0
    assert [holders(one.workspace, f"secret-of-{id}-end") for id in ids] == [[], []]
    assert call("status", "--verify", one.workspace).status == 0


@pytest.mark.parametrize("command", ["sample", "estimate", "adjudicate"])
@pytest.mark.parametrize("at", ["create .json", "create {marker}", "remove"])
def test_forgotten_while_another_command_is_at_work(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch, command: str, at: str
) -> None:
    """In a bucket nobody waits: a whole `forget` comes in just before a step of a command."""
    keys = {"labels": {"votes": 2}, "round_size": 200, "budget": 400}
    one = job(secret_pool(), pool={"payload": ["secret"]}, **keys)
    one.prepare()
    one.sample("--size", "5")
    id, secret = one.batch(1)["id"][0], f"secret-of-{one.batch(1)['id'][0]}-end"
    task = dict(zip(one.batch(1)["id"], one.batch(1)["task"], strict=True))[id]
    told = [(task, "ann", "1", "", ""), (task, "bob", "0", "", "")]
    marker, call_it = {
        "sample": ("rounds/0002/design.json", ("sample", one.workspace, "--size", "900")),
        "adjudicate": ("adjudications/0001/design.json", ("sample", one.workspace, "--adjudicate")),
        "estimate": ("taken/0001.json", ()),
    }[command]
    if command == "estimate":
        noted = [(*row[:4], "noted on it") for row in told]
        call_it = ("estimate", one.workspace, "--labels", deliver(one, noted, "1.csv"))
    else:
        assert one.estimate("--labels", deliver(one, told, "1.csv"), "--close").status == 0
    if command == "sample":
        id = _next_row(one)
        secret = f"secret-of-{id}-end"
    name, _, ends = at.format(marker=marker).partition(" ")
    step, done = getattr(LocalStore, name), []

    def late(self: LocalStore, *given: Any) -> Any:
        if not done and str(given[0]).endswith(ends):
            done.append(None)
            done.append(call("forget", one.workspace, id))
        return step(self, *given)

    with nobody_waits(monkeypatch):
        monkeypatch.setattr(LocalStore, name, late)
        result = call(*call_it)
        monkeypatch.setattr(LocalStore, name, step)
        assert done[1].status in (0, 1), done[1].err
        if done[1].status:
            assert "run this one again" in done[1].err
            assert call("forget", one.workspace, id).status == 0
        if result.status:
            assert "another command erased something meanwhile; run this one again" in result.err
            assert call(*call_it).status == 0
    assert holders(one.workspace, secret) == holders(one.workspace, "noted on it") == []
    verified = call("status", "--verify", one.workspace)
    assert verified.status == 0, verified.out


def _next_row(one: Job) -> str:
    """An id that the next round will draw: it draws all."""
    drawn = {*one.batch(1)["id"]}
    return next(id for id in one.pool.table["id"].to_pylist() if id not in drawn)
