"""The files of one evaluation."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalsampling.workspace.snapshot import load as load
    from evalsampling.workspace.workspace import Workspace as Workspace

_HOMES = {"Workspace": "workspace", "load": "snapshot"}
"""The module of each name that is offered here."""


def __getattr__(name: str) -> Any:
    """Return a name, imported when it is first asked for: some need no evaluation."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"evalsampling.workspace.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'evalsampling.workspace' has no attribute {name!r}")
