"""`evalsampling prepare`."""

import argparse
from collections.abc import Iterable, Sequence

from evalsampling.cli.command import Beam, Command, told
from evalsampling.cli.wording import counted
from evalsampling.commands.check import CheckResult, check
from evalsampling.commands.options import SpecOptions
from evalsampling.commands.prepare import PrepareCommandOptions, PrepareResult
from evalsampling.commands.prepare_plan import prepare_in_process
from evalsampling.errors import UsageError
from evalsampling.evaluation.specs import load_spec


def _run(options: PrepareCommandOptions, beam: Sequence[str]) -> PrepareResult | CheckResult:
    if options.check:
        if options != PrepareCommandOptions(options.spec, check=True) or beam:
            raise UsageError("--check goes with no other option")
        return check(SpecOptions(options.spec))
    by_beam = options.check_ids or options.top_up is not None or beam
    if by_beam and (options.in_process or options.threads is not None):
        given = "--in-process" if options.in_process else "--threads"
        raise UsageError(f"{given} takes no {' '.join(beam) or '--check-ids or --top-up'}")
    if not by_beam:
        return prepare_in_process(load_spec(options.spec), options.threads)
    if options.top_up is not None and options.check_ids:
        raise UsageError("--top-up and --check-ids are two calls, not one")

    from evalsampling.pipelines.prepare import prepare, top_up
    from evalsampling.pipelines.running import parse_options

    spec, settings = load_spec(options.spec), parse_options(beam)
    if options.top_up is not None:
        return top_up(spec, options.top_up or None, settings)
    result = prepare(spec, settings, options.check_ids)
    assert result is not None  # It was waited for.
    return result


def _text(arguments: argparse.Namespace, result: PrepareResult | CheckResult) -> str:
    if isinstance(result, CheckResult):
        return _checked(arguments.spec, result)
    return (
        f"{counted(result.rows, 'row')} in {counted(result.cells, 'cell')} of "
        f"{result.leaves} {'leaf' if result.leaves == 1 else 'leaves'}, "
        f"{counted(result.reserve_rows, 'row')} in reserve, {result.seconds:.1f} s on "
        f"{result.runner}\nworkspace: {result.workspace}"
        + ("" if result.scores is None else f"\nscores: {result.scores}")
        + ("" if result.answers is None else f"\nanswers: {result.answers:,} for the whole budget")
        + "".join(f"\nwarning: {warning}" for warning in result.warnings)
    )


def _checked(spec: str, result: CheckResult) -> str:
    if result.problems:
        problems = counted(len(result.problems), "problem")
        return "\n".join([*result.problems, f"{spec}: {problems}"])
    files = counted(result.files or 0, "file")
    rows = "rows that are of the pool" if result.rows is None else counted(result.rows, "row")
    looked_at = f"the first {result.looked_at:,} were" if result.looked_at != 1 else "the first was"
    text = f"{spec}: nothing wrong found; {rows} in {files}, of which {looked_at} looked at"
    return text if result.scores is None else f"{text}\nscores of these: {result.scores}"


def _remarks(result: PrepareResult | CheckResult) -> Iterable[str]:
    return told(result) if isinstance(result, CheckResult) else ()


COMMAND = Command.of(
    PrepareCommandOptions,
    _run,
    _text,
    beam=Beam.ALWAYS,
    remarks=_remarks,
    reads_pools=lambda _: True,
)
