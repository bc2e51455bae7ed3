"""How long a receiver may take: all that is sent to it together."""

import concurrent.futures
import threading
from collections.abc import Callable
from typing import TypeVar

from evalsampling.errors import InputError

Sent = TypeVar("Sent")

SECONDS = 60
"""That a server has for everything of a run."""


def within(seconds: float, send: Callable[[], Sent]) -> Sent:
    """Return what sending in a thread returns; it is given up after some seconds.

    Clients only limit each wait, so a server that sends a byte now and then is never late.
    """
    sent: concurrent.futures.Future[Sent] = concurrent.futures.Future()

    def run() -> None:
        try:
            sent.set_result(send())
        except Exception as error:
            sent.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    if not concurrent.futures.wait([sent], seconds).done:
        raise InputError(f"the server has not answered everything within {seconds:g} seconds")
    return sent.result()
