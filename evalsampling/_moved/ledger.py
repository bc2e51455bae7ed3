"""Moved: see commands.sample, commands.estimate, commands.status and commands.diagnose."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evalsampling.commands.diagnose import diagnose
from evalsampling.commands.estimate import EstimateOptions, estimate
from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.sample import SampleOptions, sample
from evalsampling.commands.status import status
from evalsampling.workspace.manifest import HERE, ExecutionContext
from evalsampling.workspace.workspace import Workspace


@dataclasses.dataclass(frozen=True)
class Options:
    """What a call of `Ledger.estimate` asks for beside the labels, see `EstimateOptions`."""

    measures: tuple[str, ...] = ()
    close: bool = False
    strict: bool = False


class Ledger:
    """The commands on a workspace as methods, which return the objects that `--json` prints."""

    def __init__(self, workspace: Workspace, run: ExecutionContext = HERE) -> None:
        """Name a workspace and what the work runs on; files are read as they are needed."""
        self.workspace = workspace
        self.run = run

    def sample(
        self, size: int | None = None, next_round: bool = False, request: str | None = None
    ) -> dict[str, Any]:
        """Return what `commands.sample.sample` returns."""
        options = SampleOptions(self.workspace.path, size, next_round)
        content: dict[str, Any] = sample(options, self.run, request).to_json()
        return content

    def estimate(
        self,
        labels: Sequence[str | Path] = (),
        replace: Sequence[str | Path] = (),
        options: Options = Options(),
    ) -> tuple[dict[str, Any], list[str]]:
        """Return what `commands.estimate.estimate` returns, and its messages."""
        chosen = EstimateOptions(
            self.workspace.path,
            labels=tuple(map(str, labels)),
            replace=tuple(map(str, replace)),
            measure=options.measures,
            close=options.close,
            strict=options.strict,
        )
        result = estimate(chosen, self.run)
        return result.to_json(), list(result.messages)

    def status(self) -> dict[str, Any]:
        """Return what `commands.status.status` returns."""
        content: dict[str, Any] = status(WorkspaceOptions(self.workspace.path)).to_json()
        return content

    def diagnose(self) -> dict[str, Any]:
        """Return what `commands.diagnose.diagnose` returns."""
        content: dict[str, Any] = diagnose(WorkspaceOptions(self.workspace.path)).to_json()
        return content
