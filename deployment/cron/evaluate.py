#!/usr/bin/env python3
"""One pass over an evaluation: prepare, take deliveries, estimate, draw what is to be labelled.

    python evaluate.py evaluation.yaml --inbox deliveries --half-width 0.05

A pass does what can be done now and ends; cron or a timer starts the next one. All it knows is in
the workspace, so it may be killed anywhere: the next pass goes on. It calls the command line of
the `evalsampling` that is installed for the Python it runs with, and nothing else.

It prints one line of JSON. What goes wrong, and what the commands say, is on stderr. Exit codes
are those of the command line: 0 done, 1 something failed, 2 wrong usage.
"""

import argparse
import contextlib
import datetime
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_TEXT = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
ENDINGS = (*_TEXT, *(f"{ending}.gz" for ending in _TEXT), ".parquet", ".xlsx")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one pass and return the exit code."""
    parser = argparse.ArgumentParser(description="One pass over an evaluation.")
    parser.add_argument("spec", type=Path, help="path of evaluation.yaml")
    parser.add_argument("--inbox", type=Path, required=True, help="folder of deliveries")
    parser.add_argument("--half-width", type=float, help="stop when all intervals are as narrow")
    parser.add_argument(
        "--measure", nargs="+", default=[], help="measures to report and to stop by"
    )
    arguments = parser.parse_args(argv)
    if not arguments.inbox.is_dir():
        parser.error(f"--inbox: {arguments.inbox}: there is no such folder; make it first")
    try:
        with alone(arguments.inbox) as lock:
            told = {"state": "busy"} if lock is None else one_pass(arguments, Command(lock))
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"evaluate: {error}", file=sys.stderr)
        return max(getattr(error, "returncode", 1), 1)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    print(json.dumps({"time": now, **told}))
    return 1 if told.get("refused") else 0


def one_pass(arguments: argparse.Namespace, evalsampling: "Command") -> dict[str, Any]:
    """Do what can be done now, and return what to print.

    Deliveries that cannot be read hold up nothing else; they are named in `refused`.
    """
    workspace = evalsampling("prepare", str(arguments.spec.absolute()))["workspace"]
    refused = evalsampling.take(workspace, deliveries(arguments.inbox))
    measures = ["--measure", *arguments.measure] if arguments.measure else []
    estimate = evalsampling("estimate", workspace, "--exit-zero", *measures)
    told = {key: estimate[key] for key in ("round", "labels", "open")} | {"refused": refused}
    if "gates" in estimate:
        told["gates"] = estimate["gates"]["reached"]
    width, enough = estimate["half_width"], arguments.half_width
    if enough is not None and width is not None and width <= enough:
        return {"state": "narrow", **told}
    if estimate["done"]:
        return {"state": "done", **told}
    drawn = evalsampling("sample", workspace)
    told |= {"round": drawn["round"], "open": told["open"] or drawn["rows"]}
    return {"state": drawn["reason"] or "labelling", **told, "batch": drawn["batch"]}


def deliveries(inbox: Path) -> list[str]:
    """Return the files that are deliveries by the end of their names, no hidden ones nor locks.

    Paths are absolute, so that no name is taken for an option. Symbolic links are passed over: who
    may write into the inbox could name any file with one.
    """
    named = [
        path
        for path in inbox.iterdir()
        if path.name.lower().endswith(ENDINGS) and path.name[0] not in ".~"
    ]
    for path in sorted(named):
        if path.is_symlink():
            print(f"evaluate: {path}: a symbolic link, passed over", file=sys.stderr)
    return sorted(
        str(path.absolute()) for path in named if path.is_file() and not path.is_symlink()
    )


@contextlib.contextmanager
def alone(inbox: Path) -> Iterator[int | None]:
    """Lock the folder of deliveries, or give None if another pass holds it.

    A folder stays what it is: a spec that is saved anew may be another file of the same name.
    """
    lock = os.open(inbox, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield None
    else:
        yield lock
    finally:
        os.close(lock)


class Command:
    """The command `evalsampling`."""

    def __init__(self, lock: int) -> None:
        self._lock = lock

    def __call__(self, *arguments: str) -> Any:
        """Run it and return the object it prints.

        It inherits the lock: killed alone, this program leaves no command behind that the next
        pass would not wait for.

        Raises:
            subprocess.CalledProcessError: if it fails; it has said why on stderr.
        """
        done = subprocess.run(
            [sys.executable, "-m", "evalsampling", *arguments, "--json"],
            stdout=subprocess.PIPE,
            check=True,
            pass_fds=[self._lock],
        )
        return json.loads(done.stdout)

    def take(self, workspace: str, files: Sequence[str]) -> list[str]:
        """Take deliveries, which change nothing if taken before, and return those refused.

        A file that cannot be read makes `estimate` take none of its call, so halves are tried.
        """
        if not files:
            return []
        try:
            self("estimate", workspace, "--exit-zero", "--labels", *files)
        except subprocess.CalledProcessError:
            if len(files) == 1:
                return list(files)
            half = len(files) // 2
            return self.take(workspace, files[:half]) + self.take(workspace, files[half:])
        return []


if __name__ == "__main__":
    sys.exit(main())
