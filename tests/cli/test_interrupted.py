"""Ctrl-C: one line, exit code 130, no traceback, nothing half-written."""

import importlib.abc
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest

from evalsampling.__main__ import run
from evalsampling.pipelines.running import parse_options
from evalsampling.pipelines.running import run as run_pipeline
from tests.jobs import Jobs, call


class Interrupting(importlib.abc.MetaPathFinder):
    """Lets Ctrl-C come when a module is looked for."""

    def __init__(self, name: str) -> None:
        self.name = name

    def find_spec(self, name: str, *_: Any) -> None:
        if name == self.name:
            raise KeyboardInterrupt


@pytest.fixture
def during_import_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def interrupt(name: str) -> None:
        monkeypatch.delitem(sys.modules, name, raising=False)
        monkeypatch.setattr(sys, "meta_path", [Interrupting(name), *sys.meta_path])

    return interrupt


def test_while_the_command_line_is_imported(
    during_import_of: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    during_import_of("evalsampling.cli.main")
    with pytest.raises(SystemExit) as stop:
        run()
    assert stop.value.code == 130
    assert capsys.readouterr() == ("", "evalsampling: interrupted\n")


def test_while_beam_is_imported(during_import_of: Callable[[str], None], job: Jobs) -> None:
    one = job()
    during_import_of("evalsampling.pipelines.prepare")
    result = call("prepare", one.spec, "--runner=FnApiRunner")
    assert (result.status, result.out) == (130, "")
    assert result.err == "evalsampling prepare: interrupted\n"
    assert not one.workspace.exists()


def test_workers_that_go_on_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads cannot be stopped: they fail when the workspace goes, and Beam would tell."""
    log = logging.getLogger("apache_beam")
    monkeypatch.setattr(log, "level", logging.WARNING)
    pipeline = beam.Pipeline(options=parse_options([]))

    def interrupt() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "run", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_pipeline(pipeline)
    assert not log.isEnabledFor(logging.ERROR)
    log.setLevel(logging.WARNING)


def heed_signal() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


SLEEPY = """
import sys, time
from evalsampling.simulation.simulate import repeat_all

def sleep(sampler, repeat):
    sys.stdout.write("at it\\n")  # at once: two processes write
    sys.stdout.flush()
    time.sleep(600)

if __name__ == "__main__":
    repeat_all(sleep, ["s"], 50, 2, lambda done: None)
"""


@pytest.mark.slow
def test_while_evaluations_are_repeated(tmp_path: Path) -> None:
    """At once, though repeats are long; from a terminal: tests/newcomer/test_terminal.py."""
    (tmp_path / "sleepy.py").write_text(SLEEPY)
    process = subprocess.Popen(
        [sys.executable, "sleepy.py"], cwd=tmp_path, text=True, preexec_fn=heed_signal,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert process.stdout.readline() == "at it\n"
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)  # not 600
    assert process.returncode in (1, 130, -signal.SIGINT)
    assert said.count("Traceback") == 1, said
    assert said.rstrip().endswith("KeyboardInterrupt")
