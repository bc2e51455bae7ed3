"""Tasks to a topic and labels from one, by the functions of the guide to pipelines of one's own."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import apache_beam as beam
import grpc
import pytest
from google.api_core.exceptions import PermissionDenied
from google.cloud import pubsub

from evalsampling.transforms import WriteTasks
from tests.in_pipelines import PLAIN, RETRYING, keep, pipeline
from tests.pubsub import FakePubSub, Refusal, serving, subscription_path
from tests.sampled_round import SampledRound, in_order
from tests.servers import until
from tests.slow import slowly

STREAMING = (RETRYING, "--streaming")

UNAVAILABLE, DENIED = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.PERMISSION_DENIED


@pytest.fixture
def server() -> Iterator[FakePubSub]:
    """A server in place of Google's."""
    with serving() as fake:
        yield fake


@pytest.fixture
def drawn(job: Any) -> SampledRound:
    """A round of more tasks than one request to publish holds."""
    one = SampledRound.of(job, rows=1500, size=250)
    assert len(one.tasks) > 200
    return one


def send(sinks: ModuleType, drawn: SampledRound, topic: str, *options: str) -> None:
    with pipeline(*options) as root:
        sinks.to_pubsub(drawn.picked(root), topic)


def publish(topic: str, answers: list[dict[str, Any]]) -> None:
    """Publish answers, as a program of annotators does."""
    with pubsub.PublisherClient() as client:
        sent = [client.publish(topic, json.dumps(answer).encode()) for answer in answers]
        for one in sent:
            one.result()


def whole(path: Path) -> list[Any]:
    """Return what `keep` wrote, but for a line that is being written."""
    lines = path.read_text("utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]


def tasks_of(server: FakePubSub) -> list[dict[str, Any]]:
    return in_order(json.loads(data) for data in server.data("tasks"))


def without_repeats(drawn: SampledRound, server: FakePubSub, folder: Path) -> Any:
    """Return the tasks of the messages, as `WriteTasks` writes them for annotators."""
    with pipeline() as root:
        messages = root | beam.Create(server.data("tasks")) | beam.Map(json.loads)
        _ = messages | WriteTasks(drawn.job.workspace, folder)
    with (folder / "tasks.csv").open(newline="", encoding="utf-8") as file:
        return in_order(csv.DictReader(file))


def test_messages_hold_the_task(sinks: ModuleType) -> None:
    task = {"task": "7f3a", "name": "Zürich", "label": ""}
    assert json.loads(sinks.message(task)) == task


@pytest.mark.slow
@pytest.mark.parametrize("options", [PLAIN, STREAMING], ids=["bounded", "streaming"])
def test_messages_are_the_tasks_of_the_command(
    sinks: ModuleType, drawn: SampledRound, server: FakePubSub, options: tuple[str, ...]
) -> None:
    """Each once, with exactly the columns of the file for annotators: no id and no score."""
    send(sinks, drawn, server.create("tasks"), *options)
    assert tasks_of(server) == drawn.tasks
    assert {tuple(task) for task in tasks_of(server)} == {("task", "name", "label")}


@pytest.mark.slow
def test_labels_of_a_topic_come_to_the_estimates_of_the_command(
    sinks: ModuleType, sources: ModuleType, job: Any, server: FakePubSub, tmp_path: Path
) -> None:
    """From the pool to estimates; answers repeatedly, acknowledgements lost."""
    drawn = SampledRound.of(job, rows=1500, size=60)
    send(sinks, drawn, server.create("tasks"))
    server.lost = 2
    answers = drawn.answers(tasks_of(server))
    publish(server.create("labels"), [*answers, *answers[:10]])
    estimates = tmp_path / "estimates"
    root = pipeline(*STREAMING)
    labels = sources.from_pubsub(root, subscription_path("labels"), seconds=1)
    keep(drawn.estimated(labels), estimates)
    running = root.run()
    taken = server.subscriptions[subscription_path("labels")]
    try:
        until(lambda: not taken.waiting and not taken.pulled)
        seen = len(drawn.tasks) + server.delivered
        until(lambda: any(one["seen"] == seen for one in whole(estimates)))
    finally:
        running.cancel()
    assert server.delivered > len(answers) + 10, "no message came again"
    last = max(whole(estimates), key=lambda one: one["seen"])
    assert last["measures"] == drawn.said()["measures"]
    assert (last["labels"], last["rejects"]) == (len(answers), 0)


@pytest.mark.slow
@pytest.mark.parametrize("taken", [False, True], ids=["refused", "answer_lost"])
def test_a_server_that_is_not_there_for_once_loses_nothing(
    sinks: ModuleType, drawn: SampledRound, server: FakePubSub, tmp_path: Path, taken: bool
) -> None:
    """The client sends the messages again; those that were taken come twice."""
    server.refusals[1] = Refusal(UNAVAILABLE, taken)
    send(sinks, drawn, server.create("tasks"))
    repeats = server.requests[1] if taken else 0
    assert len(tasks_of(server)) == len(drawn.tasks) + repeats
    assert without_repeats(drawn, server, tmp_path) == drawn.tasks


@pytest.mark.slow
def test_a_bundle_that_is_done_again_sends_its_tasks_again(
    sinks: ModuleType, drawn: SampledRound, server: FakePubSub, tmp_path: Path
) -> None:
    server.refusals[2] = Refusal(DENIED)
    send(sinks, drawn, server.create("tasks"), RETRYING)
    assert len(tasks_of(server)) > len(drawn.tasks)
    assert without_repeats(drawn, server, tmp_path) == drawn.tasks


@pytest.mark.slow
@pytest.mark.parametrize("options", [PLAIN, *slowly((RETRYING,))], ids=["once", "again"])
def test_a_job_that_may_not_publish_fails(
    sinks: ModuleType, drawn: SampledRound, server: FakePubSub, options: tuple[str, ...]
) -> None:
    server.refusals.update(dict.fromkeys(range(1, 100), Refusal(DENIED)))
    with pytest.raises(PermissionDenied):
        send(sinks, drawn, server.create("tasks"), *options)
    assert len(tasks_of(server)) < len(drawn.tasks)
