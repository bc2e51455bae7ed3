"""Tasks to a topic of Kafka and labels from one, by Beam's transforms in Java and a real broker."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.io.kafka import ReadFromKafka
from apache_beam.io.parquetio import ReadFromParquetBatched
from apache_beam.options.pipeline_options import PipelineOptions

from evalsampling.transforms import AssignCells, EstimateMeasures, JoinLabels, SampleRound
from tests.docs.examples import saved_module
from tests.runners.broker import Broker, started_broker
from tests.runners.portable import Server, by_prism

pytestmark = [
    pytest.mark.connectors,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
    by_prism,
]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    """A broker without topics."""
    with started_broker(tmp_path) as started:
        yield started


def test_tasks_go_to_a_topic_and_labels_come_from_one(
    job: Any, server: Server, expansion: str, broker: Broker, tmp_path: Path
) -> None:
    one = job(sampler="poisson", measure=["f1", "recall"])
    one.in_process = True
    assert one.prepare().status == one.sample("--size", 60).status == 0
    sinks = saved_module("docs/guides/own-pipeline.md", "sinks.py", tmp_path)
    options = PipelineOptions([*server.options, expansion])
    with beam.Pipeline(options=options) as run:
        rows = run | ReadFromParquetBatched(str(one.directory / "pool" / "*.parquet"))
        picked = rows | AssignCells(one.workspace) | SampleRound(one.workspace, 1)
        sinks.to_kafka(picked["tasks"], broker.address, "tasks")
    came = {task["task"]: task for task in map(json.loads, broker.messages("tasks"))}
    with (one.round_directory(1) / "batch.csv").open(newline="") as file:
        assert came == {task["task"]: task for task in csv.DictReader(file)}

    answers = [(task, label) for task, label in one.answers(1) if task in came]
    assert len(answers) > 20
    lines = [json.dumps({"task": task, "label": label}) for task, label in answers]
    broker.send("labels", lines)
    estimates = tmp_path / "estimates"
    with beam.Pipeline(options=options) as run:
        consumer = {"bootstrap.servers": broker.address, "auto.offset.reset": "earliest"}
        messages = run | ReadFromKafka(consumer, ["labels"], max_num_records=len(lines))
        labels = messages | beam.MapTuple(lambda _, value: json.loads(value))
        joined = labels | JoinLabels(one.workspace)
        made = joined["counts"] | EstimateMeasures(one.workspace)
        kept = beam.io.WriteToText(str(estimates), shard_name_template="")
        _ = made | beam.Map(json.dumps) | kept
    by_command = one.estimate("--labels", one.deliver(answers)).json
    here = json.loads(estimates.read_text())
    assert (here["labels"], here["measures"]) == (len(answers), by_command["measures"])
