"""Files that commands write for users: only their own are replaced, and no input ever."""

from pathlib import Path
from typing import Any

import pytest

from evalsampling import Evaluation, InputError
from evalsampling.cli.listing import COMMANDS as LISTED
from tests.jobs import Job, Jobs, call, files_below

FILES = ("products.csv", "products.html", "products.json", "p.parquet", "e.yaml", "v.json")

ATTACKS: dict[str, tuple[str, ...]] = {
    "numbers of a report": ("report", "--to", "products.html"),
    "votes as CSV": ("export", "--to", "products.csv"),
    "votes as Parquet": ("export", "--to", "p.parquet"),
    "table of estimates": ("estimate", "--report-to", "table:p.parquet"),
    "table as CSV": ("estimate", "--report-to", "table:products.csv"),
    "several": ("estimate", "--report-to", "table:new.parquet", "table:p.parquet"),
    "fetched votes": ("pull", "--url", "http://nowhere", "--to", "v.json"),
}
"""A command and its output; with ``{workspace}`` behind its name."""


@pytest.fixture
def labelled(job: Jobs, monkeypatch: pytest.MonkeyPatch) -> Job:
    one = job(round_size=100).drawn()
    one.answer(1)
    monkeypatch.chdir(one.directory)
    return one


def run(one: Job, command: str, *rest: str) -> Any:
    return call(command, one.workspace, *rest)


COMMANDS: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "init": (("init", "pool/*.parquet", "--output", "new.yaml"), {"new.yaml"}),
    "init again": (("init", "pool/*.parquet", "--output", "new.yaml"), set()),
    "init over the pool": (("init", "pool/*.parquet", "--output", "{pool}"), set()),
    "init over the spec": (("init", "pool/*.parquet", "--output", "{spec}"), set()),
    "plan": (("plan", "{spec}", "--repeats", "2", "--budgets", "60"), set()),
    "prepare --check": (("prepare", "{spec}", "--check"), set()),
    "prepare": (("prepare", "{spec}"), set()),
    "sample": (("sample", "{workspace}", "--size", "5"), set()),
    "push": (("push", "{workspace}", "--url", "http://127.0.0.1:9"), set()),
    "pull": (("pull", "{workspace}", "--url", "http://127.0.0.1:9", "--to", "v.json"), set()),
    "estimate": (("estimate", "{workspace}", "--labels", "labels.csv"), set()),
    "report": (
        ("report", "{workspace}", "--to", "page.html"),
        {"page.html", "page.json", "page.csv"},
    ),
    "export": (("export", "{workspace}", "--to", "votes.csv"), {"votes.csv"}),
    "status": (("status", "{workspace}", "--verify"), set()),
    "simulate": (
        ("simulate", "{spec}", "--truth", "{truth}", "--repeats", "1", "--budgets", "60"),
        set(),
    ),
}
"""Arguments of every command, and the files that it may write outside the workspace."""

REFUSED = ("init again", "init over the pool", "init over the spec", "push", "pull")


def test_no_command_touches_a_file_beside_the_workspace(labelled: Job) -> None:
    one = labelled
    truth = one.deliver([(str(i), str(t)) for i, t in one.pool.truth.items()], "t.csv", "id,label")
    [pool] = (one.directory / "pool").glob("*.parquet")
    names = {
        "{workspace}": one.workspace, "{spec}": one.spec, "{truth}": truth, "{pool}": pool,
    }  # fmt: skip
    assert {name.split()[0] for name in COMMANDS} == {listed.name for listed in LISTED}
    for name, (arguments, written) in COMMANDS.items():
        before = files_beside(one)
        result = call(*(names.get(argument, argument) for argument in arguments))
        assert (result.status == 0) == (name not in REFUSED), (name, result.err)
        after = files_beside(one)
        assert {*after} - {*before} == written, name
        assert {file: after[file] for file in before} == before, name


def files_beside(one: Job) -> dict[str, bytes]:
    """The files of a job outside its workspace."""
    inside = f"{one.workspace.relative_to(one.directory)}/"
    files = files_below(one.directory)
    return {name: content for name, content in files.items() if not name.startswith(inside)}


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("content", [b"id,name\n1,a\n", b""], ids=["of others", "empty"])
def test_files_of_others_are_not_replaced(labelled: Job, attack: str, content: bytes) -> None:
    for name in FILES:
        (labelled.directory / name).write_bytes(content)
    before = files_below(labelled.directory)
    result = run(labelled, *ATTACKS[attack])
    assert (result.status, result.out) == (1, "")
    assert "is there, and evalsampling did not write it" in result.err
    assert files_below(labelled.directory) == before


@pytest.mark.parametrize("attack", [name for name in ATTACKS if "fetched" not in name])
def test_their_own_files_are_replaced_and_others_where_asked(labelled: Job, attack: str) -> None:
    command, *rest = ATTACKS[attack]
    before = files_below(labelled.directory)
    assert run(labelled, command, *rest).status == 0
    written = {*files_below(labelled.directory)} - {*before}
    assert written
    assert run(labelled, command, *rest).status == 0
    for name in written:
        (labelled.directory / name).write_text("of others")
    assert run(labelled, command, *rest).status == 1
    assert run(labelled, command, *rest, "--overwrite").status == 0
    assert b"of others" not in {files_below(labelled.directory)[name] for name in written}


@pytest.mark.parametrize(
    "command", [("export", "--to"), ("estimate", "--report-to")], ids=["export", "estimate"]
)
def test_the_pool_is_never_replaced(labelled: Job, command: tuple[str, str]) -> None:
    [pool] = (labelled.directory / "pool").glob("*.parquet")
    link = labelled.directory / "link.parquet"
    link.symlink_to(pool)
    before = files_below(labelled.directory)
    for path in (pool, link):
        place = f"table:{path}" if command[0] == "estimate" else str(path)
        result = run(labelled, *command, place, "--overwrite")
        assert (result.status, result.out) == (1, "")
        assert f"{path}: is read by this evaluation" in result.err
    assert files_below(labelled.directory) == before


@pytest.mark.parametrize(
    ("command", "place"),
    [
        (("export", "--to"), "{pool}/votes.parquet"),
        (("estimate", "--report-to"), "table:{pool}"),
        (("estimate", "--report-to"), "table:{pool}/made.parquet"),
    ],
)
def test_no_output_becomes_a_file_of_the_pool(
    labelled: Job, command: tuple[str, str], place: str
) -> None:
    before = files_below(labelled.directory)
    result = run(labelled, *command, place.format(pool=labelled.directory / "pool"), "--overwrite")
    assert (result.status, result.out) == (1, "")
    assert "would be read as a file of the pool" in result.err
    assert files_below(labelled.directory) == before


@pytest.mark.parametrize(
    ("command", "option", "places"),
    [
        ("report", "--to", ("evaluation.html", "../{0}/evaluation.html", "jobs/../a/prepare.html")),
        ("export", "--to", ("cells.parquet", "new.csv")),
        ("export", "--form=splink --to", ("a.csv",)),
        ("pull", "--url=http://127.0.0.1:9 --to", ("jobs/prepare.json",)),
        ("estimate", "--report-to", ("table:{1}", "table:{1}/a.csv", "table:{1}/new/b")),
    ],
)
def test_no_output_is_in_the_workspace(
    labelled: Job, monkeypatch: pytest.MonkeyPatch, command: str, option: str, places: Any
) -> None:
    """The JSON twin of `evaluation.html` would be the workspace's own `evaluation.json`."""
    monkeypatch.chdir(labelled.workspace)
    before = files_below(labelled.workspace)
    for place in places:
        named = place.format(labelled.workspace.name, labelled.workspace)
        result = run(labelled, command, *option.split(), named)
        assert "is in the workspace; write it beside it" in result.refused
    assert files_below(labelled.workspace) == before


def test_labels_of_the_call_are_never_replaced(labelled: Job) -> None:
    labels = labelled.deliver(labelled.answers(1), "more.csv")
    result = labelled.estimate("--labels", labels, "--report-to", f"table:{labels}", "--overwrite")
    assert (result.status, result.out) == (1, "")
    assert "is read by this evaluation" in result.err
    assert labels.read_text().startswith("task,label")


def test_an_evaluation_in_memory_replaces_no_file_of_others(tmp_path: Path) -> None:
    file = tmp_path / "e.csv"
    file.write_text("{}\n")
    scores = [0.1, 0.4, 0.6, 0.9] * 25
    made = Evaluation.from_arrays(scores, [int(score > 0.5) for score in scores])
    with pytest.raises(InputError, match="is there, and evalsampling did not write it"):
        made.report_to(f"table:{file}")
    assert file.read_text() == "{}\n"
    for overwrite in (True, False):
        made.report_to(f"table:{file}", overwrite=overwrite)
        assert file.read_text().startswith('"estimate_id","run_id"')
