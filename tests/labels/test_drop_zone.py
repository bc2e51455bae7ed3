"""Folders of deliveries: every new file is taken once."""

from collections.abc import Callable
from pathlib import Path

from evalsampling.labels.drop_zone import files_in
from tests.jobs import Job, files_below


def test_every_new_file_is_taken_once(job: Callable[..., Job]) -> None:
    one = job(measure=["f1", "accuracy"])
    one.prepare()
    one.sample()
    zone = one.directory / "zone"
    zone.mkdir()
    answers = one.answers(1)
    for place in range(3):
        one.deliver(answers[place::3], f"zone/{place}.csv")
        assert one.estimate("--labels", zone).json["labels"] == sum(
            len(answers[part::3]) for part in range(place + 1)
        )
    before = files_below(one.workspace)
    (zone / "notes.txt").write_text("not for us")
    (zone / ".4.csv").write_text("half a fi")
    (zone / "old").mkdir()
    again = one.estimate("--labels", zone)
    assert (again.json["labels"], again.json["rejects"]) == (20, 0)
    assert files_below(one.workspace) == before
    empty = one.directory / "empty"
    empty.mkdir()
    assert one.estimate("--labels", empty).json["labels"] == 20


def test_files_and_folders_side_by_side(tmp_path: Path) -> None:
    for name in ("b.csv", "a.JSON", "c.manifest", "d.xlsx", ".e.csv"):
        (tmp_path / name).write_text("")
    found = files_in([str(tmp_path), "x.csv", "gs://bucket/y.csv"])
    names = [Path(path).name for path in found]
    assert names == ["a.JSON", "b.csv", "c.manifest", "x.csv", "y.csv"]
