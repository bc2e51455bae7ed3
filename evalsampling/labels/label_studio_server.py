"""A server of Label Studio: batches out and votes back, over its REST interface.

What is asked for twice is done once: a project is known by its title and a task by its name, so
whatever was there is not made again. Tried with Label Studio 1.23.
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
"""The variable of the environment that holds the key of a user."""

_TRIES = 6
_FIRST_WAIT = 0.5
_TIMEOUT = 300
_PASSING = {408, 425, 429, 500, 502, 503, 504}
"""Codes of answers that may be others soon."""

_PAGE = 100


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows none: the key would go along to whoever is named."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _PassingError(Exception):
    """A request that failed for a reason that may pass; it may have been carried out."""


@dataclasses.dataclass(frozen=True)
class Pushed:
    """What is on the server after a push.

    Attributes:
        project: its number.
        tasks: in it, of the batch.
        new: of these, how many this call has imported.
    """

    project: int
    tasks: int
    new: int


class LabelStudio:
    """One server, as one user."""

    def __init__(self, url: str, token: str, first_wait: float | None = None) -> None:
        """Name a server; nothing is sent yet.

        Args:
            url: of the server, ``http://`` or ``https://``.
            token: access token of a user, or a personal one, which is exchanged first.
            first_wait: seconds before the second try; each further wait is twice as long.

        Raises:
            InputError: if the URL is none, or there is no token.
        """
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

    # --- what is wanted

    def push(
        self, title: str, config: str, tasks: Sequence[dict[str, Any]], votes: int, chunk: int
    ) -> Pushed:
        """Make a project of a batch and import its tasks, as far as they are not there.

        Args:
            title: of the project, like no other.
            config: of the page.
            tasks: as `label_studio.tasks_of` yields them.
            votes: annotations wanted for each task.
            chunk: most tasks in one request.

        Raises:
            InputError: if the server refuses, cannot be reached for some time, or does not have
                all tasks in the end.
        """
        project = self._project(title) or self._create(title, config, votes)
        named = {task["data"]["task"] for task in tasks}
        before = len(named & {*self._tasks(project)})
        wait = self._first_wait
        for attempt in range(_TRIES):
            there = self._tasks(project)
            missing = [task for task in tasks if task["data"]["task"] not in there]
            if not missing:
                break
            try:
                for begin in range(0, len(missing), chunk):
                    part = list(missing[begin : begin + chunk])
                    self._send("POST", f"/api/projects/{project}/import", part)
            except _PassingError as error:
                # Nobody knows whether it was imported: look, and import what is missing.
                if attempt == _TRIES - 1:
                    raise InputError(str(error)) from error
                time.sleep(wait)
                wait *= 2
        there = self._without_duplicates(project)
        found = len(named & {*there})
        if found < len(named):
            raise InputError(
                f"{self._url}: of {len(named)} tasks sent {found} are in project {project}: "
                "push again"
            )
        return Pushed(project, found, found - before)

    def pull(self, title: str) -> bytes:
        """Return the JSON export of a project: all its tasks, with skipped answers.

        Raises:
            InputError: if there is no such project, the server cannot be reached, or what it
                answers is no whole export.
        """
        project = self._project(title)
        if project is None:
            raise InputError(f"{self._url}: there is no project {title!r}: push the batch first")
        content, _ = self._read(self._export(project), _is_export)
        return content

    # --- projects and tasks

    def _project(self, title: str) -> int | None:
        """Return the number of a project, None if there is none of that title."""
        found: list[int] = []
        seen: set[int] = set()
        page = 1
        while True:
            query = urllib.parse.urlencode({"page": page, "page_size": _PAGE})
            _, content = self._read(f"/api/projects?{query}", _is_page)
            numbers = {one["id"] for one in content["results"]}
            found += [one["id"] for one in content["results"] if one["title"] == title]
            # A server that gives the same page again would be asked for ever.
            if not content.get("next") or numbers <= seen:
                break
            seen |= numbers
            page += 1
        # Of two, made at once by two calls, all go by the first.
        return min(found, default=None)

    def _create(self, title: str, config: str, votes: int) -> int:
        """Make a project and return its number, or that of one somebody else made first."""
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
        wait = self._first_wait
        told: Exception = InputError(f"{self._url}/api/projects: the answer names no project")
        for _ in range(_TRIES):
            made = None
            try:
                made = _number(self._send("POST", "/api/projects", body))
            except _PassingError as error:
                told = error
            if made is None:
                time.sleep(wait)
                wait *= 2
            # Somebody else may have made one meanwhile: the one counts that all find by its title.
            project = self._project(title) or made
            if project is not None:
                return project
        raise InputError(str(told)) from told

    def _export(self, project: int) -> str:
        return f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true"

    def _tasks(self, project: int) -> dict[str, list[dict[str, Any]]]:
        """Return the tasks of a project by their names."""
        found: dict[str, list[dict[str, Any]]] = {}
        _, tasks = self._read(self._export(project), _is_export)
        for task in tasks:
            found.setdefault(str(task["data"].get("task")), []).append(task)
        return found

    def _without_duplicates(self, project: int) -> dict[str, list[dict[str, Any]]]:
        """Return the tasks of a project, of each name one that nobody has answered at most.

        Two imports of one task, of which the first seemed to be lost, leave two.
        """
        there = self._tasks(project)
        for tasks in there.values():
            unanswered = sorted(task["id"] for task in tasks if not task.get("annotations"))
            spare = unanswered[1:] if len(unanswered) == len(tasks) else unanswered
            for number in spare:
                self._patiently("DELETE", f"/api/tasks/{number}", missing=True)
        return there

    # --- requests

    def _read(self, path: str, is_whole: Callable[[Any], bool]) -> tuple[bytes, Any]:
        """Return an answer and the JSON in it; one that is none is asked for again.

        Args:
            path: on the server.
            is_whole: whether JSON is what was asked for. The page of a proxy is not, nor is an
                answer that broke off.
        """

        def check(content: bytes) -> None:
            try:
                right, told = is_whole(json.loads(content)), "it is something else"
            except (ValueError, RecursionError) as error:
                right, told = False, f"not JSON: {error}"
            if not right:
                raise _PassingError(
                    f"{self._where(path)}: the answer is not whole, or not of Label Studio: {told}"
                )

        content = self._patiently("GET", path, check=check)
        return content, json.loads(content)

    def _patiently(
        self,
        method: str,
        path: str,
        missing: bool = False,
        check: Callable[[bytes], None] = lambda _: None,
    ) -> bytes:
        """Send what can be sent again, until there is an answer.

        Args:
            method: of HTTP.
            path: on the server.
            missing: whether it is no error that there is no such thing.
            check: raises `_PassingError` of an answer that is none.
        """
        wait = self._first_wait
        for attempt in range(_TRIES):
            try:
                content = self._send(method, path, missing=missing)
                check(content)
                return content
            except _PassingError as error:
                if attempt == _TRIES - 1:
                    raise InputError(str(error)) from error
            time.sleep(wait)
            wait *= 2
        raise AssertionError("unreachable")

    def _send(self, method: str, path: str, body: Any = None, missing: bool = False) -> bytes:
        """Send one request.

        Raises:
            InputError: if the server refuses it.
            _PassingError: if it failed for a reason that may pass.
        """
        if not self._header:
            self._header = f"Bearer {self._exchanged()}"
        headers = {"Authorization": self._header, "Content-Type": "application/json"}
        return self._request(method, path, body, headers, missing)

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

    def _request(
        self, method: str, path: str, body: Any, headers: dict[str, str], missing: bool = False
    ) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._url + path, data=data, headers=headers, method=method
        )
        where = self._where(path)
        try:
            with self._open(request, timeout=_TIMEOUT) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            if missing and error.code == 404:
                return b""
            if error.code == 401 and self._header.startswith("Bearer") and "/token/" not in path:
                self._header = ""  # It is good for some minutes only.
                raise _PassingError(f"{where}: the key has expired") from error
            told = _shown(error)
            for secret in (self._token, self._header.rpartition(" ")[2]):
                told = told.replace(secret, "...") if secret else told
            problem = f"{where}: {error.code} {error.reason}: {told}"
            if error.code in _PASSING:
                raise _PassingError(problem) from error
            raise InputError(problem) from error
        except (OSError, http.client.HTTPException) as error:
            raise _PassingError(f"{where}: {' '.join(str(error).split())}") from error


def _is_server(url: str) -> bool:
    """Tell whether a URL is that of a server, and of nothing on it."""
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
    """Return the begin of what a server said of an error, as far as it came."""
    try:
        content = error.read(2000)
    except (OSError, http.client.HTTPException):
        content = b""
    finally:
        error.close()
    return " ".join(content.decode("utf-8", "replace").split())[:300]


def _number(answer: bytes) -> int | None:
    """Return the number of what was made, None if the answer does not tell."""
    try:
        return int(json.loads(answer)["id"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _is_page(content: Any) -> bool:
    """Tell whether JSON is a page of the list of projects."""
    listed = content.get("results") if isinstance(content, dict) else None
    return isinstance(listed, list) and all(
        isinstance(one, dict) and isinstance(one.get("id"), int) and "title" in one
        for one in listed
    )


def _is_export(content: Any) -> bool:
    """Tell whether JSON is an export: a list of tasks."""
    return isinstance(content, list) and all(
        isinstance(one, dict) and "id" in one and isinstance(one.get("data"), dict)
        for one in content
    )
