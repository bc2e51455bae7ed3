"""Beam's expansion service for Iceberg and Kafka: its program, and one that runs."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runners.portable import CACHE, SHORT_LIVED, free_port, missing_program, running

_PROGRAM = CACHE / "expansion" / "expansion-service.jar"
_ASKED_FOR = "sdks:java:io:expansion-service:shadowJar"
"""What Beam calls the program for Kafka and the managed reads of Iceberg."""


def program() -> Path:
    """Return the program, or skip the test and say what is missing."""
    missing = missing_program(_PROGRAM, "deployment/expansion/service")
    if missing:
        pytest.skip(missing)
    return _PROGRAM


def option(service: Path | str) -> str:
    """Return the option by which Beam takes a program, or the address of one that runs."""
    return f"--beam_services={json.dumps({_ASKED_FOR: str(service)})}"


@contextlib.contextmanager
def expanding(directory: Path) -> Iterator[str]:
    """Start a service that is the worker too, give its option, and stop it in the end."""
    jar, port = program(), free_port()
    arguments = [str(port), "--alsoStartLoopbackWorker", f"--filesToStage={jar}"]
    command = ["java", *SHORT_LIVED, "-jar", str(jar), *arguments]
    with running(command, port, directory / "expansion.log"):
        yield option(f"localhost:{port}")
