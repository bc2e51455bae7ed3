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
from collections.abc import Sequence
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

    def __init__(self, url: str, token: str, first_wait: float = _FIRST_WAIT) -> None:
        """Name a server; nothing is sent yet.

        Args:
            url: of the server, ``http://`` or ``https://``.
            token: access token of a user, or a personal one, which is exchanged first.
            first_wait: seconds before the second try; each further wait is twice as long.

        Raises:
            InputError: if the URL is none, or there is no token.
        """
        if urllib.parse.urlsplit(url).scheme not in ("http", "https"):
            raise InputError(f"{url}: not the URL of a server: http://... or https://...")
        if not token:
            raise InputError(f"{url}: no key: set {TOKEN} in the environment")
        self._url = url.rstrip("/")
        self._token = token
        self._first_wait = first_wait
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
            InputError: if the server refuses, or cannot be reached for some time.
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
        return Pushed(project, len(named & {*there}), len(named & {*there}) - before)

    def pull(self, title: str) -> bytes:
        """Return the JSON export of a project: all its tasks, with skipped answers.

        Raises:
            InputError: if there is no such project, or the server cannot be reached.
        """
        project = self._project(title)
        if project is None:
            raise InputError(f"{self._url}: there is no project {title!r}: push the batch first")
        return self._patiently("GET", self._export(project))

    # --- projects and tasks

    def _project(self, title: str) -> int | None:
        """Return the number of a project, None if there is none of that title."""
        found, page = [], 1
        while True:
            query = urllib.parse.urlencode({"page": page, "page_size": _PAGE})
            content = self._json("GET", f"/api/projects?{query}")
            found += [one["id"] for one in content["results"] if one["title"] == title]
            if not content.get("next"):
                break
            page += 1
        # Of two, made at once by two calls, all go by the first.
        return min(found, default=None)

    def _create(self, title: str, config: str, votes: int) -> int:
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
        for _ in range(_TRIES):
            try:
                return int(json.loads(self._send("POST", "/api/projects", body))["id"])
            except _PassingError as error:
                told = error
            time.sleep(wait)
            wait *= 2
            project = self._project(title)
            if project is not None:
                return project
        raise InputError(str(told)) from told

    def _export(self, project: int) -> str:
        return f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true"

    def _tasks(self, project: int) -> dict[str, list[dict[str, Any]]]:
        """Return the tasks of a project by their names."""
        found: dict[str, list[dict[str, Any]]] = {}
        for task in self._json("GET", self._export(project)):
            found.setdefault(str(task["data"].get("task")), []).append(task)
        return found

    def _without_duplicates(self, project: int) -> dict[str, list[dict[str, Any]]]:
        """Return the tasks of a project, of each name one that nobody has answered at most.

        Two imports of one task, of which the first seemed to be lost, leave two.
        """
        there = self._tasks(project)
        for tasks in there.values():
            unanswered = [task["id"] for task in tasks if not task.get("annotations")]
            spare = unanswered[1:] if len(unanswered) == len(tasks) else unanswered
            for number in spare:
                self._patiently("DELETE", f"/api/tasks/{number}", missing=True)
        return there

    # --- requests

    def _json(self, method: str, path: str) -> Any:
        try:
            return json.loads(self._patiently(method, path))
        except ValueError as error:
            raise InputError(f"{self._url}: its answer is no JSON: {error}") from error

    def _patiently(self, method: str, path: str, missing: bool = False) -> bytes:
        """Send what can be sent again, until there is an answer.

        Args:
            method: of HTTP.
            path: on the server.
            missing: whether it is no error that there is no such thing.
        """
        wait = self._first_wait
        for attempt in range(_TRIES):
            try:
                return self._send(method, path, missing=missing)
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
        answer = self._request("POST", "/api/token/refresh", {"refresh": self._token}, headers)
        return str(json.loads(answer)["access"])

    def _request(
        self, method: str, path: str, body: Any, headers: dict[str, str], missing: bool = False
    ) -> bytes:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self._url + path, data=data, headers=headers, method=method
        )
        where = f"{self._url}{path.partition('?')[0]}"
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
            told = " ".join(error.read(2000).decode("utf-8", "replace").split())[:300]
            problem = f"{where}: {error.code} {error.reason}: {told}"
            if error.code in _PASSING:
                raise _PassingError(problem) from error
            raise InputError(problem) from error
        except (OSError, http.client.HTTPException) as error:
            raise _PassingError(f"{where}: {' '.join(str(error).split())}") from error
