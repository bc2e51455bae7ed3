"""One evaluation: cell table, sampler and history."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalsampling.evaluation.evaluation import Evaluation as Evaluation
    from evalsampling.evaluation.specs import load_spec as load_spec

_HOMES = {"Evaluation": "evaluation", "load_spec": "specs"}
"""The module of each name that is offered here."""


def __getattr__(name: str) -> Any:
    """Return a name, imported when it is first asked for: some need no sampler."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"evalsampling.evaluation.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'evalsampling.evaluation' has no attribute {name!r}")
