"""The one error users are meant to read, and how a command that was interrupted ends."""

import contextlib
from collections.abc import Iterator

INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 and the number of the signal, as shells have it."""


class InputError(ValueError):
    """Bad input, described in one line: what is wrong, and where (file, column, row).

    Everything a user can mend raises this class: a wrong spec, pool, label file or
    workspace. The command line prints its message and exits with 1; anything else that
    is raised is a defect of this package.
    """


class UsageError(InputError):
    """A command was given options it does not know; the command line exits with 2."""


def exit_code(error: BaseException) -> int:
    """Return the exit code of a command that ended with an error it reported."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    return 2 if isinstance(error, UsageError) else 1


@contextlib.contextmanager
def from_extra(extra: str, package: str, what: str) -> Iterator[None]:
    """Import optional packages in a block; a failure is an `InputError` that says how to install.

    ``extra`` is the extra of this package, ``what`` the option or key that needs the ``package``.
    """
    try:
        yield
    except ImportError as error:
        raise InputError(
            f"{what} needs {package}: pip install 'evalsampling[{extra}]' ({error})"
        ) from error
