"""Logs for machines: one JSON object a line on stderr, in place of text for people."""

import contextlib
import io
import logging
import os
import sys
import time
from collections.abc import Iterator
from typing import Any, TextIO, cast

from evalsampling.errors import InputError, UsageError

VARIABLE = "EVALSAMPLING_LOG"
"""Environment variable: ``json`` for logs, ``text`` or unset for text."""

LOG = logging.getLogger("evalsampling")
LOG.addHandler(logging.NullHandler())

_fields: dict[str, Any] | None = None
"""Fields of every log record of the current job, None outside a logged job."""


_quiet, _verbose = False, False
"""Options of the command line."""


@contextlib.contextmanager
def verbosity(quiet: bool, verbose: bool) -> Iterator[None]:
    """Print for one block errors alone, or also all that is logged; logs for machines stay."""
    global _quiet, _verbose
    before, handler = (_quiet, _verbose), logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
    _quiet, _verbose = quiet, verbose
    if verbose and not as_json():
        LOG.addHandler(handler)
    try:
        yield
    finally:
        _quiet, _verbose = before
        LOG.removeHandler(handler)


def say(line: str) -> None:
    """Print a line for people to stderr, unless quiet or logs are for machines."""
    if not _quiet and not as_json():
        print(line, file=sys.stderr)


def fail(line: str) -> None:
    """Print a line of an error that ends nothing, however quiet; or log it, for machines."""
    if as_json():
        LOG.error("%s", line)
    else:
        print(line, file=sys.stderr)


def as_json() -> bool:
    """Return whether logs for machines are wanted in place of text."""
    return os.environ.get(VARIABLE) == "json"


def reported_errors() -> tuple[type[BaseException], ...]:
    """Return the kinds of errors reported in one line; any other is a defect of this package."""
    import pyarrow as pa  # Imported after an error only: most commands start without Arrow.

    return InputError, OSError, pa.ArrowException, KeyboardInterrupt


def one_line(error: BaseException) -> str:
    """Return the line that reports an error; for an error of the system it begins with the file."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        # Of a link or a rename, people know the second file.
        return " ".join(f"{error.filename2 or error.filename}: {error.strerror}".split())
    line = " ".join(str(error).split())
    if "://" not in line:
        return line
    from evalsampling.telemetry.redaction import without_passwords  # Few errors name a URL.

    return without_passwords(line)


@contextlib.contextmanager
def job(name: str, **fields: Any) -> Iterator[None]:
    """Log the start and the end of a job, or why it failed; within another job, add its fields."""
    global _fields
    if os.environ.get(VARIABLE) not in (None, "", "text", "json"):
        raise UsageError(f"{VARIABLE} must be json or text")
    if _fields is not None or not as_json():
        tell(**fields)
        usual = logging.INFO if _verbose else logging.CRITICAL
        with _level(LOG.level if _fields is not None else usual):
            yield
        return
    _fields, started = {"job": name}, time.monotonic()
    tell(**fields)
    try:
        with _to_stderr(), _level(logging.INFO):
            LOG.info("%s started", name)
            try:
                yield
            except (Exception, KeyboardInterrupt) as error:
                tell(seconds=round(time.monotonic() - started, 3))
                if isinstance(error, reported_errors()):
                    LOG.error("%s failed: %s", name, one_line(error))
                    raise
                LOG.critical("%s failed", name, exc_info=True)
                raise SystemExit(1) from error
            tell(seconds=round(time.monotonic() - started, 3))
            LOG.info("%s done", name)
    finally:
        _fields = None


def tell(**fields: Any) -> None:
    """Add fields to all later log records of the job."""
    if _fields is not None:
        _fields.update({key: value for key, value in fields.items() if value is not None})


def stream() -> TextIO:
    """Return the stream for lines of progress: stderr, the log, or none if quiet."""
    if _quiet:
        return cast(TextIO, _Nowhere())
    return sys.stderr if _fields is None else cast(TextIO, _LoggedLines())


class _Nowhere(io.TextIOBase):
    """A stream that drops all text."""

    def write(self, text: str) -> int:
        return len(text)


class _LoggedLines(io.TextIOBase):
    """A stream that logs each line as a record."""

    def write(self, text: str) -> int:
        LOG.info("%s", text.strip())
        return len(text)


@contextlib.contextmanager
def _to_stderr() -> Iterator[None]:
    """Write all that is logged in this process to stderr as JSON, and only as JSON."""
    from evalsampling.telemetry.records import RecordFormatter

    root, handler = logging.getLogger(), logging.StreamHandler(sys.stderr)
    handler.setFormatter(RecordFormatter(lambda: _fields or {}))
    before = root.handlers
    root.handlers = [handler]
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.handlers = before


@contextlib.contextmanager
def _level(level: int) -> Iterator[None]:
    """Set the level of the package's own records for one block."""
    before = LOG.level
    LOG.setLevel(level)
    try:
        yield
    finally:
        LOG.setLevel(before)
