"""A server of Label Studio: batches out and votes back, over its REST interface.

Pushing twice is pushing once: a project is recognised by its title and a task by its name, so
neither is created again. Tried with Label Studio 1.23.
"""

import contextlib
import functools
import itertools
import json
import time
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec
import requests

from evalsampling.errors import InputError
from evalsampling.labels.label_studio import TOKEN

_TRIES = 6
_FIRST_WAIT = 0.5
_TIMEOUT = 300
_PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Status codes of failures that may pass, so that the request is sent again."""

_PAGE = 100

Answer = TypeVar("Answer")


class _Project(msgspec.Struct):
    id: int
    title: str | None


class _Page(msgspec.Struct):
    """A page of the list of projects."""

    results: list[_Project]
    next: str | None = None


class _Task(msgspec.Struct):
    id: int
    data: dict[str, Any]
    annotations: list[Any] | None = None


_Tasks = dict[str, list[_Task]]
"""Tasks of a project by name; a name may have several."""


class _PassingError(InputError):
    """A request that failed for a reason that may pass; it may have been carried out."""


class LabelStudio:
    """A client of one server, as one user."""

    def __init__(self, url: str, token: str) -> None:
        """Set the server and the user; nothing is sent yet."""
        if "@" in url:
            raise InputError(f"the URL of the server has a name or password: set {TOKEN} in place")
        if not _is_server(url):
            raise InputError(f"{url}: not the URL of a server: http://... or https://...")
        if not (token and token.isascii() and token.isprintable()):
            raise InputError(f"{url}: no key, or none that can be sent: set {TOKEN} anew")
        self._url = url.rstrip("/")
        self._token = token
        self._header = "" if token.count(".") == 2 else f"Token {token}"
        self._session = requests.Session()
        self._session.auth = self._signed

    def push(
        self, title: str, config: str, tasks: Sequence[dict[str, Any]], votes: int, chunk: int
    ) -> tuple[int, int, int]:
        """Create the project of a batch if it is missing, and import the tasks that it lacks.

        Return the number of the project, and of its tasks, all and new ones.
        """
        project = self._project(title)
        if project is None:
            project = _patiently(lambda: self._create(title, config, votes))
        names = {task["data"]["task"] for task in tasks}
        before = len(names & {*self._tasks(project)})
        _patiently(lambda: self._import(project, tasks, chunk))
        after = len(names & {*self._without_duplicates(project)})
        if after < len(names):
            raise InputError(
                f"{self._url}: of {len(names)} tasks sent {after} are in project {project}: "
                "push again"
            )
        return project, after, after - before

    def pull(self, title: str) -> bytes:
        """Return the JSON export of a project: all its tasks, with skipped answers."""
        project = self._project(title)
        if project is None:
            lacks = f"{self._url}: there is no project {title!r}"
            raise InputError(f"{lacks}: push the batch, or give its project that title again")
        return self._read(_export(project), list[_Task])[0]

    # --- projects and tasks

    def _project(self, title: str) -> int | None:
        """Return the number of the project with a title, None if no project has it."""
        matches: list[int] = []
        for page in itertools.count(1):
            _, found = self._read(f"/api/projects?page={page}&page_size={_PAGE}", _Page)
            matches += [one.id for one in found.results if one.title == title]
            if not found.next:
                break
        # Two calls at once may have made two projects: all calls use the first.
        return min(matches, default=None)

    def _create(self, title: str, config: str, votes: int) -> int:
        """Create a project; return its number, or that of one created meanwhile with its title."""
        body = {
            "title": title,
            "label_config": config,
            "maximum_annotations": votes,
            "show_collab_predictions": False,
            "show_annotation_history": False,
            "show_skip_button": True,
            "enable_empty_annotation": False,
            "sampling": "Uniform sampling",
        }
        failure = _PassingError(f"{self._url}/api/projects: it has not created the project")
        try:
            self._send("POST", "/api/projects", body)
        except _PassingError as error:
            failure = error
        project = self._project(title)
        if project is None:
            raise failure
        return project

    def _import(self, project: int, tasks: Sequence[dict[str, Any]], chunk: int) -> None:
        """Import the tasks that a project lacks.

        What failed may have been imported all the same, so each try looks again what is missing.
        """
        imported = self._tasks(project)
        missing = [task for task in tasks if task["data"]["task"] not in imported]
        for begin in range(0, len(missing), chunk):
            self._send("POST", f"/api/projects/{project}/import", missing[begin : begin + chunk])

    def _tasks(self, project: int) -> _Tasks:
        by_name: _Tasks = {}
        _, tasks = self._read(_export(project), list[_Task])
        for task in tasks:
            by_name.setdefault(str(task.data.get("task")), []).append(task)
        return by_name

    def _without_duplicates(self, project: int) -> _Tasks:
        """Delete duplicates of tasks that nobody has answered; return the tasks found.

        A task has a duplicate if it was imported again because its first import seemed to fail.
        """
        by_name = self._tasks(project)
        for tasks in by_name.values():
            unanswered = sorted(task.id for task in tasks if not task.annotations)
            spare = unanswered[1:] if len(unanswered) == len(tasks) else unanswered
            for number in spare:
                _patiently(functools.partial(self._send, "DELETE", f"/api/tasks/{number}"))
        return by_name

    # --- requests

    def _read(self, path: str, kind: Any) -> tuple[bytes, Any]:
        """Return a response and what its JSON holds; a bad response is asked for again.

        The page of a proxy, or a response that broke off, is bad: it is not of the ``kind``.
        """

        def read() -> tuple[bytes, Any]:
            content = self._send("GET", path)
            try:
                return content, msgspec.json.decode(content, type=kind)
            except msgspec.DecodeError as error:
                problem = f"the answer is not whole, or not of Label Studio: {error}"
                raise _PassingError(f"{self._url}{path.partition('?')[0]}: {problem}") from error

        return _patiently(read)

    def _send(self, method: str, path: str, body: Any = None) -> bytes:
        """Send one request and return the response; failures that may pass are `_PassingError`s."""
        if not self._header:
            self._header = f"Bearer {self._exchanged()}"
        return self._request(method, path, body)

    def _exchanged(self) -> str:
        """Return the access token that a personal one is exchanged for."""
        path = "/api/token/refresh"
        answer = self._request("POST", path, {"refresh": self._token})
        try:
            return str(json.loads(answer)["access"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise _PassingError(f"{self._url}{path}: the answer has no key") from error

    def _signed(self, request: Any) -> Any:
        """Return a request with the key, in place of one that requests finds in ~/.netrc."""
        if self._header:
            request.headers["Authorization"] = self._header
        return request

    def _request(self, method: str, path: str, body: Any) -> bytes:
        where = f"{self._url}{path.partition('?')[0]}"
        try:
            # A redirect would send the key to the server that it names.
            answer = self._session.request(
                method, self._url + path, json=body, timeout=_TIMEOUT, allow_redirects=False
            )
        except requests.RequestException as error:
            raise _PassingError(f"{where}: {' '.join(str(error).split())}") from error
        is_gone = method == "DELETE" and answer.status_code == 404
        if answer.status_code < 300 or is_gone:
            return answer.content
        if answer.status_code == 401 and self._header.startswith("Bearer"):
            self._header = ""  # An exchanged token expires after some minutes.
            raise _PassingError(f"{where}: the key has expired")
        said = " ".join((answer.headers.get("Location") or answer.text).split())[:300]
        for secret in (self._token, self._header.rpartition(" ")[2]):
            said = said.replace(secret, "...") if secret else said
        kind = _PassingError if answer.status_code in _PASSING else InputError
        raise kind(f"{where}: {answer.status_code} {answer.reason}: {said}")


def _patiently(act: Callable[[], Answer]) -> Answer:
    """Return what an action returns, which is tried again while its failure may pass."""
    for attempt in range(_TRIES - 1):
        with contextlib.suppress(_PassingError):
            return act()
        time.sleep(_FIRST_WAIT * 2**attempt)
    return act()


def _is_server(url: str) -> bool:
    """Tell whether a URL is that of a server, without query and fragment."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname) and port != 0
    return is_web and not (parts.query or parts.fragment)


def _export(project: int) -> str:
    return f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true"
