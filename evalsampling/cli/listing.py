"""All commands in the order of the help: their names, their help, and their modules.

The module of a command is imported when the command is run, so no command waits for the imports
of others.
"""

import dataclasses
import importlib
from typing import cast

from evalsampling.cli.command import Command


@dataclasses.dataclass(frozen=True)
class Listed:
    """A command by its name: what it does, and the module of this room, by default of its name."""

    name: str
    help: str
    module: str = ""
    attribute: str = "COMMAND"

    def load(self) -> Command:
        """Return the command, after importing its module."""
        module = importlib.import_module(f"evalsampling.cli.{self.module or self.name}")
        return cast(Command, getattr(module, self.attribute))


USUAL = (
    Listed("init", "Write a commented spec for a pool, by a look at its columns."),
    Listed("plan", "Predict errors before any label."),
    Listed("prepare", "Check a spec, or summarise its pool, once."),
    Listed("sample", "Draw the next batch of rows to label; raise the budget."),
    Listed("estimate", "Take labels and estimate."),
    Listed("report", "Write a page to send, with its numbers as JSON and CSV."),
    Listed("status", "Tell where an evaluation stands, and whether its files are whole."),
)
"""What most evaluations need, in the order of the work."""

OTHERS = (
    Listed("push", "Put a batch on a server of Label Studio.", "label_studio", "PUSH"),
    Listed(
        "pull", "Fetch the votes of a batch from a server of Label Studio.", "label_studio", "PULL"
    ),
    Listed("export", "Write all votes to one table."),
    Listed("simulate", "Repeat an evaluation on a pool whose truth is known."),
)

COMMANDS = (*USUAL, *OTHERS)
