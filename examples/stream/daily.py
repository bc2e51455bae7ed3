"""Recall and F1 of a classifier by day, from some 300 labels a day, over a stream of payments.

On one of thirty days a column is missing, and the classifier misses more than half of the frauds.
The first job picks payments of each day and writes them to files for investigators. The second one
joins their answers, which come days later, and estimates. Run it with ``python daily.py``.
"""

import argparse
import datetime
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow.parquet as pq
from apache_beam.transforms.trigger import AccumulationMode, AfterProcessingTime, AfterWatermark
from apache_beam.transforms.window import FixedWindows, TimestampedValue
from events import Stream, answers

from evalsampling import Evaluation
from evalsampling.transforms import (
    AssignCells,
    EstimateMeasures,
    JoinLabels,
    SampleRound,
    SumCells,
    WriteTasks,
)

BUDGET = 300
HOUR = 3600
DAY = 24 * HOUR
HEADER = f"{'day':<10} {'labels':>6}  {'recall':<20}{'change':<30}{'F1':<20}change"
BY_DAY = {
    "windowfn": FixedWindows(DAY),
    "trigger": AfterWatermark(late=AfterProcessingTime(HOUR)),
    "accumulation_mode": AccumulationMode.ACCUMULATING,
    "allowed_lateness": 30 * DAY,
}


def prepare(stream: Stream, workspace: Path) -> None:
    """Make a workspace of the payments of the day before: its strata, and its first round."""
    evaluation = Evaluation.from_frame(
        stream.day(0), measure=["recall", "f1"], pool={"payload": ["text", "at"]}, seed=stream.seed
    )
    ids = evaluation.sample(BUDGET)
    evaluation.label(ids, [int(stream.label(id)) for id in ids])
    evaluation.save(workspace)


def write_events(stream: Stream, folder: Path, parts: int) -> list[str]:
    """Write the payments of each day that has some to files, and return their paths."""
    folder.mkdir()
    paths = []
    for number in range(1, stream.days + 1):
        day = stream.day(number)
        for part in range(parts if len(day) else 0):
            paths.append(str(folder / f"{number:02d}-{part}.parquet"))
            pq.write_table(day.take(np.arange(part, len(day), parts)), paths[-1])
    return paths


def read_events(path: str) -> TimestampedValue:
    """Return the payments of a file, at the time of its first one."""
    payments = pq.read_table(path)
    return TimestampedValue(payments, seconds_of(payments["at"][0].as_py()))


def seconds_of(time: str) -> float:
    """Return a time in seconds since 1970."""
    return datetime.datetime.fromisoformat(time).timestamp()


def sampled(events: beam.PCollection, workspace: Path) -> dict[str, beam.PCollection]:
    """Return the cells of payments, and the rows, tasks and chances of each day."""
    cells = events | "EventsByDay" >> beam.WindowInto(**BY_DAY) | AssignCells(workspace)
    return {"cells": cells} | (cells | SampleRound(workspace, 1, budget=BUDGET))


def estimated(
    picked: Mapping[str, beam.PCollection], labels: beam.PCollection, workspace: Path
) -> beam.PCollection:
    """Return the estimates of each day, from what was picked and the answers."""
    labels = labels | "LabelsByDay" >> beam.WindowInto(**BY_DAY)
    joined = {"rows": picked["rows"], "labels": labels} | JoinLabels(workspace)
    made_of = {
        "counts": joined["counts"],
        "pool": picked["cells"] | SumCells(),
        "chances": picked["chances"],
    }
    return made_of | EstimateMeasures(workspace, 1, budget=BUDGET)


def write_estimate(estimate: Mapping[str, Any], folder: str) -> None:
    """Write the estimates of a day; later ones of the same day take their place."""
    name = estimate["window_start"][:10]
    Path(folder, f"{name}.json").write_text(json.dumps(estimate), "utf-8")


def line_of(estimate: Mapping[str, Any]) -> str:
    """Return the estimates of a day in a line, each with its change since the day before."""
    changes = {change["measure"]: change for change in estimate["changes"]}
    line = f"{estimate['window_start'][:10]} {estimate['labels']:>6} "
    for number in estimate["measures"]:
        change = changes.get(number["measure"])
        line += " {value:.2f} ({low:.2f} to {high:.2f})".format(**number)
        line += f"{_words(change) if change else '':<30}"
    return line.rstrip()


def _words(change: Mapping[str, Any]) -> str:
    """Return a change in words: that it rose or fell only where the interval excludes 0."""
    claim = "rose" if change["low"] > 0 else "fell" if change["high"] < 0 else ""
    return " {value:+.2f} ({low:+.2f} to {high:+.2f}) ".format(**change) + claim


def timed_answer(answer: dict[str, str]) -> TimestampedValue:
    """Return an answer at the time of its payment, so that it comes to the same day."""
    return TimestampedValue(answer, seconds_of(answer["at"]))


def run(stream: Stream, folder: Path, parts: int = 1) -> list[dict[str, Any]]:
    """Run both jobs in a new folder; return the estimates of each day.

    Args:
        stream: the payments.
        folder: where all files are made.
        parts: files of payments a day.
    """
    workspace, tasks, estimates = (folder / name for name in ("workspace", "tasks", "estimates"))
    estimates.mkdir(parents=True)
    prepare(stream, workspace)
    paths = write_events(stream, folder / "events", parts)
    with beam.Pipeline(runner="FnApiRunner") as job:
        events = job | beam.Create(paths) | beam.Map(read_events)
        sampled(events, workspace)["tasks"] | WriteTasks(workspace, tasks)
    with beam.Pipeline(runner="FnApiRunner") as job:
        events = job | "Events" >> beam.Create(paths) | beam.Map(read_events)
        labels = job | "Answers" >> beam.Create(list(answers(stream, tasks, until=stream.days + 3)))
        picked = sampled(events, workspace)
        made = estimated(picked, labels | beam.Map(timed_answer), workspace)
        made | beam.Map(write_estimate, str(estimates))
    return [json.loads(path.read_text("utf-8")) for path in sorted(estimates.glob("*.json"))]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both jobs and print a line a day; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("build/stream"))
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    shutil.rmtree(given.folder, ignore_errors=True)
    print(HEADER)
    for estimate in run(Stream(given.seed), given.folder):
        print(line_of(estimate))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
