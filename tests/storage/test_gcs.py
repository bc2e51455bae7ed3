"""What can go wrong between a program and Google Cloud Storage."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import google.auth
import pytest
import requests
from google.auth.exceptions import DefaultCredentialsError
from google.auth.transport.requests import AuthorizedSession
from google.cloud import storage

from evalsampling import InputError
from evalsampling.storage import Store, gcs, open_store
from evalsampling.storage.commits import begin
from evalsampling.storage.filesystems import EMULATOR


@pytest.fixture
def store(bucket: storage.Bucket) -> Store:
    return open_store(f"gs://{bucket.name}/run")


def response(status: int, method: str, url: str) -> requests.Response:
    made = requests.Response()
    made.status_code = status
    made.request = requests.Request(method, url).prepare()
    made._content = b'{"error": {"message": "as the store tells it"}}'
    made.headers["Content-Type"] = "application/json"
    return made


Network = Callable[[list[Any]], list[str]]


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """Let the next requests end as told: a status, an error, None, or a lost answer (a pair)."""
    send, sent = AuthorizedSession.request, []

    def script(ends: list[Any]) -> list[str]:
        def request(self: Any, method: str, url: str, *arguments: Any, **named: Any) -> Any:
            if threading.current_thread() is not threading.main_thread():
                return send(self, method, url, *arguments, **named)  # the client's own telemetry
            sent.append(method)
            end = ends.pop(0) if ends else None
            if isinstance(end, int):
                return response(end, method, url)
            if isinstance(end, Exception):
                raise end
            done = send(self, method, url, *arguments, **named)
            if end is not None:
                raise end[1]
            return done

        monkeypatch.setattr(AuthorizedSession, "request", request)
        return sent

    monkeypatch.setattr("time.sleep", lambda _: None)
    return script


LOST = requests.exceptions.ConnectionError("the connection was reset")


@pytest.mark.parametrize("end", [503, 429, 500, LOST, (None, LOST)], ids=str)
def test_what_may_pass_is_tried_again(store: Store, network: Network, end: Any) -> None:
    sent = network([end, end])
    store.create("a", b"content")
    assert sent == ["POST"] * 3
    assert store.read("a") == b"content"
    sent.clear()
    network([end])
    assert store.names() == ["a"]
    assert sent == ["GET", "GET"]


def test_an_upload_of_parts_goes_on(store: Store, network: Network) -> None:
    """A part that failed is sent again, the upload is not begun again."""
    content = bytes(range(256)) * 80_000
    sent = network([None, 503, 503])
    with store.new_file("large") as path:
        path.write_bytes(content)
    assert sent == ["POST", "PUT", "PUT", "PUT"]
    assert store.read("large") == content


@pytest.mark.parametrize("lost_at", range(5))
def test_a_commit_whose_answers_are_lost_still_wins(
    store: Store, network: Network, lost_at: int
) -> None:
    """The request that is sent again meets its own object."""
    network([None] * lost_at + [(None, LOST)])
    with begin(store, "a", "id") as files:
        files.path("x").write_text("mine")
        files.write("marker.json", {})
    network([])
    assert sorted(store.sizes()) == ["a/id/x", "marker.json"]


@pytest.mark.parametrize("status", [401, 403])
def test_access_denied(store: Store, network: Network, status: int) -> None:
    for action in (
        lambda: store.read("a"),
        lambda: store.names(),
        lambda: store.exists("a"),
        lambda: store.create("a", b""),
        lambda: store.remove(["a"]),
    ):
        network([status])
        with pytest.raises(InputError) as error:
            action()
        assert str(error.value).startswith(f"{store.root}")
        assert "access denied" in str(error.value)
        assert "as the store tells it" in str(error.value)
        assert "\n" not in str(error.value)


def test_a_store_that_stays_away(
    store: Store, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gcs, "_RETRY", gcs._RETRY.with_timeout(0.01))
    network([LOST] * 100)
    with pytest.raises(InputError, match=r"gs://.*/run/a: .*the connection was reset"):
        store.read("a")


def test_no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: Any, **__: Any) -> None:
        raise DefaultCredentialsError("none were found")

    monkeypatch.delenv(EMULATOR, raising=False)
    monkeypatch.setattr(google.auth, "default", none)
    gcs._client.cache_clear()
    told = "gs://bucket/run/a: no credentials of Google Cloud: none were found"
    with pytest.raises(InputError) as error:
        open_store("gs://bucket/run").read("a")
    assert str(error.value) == told


def test_no_bucket(cloud: storage.Client) -> None:
    store = open_store("gs://nobody/run")
    for action in (store.names, lambda: store.exists("a"), lambda: store.create("a", b"")):
        with pytest.raises(InputError) as error:
            action()
        assert str(error.value) == "gs://nobody: no such bucket"


@pytest.mark.parametrize("root", ["gs://", "gs:///x", "s3://bucket/x", "hdfs://host/x"])
def test_no_such_store(root: str) -> None:
    with pytest.raises(InputError) as error:
        open_store(root)
    assert root in str(error.value)


def test_no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "evalsampling.storage.gcs", None)
    with pytest.raises(InputError) as error:
        open_store("gs://bucket/run")
    assert str(error.value).startswith("gs://bucket/run needs google-cloud-storage: pip install ")
