"""Requests to a server of Label Studio: lost, refused and repeated ones."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.labels import label_studio_server
from evalsampling.labels.label_studio_server import LabelStudio
from tests.labels.label_studio_double import KEY, PERSONAL, Double, double
from tests.slow import slowly

TASKS = [{"data": {"task": f"t_{row}", "text": f"row {row}"}} for row in range(10)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    monkeypatch.setattr(label_studio_server, "_FIRST_WAIT", 0.001)
    with double() as one:
        yield one


def push(server: Double, tasks: Any = TASKS) -> tuple[int, int, int]:
    return LabelStudio(server.url, KEY).push("a batch", "<View/>", tasks, 3, 4)


def names(server: Double) -> list[str]:
    return [task["data"]["task"] for task in server.tasks]


def test_twice_is_once(server: Double) -> None:
    assert push(server) == (1, 10, 10)
    assert push(server) == (1, 10, 0)
    (project,) = server.projects
    assert sorted(names(server)) == [task["data"]["task"] for task in TASKS]
    assert (project["maximum_annotations"], project["show_collab_predictions"]) == (3, False)


def test_the_rest_of_a_batch_is_imported(server: Double) -> None:
    push(server, TASKS[:3])
    assert push(server) == (1, 10, 7)
    assert len(server.tasks) == 10


PAGE = b"<html><body>Be back soon</body></html>"


@pytest.mark.parametrize(
    "fault",
    ["lost", "cut", "broken", PAGE, b'{"detail": "x"}', 500, 429,
     *slowly("refused", "unmeasured", b"", 502, 503)],
)  # fmt: skip
@pytest.mark.parametrize("where", [("POST", "projects"), ("POST", "import"), ("GET", "export")])
def test_what_fails_for_a_time_is_tried_again(
    server: Double, where: tuple[str, str], fault: Any
) -> None:
    server.fail[where] = [fault, fault]
    assert push(server)[1] == 10
    assert len(server.projects) == 1
    assert sorted(names(server)) == [task["data"]["task"] for task in TASKS]


@pytest.mark.parametrize("fault", ["refused", "cut", "unmeasured", "broken", PAGE, b"", b"[{}]"])
@pytest.mark.parametrize("where", [("GET", "projects"), ("GET", "export")])
def test_no_half_export_is_pulled(server: Double, where: tuple[str, str], fault: Any) -> None:
    push(server)
    client = LabelStudio(server.url, KEY)
    server.fail[where] = [fault]
    assert len(json.loads(client.pull("a batch"))) == 10
    server.fail[where] = [fault] * 99
    with pytest.raises(InputError, match=f"{server.url}/api/projects"):
        client.pull("a batch")


def test_a_server_that_does_not_answer_is_asked_again(
    server: Double, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(label_studio_server, "_TIMEOUT", 0.2)
    for where in (("POST", "projects"), ("GET", "export")):
        server.fail[where] = ["silent"]
    assert push(server) == (1, 10, 10)
    server.fail["GET", "export"] = ["silent"] * 6
    monkeypatch.setattr(label_studio_server, "_TIMEOUT", 0.01)
    with pytest.raises(InputError, match="timed out"):
        LabelStudio(server.url, KEY).pull("a batch")


def test_a_key_that_cannot_be_exchanged_for_a_time(server: Double) -> None:
    server.fail["POST", "refresh"] = [PAGE, b"", "lost"]
    push(server)
    assert b"t_3" in LabelStudio(server.url, PERSONAL).pull("a batch")


def test_tasks_that_are_not_there_in_the_end_are_told(server: Double) -> None:
    """Whatever answered the imports did nothing."""
    server.fail["POST", "import"] = [201] * 99
    with pytest.raises(InputError, match="of 10 tasks sent 0 are in project 1: push again"):
        push(server)


def test_of_two_projects_made_at_once_the_first_is_used(server: Double) -> None:
    """Both calls have looked, and there was none."""
    push(server, TASKS[:3])
    server.fail["GET", "projects"] = [b'{"results": [], "next": null}']
    assert push(server) == (1, 10, 7)
    assert {task["project"] for task in server.tasks} == {1}


def test_a_project_on_the_second_page_is_found(server: Double) -> None:
    push(server)
    page = json.dumps({"results": [{"id": 7, "title": "x"}], "next": "/api/projects?page=2"})
    server.fail["GET", "projects"] = [page.encode()]
    assert len(json.loads(LabelStudio(server.url, KEY).pull("a batch"))) == 10


def test_a_second_copy_is_removed_unless_it_is_answered(server: Double) -> None:
    push(server)
    for number in (3, 5):
        server.tasks.append({**server.tasks[number], "id": 100 + number, "annotations": []})
    server.tasks[-1]["annotations"] = [{"id": 1}]
    push(server)
    assert len(server.tasks) == 10
    assert [task["id"] for task in server.tasks if task["data"]["task"] == "t_5"] == [105]


def test_two_calls_remove_the_same_copy_in_whatever_order_they_see_them(server: Double) -> None:
    push(server)
    server.tasks.insert(0, {**server.tasks[3], "id": 103})
    push(server)
    assert [task["id"] for task in server.tasks if task["data"]["task"] == "t_3"] == [4]


@pytest.mark.parametrize("status", [400, 403, 404, 302, 301])
def test_what_is_refused_ends_at_once(server: Double, status: int) -> None:
    server.fail["POST", "import"] = [status] * 99
    with pytest.raises(InputError, match=str(status)) as told:
        push(server)
    assert len([one for one in server.requests if one[1].endswith("import")]) == 1
    assert [text in str(told.value) for text in (KEY, "/elsewhere")] == [False, status < 400]
    assert not [one for one in server.requests if "elsewhere" in one[1]], "nobody gets the key"


def test_each_wait_is_twice_the_one_before(server: Double, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr(label_studio_server.time, "sleep", waits.append)
    server.fail["GET", "export"] = [503, 503, 503]
    assert push(server)[1] == 10
    assert waits == [0.001, 0.002, 0.004]


@pytest.mark.parametrize("strange", [7, {"id": "1", "title": "a batch"}, {"id": 1}])
def test_a_list_with_what_is_no_project_is_asked_for_again(server: Double, strange: Any) -> None:
    server.fail["GET", "projects"] = [json.dumps({"results": [strange]}).encode()]
    assert push(server) == (1, 10, 10)


def test_wrong_keys_and_urls(server: Double) -> None:
    with pytest.raises(InputError, match="401"):
        LabelStudio(server.url, "wrong").pull("a batch")
    for key in ("", "schl\u00fcssel\u2026", "two\nlines"):
        with pytest.raises(InputError, match="no key, or none that can be sent"):
            LabelStudio(server.url, key)
    for url in ("file:///etc/passwd", "http://", "http://[", "http://h:99999", "http://h/?a=b"):
        with pytest.raises(InputError, match="not the URL of a server"):
            LabelStudio(url, KEY)
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9"):
        LabelStudio("http://127.0.0.1:9", KEY).pull("a batch")


def test_no_key_and_no_password_is_told(server: Double) -> None:
    """Not even by a server that says in its error what it was sent."""
    with pytest.raises(InputError, match="has a name or password: set LABEL_STUDIO_TOKEN") as told:
        LabelStudio(server.url.replace("//", "//user:secret@"), KEY)
    assert "secret" not in str(told.value)
    server.fail["GET", "projects"] = ["echo"]
    with pytest.raises(InputError, match=r"400.*Authorization: Token ") as told:
        push(server)
    assert KEY not in str(told.value)


def test_a_personal_key_is_exchanged_and_exchanged_again(server: Double) -> None:
    client = LabelStudio(server.url, PERSONAL)
    client.push("a batch", "<View/>", TASKS, 1, 100)
    assert server.exchanged == 1
    server.minutes = {"another"}
    assert b"t_3" in client.pull("a batch")
    assert server.exchanged == 2


def test_a_batch_that_is_not_there(server: Double) -> None:
    told = "there is no project 'a batch': push the batch, or give its project that title again"
    with pytest.raises(InputError, match=told):
        LabelStudio(server.url, KEY).pull("a batch")
