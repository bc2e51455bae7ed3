"""The sinks of the guide to pipelines of one's own: built, not run."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from tests.docs.examples import SAVE, blocks_of

TASK = {"task": "7f3a", "name": "Zürich", "label": ""}


@pytest.fixture(scope="module")
def sinks(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The module that the guide says to save."""
    [text] = [
        block["text"]
        for block in blocks_of("docs/guides/own-pipeline.md")
        if (name := SAVE.search(block["prose"])) and name[1] == "sinks.py"
    ]
    path: Path = tmp_path_factory.mktemp("guide") / "sinks.py"
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location("sinks", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
