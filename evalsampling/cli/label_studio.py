"""`evalsampling push` and `evalsampling pull`: batches to Label Studio, and votes back."""

import argparse

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


def _pushed(_: argparse.Namespace, result: PushResult) -> str:
    return (
        f"batch {result.round}: {counted(result.tasks, 'task')} in project {result.project} "
        f"({result.title}), {result.new} of them new"
    )


def _pulled(_: argparse.Namespace, result: PullResult) -> str:
    return f"batch {result.round}: {result.bytes:,} bytes of votes in\n{result.file}"


PUSH = Command.of(BatchOptions, push, _pushed)
PULL = Command.of(PullOptions, pull, _pulled)
