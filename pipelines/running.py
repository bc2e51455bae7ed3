"""Options, running, and the one clear error of a pipeline that failed."""

import contextlib
import logging
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence

import apache_beam as beam
from apache_beam.options.pipeline_options import (
    PipelineOptions,
    PortableOptions,
    StandardOptions,
)
from apache_beam.runners import create_runner
from apache_beam.runners.runner import PipelineResult

from evalsampling.errors import InputError, UsageError

IN_PROCESS = "FnApiRunner"
"""Python's own runner, by name: 'DirectRunner' may silently become another engine."""

_RUNNERS_IN_PROCESS = (IN_PROCESS, "DirectRunner", "BundleBasedDirectRunner")

_OS_ERRORS = [
    "OSError", "FileNotFoundError", "NotADirectoryError", "PermissionError", "FileExistsError",
]  # fmt: skip
_USER_ERRORS = (InputError.__module__ + "." + InputError.__name__, *_OS_ERRORS)
_USER_ERROR = re.compile(
    rf"^({'|'.join(map(re.escape, _USER_ERRORS))}): (.*?)(?: \[while running .*)?$", re.MULTILINE
)
"""An error that a user can mend, as the last line of a traceback in a runner's own error."""


def parse_options(argv: Sequence[str]) -> PipelineOptions:
    """Return Beam's options; without a runner, the in-process one on two threads.

    Raises:
        UsageError: for an option that Beam does not know.
    """
    known = set(PipelineOptions([]).get_all_options())
    given = PipelineOptions([*argv]).get_all_options(retain_unknown_options=True)
    unknown = sorted(set(given) - known)
    if unknown:
        raise UsageError(f"unknown option --{unknown[0]}")
    if given["runner"] is not None:
        try:
            create_runner(given["runner"])
        except (ValueError, AttributeError, ImportError) as error:
            raise UsageError(f"--runner={given['runner']}: {error}") from error
        return PipelineOptions([*argv])
    defaults = [f"--runner={IN_PROCESS}", "--direct_num_workers=2"]
    return PipelineOptions([*defaults, "--direct_running_mode=in_memory", *argv])


def runner_name(options: PipelineOptions) -> str:
    """Return the name of the runner, for the record."""
    return str(options.view_as(StandardOptions).runner)


def run(pipeline: beam.Pipeline, wait: bool = True) -> PipelineResult:
    """Run a pipeline.

    Args:
        pipeline: to run.
        wait: whether to wait until it is done; a template must not.

    Raises:
        InputError: if a worker raised one, with its message alone.
    """
    try:
        with _quiet(_workers_here(pipeline.options)):
            result = pipeline.run()
            if wait:
                result.wait_until_finish()
    except Exception as error:
        text = "".join(traceback.format_exception_only(error))
        found = _USER_ERROR.findall(text)
        if found:
            kind, message = found[-1]
            told = message if kind.endswith(InputError.__name__) else f"{kind}: {message}"
            raise InputError(told) from error
        raise
    return result


def run_as_program(main: Callable[[], None]) -> None:
    """Run a pipeline's ``main``; what a user can mend is one line on stderr and exit code 1."""
    try:
        main()
    except InputError as error:
        sys.exit(f"{sys.argv[0]}: {error}")


def _workers_here(options: PipelineOptions) -> bool:
    """Tell whether workers are threads of this process."""
    environment = options.view_as(PortableOptions).environment_type
    return environment == "LOOPBACK" or runner_name(options) in _RUNNERS_IN_PROCESS


@contextlib.contextmanager
def _quiet(workers_here: bool) -> Iterator[None]:
    """Keep workers in this process from telling what the runner's exception tells too.

    Threads of workers that a portable runner has done with end with an exception of gRPC's.
    """
    log, report = logging.getLogger("apache_beam"), threading.excepthook
    level = log.level

    def report_others(error: threading.ExceptHookArgs) -> None:
        if not error.exc_type.__module__.startswith("grpc."):
            report(error)

    if workers_here:
        log.setLevel(logging.CRITICAL)
        threading.excepthook = report_others
    try:
        yield
    finally:
        log.setLevel(level)
        threading.excepthook = report
