"""A row is forgotten in a bucket while another command is at work there, in both orders.

Nobody waits in a bucket. Before a request of one command the other one comes in, whole or what is
left of it: by a hook at the request, so that no order is left to chance. `FORGET_REQUESTS=all`
tries each request; else they are this many, from the first to the last.
"""

import io
import os
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from google.cloud import storage

from evalsampling.commands.estimate import EstimateOptions, estimate
from evalsampling.commands.sample import SampleOptions, sample
from evalsampling.errors import InputError
from evalsampling.storage.gcs import GcsStore
from evalsampling.workspace.snapshot import Snapshot
from tests.jobs import Job, Pool, Result, call, make_pool
from tests.meeting import contents, put_back, requests
from tests.stores import move, prepare

TRIED = os.environ.get("FORGET_REQUESTS", "12")

NOTE = "noted on the row"
Line = Sequence[Any]


def secret(id: Any) -> str:
    """What stands in the payload of a row and nowhere else."""
    return f"secret-of-{id}-end"


def secret_pool() -> Pool:
    pool = make_pool(40)
    texts = pa.array([secret(id) for id in pool.table["id"].to_pylist()])
    return Pool(pool.table.append_column("secret", texts), pool.truth)


@pytest.fixture
def asked(job: Callable[..., Job], bucket: storage.Bucket) -> tuple[str, Job]:
    """A workspace in a bucket with a round of five rows of 40, which has waited for no answer."""
    one = job(secret_pool(), pool={"payload": ["secret"]}, strata={"leaves": 2}, budget=40)
    url = move(one, bucket)
    assert prepare(bucket, "--in-process").status == 0
    assert call("sample", url, "--size", 5).status == 0
    return url, one


def tried(count: int) -> list[int]:
    """Return the numbers of the requests that are tried, of so many."""
    return np.unique(
        np.linspace(1, count, count if TRIED == "all" else int(TRIED), dtype=int)
    ).tolist()


def lines_of(command: str, url: str, one: Job, bucket: storage.Bucket) -> tuple[str, Line]:
    """Return the id of a row that a command brings something of, and its command line."""
    batch = Snapshot.at(url).rounds[0].batch.to_pydict()
    if command == "sample":
        id = next(id for id in one.pool.table["id"].to_pylist() if id not in batch["id"])
        return str(id), ("sample", url, "--next", "--size", 40)
    told = f"task,label,comment\n{batch['task'][0]},1,{NOTE}\n{batch['task'][1]},maybe,{NOTE} too\n"
    bucket.blob("labels.csv").upload_from_string(told)
    return str(batch["id"][0]), ("estimate", url, "--labels", f"gs://{bucket.name}/labels.csv")


def holders(bucket: storage.Bucket, text: str) -> list[str]:
    """Objects of the workspace that hold a text, Parquet decoded."""
    found = []
    for name, content in contents(bucket).items():
        told = content.decode("utf-8", "replace")
        if name.endswith(".parquet"):
            told = str(pq.read_table(io.BytesIO(content)).to_pylist())
        if text in told:
            found.append(name)
    return found


def ended(result: Result, line: Line) -> None:
    """Check that a command was done, or changed nothing and is to be run again, and run it."""
    if result.status:
        assert (result.status, result.err.count("\n")) == (1, 1), result.err
        assert "meanwhile; run this one again" in result.err
        again = call(*line)
        assert again.status == 0, again.err


@pytest.mark.parametrize("first", ["forget", "other"])
@pytest.mark.parametrize("command", ["sample", "estimate"])
def test_a_command_comes_in_at_every_request_of_the_other(
    asked: tuple[str, Job], bucket: storage.Bucket, command: str, first: str
) -> None:
    """Neither payload nor comment is left once both have ended with 0, in any file."""
    url, one = asked
    id, line = lines_of(command, url, one, bucket)
    kept, forget = contents(bucket), ("forget", url, id)
    outer, inner = (forget, line) if first == "forget" else (line, forget)
    with requests(None, lambda: None) as counted:
        assert call(*outer).status == 0
    assert counted.done > 20
    told: list[tuple[int, int]] = []
    for at in tried(counted.done):
        put_back(bucket, kept)
        with requests(at, lambda: call(*inner)) as met:
            result = call(*outer)
        told.append((result.status, met.came.status))
        results = {outer: result, inner: met.came}
        ended(results[forget], forget)
        gone = holders(bucket, secret(id)) == []
        assert gone or results[line].status, f"{at}: {holders(bucket, secret(id))}"
        ended(results[line], line)
        text = f"'{NOTE}'" if command == "estimate" else secret(id)
        assert holders(bucket, text) == [], at
        assert holders(bucket, secret(id)) == [], at
        verified = call("status", "--verify", url)
        assert verified.status == 0, (at, verified.out)
    assert {outer for outer, _ in told} >= ({0, 1} if first == "other" else {0})
    assert np.mean([both == (0, 0) for both in told]) > 0.2


class Held:
    """A command in a thread of its own, which waits at a step until it is let go.

    Attributes:
        told: the error that it ended with, empty if it was done.
    """

    def __init__(self, command: Callable[[], Any]) -> None:
        self.told = ""
        self._command, self._there, self._free = command, threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        try:
            self._command()
        except InputError as error:
            self.told = str(error)

    def wrap(self, step: Callable[..., Any], ends: str) -> Callable[..., Any]:
        def stepped(store: GcsStore, name: Any, *given: Any) -> Any:
            if threading.current_thread() is self._thread and re.search(ends, str(name)):
                self._there.set()
                assert self._free.wait(60)
            return step(store, name, *given)

        return stepped

    def begin(self) -> None:
        """Run the command up to its step."""
        self._thread.start()
        assert self._there.wait(60)

    def go_on(self) -> None:
        """Run it to its end."""
        self._free.set()
        self._thread.join(60)


@pytest.mark.parametrize(
    ("step", "ends"),
    [
        ("create", r"rounds|labels"),  # none of its files is there
        ("create", r"design|taken"),  # it found that nothing was forgotten, and does not count yet
        ("remove", ""),  # it counts, and has to remove its note
    ],
)
@pytest.mark.parametrize("command", ["sample", "estimate"])
def test_a_command_that_has_begun_goes_on_at_every_request_of_forget(
    asked: tuple[str, Job], bucket: storage.Bucket, command: str, step: str, ends: str
) -> None:
    """It read the row before that was forgotten, and comes in at any moment of `forget`."""
    url, one = asked
    id, line = lines_of(command, url, one, bucket)
    kept, forget, steps = contents(bucket), ("forget", url, id), getattr(GcsStore, step)

    def run() -> Any:
        if command == "sample":
            return sample(SampleOptions(url, size=40, next=True))
        return estimate(EstimateOptions(url, labels=(str(line[-1]),)))

    def meet(at: int | None) -> tuple[int, Held, Result]:
        put_back(bucket, kept)
        held = Held(run)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(GcsStore, step, held.wrap(steps, ends))
            held.begin()
            with requests(at, held.go_on) as counted:
                result = call(*forget)
            held.go_on()
        return counted.done, held, result

    count, _, _ = meet(None)
    lost = 0
    for at in tried(count):
        _, held, result = meet(at)
        lost += bool(held.told)
        ended(result, forget)
        if held.told:
            assert "another command erased something meanwhile; run this one again" in held.told
            assert call(*line).status == 0
        assert holders(bucket, f"'{NOTE}'") == holders(bucket, secret(id)) == [], at
        verified = call("status", "--verify", url)
        assert verified.status == 0, (at, verified.out)
    assert (lost > 2) == (ends == r"rounds|labels")
