"""Tasks to BigQuery and labels from it, by the functions of the guide to pipelines of one's own.

The server is one of ours. The sink and the sources are those of the guide, as they are. What is
replaced is the address of the clients, and the way in which Beam deletes files after an export:
the emulator of Google Cloud Storage does not understand the client's requests to delete several.
"""

import datetime
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from apache_beam.io.gcp.gcsio import GcsIO
from google.cloud import storage

from tests.bigquery import DATASET, PROJECT, FakeRest, Table, serving
from tests.in_pipelines import PLAIN, RETRYING, keep, kept, pipeline
from tests.sampled_round import SampledRound, in_order
from tests.slow import slowly

COLUMNS = {"task": "STRING", "name": "STRING", "label": "STRING"}
"""What the guide says that the table has."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[FakeRest]:
    """A server in place of Google's."""
    with serving(tmp_path) as fake:
        yield fake


@pytest.fixture
def drawn(job: Any) -> SampledRound:
    """A round that the command drew."""
    return SampledRound.of(job, rows=1500, size=80)


def path_of(name: str) -> str:
    return f"{PROJECT}:{DATASET}.{name}"


def temporary(bucket: storage.Bucket) -> str:
    return f"--temp_location=gs://{bucket.name}/temp"


def send(sinks: ModuleType, drawn: SampledRound, *options: str) -> None:
    with pipeline(*options) as root:
        sinks.to_bigquery(drawn.picked(root), path_of("tasks"))


def check(server: FakeRest, drawn: SampledRound) -> None:
    """Check that the table has the tasks as the command wrote them: no id and no score."""
    table = server.tables["tasks"]
    assert table.schema == COLUMNS
    assert in_order(table.rows) == drawn.tasks
    assert {tuple(row) for row in table.rows} == {tuple(COLUMNS)}


@pytest.mark.parametrize("runner", [*PLAIN, RETRYING])
def test_a_bounded_job_loads_files(
    sinks: ModuleType, drawn: SampledRound, server: FakeRest, bucket: storage.Bucket, runner: str
) -> None:
    """Where the answer to a call gets lost, rows are loaded once all the same."""
    server.lost["insert_job"] = 1
    send(sinks, drawn, runner, temporary(bucket))
    check(server, drawn)
    assert server.calls == ["insert_job", "insert_job", "get_job"]
    left = [blob.name for blob in bucket.list_blobs()]
    assert [name for name in left if name.startswith("temp/bq_load/")], "no file is left"


def test_a_job_fails_if_its_rows_do_not_fit(
    sinks: ModuleType, drawn: SampledRound, server: FakeRest, bucket: storage.Bucket
) -> None:
    server.tables["tasks"] = Table({"task": "STRING", "label": "STRING"})
    with pytest.raises(RuntimeError, match="No such field: name"):
        send(sinks, drawn, *PLAIN, temporary(bucket))
    assert not server.tables["tasks"].rows


@pytest.mark.slow
@pytest.mark.parametrize("runner", [*PLAIN, *slowly(RETRYING)])
def test_a_streaming_job_inserts_rows(
    sinks: ModuleType, drawn: SampledRound, server: FakeRest, runner: str
) -> None:
    """Without a bucket. Where the answer gets lost, rows are inserted once all the same."""
    server.lost["insert_all"] = 1
    send(sinks, drawn, runner, "--streaming")
    check(server, drawn)
    assert server.calls[:2] == ["get_table", "insert_table"]
    assert {*server.calls[2:]} == {"insert_all"}


@pytest.fixture
def labels(server: FakeRest, drawn: SampledRound) -> Table:
    """A table of answers, some of them twice; and of rows without an answer yet."""
    columns = {"task": "STRING", "label": "INTEGER", "annotator": "STRING", "time": "TIMESTAMP"}
    who = {"annotator": "ann", "time": datetime.datetime(2026, 6, 1, 12, tzinfo=datetime.UTC)}
    answers = [{**answer, **who} for answer in drawn.answers(drawn.tasks)]
    opened = [dict.fromkeys(columns) | {"task": task["task"]} for task in drawn.tasks[:9]]
    server.tables["labels"] = Table(columns, [*opened, *answers, *answers[20:50]])
    return server.tables["labels"]


@pytest.mark.slow
@pytest.mark.usefixtures("labels")
def test_a_bounded_job_needs_a_bucket(
    sinks: ModuleType, sources: ModuleType, drawn: SampledRound, server: FakeRest
) -> None:
    """To write as to read."""
    with pytest.raises(ValueError, match="--temp_location"):
        send(sinks, drawn, *PLAIN)
    with pytest.raises(ValueError, match="--temp_location"), pipeline() as root:
        sources.from_bigquery(root, path_of("labels"))
    assert {*server.tables} == {"labels"}


def compare(drawn: SampledRound, estimates: Path) -> None:
    """Check that estimates are those of the command."""
    (made,) = kept(estimates)
    assert made["measures"] == drawn.said()["measures"]
    assert (made["labels"], made["rejects"]) == (len(drawn.tasks), 0)


@pytest.mark.usefixtures("labels")
def test_labels_of_a_table_come_to_the_estimates_of_the_command(
    sources: ModuleType,
    drawn: SampledRound,
    bucket: storage.Bucket,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Exported to a bucket, as `ReadFromBigQuery` does unless it is told otherwise."""
    monkeypatch.setattr(GcsIO, "delete_batch", _delete_one_by_one)
    with pipeline(*PLAIN, temporary(bucket)) as root:
        answers = sources.from_bigquery(root, path_of("labels"))
        keep(drawn.estimated(answers), tmp_path / "estimates")
    compare(drawn, tmp_path / "estimates")
    assert not [*bucket.list_blobs()]


def _delete_one_by_one(io: GcsIO, paths: list[str]) -> list[tuple[str, None]]:
    for path in paths:
        io.delete(path)
    return [(path, None) for path in paths]
