"""Objects of the user's own that a spec names as ``module:object``."""

import importlib
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from evalsampling.errors import InputError


def load_object(
    key: str, reference: str, directory: str | None, interface: type | None = None
) -> Any:
    """Return the object that a reference names, importing its module; checked if told what for."""
    module, _, name = reference.partition(":")
    if not module or not name or ":" in name:
        raise InputError(f"{key}: must be module:object, got {reference!r}")
    # A spec in a store has a URL for its directory, and nothing is imported from there.
    if directory and "://" not in directory and directory not in sys.path:
        sys.path.insert(0, directory)
    what = f"{key}: {reference}"
    return imported(what, lambda: getattr(importlib.import_module(module), name), interface)


def imported(what: str, load: Callable[[], Any], interface: type | None = None) -> Any:
    """Return what a function imports; it must be a part of the kind that an interface tells."""
    try:
        part = load()
    except Exception as error:  # Whatever a module of somebody else raises.
        is_missing = isinstance(error, ImportError | AttributeError)
        text = str(error) if is_missing else f"cannot be imported: {type(error).__name__}: {error}"
        raise InputError(f"{what}: {' '.join(text.split())}") from error
    problem = "" if interface is None else _problem(part, interface)
    if problem:
        raise InputError(f"{what} {problem}")
    return part


def _problem(part: Any, interface: type) -> str:
    """Return why an object is no part of a kind, in words; empty if it is one."""
    name = interface.__name__
    if not getattr(interface, "_is_protocol", False):
        if not (isinstance(part, type) and issubclass(part, interface)):
            return f"is no class below {interface.__module__}.{name}"
        unwritten = sorted(getattr(part, "__abstractmethods__", ()))
        return f"does not write {', '.join(unwritten)}" if unwritten else ""
    if isinstance(part, type):
        return f"is a class, where an object is wanted: a {name}"
    members = dict.fromkeys([*inspect.get_annotations(interface), *vars(interface)])
    missing = [
        member for member in members if not member.startswith("_") and not hasattr(part, member)
    ]
    return f"is no {name}: it has no {', '.join(missing)}" if missing else ""


@contextmanager
def blamed() -> Iterator[None]:
    """Run a block; what code outside of this package and of libraries raises is one line of it.

    Raises:
        InputError: where a sampler, a measure, a scorer or another part of the user's own failed,
            or ended the program; names its file and line.
    """
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        place = _of_user(error)
        if place is None:
            raise
        raise InputError(f"{place}: {type(error).__name__}: {error}") from error


def _of_user(error: BaseException) -> str | None:
    """Return the file and line of a user's own that an error is from; None if it is ours."""
    import sysconfig  # Few calls fail.
    import traceback
    from pathlib import Path

    package = Path(__file__).parents[1]
    ours = tuple(str(folder.resolve()) for folder in (package, package / "pipelines"))
    libraries = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = str(Path(frame.filename).resolve())
        if path.startswith(ours):
            return None
        if not path.startswith(libraries) and Path(path).exists():
            return f"{path}, line {frame.lineno}"
    return None
