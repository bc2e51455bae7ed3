"""Processes that are measured: the time of their work, processor time, peak memory; their pools.

Each is a process of its own, so that none spoils the memory or the caches of another. The process
that starts them must stay small: Linux counts what it holds when it starts a child as the child's.
As a script it prepares the pool of a spec, with imports done, and prints what `measure` reads.
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

_SPEC = """\
pool: {{path: '{pool}', id: id, payload: [name]}}
measure: [f1, precision, recall]
strata: {{method: csf, leaves: 256}}
budget: 2000
round_size: 100
seed: 7
workspace: run
"""


@dataclasses.dataclass(frozen=True)
class Cost:
    """What a process cost: seconds of its work, imports apart, of processor time; most MiB held."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


BY_BEAM = ("--direct_num_workers=2",)  # options of `prepare`: by Beam in process, on two threads


def measure(script: str, *arguments: object) -> Cost:
    """Return what a script beside this one cost, which ends with `report`."""
    printed, usage = run(script, *arguments)
    return Cost(*json.loads(printed.splitlines()[-1]), usage.ru_maxrss / 1024)


def run(script: str, *arguments: object) -> tuple[bytes, resource.struct_rusage]:
    """Run a script beside this one; return what it prints and what it uses."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        argv = [str(_HERE.with_name(script)), *map(str, arguments)]
        code, usage = start(argv, stdout=out, stderr=err)
        out.seek(0)
        err.seek(0)
        if code:
            told = err.read().decode(errors="replace")[-4000:]
            raise ChildProcessError(f"{' '.join(argv)}: exit code {code}\n{told}")
        return out.read(), usage


def start(argv: Sequence[str], **options: Any) -> tuple[int, resource.struct_rusage]:
    """Run Python; return its exit code and what it uses."""
    child = subprocess.Popen([sys.executable, *argv], **options)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, usage


def report(work: Callable[[], object]) -> None:
    """Do the work of a child process and print the seconds that it took, also of the processor."""
    if "pyarrow" in sys.modules:
        # Its first array imports pandas, where there is one.
        sys.modules["pyarrow"].array([0]).to_numpy()
    started = time.perf_counter(), time.process_time()
    work()
    print(json.dumps([time.perf_counter() - started[0], time.process_time() - started[1]]))


def _preparation(arguments: Sequence[str]) -> Callable[[], None]:
    """Import what `prepare` needs; return what calls it in this process."""
    from evalsampling import cli

    importlib.import_module("evalsampling.pipelines.prepare")

    def work() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            try:
                cli.main(["prepare", *arguments, "--json"])
            except SystemExit as end:
                if end.code:
                    raise

    return work


# --- pools of `make_pool.py`, and specs for them


def make_pool(directory: Path, rows: int) -> Path:
    """Write a pool of so many rows unless it is there; return its folder."""
    folder = directory.resolve() / f"{rows}-int"
    if not folder.exists():
        run("make_pool.py", folder, rows)
    return folder


def read_through(pool: Path) -> None:
    """Read the files of a pool once, so that the system's cache holds what it can of them."""
    for path in filter(Path.is_file, pool.iterdir()):
        with path.open("rb") as file:
            while file.read(1 << 24):
                pass


def spec_of(pool: Path) -> str:
    """Return a spec for a pool, with a workspace beside it."""
    return _SPEC.format(pool=pool.resolve() / "*.parquet")


def prepare(pool: Path, directory: Path, *how: str) -> Cost:
    """Prepare a pool, in a workspace that is removed; return what it cost."""
    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".workspace-", dir=directory.resolve()) as folder:
        spec = Path(folder) / "evaluation.yaml"
        spec.write_text(spec_of(pool))
        return measure(_HERE.name, spec, *how)


if __name__ == "__main__":
    report(_preparation(sys.argv[1:]))
