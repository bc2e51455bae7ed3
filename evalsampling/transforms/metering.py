"""Beam metrics of each step's rows, time and memory."""

import contextlib
import re
import resource
import sys
import time
from collections.abc import Callable, Iterator, Sized
from pathlib import Path
from typing import Any, TypeVar

import apache_beam as beam
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.runners.runner import PipelineResult

Batch = TypeVar("Batch", bound=Sized)

NAMESPACE = "evalsampling"
"""Beam namespace of all metrics of this package."""

_MEMORY_INTERVAL = 0.5
"""Seconds between reads of resident memory, each of which takes up to a millisecond."""

_STATM = Path("/proc/self/statm")


class Meter:
    """Metrics of one step, updated for each batch.

    Counters ``rows`` and ``microseconds`` (of all threads and workers together), distributions
    ``batch-rows`` and ``resident-mebibytes`` (of the worker's process, twice a second).
    """

    def __init__(self) -> None:
        """Name the metrics; Beam adds the step."""
        self._rows = Metrics.counter(NAMESPACE, "rows")
        self._time = Metrics.counter(NAMESPACE, "microseconds")
        self._batch = Metrics.distribution(NAMESPACE, "batch-rows")
        self._memory = Metrics.distribution(NAMESPACE, "resident-mebibytes")
        self._next_memory_read = 0.0

    @contextlib.contextmanager
    def work(self, rows: int) -> Iterator[None]:
        """Meter the work of the block, on a number of rows."""
        started = time.perf_counter()
        yield
        self._done(rows, started)

    def each(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """Yield batches, and meter how they are made, but not how they are used."""
        started = time.perf_counter()
        for batch in batches:
            self._done(len(batch), started)
            yield batch
            started = time.perf_counter()

    def _done(self, rows: int, started: float) -> None:
        now = time.perf_counter()
        self._rows.inc(rows)
        self._time.inc(round(1e6 * (now - started)))
        self._batch.update(rows)
        if now >= self._next_memory_read:
            self._memory.update(resident_mebibytes())
            self._next_memory_read = now + _MEMORY_INTERVAL


class MeteredMap(beam.DoFn):
    """Calls a function with each batch and further arguments, and meters that."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._meter = Meter()

    def process(self, batch: Sized, *arguments: Any) -> Iterator[Any]:
        with self._meter.work(len(batch)):
            result = self._function(batch, *arguments)
        yield result


def resident_mebibytes() -> int:
    """Return the resident memory of this process in MiB; its peak if the present one is unknown."""
    try:
        pages = int(_STATM.read_text().split()[1])
        return pages * resource.getpagesize() >> 20
    except OSError:
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit >> 20


def read_meters(result: PipelineResult) -> dict[str, dict[str, float]]:
    """Return rows, seconds and peak memory of each step of a finished job.

    Returns:
        By the name of the step: its rows, seconds (of all threads and workers together), batches,
        and the greatest resident memory of a worker after a batch, in MiB.
    """
    metrics = result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))
    steps: dict[str, dict[str, float]] = {}
    for metric in [*metrics["counters"], *metrics["distributions"]]:
        step, value = steps.setdefault(_label(metric.key.step), {}), metric.result
        match metric.key.metric.name:
            case "rows":
                step["rows"] = value
            case "microseconds":
                step["seconds"] = round(value / 1e6, 3)
            case "batch-rows":
                step["batches"] = value.count
            case "resident-mebibytes":
                step["peak_mebibytes"] = value.max
    return dict(sorted(steps.items()))


def _label(step: str) -> str:
    """Return the label of a step; portable runners add a number and replace its slashes."""
    match = re.fullmatch(r"ref_AppliedPTransform_(.+)_\d+", step)
    return step if match is None else match[1].replace("-", "/")
