"""The one window of all time: labels and pools are gathered in it, by jobs that end and others."""

from typing import Any

import apache_beam as beam
from apache_beam.transforms.trigger import AccumulationMode, DefaultTrigger
from apache_beam.transforms.window import GlobalWindows

from evalsampling.errors import InputError


def check_together(elements: beam.PCollection[Any], what: str) -> None:
    """Check that elements come together, each time with all that came before.

    Raises:
        InputError: if they are in windows, or if a trigger gives what is new alone.
    """
    windowing = elements.windowing
    if not isinstance(windowing.windowfn, GlobalWindows):
        raise InputError(f"{what} are in windows, and count together: put them into GlobalWindows")
    fires_once = isinstance(windowing.triggerfn, DefaultTrigger)
    if not fires_once and windowing.accumulation_mode != AccumulationMode.ACCUMULATING:
        raise InputError(
            f"{what}: a trigger must keep what came before: give WindowInto "
            "accumulation_mode=AccumulationMode.ACCUMULATING"
        )


class DropNothing(beam.PTransform):
    """Drops None: the sum of nothing, which some runners give where nothing came."""

    def expand(self, elements: beam.PCollection[Any]) -> beam.PCollection[Any]:
        return elements | "IsThere" >> beam.Filter(_is_there)


def _is_there(element: Any) -> bool:
    return element is not None


def like(others: beam.PCollection[Any]) -> beam.WindowInto:
    """Return the transform to elements that fire when others do."""
    windowing = others.windowing
    return beam.WindowInto(
        windowing.windowfn,
        trigger=windowing.triggerfn,
        accumulation_mode=windowing.accumulation_mode,
    )
