"""A lock for threads that share an evaluation, so that they change it in turn."""

import threading


class Turns:
    """Holds the lock of an evaluation, to be acquired while it changes; the lock is reentrant.

    A copy, pickled or not, has another lock: what is copied with it is another evaluation.
    """

    def __init__(self) -> None:
        """Make a lock that no thread holds."""
        self.lock = threading.RLock()

    def __reduce__(self) -> tuple[type["Turns"], tuple[()]]:
        """Return how a copy is made: with a new lock."""
        return Turns, ()
