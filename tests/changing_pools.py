"""Pools that change while `prepare` reads them: what becomes of a file, and when."""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling.commands.prepare import Preparation
from evalsampling.pool.catalog import Catalog, PoolFile
from evalsampling.preparation import plan
from evalsampling.preparation.stratification import Stratification
from tests.jobs import Job, Jobs, Result, files_below, make_pool
from tests.reference import assert_same, reference

FILES = 2
ROWS = 400

Change = Callable[[Path], None]


def another(path: Path, rows: int) -> Path:
    """Write the file of another pool, with so many rows and other ids, beside the folder."""
    folder = path.parent.with_name("another")
    shutil.rmtree(folder, ignore_errors=True)
    pool = make_pool(rows, seed=9)
    ids = pa.array([id + 1_000_000 for id in pool.table["id"].to_pylist()])
    pool = type(pool)(pool.table.set_column(0, "id", ids), pool.truth)
    if path.suffix == ".parquet":
        pool.write(folder, FILES, group_rows=50)
    else:
        pool.with_text_ids().write_as(path.suffix[1:], folder, FILES)
    return folder / path.name


def write_whole(table: pa.Table, path: Path) -> None:
    """Write a Parquet file of the same name whole: no reader meets half of it."""
    pq.write_table(table, path.with_name("whole"), row_group_size=50)
    path.with_name("whole").replace(path)


def replaced(path: Path) -> None:
    """Another file takes its place, with other rows, as many."""
    another(path, ROWS).replace(path)


def shorter(path: Path) -> None:
    another(path, ROWS // 4).replace(path)


def longer(path: Path) -> None:
    another(path, ROWS * 3).replace(path)


def cut(path: Path) -> None:
    """Half of it is left."""
    os.truncate(path, path.stat().st_size // 2)


def appended(path: Path) -> None:
    """What it had is read as before; rows are behind it."""
    if path.suffix == ".parquet":
        more = pq.read_table(another(path, ROWS))
        table = pa.concat_tables([pq.read_table(path), more])
        write_whole(table, path)
        return
    lines = another(path, ROWS).read_bytes().splitlines(keepends=True)
    with path.open("ab") as file:
        file.writelines(lines[1:])


def gone(path: Path) -> None:
    path.unlink()


def added(path: Path) -> None:
    """Beside it stands one more."""
    another(path, ROWS).replace(path.with_stem("part-9"))


def of_same_size(path: Path) -> None:
    """Its rows have other scores, its size is the same."""
    before = path.stat().st_size
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        score = pa.array(table["score"].to_pylist()[::-1])
        write_whole(table.set_column(1, "score", score), path)
    else:
        path.write_text(path.read_text().replace("0.1", "0.9").replace("0.2", "0.8"))
    assert path.stat().st_size == before


def other_payload(path: Path) -> None:
    """What annotators are to see of its rows is another, its size is the same."""
    before = path.stat().st_size
    table = pq.read_table(path)
    names = pa.array([f"ROW{name[3:]}" for name in table["name"].to_pylist()])
    write_whole(table.set_column(3, "name", names), path)
    assert path.stat().st_size == before


def of_same_size_and_time(path: Path) -> None:
    """Nothing but its bytes tells that it is another."""
    time = path.stat().st_mtime_ns
    of_same_size(path)
    os.utime(path, ns=(time, time))


CHANGES: list[Change] = [
    replaced, shorter, longer, cut, appended, gone, added, of_same_size, of_same_size_and_time,
]  # fmt: skip
MOMENTS = ["found", "looked into", "between the passes", "in the second pass", "all read"]


@contextlib.contextmanager
def changed(moment: str, change: Callable[[], None]) -> Iterator[None]:
    """Let a pool change once, at a moment of a `prepare` whose workers are in this process."""
    done: list[None] = []

    def once() -> None:
        if not done:
            done.append(None)
            change()

    def before(owner: Any, name: str, calls: int = 1) -> None:
        held, count = owner.__dict__[name], []
        call = held.__func__ if isinstance(held, classmethod) else held

        def changing(*given: Any, **named: Any) -> Any:
            count.append(None)
            if len(count) == calls:
                once()
            return call(*given, **named)

        patch.setattr(owner, name, classmethod(changing) if call is not held else changing)

    with pytest.MonkeyPatch.context() as patch:
        if moment == "found":
            before(PoolFile, "inspect")
        elif moment == "looked into":
            before(Catalog, "from_files")
        elif moment == "between the passes":
            before(Stratification, "from_summary")
        elif moment == "in the second pass":
            before(plan, "assign_cells", calls=2)
        else:
            before(Preparation, "commit")
        yield
    assert done, "the moment did not come: the test would prove nothing"


def small(job: Jobs, suffix: str = "parquet", **keys: Any) -> tuple[Job, Path]:
    """Return a job of a small pool in some files, and the last of them, which is to change."""
    pool = make_pool(ROWS)
    pool = pool if suffix == "parquet" else pool.with_text_ids()
    one = job(pool, files=FILES, group_rows=50, budget=20, round_size=5, strata={"leaves": 4},
              **keys)  # fmt: skip
    folder = one.directory / "pool"
    if suffix != "parquet":
        shutil.rmtree(folder)
        pool.write_as(suffix, folder, FILES)
        one.spec.write_text(one.spec.read_text().replace("*.parquet", f"*.{suffix}"))
    return one, folder / f"part-{FILES - 1}.{suffix}"


def assert_refused(one: Job, result: Result, path: Path, change: Change) -> None:
    """Check that one line names the file, and that nothing is left in the workspace."""
    assert (result.status, result.out) == (1, "")
    lines = [line for line in result.err.splitlines() if line.startswith("evalsampling prepare:")]
    file, told = path, ["has changed while it was read"]
    if change is added:
        file, told = path.with_stem("part-9"), ["has come while the pool was read"]
    elif change is gone:
        told.append("cannot be read: No such file or directory")
    assert lines in [[f"evalsampling prepare: {file}: {one}"] for one in told]
    assert not one.workspace.exists()


def assert_whole_when_run_again(
    one: Job, before: dict[str, bytes], prepare: Callable[[], Any]
) -> None:
    """Put the files of the pool back, and check that ``prepare`` makes of them what it should."""
    folder = one.directory / "pool"
    for path in folder.iterdir():
        path.unlink()
    for name, content in before.items():
        (folder / name).write_bytes(content)
    prepare()
    assert_same(one.workspace, reference(one), budget=20)


def files_of(one: Job) -> dict[str, bytes]:
    """Return the files of a job's pool."""
    return files_below(one.directory / "pool")
