"""The sinks of the guide to pipelines of one's own, on each runner; and what they do not read."""

import json
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from google.cloud import storage

from tests import bigquery, pubsub
from tests.docs.examples import saved_module
from tests.runners.portable import Server
from tests.sampled_round import SampledRound, in_order

pytestmark = [
    pytest.mark.runners,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning"),
]


_PAGE = "docs/guides/own-pipeline.md"


def test_tasks_arrive(job: Any, server: Server, bucket: storage.Bucket, tmp_path: Path) -> None:
    """Each once, as the command wrote it."""
    drawn = SampledRound.of(job, rows=1500, size=250)
    sinks = saved_module(_PAGE, "sinks.py", tmp_path)
    options = [*server.options, f"--temp_location=gs://{bucket.name}/temp"]
    with (
        pubsub.serving() as topics,
        bigquery.serving(tmp_path) as tables,
        beam.Pipeline(options=PipelineOptions(options)) as root,
    ):
        tasks = drawn.picked(root)
        sinks.to_pubsub(tasks, topics.create("tasks"))
        sinks.to_bigquery(tasks, f"{bigquery.PROJECT}:{bigquery.DATASET}.tasks")
    assert in_order(map(json.loads, topics.data("tasks"))) == drawn.tasks
    assert in_order(tables.tables["tasks"].rows) == drawn.tasks


def test_topics_are_not_read(server: Server, tmp_path: Path) -> None:
    sources = saved_module(_PAGE, "sources.py", tmp_path)
    root = beam.Pipeline(options=PipelineOptions([*server.options, "--streaming"]))
    sources.from_pubsub(root, pubsub.subscription_path("labels"))
    with pytest.raises(Exception, match="ReadFromPubSub"):
        root.run().wait_until_finish()
