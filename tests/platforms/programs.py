"""Programs in the environment of `make test-platforms`, and servers on loopback."""

import contextlib
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.labelstudio.server import free_port

ENVIRONMENT = Path(
    os.environ.get(
        "PLATFORMS_ENVIRONMENT", Path(__file__).resolve().parents[2] / ".venv" / "platforms"
    )
)
"""Where `make test-platforms` installs Dagster and MLflow; the variable names another place."""

DBT = ENVIRONMENT.with_name("dbt")
"""Where it installs dbt."""

_START_SECONDS = 180

QUIET = {"DAGSTER_DISABLE_TELEMETRY": "1", "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1"}


def program(name: str) -> str:
    """The path of a program there; the test is skipped where it is not."""
    path = (DBT if name == "dbt" else ENVIRONMENT) / "bin" / name
    if not path.exists():
        pytest.skip(f"{name} is not there: make test-platforms installs it")
    return str(path)


@contextlib.contextmanager
def mlflow_server(directory: Path) -> Iterator[str]:
    """A server of MLflow with its own database; yields its URL."""
    port = free_port()
    line = [
        program("mlflow"), "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{directory}/mlflow.db",
        "--artifacts-destination", str(directory / "artifacts"),
    ]  # fmt: skip
    path = f"{ENVIRONMENT / 'bin'}:{os.environ['PATH']}"
    log = directory / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            line, cwd=directory, env={**os.environ, **QUIET, "PATH": path}, stdout=out, stderr=out,
            start_new_session=True,
        )  # fmt: skip
    try:
        _wait(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)


def _wait(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-3000:]
        with contextlib.suppress(urllib.error.URLError, ConnectionError, TimeoutError):
            urllib.request.urlopen(url, timeout=5).close()
            return
        time.sleep(0.5)
    raise AssertionError(f"{url} does not answer: {log.read_text()[-3000:]}")
