"""Logs for machines: one JSON object a line on stderr, in place of text for people."""

import contextlib
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
"""What every record of the job tells that is being logged, None if none is."""


_quiet, _verbose = False, False
"""What people asked for on the command line."""


@contextlib.contextmanager
def verbosity(quiet: bool, verbose: bool) -> Iterator[None]:
    """For one block, tell people nothing but errors, or all that is logged; neither is the usual.

    Logs for machines stay as they are.
    """
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
    """Print a line for people to stderr, unless they want none or logs are for machines."""
    if not _quiet and not as_json():
        print(line, file=sys.stderr)


def as_json() -> bool:
    """Tell whether logs are asked for in place of text."""
    return os.environ.get(VARIABLE) == "json"


def told() -> tuple[type[BaseException], ...]:
    """Return the kinds of errors reported in one line; any other is a defect of this package."""
    import pyarrow as pa  # Only where an error has come: most of what starts needs no Arrow.

    return InputError, OSError, pa.ArrowException, KeyboardInterrupt


def one_line(error: BaseException) -> str:
    """Return the one line that reports an error; one of the system begins with the file."""
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    if isinstance(error, OSError) and error.strerror and isinstance(error.filename, str):
        # Of a link or a new name the second file is the one that people know.
        return " ".join(f"{error.filename2 or error.filename}: {error.strerror}".split())
    line = " ".join(str(error).split())
    if "://" not in line:
        return line
    from evalsampling.telemetry.redaction import without_passwords  # Few errors are of a URL.

    return without_passwords(line)


@contextlib.contextmanager
def job(name: str, **fields: Any) -> Iterator[None]:
    """Log the start and the end of a job, or why it failed; within another job, add its fields.

    Args:
        name: of the job.
        **fields: what its records tell, None for nothing.

    Raises:
        UsageError: if the variable holds something else.
        SystemExit: for a defect, which has been logged.
    """
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
                if isinstance(error, told()):
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
    """Return where lines of progress go: to stderr, or into the log."""
    if _quiet:
        return cast(TextIO, _Nowhere())
    return sys.stderr if _fields is None else cast(TextIO, _Lines())


class _Nowhere:
    """A stream that nobody reads."""

    def isatty(self) -> bool:
        return False

    def write(self, text: str) -> None:
        """Nothing is kept."""

    def flush(self) -> None:
        """Nothing is kept."""


class _Lines:
    """A stream of lines, each a record."""

    def isatty(self) -> bool:
        return False

    def write(self, text: str) -> None:
        LOG.info("%s", text.strip())

    def flush(self) -> None:
        """A record is whole."""


@contextlib.contextmanager
def _to_stderr() -> Iterator[None]:
    """Write all that is logged in this process to stderr, and nothing of it as text."""
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
    """Set the level of our own records; without logs people are told in text."""
    before = LOG.level
    LOG.setLevel(level)
    try:
        yield
    finally:
        LOG.setLevel(before)
