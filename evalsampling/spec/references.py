"""Objects of the user's own that a spec names as ``module:object``."""

import importlib
import sys
from typing import Any

from evalsampling.errors import InputError
from evalsampling.storage import is_url


def load_object(key: str, reference: str, directory: str | None) -> Any:
    """Return the object that a reference names, importing its module.

    Args:
        key: of the spec, for messages.
        reference: ``module:object``.
        directory: looked in first for the module, so that it may stand beside the spec.

    Raises:
        InputError: if there is no such module or object, or the module fails when it is imported.
    """
    module, _, name = reference.partition(":")
    if not module or not name or ":" in name:
        raise InputError(f"{key}: must be module:object, got {reference!r}")
    if directory and not is_url(directory) and directory not in sys.path:
        sys.path.insert(0, directory)
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{key}: {reference}: {error}") from error
    except Exception as error:  # Whatever the user's module raises.
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{key}: {reference}: cannot be imported: {told}") from error
