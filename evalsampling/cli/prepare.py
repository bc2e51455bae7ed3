"""`evalsampling prepare`."""

import argparse

from evalsampling.cli.command import Beam, Command
from evalsampling.commands.options import add_to_command, read_options
from evalsampling.commands.prepare import PrepareOptions, PrepareResult
from evalsampling.commands.prepare_plan import InProcessOptions, prepare_in_process
from evalsampling.commands.top_up import TopUpOptions
from evalsampling.errors import UsageError
from evalsampling.evaluation.specs import load_spec


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_to_command(parser, PrepareOptions)
    add_to_command(parser, InProcessOptions)
    add_to_command(parser, TopUpOptions, leave_out=("spec",))


def _run(arguments: argparse.Namespace) -> PrepareResult:
    options, rows = read_options(PrepareOptions, arguments), read_options(TopUpOptions, arguments)
    here = read_options(InProcessOptions, arguments)
    by_beam = options.check_ids or rows.top_up is not None or arguments.beam
    if by_beam and (here.in_process or here.threads is not None):
        given = "--in-process" if here.in_process else "--threads"
        raise UsageError(f"{given} takes no --check-ids, --top-up or options of Beam")
    if not by_beam:
        return prepare_in_process(load_spec(options.spec), here.threads)
    if rows.top_up is not None and options.check_ids:
        raise UsageError("--top-up and --check-ids are two calls, not one")

    from evalsampling.pipelines.prepare import prepare, top_up
    from evalsampling.pipelines.running import parse_options

    spec, beam = load_spec(options.spec), parse_options(arguments.beam)
    if rows.top_up is not None:
        return top_up(spec, rows.top_up or None, beam)
    result = prepare(spec, beam, options.check_ids)
    assert result is not None  # It was waited for.
    return result


def _text(_: argparse.Namespace, result: PrepareResult) -> str:
    return (
        f"{result.rows:,} rows in {result.cells:,} cells of {result.leaves} leaves, "
        f"{result.reserve_rows:,} rows in reserve, {result.seconds:.1f} s on "
        f"{result.runner}\nworkspace: {result.workspace}"
        + ("" if result.scores is None else f"\nscores: {result.scores}")
        + "".join(f"\nwarning: {warning}" for warning in result.warnings)
    )


COMMAND = Command(_add_options, _run, _text, Beam.ALWAYS, reads_pools=True)
