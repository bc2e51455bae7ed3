"""Whether tests notice small changes of the package: random ones, stored with the test that fails.

`choose` draws the changes, `run` finds the tests and continues, `check` fails where a change
survives now. Tests run in a copy of the project, without those that are slow: first those of the
module, then the golden ones, then those of the room. With `--coverage`, a file of coverage.py with
contexts, only those that run the changed line, in all rooms.
"""

import argparse
import ast
import collections
import contextlib
import csv
import importlib
import importlib.util
import multiprocessing
import os
import random
import re
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from mutations import Mutation, everywhere

PROJECT = Path(__file__).resolve().parents[1]

SEED, COUNT = 1, 300
FIELDS = ("file", "function", "kind", "before", "after", "nth", "outcome", "killer")

LOADED = ("numpy", "scipy.stats", "pandas", "pyarrow.parquet", "hypothesis", "google.cloud.storage",
          "apache_beam")  # fmt: skip
"""What tests import beside the package: loaded once, before the process of each run is forked."""

LOADED_BEFORE = "ignore::pytest.PytestAssertRewriteWarning"
STATEMENT = 8  # lines before the changed line in which its statement may begin
HANGS = 90.0  # seconds of one test after which it hangs

Row = dict[str, str]


def main(argv: list[str] | None = None) -> int:
    """Choose, run or check; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("choose", "run", "check"))
    parser.add_argument("--table", type=Path, default=PROJECT / "benchmarks" / "mutants.csv")
    parser.add_argument("--project", type=Path, default=PROJECT, metavar="DIR")
    parser.add_argument("--coverage", type=Path, metavar="FILE", help="of coverage.py")
    parser.add_argument("--survivors", action="store_true", help="run those that survived again")
    parser.add_argument("--seconds", type=float, default=600.0, metavar="S", help="of a stage")
    options = parser.parse_args(argv)
    if options.action == "choose":
        chosen = random.Random(SEED).sample([*everywhere(options.project)], COUNT)
        ordered = sorted(chosen, key=lambda one: (one.file, one.edit))
        _write(options.table, [{"file": one.file, **one.key} for one in ordered])
        return 0
    with options.table.open(newline="") as file:
        rows = [*csv.DictReader(file)]
    is_check = options.action == "check"
    again = ("", "survived") if options.survivors else ("",)
    due = [row for row in rows if (row["killer"] if is_check else row["outcome"] in again)]
    pairs = zip(due, found(options.project, due), strict=True)
    standing = [(row, one) for row, one in pairs if one]
    print(f"{len(rows)} mutants, {len(due)} to run, of which {len(standing)} stand")
    covering = _covering(options.coverage, [one for _, one in standing])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    survivors = 0
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        scratch = Scratch(options.project, Path(folder) / "project", options.seconds)
        for row, one in standing:
            stages = scratch.stages(one, row["killer"], covering.get(one))
            outcome, killer = scratch.killer(one, stages)
            survivors += outcome == "survived"
            if killer or not is_check:  # One that survives a check stays due for the next.
                row.update(outcome=outcome, killer=killer)
                _write(options.table, rows)
            print(f"{outcome} {killer}: {one.file}:{one.line}: {one.after}", flush=True)
    print(f"{survivors} survived")
    return int(is_check and survivors > 0)


def found(project: Path, rows: Iterable[Row]) -> Iterator[Mutation | None]:
    """Yield the change of each row, in its own file or the only other that has it; None if gone."""
    places: dict[tuple[str, ...], list[Mutation]] = {}
    for one in everywhere(project):
        places.setdefault((*one.key.values(),), []).append(one)
    for row in rows:
        same = places.get(tuple(row[name] for name in FIELDS[1:6]), [])
        own = [one for one in same if one.file == row["file"]]
        yield own[0] if own else same[0] if len(same) == 1 else None


class Scratch:
    """A copy of the project, where tests run with one change at a time."""

    def __init__(self, project: Path, root: Path, seconds: float) -> None:
        apart = shutil.ignore_patterns(".*", "build", "__pycache__", "*.egg-info")
        shutil.copytree(project, root, symlinks=True, ignore=apart)
        self._root, self._seconds = root, seconds
        self._fast = re.search(r'-n auto -m "(.*)"', (root / "Makefile").read_text())[1]  # type: ignore[index]
        layout = ast.parse((root / "tests" / "test_layout.py").read_text())
        self._elsewhere: dict[str, str] = next(
            ast.literal_eval(node.value) for node in layout.body
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ELSEWHERE"
        )  # fmt: skip
        for name in LOADED:
            importlib.import_module(name)
        if self._first_failure(["tests/test_layout.py"])[1]:
            sys.exit("a test fails without any change: tests/test_layout.py")

    def stages(self, one: Mutation, known: str, covering: list[str] | None) -> Iterator[list[str]]:
        """Yield the tests that may notice a change, those that are likely and cheap first."""
        module = one.file.removeprefix("evalsampling/")
        room = f"tests/{module.partition('/')[0]}" if "/" in module else "tests/cli"
        mirrored = str(Path("tests", module).with_name(f"test_{Path(module).name}"))
        if not (self._root / mirrored).exists():
            mirrored = f"tests/{self._elsewhere[module]}" if module in self._elsewhere else room
        yield [known] if known else []
        for files in (mirrored, "tests/golden"):
            tests = [test for test in covering or () if test.startswith(files)]
            yield tests if covering else [files]
        yield covering or [room]

    def killer(self, one: Mutation, stages: Iterable[list[str]]) -> tuple[str, str]:
        """Return what becomes of a change, and the test that fails with it and passes without."""
        path = self._root / one.file
        code = path.read_bytes()
        doubted: set[str] = set()
        for tests in stages:
            while tests:
                with _changed(path, one.made(code)):
                    outcome, test = self._first_failure(tests, doubted)
                    fails_alone = test and (tests == [test] or self._first_failure([test])[1])
                if not test or test in doubted:
                    break
                if fails_alone and not self._first_failure([test])[1]:
                    return outcome, test
                doubted.add(test)
        return "survived", ""

    def _first_failure(self, tests: list[str], apart: Iterable[str] = ()) -> tuple[str, str]:
        """Return what became of the first test that does not pass, and its name; else no name."""
        options = ["-x", "-p", "no:cacheprovider", "-W", LOADED_BEFORE, "-m", self._fast]
        options += [f"--deselect={test}" for test in apart]
        receiver, sender = multiprocessing.Pipe(duplex=False)
        process = multiprocessing.get_context("fork").Process(
            target=_run, args=(self._root, [*options, *tests], sender)
        )
        process.start()
        sender.close()
        end, current = time.monotonic() + self._seconds, tests[0]
        try:
            while (left := end - time.monotonic()) > 0 and receiver.poll(min(HANGS, left)):
                word, current = receiver.recv()
                if word != "begun":
                    process.join(10)
                    return ("failed", current or tests[0]) if word == "failed" else ("", "")
            return ("timeout", current) if left > HANGS else ("", "")
        except EOFError:
            return "failed", current
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.join()


class _Reporter:
    """A plugin of pytest that sends which test begins and which fails."""

    def __init__(self, sender: Connection) -> None:
        self._sender = sender

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._sender.send(("begun", nodeid))

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self._sender.send(("failed", report.nodeid))

    pytest_collectreport = pytest_runtest_logreport


def _run(root: Path, arguments: list[str], sender: Connection) -> None:
    """Run tests in the process of their own; send how it ends."""
    os.setsid()
    os.chdir(root)
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    os.environ["PYTHONPATH"] = sys.path[0] = str(root)
    status = pytest.main(arguments, plugins=[_Reporter(sender)])
    ends_well = status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    sender.send(("passed" if ends_well else "failed", ""))
    os._exit(0)


@contextlib.contextmanager
def _changed(path: Path, code: bytes) -> Iterator[None]:
    """Give a file other code for a while; what was compiled of it may have its size and time."""
    before, compiled = path.read_bytes(), Path(importlib.util.cache_from_source(path))
    try:
        path.write_bytes(code)
        compiled.unlink(missing_ok=True)
        yield
    finally:
        path.write_bytes(before)
        compiled.unlink(missing_ok=True)


def _covering(data: Path | None, changes: Iterable[Mutation]) -> dict[Mutation, list[str]]:
    """Return the tests that run the line of a change in a function, or where its statement begins.

    Those of the room come first, and one of each file before a second of any.
    """
    if data is None:
        return {}
    sql = """select context, numbits from line_bits join file on file.id = file_id
        join context on context.id = context_id where path like '%/' || ? and context != ''"""
    covering = {}
    with contextlib.closing(sqlite3.connect(data)) as base:
        for one in (one for one in changes if not one.function.endswith(">")):
            tests: dict[int, set[str]] = {}
            for context, bits in base.execute(sql, (one.file,)):
                for line in range(max(one.line - STATEMENT, 0), one.line + 1):
                    if line // 8 < len(bits) and bits[line // 8] >> line % 8 & 1:
                        tests.setdefault(line, set()).add(context.rpartition("|")[0])
            room, of_file = f"tests/{Path(one.file).parts[1]}/", collections.Counter[str]()
            ranks = {}
            for test in sorted(tests[max(tests)] if tests else ()):
                name = test.partition("::")[0]
                ranks[test] = (not name.startswith(room), of_file[name], test)
                of_file[name] += 1
            covering[one] = sorted(ranks, key=ranks.__getitem__)
    return covering


def _write(table: Path, rows: Iterable[Row]) -> None:
    """Write the table, whole or not at all."""
    unfinished = table.with_suffix(".tmp")
    with unfinished.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    os.replace(unfinished, table)


if __name__ == "__main__":
    sys.exit(main())
