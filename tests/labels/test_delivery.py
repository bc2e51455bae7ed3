"""Deliveries: files of limited size, and folders of which every new file is taken once."""

import os
import time
from pathlib import Path
from typing import Any

import pytest
from google.cloud import storage

from evalsampling import InputError
from evalsampling.commands import estimate
from evalsampling.labels import delivery
from evalsampling.labels.delivery import LabelFile, LabelPath, look_in
from evalsampling.labels.vote import Vote
from tests.jobs import Job, Jobs, files_below


def test_links_are_followed_where_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("task,label\n")
    link = tmp_path / "link.csv"
    link.symlink_to(tmp_path / "labels.csv")
    found = look_in([str(link)], [str(link)]).files
    assert [(file.path, file.replace, file.follow) for file in found] == [
        (str(link), False, True), (str(link), True, True),
    ]  # fmt: skip
    folder = tmp_path / "folder"
    folder.symlink_to(tmp_path)
    assert [each.path for each in look_in([str(folder)]).files] == [f"{folder}/labels.csv"]
    folder.unlink()
    within = look_in([str(tmp_path)])
    assert [(Path(file.path).name, file.follow) for file in within.files] == [("labels.csv", False)]
    assert len(within.links) == 1


def test_a_folder_without_deliveries_is_told_of(drawn: Job) -> None:
    empty = drawn.directory / "empty"
    empty.mkdir()
    told = drawn.estimate("--labels", empty)
    assert told.json["labels"] == 0
    assert f"{empty}: no deliveries (.csv, .csv.gz, .json" in told.err
    assert ", 0 other files passed over" in told.err
    (empty / "answers.txt").write_text("task,label\n")
    refused = drawn.estimate("--replace", empty, "--close").refused
    assert ", 1 other file passed over: nothing is closed" in refused
    assert drawn.estimate().json["open"] == 20
    drawn.deliver(drawn.answers(1), "empty/a.csv")
    told = drawn.estimate("--labels", empty, "--close")
    assert "no deliveries" not in told.err
    assert told.json["labels"] == 20


def test_every_new_object_of_a_bucket_is_taken_once(job: Jobs, bucket: storage.Bucket) -> None:
    one = job(measure=["f1", "accuracy"]).drawn()
    answers = one.answers(1)
    for folder, zone in (("labels/", f"gs://{bucket.name}/labels/"), ("", f"gs://{bucket.name}/")):
        for place in range(2):
            path = one.deliver(answers[place::2], f"{place}.csv")
            bucket.blob(f"{folder}{place}.csv").upload_from_filename(str(path))
            bucket.blob(f"{folder}.half-{place}.csv").upload_from_string("half a fi")
            told = one.estimate("--labels", zone).json
            assert (told["labels"], told["rejects"]) == (20 if folder == "" or place else 10, 0)
    before = files_below(one.workspace)
    assert one.estimate("--labels", f"gs://{bucket.name}/labels/").json["labels"] == 20
    assert files_below(one.workspace) == before
    missing = one.estimate("--labels", f"gs://{bucket.name}-not-there/")
    assert (missing.status, missing.err.count("\n")) == (1, 1)


def test_files_and_folders_side_by_side(tmp_path: Path) -> None:
    for name in ("b.csv", "a.JSON", "d.xls", ".e.csv", "~$f.xlsx"):
        (tmp_path / name).write_text("")
    found = look_in([str(tmp_path), "x.csv", "gs://bucket/y.csv"]).files
    names = [Path(each.path).name for each in found]
    assert names == ["a.JSON", "b.csv", "x.csv", "y.csv"]


def test_links_in_a_folder_are_not_followed(drawn: Job) -> None:
    """Whoever may write into it could make the job read any file that it may read."""
    answers = drawn.answers(1)
    secret = drawn.deliver(answers, "secret.csv")
    zone = drawn.directory / "zone"
    zone.mkdir()
    (zone / "a.csv").symlink_to(secret)
    (zone / "b.csv").symlink_to(drawn.directory / "nowhere.csv")
    drawn.deliver(answers[:3], "zone/c.csv")
    told = drawn.estimate("--labels", zone)
    assert told.json["labels"] == 3
    for name in "ab":
        assert f"{zone}/{name}.csv: a symbolic link, passed over" in told.err
    (zone / "c.csv").unlink()
    told = drawn.estimate("--labels", zone, "--close")
    assert (told.status, "nothing is closed" in told.err) == (1, True)


def test_a_file_that_becomes_a_link_once_it_was_seen_is_not_read(
    drawn: Job, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = drawn.deliver(drawn.answers(1), "secret.csv")
    zone = drawn.directory / "zone"
    zone.mkdir()
    mine = drawn.deliver([("t_x", "1")], "zone/a.csv")

    def late(*asked: Any) -> Any:
        found = look_in(*asked)
        mine.unlink()
        mine.symlink_to(secret)
        return found

    monkeypatch.setattr(estimate, "look_in", late)
    told = drawn.estimate("--labels", zone)
    assert (told.status, told.err.count("\n")) == (1, 1)
    assert f"{mine}: cannot be read: " in told.err
    assert not (drawn.workspace / "labels").exists()


def test_size_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,label\n1,1\n")
    assert LabelFile.read(LabelPath(str(path))).votes == [Vote(2, id="1", label="1")]
    monkeypatch.setattr(delivery, "MOST_BYTES", 5)
    with pytest.raises(InputError, match=r"a\.csv: has 13 bytes, at most 5 are read"):
        LabelFile.read(LabelPath(str(path)))


def test_pipes_devices_and_folders_are_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    started = time.monotonic()
    for name in ("pipe.csv", "folder.csv", "zero.csv", "none.csv", "nul\0.csv"):
        with pytest.raises(InputError, match="cannot be read") as caught:
            LabelFile.read(LabelPath(str(tmp_path / name)))
        assert "\n" not in str(caught.value)
    assert time.monotonic() - started < 5
