"""The process that looks into footers of Parquet files, and decodes those that strangers deliver.

Arrow may end the process that reads a damaged file, and a file of some kilobytes may expand to
gigabytes. So such files are decoded by a process with a limit of memory and of time
(`parquet_decoder`), and whatever ends that is one error. It starts with the first file and reads
all that follow.
"""

import atexit
import functools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

_PROGRAM = (
    "import sys; sys.modules['numpy'] = None; "  # Arrow does without it, and starts faster.
    "from evalsampling.pool.formats.parquet_decoder import serve; serve()"
)

_ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
"""Allocators that reserve no address space in advance, which would count as memory."""


class TooLargeError(ValueError):
    """A file takes more memory than it may."""


def read_facts(content: bytes, looked_at: Sequence[str] = ()) -> dict[str, Any]:
    """Return the number of rows of a Parquet file, its row groups and its schema.

    Args:
        content: of the file, or its footer with the magic words around it.
        looked_at: columns whose statistics are wanted.

    Raises:
        ValueError: if it cannot be read.
    """
    facts, schema = decoder(os.getpid()).ask(content, None, 0, looked_at)
    return {**facts, "schema": pa.ipc.read_schema(pa.py_buffer(schema))}


def read_batches(content: bytes, columns: Sequence[str], most: int) -> "pa.RecordBatchReader":
    """Return some columns of a Parquet file, each text once where the file repeats it.

    Args:
        content: of the file.
        columns: those to decode, at least one.
        most: bytes that they may take.

    Raises:
        ValueError: if they cannot be read, or rows are missing.
        TooLargeError: if they take more bytes, or more memory than they may.
    """
    _, stream = decoder(os.getpid()).ask(content, columns, most)
    return pa.ipc.open_stream(pa.py_buffer(stream))


@functools.cache
def decoder(owner: int) -> "Decoder":
    """Return the decoder of a process by its id, so that a fork has one of its own."""
    return Decoder([sys.executable, "-P", "-c", _PROGRAM])


class Decoder:
    """A process that decodes, started when it is first asked, and again after it ended."""

    def __init__(self, command: Sequence[str]) -> None:
        """Take the command that starts the process."""
        self._command = command
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def ask(
        self,
        content: bytes,
        columns: Sequence[str] | None,
        most: int,
        looked_at: Sequence[str] = (),
    ) -> tuple[dict[str, Any], bytes]:
        """Return what `parquet_decoder.answer` says of a file.

        Raises:
            ValueError: if the file cannot be read, also because the process ended.
            TooLargeError: as `read_batches` says.
        """
        request = {"columns": columns, "most": most, "bytes": len(content)}
        request["looked_at"] = list(looked_at)
        with self._turn:
            facts, payload = self._answer(json.dumps(request).encode() + b"\n", content)
        if "damaged" in facts:
            raise ValueError(facts["damaged"])
        if "too_large" in facts:
            raise TooLargeError("it takes more memory than it may")
        return facts, payload

    def _answer(self, request: bytes, content: bytes) -> tuple[dict[str, Any], bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = _start(self._command)
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(request)
            process.stdin.write(content)
            process.stdin.flush()
            facts = json.loads(process.stdout.readline())
            payload = process.stdout.read(facts["bytes"])
            if len(payload) < facts["bytes"]:
                raise EOFError
        except (BrokenPipeError, EOFError, json.JSONDecodeError) as error:
            self.close()
            raise ValueError(_reason(process.returncode)) from error
        except BaseException:  # an interrupt, after which the reply would be that of the next file
            process.kill()
            self.close()
            raise
        return facts, payload

    def close(self) -> None:
        """End the process, if it runs."""
        process, self._process = self._process, None
        if process is not None:
            process.communicate()


def _start(command: Sequence[str]) -> "subprocess.Popen[bytes]":
    """Start a process that finds the packages of this one."""
    environment = {**os.environ, **_ENVIRONMENT, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
    )


def _reason(status: int) -> str:
    """Return in words why a decoder ended, by its exit status."""
    if status == -signal.SIGALRM:
        return "decoding it takes too long"
    name = signal.Signals(-status).name if status < 0 else f"status {status}"
    return f"the process that decodes it ended by {name}: it is damaged, or was made to do so"
