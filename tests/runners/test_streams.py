"""Streams of rows and labels, by day: what a window says last is what a bounded job says of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing import test_stream as testing
from apache_beam.transforms.window import TimestampedValue

from evalsampling.transforms import WriteTasks
from tests.examples.streams import daily, events
from tests.runners.portable import serving, skip_unless_there

pytestmark = [
    pytest.mark.runners,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]

LATE = 100
"""Payments of the second day that come after it."""

STREAM = events.Stream(seed=3, days=4, payments=600, fall=2, empty=3)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        pytest.param("prism", [], marks=pytest.mark.prism),
        pytest.param("flink", ["--max_bundle_size=1", "--parallelism=1"], marks=pytest.mark.flink),
    ],
)
def test_last_estimates_are_those_of_a_bounded_job(
    tmp_path: Path, name: str, options: list[str]
) -> None:
    """Rows and labels late, labels repeated, and a day without rows."""
    expected = daily.run(STREAM, tmp_path / "bounded")
    assert [one["window_start"][8:10] for one in expected] == ["01", "02", "04"]
    with serving(skip_unless_there(name), tmp_path) as server:
        panes = _streamed(tmp_path, [*server.options, "--streaming", *options])
    for s, w in panes.items():
        print(
            "PANES",
            s,
            [(x["seen"], x["rows"], x["drawn"], x["labels"], len(x["changes"])) for x in w],
        )
    for one in expected:
        of_window = panes[one["window_start"]]
        assert of_window[-1] == one
        assert of_window[0]["labels"] < one["labels"]
    assert len(panes) == len(expected)
    assert _files(tmp_path / "tasks") == _files(tmp_path / "bounded" / "tasks")


def _streamed(folder: Path, options: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Run a stream, and return all panes of each window in the order of what they have seen."""
    workspace = folder / "bounded" / "workspace"
    (folder / "panes").mkdir()
    with beam.Pipeline(options=PipelineOptions(options)) as job:
        both = job | _stream(folder / "bounded" / "tasks") | beam.FlatMap(_timed)
        rows, labels = (
            both | f"Is{kind}" >> beam.Filter(_is, kind) | f"The{kind}" >> beam.Map(_last)
            for kind in ("row", "label")
        )
        picked = daily.sampled(rows, workspace)
        picked["tasks"] | WriteTasks(workspace, folder / "tasks")
        made = daily.estimated(picked, labels, workspace)
        made | beam.Map(_write_pane, str(folder / "panes"))
    panes: dict[str, list[dict[str, Any]]] = {}
    for path in (folder / "panes").iterdir():
        pane = json.loads(path.read_text("utf-8"))
        panes.setdefault(pane["window_start"], []).append(pane)
    return {start: sorted(seen, key=lambda pane: pane["seen"]) for start, seen in panes.items()}


def _stream(tasks: Path) -> testing.TestStream:
    """Return the rows day by day, some late; then the labels, of the first day before it ends."""
    days = {number: STREAM.day(number).to_pylist() for number in range(1, 5)}
    answers = list(events.answers(STREAM, tasks, until=STREAM.days + 3))
    of_first = [answer for answer in answers if answer["at"].startswith("2026-06-01")]
    early, later = of_first[:50], of_first[50:]
    later += [answer for answer in answers if answer not in of_first]
    stream = testing.TestStream(coder=beam.coders.BytesCoder()).with_output_types(bytes)
    stream.advance_watermark_to(_start(1))
    stream.add_elements(_elements("row", days[1]) + _elements("label", early))
    stream.advance_watermark_to(_start(2))
    stream.add_elements(_elements("row", days[2][LATE:]))
    stream.advance_watermark_to(_start(3))
    stream.add_elements(_elements("row", days[2][:LATE]))
    stream.advance_watermark_to(_start(4))
    stream.add_elements(_elements("row", days[4]))
    stream.advance_watermark_to(_start(5))
    stream.add_elements(_elements("label", later[: len(later) // 2]))
    stream.advance_watermark_to(_start(6))
    stream.add_elements(_elements("label", later[len(later) // 2 :]))
    return stream.advance_watermark_to_infinity()


def _start(day: int) -> float:
    return events.day_of(day).timestamp()


def _elements(kind: str, rows: list[dict[str, Any]], size: int = 50) -> list[TimestampedValue]:
    """Return rows or labels, some in an element, which is of their day."""
    parts: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        parts.setdefault(row["at"][:10], []).append(row)
    return [
        TimestampedValue(
            json.dumps([kind, part[begin : begin + size]]).encode(),
            daily.seconds_of(part[0]["at"]),
        )
        for part in parts.values()
        for begin in range(0, len(part), size)
    ]


def _timed(element: bytes) -> Iterator[tuple[str, dict[str, Any]]]:
    kind, rows = json.loads(element)
    for row in rows:
        yield kind, row


def _is(element: tuple[str, dict[str, Any]], kind: str) -> bool:
    return element[0] == kind


def _last(element: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return element[1]


def _write_pane(estimate: dict[str, Any], folder: str) -> None:
    name = f"{estimate['window_start'][:10]}-{estimate['seen']}.json"
    Path(folder, name).write_text(json.dumps(estimate), "utf-8")


def _files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
