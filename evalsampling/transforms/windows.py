"""Windows of a stream: each a pool of its own, and the one after it."""

from typing import Any

import apache_beam as beam
from apache_beam.transforms import window
from apache_beam.transforms.trigger import AccumulationMode, DefaultTrigger
from apache_beam.utils.timestamp import Timestamp

from evalsampling.errors import InputError


def check_accumulates(elements: beam.PCollection[Any], what: str) -> None:
    """Check that windows that fire again fire with all that came before.

    Raises:
        InputError: if they fire with what is new alone.
    """
    windowing = elements.windowing
    waits = windowing.allowed_lateness.micros > 0
    fires_once = isinstance(windowing.triggerfn, DefaultTrigger) and not waits
    if not fires_once and windowing.accumulation_mode != AccumulationMode.ACCUMULATING:
        raise InputError(
            f"{what}: windows that wait for what is late must keep what came before: give "
            "WindowInto accumulation_mode=AccumulationMode.ACCUMULATING"
        )


def check_same_windows(elements: beam.PCollection[Any], what: str, others: Any, whose: str) -> None:
    """Check that elements are in the windows of others, and keep what came before.

    Raises:
        InputError: if not.
    """
    check_accumulates(elements, what)
    if elements.windowing.windowfn != others.windowing.windowfn:
        raise InputError(f"{what} and {whose} are in different windows: give both the same")


def is_fixed(elements: beam.PCollection[Any]) -> bool:
    """Tell whether elements are in windows that follow each other."""
    return isinstance(elements.windowing.windowfn, window.FixedWindows)


class DropNothing(beam.PTransform):
    """Drops None: the sum of nothing, which some runners give of a window without elements."""

    def expand(self, elements: beam.PCollection[Any]) -> beam.PCollection[Any]:
        return elements | "IsThere" >> beam.Filter(_is_there)


def _is_there(element: Any) -> bool:
    return element is not None


def like(others: beam.PCollection[Any]) -> beam.WindowInto:
    """Return the transform into the windows of others, which fire when theirs do."""
    windowing = others.windowing
    return beam.WindowInto(
        windowing.windowfn,
        trigger=windowing.triggerfn,
        accumulation_mode=windowing.accumulation_mode,
        allowed_lateness=windowing.allowed_lateness,
    )


class InNextWindow(beam.PTransform):
    """Puts each element into the window after its own: windows are fixed ones."""

    def expand(self, elements: beam.PCollection[Any]) -> beam.PCollection[Any]:
        return elements | "Restamp" >> beam.Map(_restamped)


def _restamped(element: Any, of: Any = beam.DoFn.WindowParam) -> window.TimestampedValue:
    return window.TimestampedValue(element, of.end)


def start_of(of: Any) -> int | None:
    """Return the start of a window, in seconds since 1970; None of the global one.

    Raises:
        InputError: if it is before 1970, as that of elements without a time is.
    """
    if not isinstance(of, window.IntervalWindow):
        return None
    if of.start < Timestamp(0):
        raise InputError(
            "rows in windows need their time, after 1970, and labels that of their row: give it "
            "by beam.window.TimestampedValue before WindowInto"
        )
    return int(of.start)


def bounds_of(of: Any) -> dict[str, str | None]:
    """Return start and end of a window as text of ISO 8601; None of the global one."""
    ends = (None, None) if start_of(of) is None else (of.start, of.end)
    return {
        name: None if end is None else Timestamp.of(end).to_rfc3339()
        for name, end in zip(("window_start", "window_end"), ends, strict=True)
    }
