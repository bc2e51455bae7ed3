"""Objects of the user's own that a spec names as ``module:object``."""

import importlib
import sys
from collections.abc import Callable
from typing import Any

from evalsampling.errors import InputError


def load_object(key: str, reference: str, directory: str | None) -> Any:
    """Return the object that a reference names, importing its module."""
    module, _, name = reference.partition(":")
    if not module or not name or ":" in name:
        raise InputError(f"{key}: must be module:object, got {reference!r}")
    # A spec in a store has a URL for its directory, and nothing is imported from there.
    if directory and "://" not in directory and directory not in sys.path:
        sys.path.insert(0, directory)
    return imported(f"{key}: {reference}", lambda: getattr(importlib.import_module(module), name))


def imported(what: str, load: Callable[[], Any]) -> Any:
    """Return what a function imports."""
    try:
        return load()
    except Exception as error:  # Whatever a module of somebody else raises.
        is_missing = isinstance(error, ImportError | AttributeError)
        text = str(error) if is_missing else f"cannot be imported: {type(error).__name__}: {error}"
        raise InputError(f"{what}: {' '.join(text.split())}") from error
