"""Runs the command line: ``python -m evalsampling``, or the program `evalsampling`."""

import atexit
import gc
import sys
from typing import NoReturn

from evalsampling.errors import INTERRUPTED


def run() -> NoReturn:
    """Run a command and exit; Ctrl-C while modules are imported is one line too.

    What modules make is no garbage: nobody looks for any while they load, nor through all of it
    at the end.
    """
    gc.disable()
    atexit.register(gc.freeze)
    try:
        from evalsampling.cli.main import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("evalsampling: interrupted\n")
        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    run()
