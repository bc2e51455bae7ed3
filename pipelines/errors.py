"""The one clear error of a job that failed, whatever engine ran it."""

import contextlib
import re
import sys
import traceback
from collections.abc import Callable, Iterator

from evalsampling.errors import INTERRUPTED, InputError
from evalsampling.telemetry import logs


def _names(kind: type[BaseException]) -> Iterator[str]:
    """Yield what a traceback calls a kind of errors and all that are below it."""
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    yield module + kind.__qualname__
    for below in kind.__subclasses__():
        yield from _names(below)


def user_error(error: Exception) -> InputError | None:
    """Return the error of a worker that a user can mend, found in the text of an engine's own."""
    text = "".join(traceback.format_exception_only(error))
    ours = {*_names(InputError)}
    reported = [kind for kind in logs.reported_errors() if issubclass(kind, Exception)]
    names = ours.union(*map(_names, reported))
    # The last line of a traceback, in the engine's own error.
    last_lines = re.findall(
        rf"^(?:RuntimeError: )?({'|'.join(map(re.escape, names))}): "
        r"(.*?)(?: \[while running .*)?$",
        text,
        re.MULTILINE,
    )
    if not last_lines:
        return None
    kind, message = last_lines[-1]
    return InputError(message if kind in ours else f"{kind}: {message}")


@contextlib.contextmanager
def plain_errors() -> Iterator[None]:
    """Let an engine's error in a block be the `user_error` that it tells of, if it does."""
    try:
        yield
    except Exception as error:
        mendable = user_error(error)
        if mendable is not None:
            raise mendable from error
        raise


def run_as_program(main: Callable[[], int | None]) -> None:
    """Run a job's ``main`` and exit with what it returns, or with 1 after an error of the user.

    Such an error is one line on stderr. So is Ctrl-C, with its own exit code.
    """
    try:
        if code := main():
            sys.exit(code)
    except logs.reported_errors() as error:
        if not logs.as_json():
            print(f"{sys.argv[0]}: {logs.one_line(error)}", file=sys.stderr)
        sys.exit(INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1)
