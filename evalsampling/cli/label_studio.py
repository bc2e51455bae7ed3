"""`evalsampling push` and `evalsampling pull`: batches to Label Studio, and votes back."""

import argparse
import functools

from evalsampling.cli.command import Command
from evalsampling.cli.wording import counted
from evalsampling.commands.label_studio import (
    BatchOptions,
    PullOptions,
    PullResult,
    PushResult,
    pull,
    push,
)
from evalsampling.commands.options import add_to_command, read_options


def _push(arguments: argparse.Namespace) -> PushResult:
    return push(read_options(BatchOptions, arguments))


def _pushed(_: argparse.Namespace, result: PushResult) -> str:
    return (
        f"batch {result.round}: {counted(result.tasks, 'task')} in project {result.project} "
        f"({result.title}), {result.new} of them new"
    )


def _pull(arguments: argparse.Namespace) -> PullResult:
    return pull(read_options(PullOptions, arguments))


def _pulled(_: argparse.Namespace, result: PullResult) -> str:
    return f"batch {result.round}: {result.bytes:,} bytes of votes in\n{result.file}"


PUSH = Command(functools.partial(add_to_command, options=BatchOptions), _push, _pushed)
PULL = Command(functools.partial(add_to_command, options=PullOptions), _pull, _pulled)
