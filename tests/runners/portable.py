"""Servers of Beam's portable runners, workers of their own, and the options that name them."""

import contextlib
import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.servers import free_port, running

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "evalsampling"
"""Where the scripts of `deployment` put what they fetch or build."""

_PROJECT = Path(__file__).parents[2]


@dataclasses.dataclass(frozen=True)
class Runner:
    """A portable runner: the program that a script of `deployment` makes, and how it starts."""

    name: str
    program: Path
    script: str
    command: Callable[[Path, int], list[str]]
    options: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """Say what is missing to start it, None if nothing is."""
        if not self.program.exists():
            return f"no {self.program.name}: run {self.script}"
        if self.program.suffix == ".jar" and shutil.which("java") is None:
            return "no java"
        return None


def _java(master: str) -> Callable[[Path, int], list[str]]:
    def command(jar: Path, port: int) -> list[str]:
        ports = ["--job-port", str(port), "--artifact-port", "0", "--expansion-port", "0"]
        return ["java", "-jar", str(jar), *master.split(), *ports]

    return command


RUNNERS = {
    "prism": Runner(
        "PrismRunner",
        CACHE / "prism" / "prism",
        "deployment/prism/prism",
        lambda program, port: [
            str(program),
            f"--job_port={port}",
            "--serve_http=false",
            "--log_level=error",
        ],
    ),
    "flink": Runner(
        "FlinkRunner",
        CACHE / "flink" / "job-server.jar",
        "deployment/flink/job-server",
        _java("--flink-master [local]"),
        ("--parallelism=2",),
    ),
    "spark": Runner(
        "SparkRunner",
        CACHE / "spark" / "job-server.jar",
        "deployment/spark/job-server",
        _java("--spark-master-url local[2]"),
    ),
}


by_prism = pytest.mark.parametrize(
    "runner", [pytest.param("prism", marks=pytest.mark.prism)], indirect=True, scope="module"
)
"""For a test of what is the same on all runners: on the one that starts at once."""


@dataclasses.dataclass
class Server:
    """A running server of a runner."""

    process: subprocess.Popen[bytes]
    options: list[str]


@contextlib.contextmanager
def serving(runner: Runner, directory: Path) -> Iterator[Server]:
    """Start the server of a runner, and stop it in the end."""
    port = free_port()
    command = runner.command(runner.program, port)
    if runner.program.suffix == ".jar":
        command += ["--artifacts-dir", str(directory / "artifacts")]
    options = [f"--runner={runner.name}", f"--job_endpoint=localhost:{port}", *runner.options]
    with running(command, port, directory / "server.log") as process:
        yield Server(process, [*options, "--environment_type=LOOPBACK"])


@dataclasses.dataclass
class Workers:
    """A pool that starts worker processes when a runner asks."""

    process: subprocess.Popen[bytes]
    options: list[str]

    @property
    def pids(self) -> list[int]:
        """The workers."""
        told = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(pid) for children in told for pid in children.read_text().split()]


@contextlib.contextmanager
def workers(directory: Path, **environment: str) -> Iterator[Workers]:
    """Start a pool of workers, and stop it and them in the end."""
    port = free_port()
    module = "apache_beam.runners.worker.worker_pool_main"
    command = [sys.executable, "-m", module, f"--service_port={port}"]
    python = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {"PATH": python, "PYTHONPATH": str(_PROJECT), **environment}
    with running(command, port, directory / "workers.log", environment) as process:
        options = ["--environment_type=EXTERNAL", f"--environment_config=localhost:{port}"]
        yield Workers(process, options)
