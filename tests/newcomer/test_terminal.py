"""Commands as a terminal of 80 columns shows them, and Ctrl-C in it."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.jobs import Job, make_rich_pool

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
SYSTEMS = {
    name: {"score": f"{column}.score", "prediction": f"{column}.prediction"}
    for name, column in (("old", "s0"), ("new", "s1"))
}


@pytest.fixture
def answered(job: Any) -> Job:
    """Two systems, slices and three measures: 36 lines and more of numbers."""
    one: Job = job(
        make_rich_pool(), pool={"systems": SYSTEMS, "slices": ["city"]},
        measure=["f1", "precision", "recall"], round_size=80,
    )  # fmt: skip
    one.in_process = True
    assert one.prepare().status == 0
    one.sample()
    one.estimate("--labels", one.deliver(one.answers(1)))
    return one


@contextlib.contextmanager
def started(arguments: Sequence[Any], **variables: str) -> Iterator[tuple[int, int]]:
    """A command in a terminal: its process and the terminal's other end."""
    process, terminal = pty.fork()
    if not process:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        # Whoever runs the tests in the background may have them ignore it, children too.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        unset = ("COLUMNS", "LINES", "NO_COLOR")
        known = {key: value for key, value in os.environ.items() if key not in unset}
        command = [sys.executable, "-m", "evalsampling", *map(str, arguments)]
        os.execve(command[0], command, {**known, "PYTHONPATH": str(ROOT), **variables})
    try:
        yield process, terminal
    finally:
        os.close(terminal)


def read(terminal: int) -> bytes:
    """What comes next, empty at the end."""
    try:
        return os.read(terminal, 65536)
    except OSError:  # The other end is closed.
        return b""


def shown(*arguments: Any, **variables: str) -> tuple[int, str]:
    """Exit code and all that a command shows."""
    with started(arguments, **variables) as (process, terminal):
        text = b"".join(iter(lambda: read(terminal), b""))
        _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), text.decode()


def plain(text: str) -> list[str]:
    """Lines as they are left, without colours and what progress wrote over."""
    text = re.sub(r"\033\[[0-9;]*[mK]", "", text)
    return [line.rsplit("\r", 1)[-1] for line in text.replace("\r\n", "\n").splitlines()]


def test_numbers_fit(answered: Job) -> None:
    status, text = shown("estimate", answered.workspace, "--quiet")
    assert status == 0
    assert max(map(len, plain(text))) <= 80
    status, text = shown("estimate", answered.workspace, "--quiet", "--detail")
    lines = plain(text)
    assert status == 0
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    assert [line for line in lines if line in ("f1", "precision", "recall")] == [
        "f1", "precision", "recall"
    ]  # fmt: skip
    assert "\033[1m95 % intervals" in text
    _, without = shown("estimate", answered.workspace, "--quiet", "--detail", NO_COLOR="1")
    assert "\033" not in without
    assert plain(without) == lines


@pytest.mark.parametrize("command", ["status", "diagnose", "verify"])
def test_other_commands_fit(answered: Job, command: str) -> None:
    status, text = shown(command, answered.workspace)
    assert status == 0
    inside = [line for line in plain(text) if str(answered.workspace) not in line]
    assert max(map(len, inside)) <= 80, max(inside, key=len)


@pytest.mark.parametrize("command", ["simulate", "plan"])
def test_ctrl_c_ends_at_once(answered: Job, command: str) -> None:
    """Within seconds, though there is work for an hour."""
    truth = answered.directory / "truth.parquet"
    pq.write_table(
        pa.table({"id": [*answered.pool.truth], "label": [*answered.pool.truth.values()]}), truth
    )
    arguments = [command, answered.spec, "--sampler", "passive", "--repeats", 5_000]
    if command == "simulate":
        arguments += ["--truth", truth]
    with started(arguments) as (process, terminal):
        text = b""
        while b"repeats" not in text:
            more = read(terminal)
            assert more, text
            text += more
        began = time.monotonic()
        os.write(terminal, b"\x03")
        text += b"".join(iter(lambda: read(terminal), b""))
        _, status = os.waitpid(process, 0)
    print(f"{command}: {time.monotonic() - began:.1f} s")
    assert os.waitstatus_to_exitcode(status) == 130
    assert b"Traceback" not in text
    assert plain(text.decode())[-1].endswith(f"evalsampling {command}: interrupted")
