"""What jobs in this process say when they fail."""

import logging
import threading
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest

from evalsampling.commands.result import Result
from evalsampling.errors import InputError
from evalsampling.pipelines.running import _result_of, parse_options, run
from evalsampling.workspace.manifest import ExecutionContext

_LIMIT = 20
"""Seconds that one worker waits for another at most."""

_ENOUGH = 0.3
"""Seconds after which a worker that failed has logged it."""

_both_work, _has_ended, _fails_late = (threading.Event() for _ in range(3))


def _fail(element: int) -> None:
    """Fail with an error of our own: the element 0 at once, the other after the job has ended."""
    if element:
        _both_work.set()
        assert _has_ended.wait(_LIMIT)
        _fails_late.set()
    else:
        assert _both_work.wait(_LIMIT)
    raise InputError(f"element {element}")


def test_worker_that_fails_after_the_job_has_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.NOTSET, "apache_beam.runners.common")  # Put back in the end.
    pipeline = beam.Pipeline(options=parse_options([]))
    elements = pipeline | beam.Create([0, 1], reshuffle=False) | beam.Reshuffle()
    _ = elements | beam.Map(_fail)
    with pytest.raises(InputError, match=r"^element 0"):
        run(pipeline)
    _has_ended.set()
    assert _fails_late.wait(_LIMIT)
    time.sleep(_ENOUGH)
    assert not caplog.records
    logging.getLogger("apache_beam.runners.runner").warning("of another job")
    assert caplog.messages == ["of another job"]


def test_a_result_replaces_no_file_of_others(tmp_path: Path) -> None:
    def done(*_: Any) -> Result:
        return Result()

    file, context = tmp_path / "out.json", ExecutionContext("this process")
    file.write_text("{}")
    with pytest.raises(InputError, match="is there, and evalsampling did not write it"):
        _result_of(None, done, context, str(file))
    assert file.read_text() == "{}"
    for options in (Namespace(overwrite=True), None, None):
        _result_of(options, done, context, str(file))
