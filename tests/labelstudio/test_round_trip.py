"""A real Label Studio: a batch of record pairs goes there and comes back with votes.

Run by `make test-labelstudio`, which installs it; skipped where it is not. Pictures of what an
annotator sees are kept in the directory that LABEL_STUDIO_PICTURES names.
"""

import http.client
import json
import os
import shutil
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from evalsampling.labels import label_studio_server
from evalsampling.labels.label_studio_server import TOKEN, LabelStudio
from evalsampling.workspace.snapshot import Snapshot
from tests.jobs import Job, Pool, call, make_pool
from tests.labelstudio.server import KEY, Server, browser, draw_page, program, running

pytestmark = [
    pytest.mark.labelstudio,
    pytest.mark.skipif(program() is None, reason="Label Studio is not installed"),
]

ODD = 'name {} <b>bold</b> &amp; "q" é\nline 2, =1+1'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("label-studio")) as one:
        yield one


@pytest.fixture
def pairs(job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job with an open round of record pairs, each to have three votes."""
    monkeypatch.setenv(TOKEN, KEY)
    pool = make_pool()
    table = pool.table
    for side in ("left", "right"):
        names = [ODD.format(row) for row in range(len(table))]
        table = table.append_column(f"{side}_name", pa.array(names))
        cities = [f"{side} city {row}" if row % 2 else None for row in range(len(table))]
        table = table.append_column(f"{side}_city", pa.array(cities))
    payload = ["left_name", "right_name", "left_city", "right_city", {"name": "hash"}]
    one = job(
        Pool(table, pool.truth),
        pool={"payload": payload},
        labels={"votes": 3, "meanings": {0: "different people", 1: "the same person"}},
        sink={
            "format": "label-studio",
            "question": "Do these two records refer to the same person?",
            "pairs": {"left": "left_", "right": "right_"},
            "chunk": 7,
        },
        measure=["f1", "accuracy"],
    )
    assert one.prepare().status == 0
    assert one.sample().json["rows"] == 20
    return one


def test_there_and_back(pairs: Job, server: Server, tmp_path: Path) -> None:
    """Three annotators, one wrong label, one skip, one unsure; the numbers are the majority's."""
    pushed = call("push", pairs.workspace, "--url", server.url, "--json")
    assert pushed.status == 0, pushed.err
    project = pushed.json["project"]
    assert (pushed.json["tasks"], pushed.json["new"]) == (20, 20)
    again = call("push", pairs.workspace, "--url", server.url, "--json").json
    assert (again["project"], again["tasks"], again["new"]) == (project, 20, 0)

    there, truth = server.tasks(project), dict(pairs.answers(1))
    assert set(there) == set(truth)
    users = [server.add_user(f"{name}{project}") for name in "abc"]
    wrong, skipped, unsure, split, open_ = list(truth)[:5]
    for task, label in truth.items():
        answers: list[str | None] = [label, label, label]
        if task == wrong:
            answers[1] = str(1 - int(label))
        if task == skipped:
            answers = [None, None, None]
        if task == unsure:
            answers = [label, "unsure", label]
        if task == split:
            answers = ["0", "1", None]
        if task == open_:
            answers = [label]
        for user, said in zip(users, answers, strict=False):
            comment = "looks alike\nbut é" if task == wrong else ""
            server.annotate(there[task], user, said, comment)

    file = tmp_path / "votes.json"
    pulled = call("pull", pairs.workspace, "--url", server.url, "--to", file, "--json")
    assert pulled.status == 0, pulled.err
    result = pairs.estimate("--labels", file).json
    assert (result["labels"], result["open"], result["rejects"]) == (17, 2, 0)
    missing = result["missing"]
    assert (missing["skipped"], missing["disputed"], missing["open"]) == (1, 1, 1)
    assert Snapshot.at(pairs.workspace).register.annotators == {str(user) for user in users}

    kept = tmp_path / "long.csv"
    call("export", pairs.workspace, "--to", kept)
    assert "looks alike" in kept.read_text()
    plain = dict(pairs.answers(1))
    decided = [(task, plain[task]) for task in plain if task not in (skipped, split, open_)]
    other = shutil.copytree(pairs.workspace, tmp_path / "other")
    shutil.rmtree(other / "labels")
    shutil.rmtree(other / "taken")
    path = pairs.deliver([(*one, name) for one in decided for name in "xyz"], "plain.csv",
                         "task,label,annotator")  # fmt: skip
    expected = call("estimate", other, "--json", "--labels", path).json
    assert result["measures"] == expected["measures"]


def test_adjudication_goes_there_too(pairs: Job, server: Server, tmp_path: Path) -> None:
    pushed = call("push", pairs.workspace, "--url", server.url, "--json").json
    there = server.tasks(pushed["project"])
    users = [server.add_user(f"j{name}{pushed['project']}") for name in "abc"]
    for place, number in enumerate(there.values()):
        for user, said in zip(users, ("1", "0", None if place < 3 else "1"), strict=True):
            server.annotate(number, user, said)
    file = tmp_path / "votes.json"
    call("pull", pairs.workspace, "--url", server.url, "--to", file)
    assert pairs.estimate("--labels", file).json["labels"] == 17
    assert pairs.sample("--adjudicate").json["rows"] == 3
    judged = call("push", pairs.workspace, "--url", server.url, "--adjudication", "--json").json
    for number in server.tasks(judged["project"]).values():
        server.annotate(number, users[0], "0")
    call("pull", pairs.workspace, "--url", server.url, "--adjudication", "--to", file)
    assert pairs.estimate("--labels", file).json["labels"] == 20


def test_what_was_lost_is_imported_once(pairs: Job, server: Server) -> None:
    """A second import of a task, as after an answer that was lost, leaves one."""
    pushed = call("push", pairs.workspace, "--url", server.url, "--json").json
    folder = pairs.round_directory(1) / "label-studio"
    tasks = json.loads((folder / "tasks-0001.json").read_text())
    server.api("POST", f"/api/projects/{pushed['project']}/import", tasks)
    again = call("push", pairs.workspace, "--url", server.url, "--json").json
    assert (again["tasks"], again["new"]) == (20, 0)
    path = f"/api/projects/{pushed['project']}/export?exportType=JSON&download_all_tasks=true"
    assert len(server.api("GET", path)) == 20


def killed_at(server: Server, monkeypatch: pytest.MonkeyPatch, end: str, number: int) -> None:
    """Kill the server when it has the Nth request to a path of that end, before it answers."""
    answered, asked = http.client.HTTPConnection.getresponse, http.client.HTTPConnection.putrequest
    paths: list[str] = []

    def putrequest(self: Any, method: str, url: str, *args: Any, **options: Any) -> None:
        paths.append(urllib.parse.urlsplit(url).path)
        asked(self, method, url, *args, **options)

    def getresponse(self: Any) -> Any:
        ends = [path.endswith(end) for path in paths]
        if ends[-1] and ends.count(True) == number:
            server.kill()
        return answered(self)

    monkeypatch.setattr(http.client.HTTPConnection, "putrequest", putrequest)
    monkeypatch.setattr(http.client.HTTPConnection, "getresponse", getresponse)


def test_killed_while_tasks_come_and_while_votes_go(
    pairs: Job, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the second import of three, and at an export: each task is there once, no vote is lost."""
    monkeypatch.setattr(label_studio_server, "_FIRST_WAIT", 0.01)
    with monkeypatch.context() as patch:
        killed_at(server, patch, "/import", 2)
        told = call("push", pairs.workspace, "--url", server.url)
    assert (told.status, told.err.count("\n")) == (1, 1), told.err
    server.start()
    pushed = call("push", pairs.workspace, "--url", server.url, "--json").json
    assert pushed["tasks"] == 20
    assert 0 < pushed["new"] < 20
    truth = dict(pairs.answers(1))
    path = f"/api/projects/{pushed['project']}/export?exportType=JSON&download_all_tasks=true"
    there = [task["data"]["task"] for task in server.api("GET", path)]
    assert sorted(there) == sorted(truth)

    users = [server.add_user(f"k{name}{pushed['project']}") for name in "abc"]
    numbers = server.tasks(pushed["project"])
    for place, (task, label) in enumerate(truth.items()):
        if place == 10:
            server.kill()
            server.start()
        for user in users:
            server.annotate(numbers[task], user, label)
    file = tmp_path / "votes.json"
    file.write_text("[]")
    with monkeypatch.context() as patch:
        killed_at(server, patch, "/export", 1)
        told = call("pull", pairs.workspace, "--url", server.url, "--to", file)
    assert (told.status, told.err.count("\n")) == (1, 1), told.err
    assert file.read_text() == "[]"
    server.start()
    assert call("pull", pairs.workspace, "--url", server.url, "--to", file).status == 0
    result = pairs.estimate("--labels", file).json
    assert (result["labels"], result["open"], result["rejects"]) == (20, 0, 0)


def test_personal_keys(pairs: Job, server: Server) -> None:
    key = server.api("POST", "/api/token/")["token"]
    assert key.count(".") == 2
    with pytest.raises(Exception, match="there is no project"):
        LabelStudio(server.url, key).pull("no such title")


@pytest.mark.skipif(browser() is None, reason="no browser")
def test_what_an_annotator_sees(pairs: Job, server: Server, tmp_path: Path) -> None:
    """Both records side by side, odd text as it is, the question, the classes, and no score."""
    project = call("push", pairs.workspace, "--url", server.url, "--json").json["project"]
    batch = pairs.batch(1)
    task, shown = batch["task"][0], batch["payload.left_name"][0]
    number = server.tasks(project)[task]
    with server.signed_in() as door:
        picture = tmp_path / "annotator.png"
        page = draw_page(f"{door}/projects/{project}/data?task={number}", picture)
    kept = os.environ.get("LABEL_STUDIO_PICTURES")
    if kept:
        shutil.copy(picture, kept)
    assert "Do these two records refer to the same person?" in page
    first, _, rest = shown.partition("<b>")
    assert first.strip() in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page, "text is shown, not carried out"
    assert "unsure" in page
    assert "1: the same person" in page
    scores = dict(
        zip(pairs.pool.table["id"].to_pylist(), pairs.pool.table["score"].to_pylist(), strict=True)
    )
    assert str(scores[batch["id"][0]])[:8] not in page
    assert rest
