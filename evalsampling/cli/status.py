"""`evalsampling status`."""

import argparse
from collections.abc import Mapping, Sequence

from evalsampling.cli.command import Command
from evalsampling.cli.wording import counted
from evalsampling.commands.options import WorkspaceOptions, add_to_command, read_options
from evalsampling.commands.status import StatusResult, status
from evalsampling.workspace.manifest import JobRecord


def _add_options(parser: argparse.ArgumentParser) -> None:
    add_to_command(parser, WorkspaceOptions)
    parser.add_argument(
        "--jobs",
        action="store_true",
        help="also tell its jobs, with rows, time and memory of their steps (`--json` tells more)",
    )


def _run(arguments: argparse.Namespace) -> StatusResult:
    return status(read_options(WorkspaceOptions, arguments))


def _text(arguments: argparse.Namespace, result: StatusResult) -> str:
    prepared = result.prepared
    summary = (
        f"{counted(prepared.rows, 'row')} prepared in {prepared.seconds:.1f} s on "
        f"{prepared.runner}\n"
        f"{counted(result.rounds, 'round')}, {_labels(result)}, "
        f"{result.open} open, {result.rejects} rejected"
    )
    return "\n\n".join([summary, *_tables(result.jobs)]) if arguments.jobs else summary


def _labels(result: StatusResult) -> str:
    """Return how much of the budget is spent, in words."""
    labels = f"{result.labels} of {counted(result.budget, 'label')}"
    if result.cost is None:
        return labels
    if result.money is None:
        return f"{labels} for {result.cost:,.2f}"
    return f"{counted(result.labels, 'label')} for {result.cost:,.2f} of {result.money:,.2f}"


def _tables(jobs: Sequence[JobRecord]) -> list[str]:
    """Return a table of all jobs, and one of the steps of each job that has any."""
    lines = [f"{'job':<19}{'started':<21}{'seconds':>9}  {'runner':<14}counts"]
    for job in jobs:
        counts = ", ".join(f"{key} {count:,}" for key, count in job.counts.items())
        started, runner = job.started[:19].replace("T", " "), job.runner or "-"
        lines.append(f"{job.name[:17]:<19}{started:<21}{job.seconds:>9,.1f}  {runner:<14}{counts}")
    return ["\n".join(lines), *(_steps_table(job.name, job.steps) for job in jobs if job.steps)]


def _steps_table(name: str, steps: Mapping[str, Mapping[str, float]]) -> str:
    lines = [f"{name:<36}{'rows':>16}{'seconds':>11}{'rows/s':>14}{'peak MiB':>10}"]
    for step, cost in steps.items():
        rate = f"{cost['rows'] / cost['seconds']:,.0f}" if cost["seconds"] >= 0.1 else ""
        lines.append(
            f"{step:<36}{cost['rows']:>16,}{cost['seconds']:>11,.1f}{rate:>14}"
            f"{cost['peak_mebibytes']:>10,}"
        )
    return "\n".join(lines)


COMMAND = Command("status", "Tell where an evaluation stands.", _add_options, _run, _text)
