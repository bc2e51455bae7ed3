"""An emulator of Google Cloud Storage that enforces preconditions, on a port of this machine."""

import contextlib
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from evalsampling.storage import filesystems
from evalsampling.storage.filesystems import EMULATOR
from tests.servers import free_port, running

PROGRAM = "fake-gcs-server"


@contextlib.contextmanager
def emulator() -> Iterator[str]:
    """Start the emulator, let every client of this process find it, and give its address."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which(PROGRAM, path=beside)
    if program is None:
        pytest.skip(f"no {PROGRAM}: `make .venv/bin/{PROGRAM}` builds it, which takes Go")
    port = free_port()
    address = f"127.0.0.1:{port}"
    options = ["-scheme=http", "-host=127.0.0.1", f"-port={port}", f"-public-host={address}"]
    # A process of its own: pyarrow may hold this one's interpreter while it waits for answers.
    command = [program, *options, "-backend=memory", "-log-level=error"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(EMULATOR, f"http://{address}")
        filesystems._store.cache_clear()
        with running(command, port, Path(os.devnull)):
            yield f"http://{address}"
    filesystems._store.cache_clear()
