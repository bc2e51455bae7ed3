"""Requests to a server of Label Studio: lost, refused and repeated ones."""

from collections.abc import Iterator
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.labels.label_studio_server import LabelStudio, Pushed
from tests.labels.label_studio_double import KEY, PERSONAL, Double, double

TASKS = [{"data": {"task": f"t_{row}", "text": f"row {row}"}} for row in range(10)]


@pytest.fixture
def server() -> Iterator[Double]:
    with double() as one:
        yield one


def push(server: Double, tasks: Any = TASKS) -> Pushed:
    return LabelStudio(server.url, KEY, first_wait=0.01).push("a batch", "<View/>", tasks, 3, 4)


def names(server: Double) -> list[str]:
    return [task["data"]["task"] for task in server.tasks]


def test_twice_is_once(server: Double) -> None:
    assert push(server) == Pushed(1, 10, 10)
    assert push(server) == Pushed(1, 10, 0)
    assert len(server.projects) == 1
    assert sorted(names(server)) == [task["data"]["task"] for task in TASKS]
    assert server.projects[0]["maximum_annotations"] == 3
    assert server.projects[0]["show_collab_predictions"] is False


def test_the_rest_of_a_batch_is_imported(server: Double) -> None:
    push(server, TASKS[:3])
    assert push(server) == Pushed(1, 10, 7)
    assert len(server.tasks) == 10


@pytest.mark.parametrize("fault", ["lost", "refused", 500, 502, 503, 429])
@pytest.mark.parametrize("where", [("POST", "projects"), ("POST", "import"), ("GET", "export")])
def test_what_fails_for_a_time_is_tried_again(
    server: Double, where: tuple[str, str], fault: Any
) -> None:
    server.fail[where] = [fault, fault]
    assert push(server).tasks == 10
    assert len(server.projects) == 1
    assert sorted(names(server)) == [task["data"]["task"] for task in TASKS]


def test_a_second_copy_is_removed_unless_it_is_answered(server: Double) -> None:
    push(server)
    for number in (3, 5):
        server.tasks.append({**server.tasks[number], "id": 100 + number, "annotations": []})
    server.tasks[-1]["annotations"] = [{"id": 1}]
    push(server)
    assert len(server.tasks) == 10
    assert [task["id"] for task in server.tasks if task["data"]["task"] == "t_5"] == [105]


@pytest.mark.parametrize(
    ("status", "words"),
    [(400, "400"), (403, "403"), (404, "404"), (302, "302"), (301, "301")],
)
def test_what_is_refused_ends_at_once(server: Double, status: int, words: str) -> None:
    server.fail["POST", "import"] = [status] * 99
    with pytest.raises(InputError, match=words) as told:
        push(server)
    assert len([one for one in server.requests if one[1].endswith("import")]) == 1
    assert KEY not in str(told.value)
    assert not [one for one in server.requests if "elsewhere" in one[1]], "nobody gets the key"


def test_what_goes_on_failing_ends(server: Double) -> None:
    server.fail["GET", "export"] = [503] * 99
    with pytest.raises(InputError, match="503"):
        push(server)


def test_wrong_keys_and_urls(server: Double) -> None:
    with pytest.raises(InputError, match="401"):
        LabelStudio(server.url, "wrong", first_wait=0.01).pull("a batch")
    with pytest.raises(InputError, match="no key"):
        LabelStudio(server.url, "")
    with pytest.raises(InputError, match="not the URL of a server"):
        LabelStudio("file:///etc/passwd", KEY)
    with pytest.raises(InputError, match=r"127\.0\.0\.1:9"):
        LabelStudio("http://127.0.0.1:9", KEY, first_wait=0.001).pull("a batch")


def test_a_personal_key_is_exchanged_and_exchanged_again(server: Double) -> None:
    client = LabelStudio(server.url, PERSONAL, first_wait=0.01)
    client.push("a batch", "<View/>", TASKS, 1, 100)
    assert server.exchanged == 1
    server.minutes = {"another"}
    assert b"t_3" in client.pull("a batch")
    assert server.exchanged == 2


def test_a_batch_that_is_not_there(server: Double) -> None:
    with pytest.raises(InputError, match="there is no project 'a batch': push the batch first"):
        LabelStudio(server.url, KEY).pull("a batch")
