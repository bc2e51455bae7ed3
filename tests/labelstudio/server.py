"""A server of Label Studio in an environment of its own, for tests, and the page it shows."""

import contextlib
import http.cookiejar
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.servers import answer, free_port, until

PROGRAM = Path(__file__).resolve().parents[2] / ".venv" / "label-studio" / "bin" / "label-studio"
"""Where `make test-labelstudio` puts it; the variable LABEL_STUDIO_PROGRAM names another place."""

USER, PASSWORD, KEY = "owner@example.com", "not-a-secret-1", "0123456789abcdef" * 2 + "01234567"
_QUIET = {
    "COLLECT_ANALYTICS": "false",
    "SENTRY_DSN": "",
    "FRONTEND_SENTRY_DSN": "",
    "LATEST_VERSION_CHECK": "false",
    "FEATURE_FLAGS_OFFLINE": "true",
}
_START_SECONDS = 900


def program() -> str | None:
    """The command of Label Studio, None if there is none."""
    found = os.environ.get("LABEL_STUDIO_PROGRAM", str(PROGRAM))
    return found if Path(found).exists() else None


def browser() -> str | None:
    """A browser that draws pages without a screen, None if there is none."""
    return shutil.which("chromium") or shutil.which("google-chrome")


class Server:
    """A server that can be killed, and what annotators do on it."""

    def __init__(self, directory: Path) -> None:
        """Name a server on loopback; `start` starts it, and its data stay when it is killed."""
        self._directory, self._port = directory, free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [
            str(program()), "start", "--no-browser", "--internal-host", "127.0.0.1",
            "--port", str(self._port), "--data-dir", str(self._directory / "data"),
            "--username", USER, "--password", PASSWORD, "--user-token", KEY,
            "--enable-legacy-api-token",
        ]  # fmt: skip
        with (self._directory / "server.log").open("a") as out:
            self._process = subprocess.Popen(
                command, env={**os.environ, **_QUIET}, stdout=out, stderr=out,
                cwd=self._directory, start_new_session=True,
            )  # fmt: skip
        process = self._process
        url = f"{self.url}/health"
        until(lambda: b"UP" in (answer(url) or b""), lambda: process.poll() is None, _START_SECONDS)

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """End it with all its processes."""
        if self._process is not None:
            os.killpg(self._process.pid, how)
            self._process.wait(30)
            self._process = None

    def api(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Token {KEY}", "Content-Type": "application/json"},
            method=method,
        )
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read() or b"null")

    def add_user(self, name: str) -> int:
        """Make an annotator and return their number."""
        user = {"email": f"{name}@example.com", "username": name, "first_name": name}
        return int(self.api("POST", "/api/users", {**user, "last_name": ""})["id"])

    def tasks(self, project: int) -> dict[str, int]:
        """Number of each task on the server by its name."""
        path = f"/api/projects/{project}/export?exportType=JSON&download_all_tasks=true"
        return {task["data"]["task"]: task["id"] for task in self.api("GET", path)}

    def annotate(self, task: int, user: int, label: str | None, comment: str = "") -> None:
        """Answer a task as an annotator; without a label it is skipped."""
        result = [] if label is None else [_result("label", "choices", {"choices": [label]})]
        if comment:
            result.append(_result("comment", "textarea", {"text": [comment]}))
        body = {"completed_by": user, "was_cancelled": label is None, "result": result}
        self.api("POST", f"/api/tasks/{task}/annotations", body)

    @contextlib.contextmanager
    def signed_in(self) -> Iterator[str]:
        """The URL of a door to the server for whoever has no session: it adds ours."""
        cookies = http.cookiejar.CookieJar()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(cookies))
        page = opener.open(f"{self.url}/user/login/").read().decode()
        found = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        form = {"csrfmiddlewaretoken": found[1], "email": USER, "password": PASSWORD}
        opener.open(f"{self.url}/user/login/", urllib.parse.urlencode(form).encode()).read()
        session = "; ".join(f"{cookie.name}={cookie.value}" for cookie in cookies)
        assert "sessionid" in session
        token = next(cookie.value or "" for cookie in cookies if cookie.name == "csrftoken")
        passes = {"Cookie": session, "X-CSRFToken": token, "Referer": self.url}
        door = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _door(self.url, passes))
        threading.Thread(target=door.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{door.server_port}"
        finally:
            door.shutdown()
            door.server_close()


def _result(control: str, kind: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"from_name": control, "to_name": "left_name", "type": kind, "value": value}


def _door(url: str, passes: dict[str, str]) -> type[http.server.BaseHTTPRequestHandler]:
    class Door(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            kind = self.headers.get("Content-Type", "application/json")
            request = urllib.request.Request(
                url + self.path,
                data=self.rfile.read(length) if length else None,
                headers={**passes, "Content-Type": kind},
                method=self.command,
            )
            try:
                with urllib.request.urlopen(request) as answer:
                    self._pass_on(answer.status, answer.headers, answer.read())
            except urllib.error.HTTPError as error:
                self._pass_on(error.code, error.headers, error.read())

        do_POST = do_PATCH = do_DELETE = do_PUT = do_GET  # noqa: N815

        def _pass_on(self, status: int, headers: Any, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", headers.get("Content-Type", "text/html"))
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    return Door


@contextlib.contextmanager
def running(directory: Path) -> Iterator[Server]:
    """Start a server on loopback with data of its own; stop it at the end."""
    server = Server(directory)
    try:
        server.start()
        yield server
    finally:
        server.kill(signal.SIGTERM)


def draw_page(url: str, picture: Path) -> str:
    """Draw a page as a browser does, keep the picture and return the page it made."""
    common = [
        str(browser()), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
        "--window-size=1400,1000", "--virtual-time-budget=30000", "--timeout=60000",
        f"--user-data-dir={picture.parent / 'profile'}",
    ]  # fmt: skip
    drawn = subprocess.run(
        [*common, f"--screenshot={picture}", url], capture_output=True, timeout=180, check=False
    )
    assert picture.exists(), drawn.stderr.decode()[-2000:]
    page = subprocess.run(
        [*common, "--dump-dom", url], capture_output=True, timeout=180, check=True
    )
    return page.stdout.decode("utf-8", "replace")
