"""PySpark makes the workspace that Beam makes."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.preparation import shares
from evalsampling.spec import EvaluationSpec
from tests.bad_pools import BAD
from tests.changing_pools import (
    assert_whole_when_run_again,
    changed,
    files_of,
    of_same_size_and_time,
    small,
)
from tests.jobs import Job, Pool, make_pool
from tests.reference import by_beam, contents
from tests.servers import until
from tests.spark import MASTER, SPARK, environment

ROOT = Path(__file__).resolve().parents[2]
RESERVE = "DrawReserve"
"""Stage whose pieces are parts of the reserve."""

pytestmark = SPARK


@pytest.fixture
def merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[int]]:
    """Tells how many states each merge was given, in whatever process."""
    log, merge = tmp_path / "merged", shares.merged_piece

    def counting(kind: str, part: int, states: Any, **named: Any) -> Any:
        of_part = list(states)
        with log.open("a") as file:
            file.write(f"{len(of_part)}\n")
        return merge(kind, part, iter(of_part), **named)

    monkeypatch.setattr(shares, "merged_piece", counting)
    return lambda: [int(line) for line in log.read_text().split()]


def prepare(session: Any, one: Job, **options: Any) -> dict[str, Any]:
    from evalsampling.pipelines.spark_prepare import prepare

    return prepare(EvaluationSpec.load(one.spec), session, **options).to_json()


SHARDINGS = [pytest.param(1, 1 << 20, 8, id="one-share"), pytest.param(7, 50, 12, id="many-shares")]


@pytest.mark.parametrize(("files", "group_rows", "partitions"), SHARDINGS)
def test_the_same_workspace(
    session: Any, job: Any, merged: Any, files: int, group_rows: int, partitions: int
) -> None:
    one = job(make_pool(text_ids=True), files, group_rows, budget=30)
    expected = by_beam(one)
    told = prepare(session, one, partitions=partitions)
    assert contents(one.workspace) == expected
    assert max(merged()) > 1 or files == 1, "no states met: the test would prove nothing"
    assert told["runner"].startswith("PySpark ")
    assert one.sample().status == 0
    assert prepare(session, one) == told, "prepared again, it does nothing"


def test_ids_of_a_prepared_workspace_were_checked_or_not(session: Any, job: Any) -> None:
    one = job()
    told = prepare(session, one)
    with pytest.raises(InputError, match="prepared without --check-ids; choose another workspace"):
        prepare(session, one, check_ids=True)
    assert prepare(session, one) == told


DIES_ONCE = """\
import os, pathlib, signal
def score(batch):
    try:
        (pathlib.Path(__file__).parent / "died").touch(exist_ok=False)
    except FileExistsError:
        return batch
    os.kill(os.getpid(), signal.SIGKILL)
"""


def dying_once(job: Any, module: str) -> tuple[Job, dict[str, Any]]:
    """A job whose first worker that scores dies, and what comes of it where none does."""
    one = job(files=3, group_rows=150, pool={"scorer": f"{module}:score"})
    (one.directory / f"{module}.py").write_text(DIES_ONCE)
    (one.directory / "died").touch()
    expected = by_beam(one)
    (one.directory / "died").unlink()
    return one, expected


def test_a_worker_is_killed_and_spark_tries_again(session: Any, job: Any) -> None:
    one, expected = dying_once(job, "dies_once")
    prepare(session, one, partitions=4)
    assert (one.directory / "died").exists()
    assert contents(one.workspace) == expected


def test_a_worker_is_killed_while_it_gathers_or_writes_the_reserve(
    session: Any, job: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(files=3, group_rows=150)
    expected = by_beam(one)
    died = [tmp_path / "died-cutting", tmp_path / "died-merging"]
    of_share, merge = shares.share_pieces, shares.merged_piece

    def die_once(mark: Path) -> None:
        with contextlib.suppress(FileExistsError):
            mark.touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)

    def dying_in_a_share(*arguments: Any, **named: Any) -> Iterator[Any]:
        for piece in of_share(*arguments, **named):
            yield piece
            if piece.kind == RESERVE:
                die_once(died[0])

    def dying_merge(kind: str, *arguments: Any, **named: Any) -> Any:
        piece = merge(kind, *arguments, **named)
        if kind == RESERVE:
            die_once(died[1])
        return piece

    monkeypatch.setattr(shares, "share_pieces", dying_in_a_share)
    monkeypatch.setattr(shares, "merged_piece", dying_merge)
    prepare(session, one, partitions=4)
    assert all(mark.exists() for mark in died)
    assert contents(one.workspace) == expected


def program(one: Job, master: str = MASTER, **variables: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "evalsampling.pipelines.spark_prepare", f"--spec={one.spec}"]
    command.append("--partitions=4")
    return subprocess.Popen(
        command,
        env={**environment(master), **variables},
        cwd=one.directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_the_program_prints_what_the_command_does(job: Any) -> None:
    one = job(make_pool(rows=300), budget=30)
    expected = by_beam(one)
    out, err = program(one).communicate()
    assert json.loads(out)["rows"] == 300, err
    assert contents(one.workspace) == expected


def test_the_program_says_what_is_wrong_in_its_last_line(job: Any) -> None:
    make, words = BAD["null score"]
    one = job(make(), files=2)
    process = program(one)
    out, err = process.communicate()
    assert (process.returncode, out) == (1, "")
    last = err.splitlines()[-1]
    for word in ("spark_prepare", *words):
        assert word in last
    assert "Traceback" not in err
    assert not one.workspace.exists()


def test_a_pool_that_changes_between_the_passes(session: Any, job: Any) -> None:
    one, path = small(job)
    before = files_of(one)
    with (
        changed("between the passes", lambda: of_same_size_and_time(path)),
        pytest.raises(InputError, match=f"^{path}: has changed while it was read$"),
    ):
        prepare(session, one, partitions=4)
    assert not one.workspace.exists()
    assert_whole_when_run_again(one, before, lambda: prepare(session, one, partitions=4))


def test_killed_program_starts_over(session: Any, job: Any) -> None:
    """Killed when scored rows were already written; the next run finishes as if alone."""
    one = job(files=3, group_rows=100, pool={"scorer": "tests.jobs:napping"})
    expected = by_beam(one)
    process = program(one, NAP="0.5")
    scored = one.workspace / "scored"
    until(lambda: len(list(scored.glob("*.parquet"))) > 2, lambda: process.poll() is None)
    process.send_signal(signal.SIGKILL)
    process.communicate()  # ends when Spark has ended too, which holds the same stderr
    assert not (one.workspace / "evaluation.json").exists()
    prepare(session, one, partitions=4)
    assert contents(one.workspace) == expected


def test_a_killed_worker_without_another_try_is_told_and_the_next_run_is_whole(
    session: Any, job: Any
) -> None:
    one, expected = dying_once(job, "dies_once_for_good")
    process = program(one, master="local[2]")
    _, err = process.communicate()
    assert process.returncode == 1
    assert "Python worker exited unexpectedly" in err
    assert not one.workspace.exists()
    prepare(session, one, partitions=4)
    assert contents(one.workspace) == expected


def test_neither_workers_nor_driver_import_beam() -> None:
    code = (
        "import sys, evalsampling.pipelines.spark_prepare\n"
        "assert 'apache_beam' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_the_error_of_a_worker_is_found_in_that_of_spark() -> None:
    from evalsampling.pipelines.errors import user_error

    assert user_error(RuntimeError("a task failed\nValueError: 3")) is None
    text = (
        "Job aborted\nTraceback:\n evalsampling\nevalsampling.errors.InputError: a: row 3\n\tat x"
    )
    assert str(user_error(RuntimeError(text))) == "a: row 3"
    for kind, told in [
        ("evalsampling.storage.base.AccessError", "a: row 3"),
        ("IsADirectoryError", "IsADirectoryError: a: row 3"),
        ("pyarrow.lib.ArrowInvalid", "pyarrow.lib.ArrowInvalid: a: row 3"),
    ]:
        error = user_error(RuntimeError(f"Traceback:\n{kind}: a: row 3 [while running 'Read']"))
        assert str(error) == told


def test_pool_of_one_row(session: Any, job: Any) -> None:
    table = make_pool().table.slice(0, 1)
    one = job(Pool(table, {}), budget=30)
    expected = by_beam(one)
    prepare(session, one)
    assert contents(one.workspace) == expected
