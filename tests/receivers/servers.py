"""Servers that answer every request as a test wants it."""

import contextlib
import http.server
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def serving(answer: Callable[[Any], None]) -> Iterator[str]:
    """Serve on loopback, each request by a function of its handler; the URL."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        do_POST = do_GET  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        served.daemon_threads = True
        served.block_on_close = False
        threading.Thread(target=served.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()
