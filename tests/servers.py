"""Servers that tests start on this machine, and what waits for them."""

import contextlib
import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

import pytest


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def until(
    condition: Callable[[], bool], still: Callable[[], bool] = lambda: True, seconds: float = 180
) -> None:
    """Wait for a condition, as long as another holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert still()
        assert time.monotonic() < deadline
        time.sleep(0.05)


def listens(port: int) -> bool:
    """Whether somebody listens on a port."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def answer(url: str) -> bytes | None:
    """What a server says to a request; None if it does not answer yet."""
    with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=5) as said:
        return said.read()
    return None


@contextlib.contextmanager
def running(
    command: list[str], port: int, log: Path, environment: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server, wait until it listens, and stop it in the end."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdout=out, stderr=out, env={**os.environ, **(environment or {})}
        )
        try:
            until(lambda: listens(port), lambda: process.poll() is None)
            yield process
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def serving_grpc(variable: str, *handlers: Any) -> Iterator[None]:
    """Answer calls of gRPC by handlers; clients find them by a variable of the environment."""
    import grpc

    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers(handlers)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(variable, f"127.0.0.1:{port}")
        try:
            yield
        finally:
            server.stop(None)
