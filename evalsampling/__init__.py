"""Label-efficient evaluation of classifiers and linkers on very large pools.

Public names:
    Evaluation: draws rows to label, takes the labels, estimates. Begin with
        ``Evaluation.from_frame``, or ``Evaluation.open`` of a workspace.
    Estimates, Estimate: what ``Evaluation.estimate`` returns.
    measures: precision, recall, F and many more, to be estimated.
    EvaluationSpec: what a spec file says.
    InputError: the one error to be read by users; its message is one line.

Nothing here imports Apache Beam; the transforms are in `evalsampling.transforms`. The modules
below hold the parts; names that are not listed above may move.
"""

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evalsampling import measures as measures
    from evalsampling.errors import InputError as InputError
    from evalsampling.evaluation.estimates import Estimates as Estimates
    from evalsampling.inference.results import Estimate as Estimate
    from evalsampling.notebook import Evaluation as Evaluation
    from evalsampling.spec import EvaluationSpec as EvaluationSpec
    from evalsampling.version import __version__ as __version__

__path__.append(str(Path(__file__).with_name("_moved")))  # Modules under the names they had.

_HOMES = {
    "Estimate": "inference.results",
    "Estimates": "evaluation.estimates",
    "Evaluation": "notebook",
    "EvaluationSpec": "spec",
    "InputError": "errors",
    "__version__": "version",
}
"""The module of each public name; it is imported when the name is first asked for."""

__all__ = [
    "Estimate",
    "Estimates",
    "Evaluation",
    "EvaluationSpec",
    "InputError",
    "__version__",
    "measures",
]


def __getattr__(name: str) -> Any:
    """Return a public name, importing what it needs."""
    if name == "measures":
        return importlib.import_module("evalsampling.measures")
    if name in _HOMES:
        return getattr(importlib.import_module(f"evalsampling.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'evalsampling' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__
