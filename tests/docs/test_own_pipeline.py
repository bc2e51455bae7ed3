"""The sinks of the guide to pipelines of one's own: built, not run.

Kafka's is run by `tests/runners/test_kafka.py`.
"""

import json
from types import ModuleType

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from tests.docs.examples import saved_module

TASK = {"task": "7f3a", "name": "Zürich", "label": ""}


@pytest.fixture(scope="module")
def sinks(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The module that the guide says to save."""
    return saved_module("docs/guides/own-pipeline.md", "sinks.py", tmp_path_factory.mktemp("guide"))


def labels_of(root: beam.Pipeline) -> set[str]:
    """Names of all transforms of a pipeline."""
    found: set[str] = set()

    class Names(beam.pipeline.PipelineVisitor):
        def enter_composite_transform(self, node: beam.pipeline.AppliedPTransform) -> None:
            found.add(node.full_label)

        def visit_transform(self, node: beam.pipeline.AppliedPTransform) -> None:
            found.add(node.full_label)

    root.visit(Names())
    return found


def test_tasks_go_to_bigquery(sinks: ModuleType) -> None:
    pytest.importorskip("google.cloud.bigquery")
    options = PipelineOptions(["--project=some-project", "--temp_location=gs://some-bucket/temp"])
    root = beam.Pipeline(options=options)
    sinks.to_bigquery(root | beam.Create([TASK]), "some-project:evaluation.tasks")
    assert any(name.startswith("WriteToBigQuery") for name in labels_of(root))


def test_tasks_go_to_pubsub(sinks: ModuleType) -> None:
    pytest.importorskip("google.cloud.pubsub")
    root = beam.Pipeline(options=PipelineOptions(["--streaming"]))
    sinks.to_pubsub(root | beam.Create([TASK]), "projects/some-project/topics/tasks")
    assert any(name.startswith("WriteToPubSub") for name in labels_of(root))


def test_messages_hold_the_task(sinks: ModuleType) -> None:
    key, value = sinks.keyed(TASK)
    assert (key, json.loads(value)) == (b"7f3a", TASK)
