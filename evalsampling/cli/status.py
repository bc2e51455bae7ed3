"""`evalsampling status`."""

import argparse
import dataclasses
from collections.abc import Mapping
from typing import Any

from evalsampling.cli.command import Command
from evalsampling.cli.wording import counted, cut
from evalsampling.commands.options import WorkspaceOptions, flag
from evalsampling.commands.status import StatusResult, status
from evalsampling.commands.verify import VerifyResult, verify


@dataclasses.dataclass(frozen=True)
class _Options(WorkspaceOptions):
    verify: bool = flag("tell whether all its files are there and as they were written")


def _run(options: _Options) -> StatusResult | VerifyResult:
    return verify(options) if options.verify else status(options)


def _text(_: argparse.Namespace, result: StatusResult | VerifyResult) -> str:
    if isinstance(result, VerifyResult):
        return _verified(result)
    prepared, rounds = result.prepared, counted(result.rounds, "round")
    # Which table was read at which version, and which of its rows.
    selection = "".join(
        f"\n{key}: {_shown(value)}" for key, value in (prepared.selection or {}).items()
    )
    if result.withdrawn:
        rounds += f", {len(result.withdrawn)} withdrawn"
    return (
        f"{counted(prepared.rows, 'row')} prepared in {prepared.seconds:.1f} s on "
        f"{prepared.runner}{selection}\n{rounds}, {_labels(result)}, "
        f"{result.awaited.words}, {result.rejects} rejected"
    )


def _verified(result: VerifyResult) -> str:
    unprotected = f", {result.unprotected} of them without a checksum" * bool(result.unprotected)
    count = "all are as they were written" if result.ok else f"{len(result.bad)} missing or damaged"
    lines = [*result.bad, f"{result.files} files{unprotected}: {count}"]
    if result.absent:
        lines.append(f"{len(result.absent)} files of the pool not compared; {result.absent[0]}")
    if result.unfinished:
        commands = "1 command is" if result.unfinished == 1 else f"{result.unfinished} commands are"
        lines.append(
            f"{commands} at work or killed: files that do not count are left, and may hold payload"
        )
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_shown(held)}" for key, held in value.items())
    return value if isinstance(value, str) else cut(str(value), 200)


def _labels(result: StatusResult) -> str:
    """Return the part of the budget that is spent, in words."""
    of = f"{result.labels} of " * (result.budget is not None)
    labels = of + counted(result.budget or result.labels, "label")
    if result.cost is None:
        return labels
    limit = "" if result.money is None else f" of {result.money:,.2f}"
    return f"{labels} for {result.cost:,.2f}{limit}"


COMMAND = Command.of(_Options, _run, _text)
