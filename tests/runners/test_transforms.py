"""Rounds and estimates as transforms: on each runner what the commands say."""

import json
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.util import Reshuffle

from evalsampling.transforms import AssignCells, EstimateMeasures, JoinLabels, SampleRound
from tests.runners.portable import Server

pytestmark = [
    pytest.mark.runners,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


@pytest.mark.parametrize("parts", [1, 7])
def test_a_round_and_its_estimates_are_those_of_the_commands(
    job: Any, server: Server, tmp_path: Path, parts: int
) -> None:
    one = job(sampler="poisson", measure=["f1", "recall"]).prepared()
    labels: list[dict[str, str]] = []
    for number in (1, 2):
        assert one.sample().status == 0
        answers = one.answers(number)
        labels += [{"task": task, "label": label} for task, label in answers]
        estimated = one.estimate("--labels", one.deliver(answers, f"labels-{number}.csv"))
    drawn, estimates = tmp_path / "drawn", tmp_path / "estimates"
    with beam.Pipeline(options=PipelineOptions(server.options)) as run:
        rows = _in_parts(run, "rows", one.pool.table.to_pylist(), parts)
        picked = rows | AssignCells(one.workspace) | SampleRound(one.workspace, 2)
        picked["rows"] | "KeepRows" >> beam.Map(_write, str(drawn))
        joined = _in_parts(run, "labels", labels, parts) | JoinLabels(one.workspace)
        made = joined["counts"] | EstimateMeasures(one.workspace)
        made | "KeepEstimates" >> beam.Map(_write, str(estimates))
    (made_here,) = _read(estimates)
    assert json.dumps(made_here["measures"]) == json.dumps(estimated.json["measures"])
    assert made_here["warnings"] == estimated.json["warnings"]
    asked = one.asked(2)
    rows = [(row["task"], row["id"]) for rows in _read(drawn) for row in rows]
    assert sorted(rows) == sorted(asked)
    assert len(rows) > 5


def _in_parts(run: Any, name: str, elements: list[Any], parts: int) -> Any:
    """Return elements from some sources, divided anew."""
    sources = [
        run | f"{name} {part}" >> beam.Create(elements[part::parts]) for part in range(parts)
    ]
    return sources | f"All{name}" >> beam.Flatten() | f"Divide{name}" >> Reshuffle()


def _write(element: Any, path: str) -> None:
    plain = element
    if isinstance(element, pa.Table):
        plain = element.select(["task", "id"]).to_pylist()
    with open(path, "a", encoding="utf-8") as file:
        file.write(json.dumps(plain) + "\n")


def _read(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
