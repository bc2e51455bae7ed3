"""The one clear error of a job that failed, whatever engine ran it."""

import re
import sys
import traceback
from collections.abc import Callable

from evalsampling.errors import INTERRUPTED, InputError
from evalsampling.telemetry import logs

_OS_ERRORS = [
    "OSError", "FileNotFoundError", "NotADirectoryError", "PermissionError", "FileExistsError",
]  # fmt: skip
_USER_ERRORS = (InputError.__module__ + "." + InputError.__name__, *_OS_ERRORS)
_USER_ERROR = re.compile(
    rf"^(?:RuntimeError: )?({'|'.join(map(re.escape, _USER_ERRORS))}): "
    r"(.*?)(?: \[while running .*)?$",
    re.MULTILINE,
)
"""An error that a user can mend, as the last line of a traceback in an engine's own error."""


def user_error(error: Exception) -> InputError | None:
    """Return the error of a worker that a user can mend, found in the text of an engine's own."""
    text = "".join(traceback.format_exception_only(error))
    found = _USER_ERROR.findall(text)
    if not found:
        return None
    kind, message = found[-1]
    return InputError(message if kind.endswith(InputError.__name__) else f"{kind}: {message}")


def run_as_program(main: Callable[[], None]) -> None:
    """Run a job's ``main``; what a user can mend is one line on stderr and exit code 1.

    So is Ctrl-C, with its own exit code.
    """
    try:
        main()
    except logs.TOLD as error:
        if not logs.as_json():
            print(f"{sys.argv[0]}: {logs.one_line(error)}", file=sys.stderr)
        sys.exit(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1)
