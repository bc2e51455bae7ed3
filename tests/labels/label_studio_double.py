"""A small server that answers as Label Studio does, and fails where a test wants it to."""

import contextlib
import http.server
import json
import threading
import urllib.parse
from collections.abc import Iterator
from typing import Any

KEY = "0123456789abcdef0123456789abcdef01234567"
PERSONAL = "head.body.sign"


class Double:
    """Projects and tasks in memory.

    Attributes:
        fail: by method and the end of a path, what the next requests meet: a status of HTTP,
            ``lost`` (carried out, no answer), ``refused`` (not carried out, no answer), ``cut``
            and ``unmeasured`` (carried out, and half an answer, with its length or without),
            ``silent`` (no answer while the double is there), ``broken`` (a 502 that breaks off),
            ``echo`` (a 400 that says who asked), or bytes to answer with, carried out.
        requests: method and path of each request so far.
        minutes: access tokens that a personal key was exchanged for and that are good.
    """

    def __init__(self) -> None:
        self.projects: list[dict[str, Any]] = []
        self.tasks: list[dict[str, Any]] = []
        self.fail: dict[tuple[str, str], list[Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.minutes: set[str] = set()
        self.exchanged = 0
        self.url = ""
        self.closing = threading.Event()

    def answer(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        parts = path.strip("/").split("/")
        if path == "/api/token/refresh":
            self.exchanged += 1
            self.minutes = {f"access-{self.exchanged}"}
            return 200, {"access": f"access-{self.exchanged}"}
        if path == "/api/projects" and method == "GET":
            return 200, {"results": self.projects, "next": None}
        if path == "/api/projects":
            number = len(self.projects) + 1
            self.projects.append({**body, "id": number})
            return 201, self.projects[-1]
        if parts[-1] == "import":
            for task in body:
                self.tasks.append(
                    {**task, "id": len(self.tasks) + 1, "project": int(parts[2]), "annotations": []}
                )
            return 201, {"task_count": len(body)}
        if parts[-1] == "export":
            return 200, [task for task in self.tasks if task["project"] == int(parts[2])]
        if method == "DELETE":
            before = len(self.tasks)
            self.tasks = [task for task in self.tasks if task["id"] != int(parts[-1])]
            return (204, None) if len(self.tasks) < before else (404, {"detail": "Not found."})
        return 404, {"detail": "Not found."}


@contextlib.contextmanager
def double() -> Iterator[Double]:
    """Start the double on loopback."""
    server = Double()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urllib.parse.urlsplit(self.path).path
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            server.requests.append((self.command, path))
            told = self.headers.get("Authorization", "")
            known = {f"Token {KEY}", *(f"Bearer {token}" for token in server.minutes)}
            if "token" not in path and told not in known:
                self._send(401, {"detail": "Invalid token."})
                return
            waiting = server.fail.get((self.command, path.rpartition("/")[2]), [])
            fault = waiting.pop(0) if waiting else None
            if fault == "refused":
                self.close_connection = True
                return
            if fault == "silent":
                server.closing.wait()
                self.close_connection = True
                return
            if fault == "broken":
                self.send_response(502)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(b"ff\r\nBad gate")
                self.close_connection = True
                return
            if fault == "echo":
                self._send(400, {"detail": f"bad request: Authorization: {told}"})
                return
            if isinstance(fault, int):
                self._send(fault, {"detail": "told to fail"})
                return
            status, content = server.answer(self.command, path, body)
            if fault == "lost":
                self.close_connection = True
                return
            if isinstance(fault, bytes):
                self._send_text(status, fault)
            elif fault in ("cut", "unmeasured"):
                text = json.dumps(content).encode()
                length = len(text) if fault == "cut" else None
                self._send_text(status, text[: len(text) // 2], length)
                self.close_connection = True
            else:
                self._send(status, content)

        do_POST = do_DELETE = do_GET  # noqa: N815

        def _send(self, status: int, content: Any) -> None:
            text = json.dumps(content).encode()
            self._send_text(status, text, len(text))

        def _send_text(self, status: int, text: bytes, length: int | None = None) -> None:
            self.send_response(status)
            if status in (301, 302):
                self.send_header("Location", f"{server.url}/elsewhere")
            if length is not None:
                self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            pass

    listening = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=listening.serve_forever, args=(0.01,), daemon=True).start()
    server.url = f"http://127.0.0.1:{listening.server_port}"
    try:
        yield server
    finally:
        server.closing.set()
        listening.shutdown()
        listening.server_close()
