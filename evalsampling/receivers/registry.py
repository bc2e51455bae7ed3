"""Receivers of results by name, and handing a run to several of them."""

import concurrent.futures
import contextlib
import dataclasses
import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from evalsampling.errors import InputError, UsageError
from evalsampling.storage.outputs import Output
from evalsampling.telemetry import logs
from evalsampling.telemetry.redaction import without_passwords

if TYPE_CHECKING:
    from evalsampling.receivers.run import Run

Sent = TypeVar("Sent")


class Receiver(Protocol):
    """A place that results are sent to: a module of this room.

    One that may write a file has ``output`` too, which returns it, or None.
    """

    def check(self, where: str | None) -> None:
        """Check, before any work is done, that results can be sent there."""

    def send(self, run: "Run", where: str | None) -> str:
        """Send a run, and return where it is now, in words; the same run again adds nothing."""


RECEIVERS = ("table", "dagster", "mlflow")
"""Receivers by name, which is that of their module: imported when they are asked for."""


@dataclasses.dataclass(frozen=True)
class Receipt:
    """What became of a run that was sent to a receiver: where it is, in words, or the problem."""

    to: str
    where: str | None = None
    problem: str | None = None

    @property
    def words(self) -> str:
        """The same in a line."""
        if self.problem is None:
            return f"reported to {self.where}"
        return f"not reported to {self.to}: {self.problem}"

    def tell(self) -> None:
        """Say it on stderr; a failure also if quiet, and in the log."""
        (logs.say if self.problem is None else logs.fail)(self.words)


@dataclasses.dataclass(frozen=True)
class Address:
    """A receiver with its place, which stands behind its name and a colon: ``table:estimates/``."""

    text: str
    receiver: Receiver
    where: str | None

    @classmethod
    def read(cls, text: str) -> "Address":
        """Return the address of a text, checked."""
        name, mark, where = text.partition(":")
        if name not in RECEIVERS:
            raise UsageError(f"--report-to: no receiver {name!r}; there are {', '.join(RECEIVERS)}")
        module = importlib.import_module(f"evalsampling.receivers.{name}")
        address = cls(text, cast(Receiver, module), where if mark else None)
        address.receiver.check(address.where)
        return address

    @property
    def output(self) -> Output | None:
        """The file that the receiver writes, None if it writes none."""
        output = getattr(self.receiver, "output", None)
        return None if output is None else cast(Output | None, output(self.where))

    def send(self, run: "Run") -> Receipt:
        """Send a run; what the receiver raises is the problem, what it prints goes to stderr."""
        to = without_passwords(self.text)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return Receipt(to, self.receiver.send(run, self.where))
        except Exception as error:  # Of packages and servers: estimates stay what they are.
            kind = "" if isinstance(error, InputError) else f"{type(error).__name__}: "
            return Receipt(to, problem=f"{kind}{logs.one_line(error)}")


def read_addresses(texts: Sequence[str]) -> list[Address]:
    """Return the addresses of texts, each once, checked: see `Address.read`."""
    return [Address.read(text) for text in dict.fromkeys(texts)]


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
