"""Rows and labels put through transforms in a pipeline, for the tests of several files."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pyarrow as pa
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.util import Reshuffle

from evalsampling.parts.records import finite
from tests.jobs import Job

PLAIN = ("--runner=FnApiRunner",)
RETRYING = "--runner=BundleBasedDirectRunner"
"""The runner on this machine that tries bundles again; the default one does not."""

TWO_WORKERS = (*PLAIN, "--direct_running_mode=multi_threading", "--direct_num_workers=2")

Answer = dict[str, Any]


def pipeline(*options: str) -> beam.Pipeline:
    """A pipeline in this process."""
    return beam.Pipeline(options=PipelineOptions([*(options or PLAIN)]))


def in_pieces(elements: Sequence[Any], pieces: int) -> Iterator[list[Any]]:
    """Elements, every so-manieth in a piece of its own."""
    for number in range(pieces):
        yield [*elements[number::pieces]]


def created(root: beam.Pipeline, name: str, elements: Sequence[Any], pieces: int = 1) -> Any:
    """Elements from so many sources, reshuffled."""
    sources = [
        root | f"{name} {number} of {pieces}" >> beam.Create(piece)
        for number, piece in enumerate(in_pieces(elements, pieces))
    ]
    return sources | f"{name} {pieces}" >> beam.Flatten() | f"spread {name} {pieces}" >> Reshuffle()


def keep(elements: beam.PCollection[Any], path: Path) -> None:
    """Write elements to a file of JSON lines."""
    path.touch()
    _ = elements | f"Keep {path.name}" >> beam.Map(_append, str(path))


def _append(element: Any, path: str) -> None:
    plain = element.to_pylist() if isinstance(element, pa.Table) else element
    with open(path, "a") as file:
        file.write(json.dumps(finite(plain)) + "\n")


def kept(path: Path) -> list[Any]:
    """The elements that `keep` wrote; rows of tables one by one."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return [row for line in lines for row in (line if isinstance(line, list) else [line])]


def answers_to(job: Job, number: int, unanswered: int = 0) -> list[Answer]:
    """The true answers to the tasks of a round, but for the last few."""
    given = [
        {"task": task, "label": _label(job.pool.truth[id]), "annotator": "ann"}
        for task, id in job.asked(number)
    ]
    return given[: len(given) - unanswered]


def _label(truth: Any) -> str:
    return ("+".join(truth) or "none") if isinstance(truth, list) else str(truth)


def deliver(job: Job, answers: Sequence[Answer], name: str) -> Any:
    """Deliver answers by the command; return the estimates that it prints."""
    path = job.directory / name
    path.write_text("".join(json.dumps(answer) + "\n" for answer in answers))
    result = job.estimate("--labels", path).done
    return result.json


def two_rounds(job: Job, sizes: Sequence[int] = (50, 40)) -> tuple[list[Answer], Any]:
    """Draw and label two rounds, the second in part; return all answers, and what is estimated."""
    job.in_process = True
    assert (made := job.prepare()).status == 0, made.err
    answers: list[Answer] = []
    for number, size in enumerate(sizes, start=1):
        assert (drawn := job.sample("--size", size)).status == 0, drawn.err
        own = answers_to(job, number, unanswered=0 if number == 1 else 7)
        said = deliver(job, own, f"labels-{number}.jsonl")
        answers += own
    return answers, said


def shuffled(elements: Sequence[Any], seed: int) -> list[Any]:
    """Elements in another order."""
    order = np.random.default_rng(seed).permutation(len(elements))
    return [elements[place] for place in order]


def failing_now_and_then(function: Callable[..., Any], log: Path) -> Callable[..., Any]:
    """A function whose first and third calls fail, by a file that counts; the third in vain."""
    log.write_text("")

    def call(*arguments: Any, **named: Any) -> Any:
        number = len(log.read_text())
        log.write_text("x" * (number + 1))
        if number == 0:
            raise RuntimeError("a worker was lost")
        result = function(*arguments, **named)
        if number == 2:
            raise RuntimeError("a worker was lost after its work")
        return result

    return call
