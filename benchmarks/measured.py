"""Processes that are measured: the time of their work, processor time, peak memory.

Each thing measured is a process of its own, so that none spoils the memory or the caches of
another. The process that starts them must stay small: Linux counts what it holds when it starts a
child as the child's.

    python benchmarks/measured.py prepare evaluation.yaml --json

runs a command of `evalsampling` with its imports done beforehand, and prints what `measure` reads.
"""

import contextlib
import dataclasses
import importlib
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve()


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a process cost.

    Attributes:
        seconds: of its work, imports apart.
        cpu_seconds: of processor time in that.
        peak_mib: most memory resident at a time.
    """

    seconds: float
    cpu_seconds: float
    peak_mib: float


Measurement = tuple[Cost, Any]
"""The cost of a process and the result it reported."""


def measure(script: str, *arguments: object) -> Measurement:
    """Run a script beside this one that ends with `report`.

    Raises:
        ChildProcessError: as `run` does.
    """
    printed, usage = run(script, *arguments)
    told = json.loads(printed.splitlines()[-1])
    return Cost(told["seconds"], told["cpu_seconds"], usage.ru_maxrss / 1024), told["result"]


def run(script: str, *arguments: object) -> tuple[bytes, resource.struct_rusage]:
    """Run a script beside this one; return what it prints and what it uses.

    Raises:
        ChildProcessError: with the end of what it wrote to stderr, if it failed.
    """
    argv = [sys.executable, str(_HERE.with_name(script)), *map(str, arguments)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(argv, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            told = err.read().decode(errors="replace")[-4000:]
            raise ChildProcessError(f"{' '.join(argv)}: exit code {child.returncode}\n{told}")
        return out.read(), usage


def measure_command(*arguments: object) -> Measurement:
    """Run a command of `evalsampling`; the result is the object that its `--json` prints."""
    return measure(_HERE.name, *arguments, "--json")


def report(work: Callable[[], Any]) -> None:
    """Do the work of a child process and print what it took and returned."""
    if "pyarrow" in sys.modules:
        # Its first array imports pandas, where there is one.
        sys.modules["pyarrow"].array([0]).to_numpy()
    started = time.perf_counter(), time.process_time()
    result = work()
    seconds = time.perf_counter() - started[0]
    cpu_seconds = time.process_time() - started[1]
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "result": result}))


def _command(arguments: Sequence[str]) -> Callable[[], Any]:
    """Import what a command needs; return what calls the command line in this process."""
    from evalsampling import cli

    if arguments[0] == "prepare":
        importlib.import_module("evalsampling.pipelines.prepare")

    def work() -> Any:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            try:
                cli.main(arguments)
            except SystemExit as end:
                if end.code:
                    raise
        return json.loads(printed.getvalue())

    return work


if __name__ == "__main__":
    report(_command(sys.argv[1:]))
