"""Options and running of Beam pipelines."""

import argparse
import contextlib
import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence

import apache_beam as beam
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.options.pipeline_options import (
    GoogleCloudOptions,
    PipelineOptions,
    PortableOptions,
    StandardOptions,
)
from apache_beam.runners import create_runner
from apache_beam.runners.runner import PipelineResult

from evalsampling.commands.options import Options, add_to_job, read_options
from evalsampling.commands.result import Result
from evalsampling.errors import UsageError
from evalsampling.pipelines.errors import plain_errors
from evalsampling.pipelines.errors import run_as_program as run_as_program
from evalsampling.storage import replace_json
from evalsampling.storage.outputs import Output
from evalsampling.telemetry import logs
from evalsampling.telemetry.redaction import without_credentials
from evalsampling.transforms.job_options import JobOptions
from evalsampling.workspace.manifest import ExecutionContext

IN_PROCESS = "FnApiRunner"
"""Python's own runner, by name: 'DirectRunner' may silently become another engine."""

_RUNNERS_IN_PROCESS = (IN_PROCESS, "DirectRunner", "BundleBasedDirectRunner")

_EXIT_CODE = Metrics.distribution("evalsampling", "exit_code")
"""The metric by which a worker tells the exit code of its command."""

_ERRORS = logging.getLogger("apache_beam.runners.common")
"""Where a worker logs why it failed, and nothing else: the runner raises the first of these."""


@contextlib.contextmanager
def job(
    name: str,
    description: str,
    options: type[Options],
    argv: Sequence[str] | None,
    with_output: bool = False,
) -> Iterator[tuple[Options, argparse.Namespace, PipelineOptions]]:
    """Parse the options of a job, and log what is done with them in a block.

    Yields:
        The command's options; ``wait``, whether to wait for the job, and ``output``, the file; and
        Beam's options.
    """
    parser = argparse.ArgumentParser(description=description, allow_abbrev=False)
    add_to_job(parser, options)
    if with_output:
        parser.add_argument("--output", help="file for the result, as JSON")
    parser.add_argument("--no-wait", action="store_true", help="start the job and return")
    arguments, rest = parser.parse_known_args(argv)
    given = read_options(options, arguments)
    with logs.job(name, workspace=getattr(given, "workspace", None)):
        beam_options = parse_options(rest)
        arguments.wait = not (arguments.no_wait or is_template(beam_options))
        yield given, arguments, beam_options


def run_in_one_worker(
    name: str,
    description: str,
    options: type[Options],
    work: Callable[[Options, ExecutionContext], Result],
    argv: Sequence[str] | None,
) -> int:
    """Run the job that calls a command in one worker; return its exit code, 0 if it goes on."""
    with job(name, description, options, argv, with_output=True) as (given, settings, beam_options):
        pipeline = beam.Pipeline(options=beam_options)
        _ = (
            pipeline
            | "Options" >> beam.Create([given])
            | name.capitalize()
            >> beam.Map(_result_of, work, recorded(beam_options), settings.output)
        )
        job_result = run(pipeline, settings.wait)
        return _exit_code(job_result) if settings.wait else 0


def _exit_code(job_result: PipelineResult) -> int:
    """Return the exit code that the worker counted; it may have tried more than once."""
    found = job_result.metrics().query(MetricsFilter().with_metric(_EXIT_CODE))
    return max((each.result.max for each in found["distributions"]), default=0)


def _result_of(
    options: Options,
    work: Callable[[Options, ExecutionContext], Result],
    context: ExecutionContext,
    output: str | None,
) -> str:
    """Return the JSON of a command's result, and write it to a file with the command's messages."""
    if output is not None:
        Output(output, b'{"result": ').check(getattr(options, "overwrite", False))
    result = work(options, context)
    _EXIT_CODE.update(result.exit_code)
    content = result.to_json()
    if output is not None:
        messages = getattr(result, "messages", None)
        beside = {} if messages is None else {"messages": messages}
        replace_json(output, {"result": content, **beside})
    return json.dumps(content)


def is_template(options: PipelineOptions) -> bool:
    """Tell whether the job is only written down here, and started by others."""
    return options.view_as(GoogleCloudOptions).template_location is not None


def parse_options(argv: Sequence[str]) -> PipelineOptions:
    """Return Beam's options; without a runner, the in-process one on two threads.

    Raises:
        UsageError: for an option that Beam does not know, or a mode in which it loses data.
    """
    options_of_beam = set(PipelineOptions([]).get_all_options())
    given = JobOptions([*argv]).get_all_options(retain_unknown_options=True)
    unknown = sorted(set(given) - options_of_beam)
    if unknown:
        raise UsageError(f"unknown option --{unknown[0]}")
    _check_keeps_data(given["runner"] or IN_PROCESS, given["direct_running_mode"])
    if given["runner"] is not None:
        try:
            create_runner(given["runner"])
        except (ValueError, AttributeError, ImportError) as error:
            raise UsageError(f"--runner={given['runner']}: {error}") from error
        return JobOptions([*argv])
    defaults = [f"--runner={IN_PROCESS}", "--direct_num_workers=2"]
    return JobOptions([*defaults, "--direct_running_mode=in_memory", *argv])


def _check_keeps_data(runner: str, mode: str) -> None:
    """Check that Beam's runner in this process does not lose data by its mode.

    With workers behind gRPC it sends them what a stage has made, and a timer of its own empties the
    buffer that it is writing to. Of more than 100 MB between two stages elements go missing without
    a word (Beam 2.77; docs/runners.md).

    Raises:
        UsageError: if it can.
    """
    if runner in _RUNNERS_IN_PROCESS and mode != "in_memory":
        raise UsageError(
            f"--direct_running_mode={mode}: Beam's own runner can lose data in this mode; "
            "leave it out, or take another runner"
        )


def runner_name(options: PipelineOptions) -> str:
    """Return the name of the runner, for the record."""
    return str(options.view_as(StandardOptions).runner)


def recorded(options: PipelineOptions) -> ExecutionContext:
    """Return what is kept of the options a job runs with, and log the runner."""
    given = options.get_all_options(drop_default=True)
    given.pop("runner", None)
    context = ExecutionContext(runner_name(options), without_credentials(given))
    logs.tell(runner=context.runner)
    return context


def run(pipeline: beam.Pipeline, wait: bool = True) -> PipelineResult:
    """Run a pipeline.

    Args:
        pipeline: to run.
        wait: whether to wait until it is done; a template must not.

    Raises:
        InputError: if a worker raised one, with its message alone.
    """
    with plain_errors(), _quiet(workers_here(pipeline.options)):
        result = pipeline.run()
        if wait:
            result.wait_until_finish()
    return result


def workers_here(options: PipelineOptions) -> bool:
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
    interrupted = False
    try:
        yield
    except BaseException as error:
        # Other workers go on, in a folder or a workspace that is cleared away meanwhile, and fail.
        if workers_here:
            _ERRORS.setLevel(logging.CRITICAL)
        interrupted = workers_here and isinstance(error, KeyboardInterrupt)
        raise
    finally:
        if not interrupted:
            log.setLevel(level)
        threading.excepthook = report
