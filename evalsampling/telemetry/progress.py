"""Progress of long work, printed while it runs."""

import contextlib
import threading
import time
from collections.abc import Iterator

from evalsampling.telemetry import logs

_SECONDS_BETWEEN = 1.0


class Progress:
    """A count of units done and expected, to which threads of this process may add."""

    def __init__(self, label: str, unit: str, total: int = 0) -> None:
        """Start at zero of ``total`` units, 0 if that is not known yet."""
        self._label, self._unit, self._total = label, unit, total
        self._done, self._times = 0, 1
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def advance(self, units: int) -> None:
        """Add units that were done."""
        with self._lock:
            self._done += units

    def expect(self, units: int, times: int = 1) -> None:
        """Add units to be done, in each of `times` passes, one after the other."""
        with self._lock:
            self._total += units * times
            self._times = times

    def line(self) -> str:
        """Return one line: share and units done, units a second, time left."""
        if not self._total:
            return f"{self._label}: looking at what there is to do"
        seconds = max(time.monotonic() - self._started, 1e-9)
        rate = self._done / seconds
        share = self._done / self._total
        left = f", {(self._total - self._done) / rate:.0f} s left" if rate else ""
        units = max(self._total // self._times, 1)
        finished = min(self._done // units, self._times - 1)
        current = f"pass {finished + 1} of {self._times}, " if self._times > 1 else ""
        done = f"{self._done - finished * units:,} of {units:,} {self._unit}"
        return f"{self._label}: {share:4.0%}  {current}{done}, {rate:,.0f}/s{left}"


_current: Progress | None = None


def advance(units: int) -> None:
    """Add units done to the progress that is being printed, if any is."""
    if _current is not None:
        _current.advance(units)


def expect(units: int, times: int = 1) -> None:
    """Add units to do, in each of `times` passes, to the progress that is printed, if any is."""
    if _current is not None:
        _current.expect(units, times)


@contextlib.contextmanager
def watch(label: str, unit: str, total: int = 0) -> Iterator[None]:
    """Print progress while the block runs: every second on a terminal, else every ten seconds."""
    global _current
    progress = Progress(label, unit, total)
    finished = threading.Event()
    stream = logs.stream()
    terminal = stream.isatty()

    def report() -> None:
        while not finished.wait(_SECONDS_BETWEEN if terminal else 10 * _SECONDS_BETWEEN):
            stream.write(f"\r{progress.line()}\033[K" if terminal else f"{progress.line()}\n")
            stream.flush()

    thread = threading.Thread(target=report, daemon=True)
    _current = progress
    thread.start()
    try:
        yield
    finally:
        _current = None
        finished.set()
        thread.join()
        if terminal:
            stream.write("\r\033[K")
            stream.flush()
