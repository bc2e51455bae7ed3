"""A server of Label Studio: batches out and votes back, over its REST interface.

Pushing twice is pushing once: a project is recognised by its title and a task by its name, so
neither is created again. Tried with Label Studio 1.23.
"""

import dataclasses
import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

from evalsampling.errors import InputError

TOKEN = "LABEL_STUDIO_TOKEN"
"""Environment variable that holds a user's key."""

_TRIES = 6
_FIRST_WAIT = 0.5
_TIMEOUT = 300
_PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Status codes of failures that may pass, so that the request is sent again."""

_PAGE = 100


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Refuses all redirects: the key would be sent to the server that they name."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _PassingError(Exception):
    """A request that failed for a reason that may pass; it may have been carried out."""


@dataclasses.dataclass(frozen=True)
class Pushed:
    """The state of a batch on the server after a push.

    Attributes:
        project: number of the project.
        tasks: number of tasks of the batch in the project.
        new: how many of these tasks this push has imported.
    """

    project: int
    tasks: int
    new: int


class LabelStudio:
    """A client of one server, as one user."""

    def __init__(self, url: str, token: str, first_wait: float | None = None) -> None:
        """Set the server and the user; nothing is sent yet."""
        if "@" in url:
            raise InputError(f"the URL of the server has a name or password: set {TOKEN} in place")
        if not _is_server(url):
            raise InputError(f"{url}: not the URL of a server: http://... or https://...")
        if not token:
            raise InputError(f"{url}: no key: set {TOKEN} in the environment")
        self._url = url.rstrip("/")
        self._token = token
        self._first_wait = _FIRST_WAIT if first_wait is None else first_wait
        self._open = urllib.request.build_opener(_NoRedirects).open
        self._header = "" if token.count(".") == 2 else f"Token {token}"

    # --- push and pull

    def push(
        self, title: str, config: str, tasks: Sequence[dict[str, Any]], votes: int, chunk: int
    ) -> Pushed:
        """Create the project of a batch if it is missing, and import the tasks that it lacks."""
        project = self._project(title) or self._create(title, config, votes)
        names = {task["data"]["task"] for task in tasks}
        before = len(names & {*self._tasks(project)})
        for attempt in range(_TRIES):
            imported = self._tasks(project)
            missing = [task for task in tasks if task["data"]["task"] not in imported]
            if not missing:
                break
            try:
                for begin in range(0, len(missing), chunk):
                    part = list(missing[begin : begin + chunk])
                    self._send("POST", f"/api/projects/{project}/import", part)
            except _PassingError as error:
                # The part may have been imported all the same: look again for what is missing.
                self._wait(attempt, error)
        after = len(names & {*self._without_duplicates(project)})
        if after < len(names):
            raise InputError(
                f"{self._url}: of {len(names)} tasks sent {after} are in project {project}: "
                "push again"
            )
        return Pushed(project, after, after - before)

    def pull(self, title: str) -> bytes:
        """Return the JSON export of a project: all its tasks, with skipped answers."""
        project = self._project(title)
        if project is None:
            raise InputError(f"{self._url}: there is no project {title!r}: push the batch first")
        content, _ = self._read(self._export(project), _is_export)
        return content

    # --- projects and tasks

    def _project(self, title: str) -> int | None:
        """Return the number of the project with a title, None if no project has it."""
        matches: list[int] = []
        seen: set[int] = set()
        page = 1
        while True:
            query = urllib.parse.urlencode({"page": page, "page_size": _PAGE})
            _, content = self._read(f"/api/projects?{query}", _is_page)
            listed = content["results"]
            numbers = {project["id"] for project in listed}
            matches += [project["id"] for project in listed if project["title"] == title]
            # Stop at a server that repeats a page, instead of asking for ever.
            if not content.get("next") or numbers <= seen:
                break
            seen |= numbers
            page += 1
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
        failure: Exception = InputError(f"{self._url}/api/projects: the answer names no project")
        for attempt in range(_TRIES):
            created = None
            try:
                created = _number(self._send("POST", "/api/projects", body))
            except _PassingError as error:
                failure = error
            if created is None:
                time.sleep(self._first_wait * 2**attempt)
            # Another call may have created one meanwhile: use the one that all find by its title.
            project = self._project(title) or created
            if project is not None:
                return project
        raise InputError(str(failure)) from failure

    def _export(self, project: int) -> str:
        return f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true"

    def _tasks(self, project: int) -> dict[str, list[dict[str, Any]]]:
        """Return the tasks of a project by name; a name may have several."""
        by_name: dict[str, list[dict[str, Any]]] = {}
        _, tasks = self._read(self._export(project), _is_export)
        for task in tasks:
            by_name.setdefault(str(task["data"].get("task")), []).append(task)
        return by_name

    def _without_duplicates(self, project: int) -> dict[str, list[dict[str, Any]]]:
        """Delete duplicates of tasks that nobody has answered; return the tasks found, by name.

        A task has a duplicate if it was imported again because its first import seemed to fail.
        """
        by_name = self._tasks(project)
        for tasks in by_name.values():
            unanswered = sorted(task["id"] for task in tasks if not task.get("annotations"))
            spare = unanswered[1:] if len(unanswered) == len(tasks) else unanswered
            for number in spare:
                self._patiently("DELETE", f"/api/tasks/{number}")
        return by_name

    # --- requests

    def _read(self, path: str, is_whole: Callable[[Any], bool]) -> tuple[bytes, Any]:
        """Return a response and the JSON in it; a bad response is asked for again.

        The page of a proxy, or a response that broke off, is bad: ``is_whole`` tells.
        """

        def check(content: bytes) -> None:
            try:
                reason = "" if is_whole(json.loads(content)) else "it is something else"
            except (ValueError, RecursionError) as error:
                reason = f"not JSON: {error}"
            if reason:
                problem = f"the answer is not whole, or not of Label Studio: {reason}"
                raise _PassingError(f"{self._where(path)}: {problem}")

        content = self._patiently("GET", path, check=check)
        return content, json.loads(content)

    def _patiently(
        self,
        method: str,
        path: str,
        check: Callable[[bytes], None] = lambda _: None,
    ) -> bytes:
        """Send a request that may be repeated until it succeeds; return the response.

        ``check`` raises a `_PassingError` for a response that is not what was asked for.
        """
        for attempt in range(_TRIES):
            try:
                content = self._send(method, path)
                check(content)
                return content
            except _PassingError as error:
                self._wait(attempt, error)
        raise AssertionError("unreachable")

    def _wait(self, attempt: int, error: Exception) -> None:
        """Wait before the next try, twice as long each time; after the last one raise the error."""
        if attempt >= _TRIES - 1:
            raise InputError(str(error)) from error
        time.sleep(self._first_wait * 2**attempt)

    def _send(self, method: str, path: str, body: Any = None) -> bytes:
        """Send one request and return the response; failures that may pass are `_PassingError`s."""
        if not self._header:
            self._header = f"Bearer {self._exchanged()}"
        headers = {"Authorization": self._header, "Content-Type": "application/json"}
        return self._request(method, path, body, headers)

    def _exchanged(self) -> str:
        """Return the access token that a personal one is exchanged for."""
        headers = {"Content-Type": "application/json"}
        path = "/api/token/refresh"
        answer = self._request("POST", path, {"refresh": self._token}, headers)
        try:
            return str(json.loads(answer)["access"])
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise _PassingError(f"{self._where(path)}: the answer has no key") from error

    def _where(self, path: str) -> str:
        return f"{self._url}{path.partition('?')[0]}"

    def _request(self, method: str, path: str, body: Any, headers: dict[str, str]) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, headers, method=method)
        where = self._where(path)
        try:
            with self._open(request, timeout=_TIMEOUT) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            if method == "DELETE" and error.code == 404:
                return b""  # It is gone already.
            if error.code == 401 and self._header.startswith("Bearer") and "/token/" not in path:
                self._header = ""  # An exchanged token expires after some minutes.
                raise _PassingError(f"{where}: the key has expired") from error
            said = _shown(error)
            for secret in (self._token, self._header.rpartition(" ")[2]):
                said = said.replace(secret, "...") if secret else said
            problem = f"{where}: {error.code} {error.reason}: {said}"
            if error.code in _PASSING:
                raise _PassingError(problem) from error
            raise InputError(problem) from error
        except (OSError, http.client.HTTPException) as error:
            raise _PassingError(f"{where}: {' '.join(str(error).split())}") from error


def _is_server(url: str) -> bool:
    """Tell whether a URL is that of a server, without query and fragment."""
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError:
        return False
    return (
        parts.scheme in ("http", "https")
        and bool(parts.hostname)
        and port != 0
        and not (parts.query or parts.fragment)
    )


def _shown(error: urllib.error.HTTPError) -> str:
    """Return the beginning of the body of an error response, empty if it cannot be read."""
    try:
        content = error.read(2000)
    except (OSError, http.client.HTTPException):
        content = b""
    finally:
        error.close()
    return " ".join(content.decode("utf-8", "replace").split())[:300]


def _number(answer: bytes) -> int | None:
    """Return the ``id`` in the response to a creation, None if there is none."""
    try:
        return int(json.loads(answer)["id"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _is_page(content: Any) -> bool:
    """Tell whether JSON is a page of the list of projects."""
    listed = content.get("results") if isinstance(content, dict) else None
    return isinstance(listed, list) and all(
        isinstance(project, dict) and isinstance(project.get("id"), int) and "title" in project
        for project in listed
    )


def _is_export(content: Any) -> bool:
    """Tell whether JSON is an export: a list of tasks."""
    return isinstance(content, list) and all(
        isinstance(task, dict) and "id" in task and isinstance(task.get("data"), dict)
        for task in content
    )
