"""Turns: threads that share an evaluation change it one after the other."""

import threading


class Turns:
    """Has a lock that is held while an evaluation changes; the thread that holds it may go on.

    A copy, pickled or not, has another lock: what is copied with it is another evaluation.

    Attributes:
        lock: to be held.
    """

    def __init__(self) -> None:
        """Begin with nobody's turn."""
        self.lock = threading.RLock()

    def __reduce__(self) -> tuple[type["Turns"], tuple[()]]:
        """Return how a copy is made."""
        return Turns, ()
