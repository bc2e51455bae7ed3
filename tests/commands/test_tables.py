"""Tables as pools: the same evaluations as of flat files, at the version that is pinned."""

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from evalsampling import EvaluationSpec, InputError
from evalsampling.commands.prepare import Preparation
from evalsampling.commands.prepare_plan import prepare_in_process
from evalsampling.commands.top_up import read_unchanged
from evalsampling.pool.catalog import Catalog, PoolFile
from evalsampling.workspace.manifest import HERE
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Pool, call, make_pool
from tests.reference import reserve_of
from tests.slow import slowly
from tests.tables import KINDS, WHERE, as_delta, as_flat, evaluated, make_table, spec_of, wanted


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return make_table()


@pytest.fixture(scope="module")
def expected(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What an evaluation of a file says that has the wanted rows alone."""
    folder = tmp_path_factory.mktemp("flat")
    return evaluated(spec_of(folder, as_flat(folder / "pool", wanted(table))), make_pool())


@pytest.mark.parametrize("kind", ["iceberg", *slowly("hive", "delta")])
def test_a_table_is_evaluated_like_a_file(
    kind: str, table: pa.Table, expected: dict[str, Any], tmp_path: Path
) -> None:
    spec = spec_of(tmp_path, KINDS[kind](tmp_path / "pool", table) | {"where": WHERE})
    assert evaluated(spec, make_pool()) == expected
    workspace = tmp_path / "run"
    assert call("status", "--verify", workspace).status == 0
    assert call("prepare", spec, "--in-process").done
    status = call("status", workspace, "--json").json["prepared"]["selection"]
    assert status["where"] == WHERE
    assert ("version" in status) == (kind in ("delta", "iceberg"))
    assert f"where: {WHERE}" in call("status", workspace).out
    manifest = json.loads((workspace / "jobs" / "prepare.json").read_text())
    assert manifest["input"]["pool"]["where"] == WHERE
    assert call("report", workspace, "--to", tmp_path / "report.html").done
    assert "where of the pool" in (tmp_path / "report.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["delta"])
def test_by_beam(kind: str, table: pa.Table, expected: dict[str, Any], tmp_path: Path) -> None:
    spec = spec_of(tmp_path, KINDS[kind](tmp_path / "pool", table) | {"where": WHERE})
    assert evaluated(spec, make_pool(), "--runner=FnApiRunner") == expected


@pytest.mark.parametrize(
    "suffix", ["csv", *(pytest.param(name, marks=pytest.mark.slow) for name in ("jsonl", "avro"))]
)
def test_rows_of_other_formats(
    suffix: str, table: pa.Table, expected: dict[str, Any], tmp_path: Path
) -> None:
    """A filter, a column of the path, and errors that name rows of the file."""
    folder = tmp_path / "pool" / "kind=7"
    Pool(table.drop_columns(["day"]), {}).write_as(suffix, folder)
    pool = {"path": str(folder / f"*.{suffix}"), "where": f"{WHERE} AND kind = 7"}
    said = evaluated(
        spec_of(tmp_path, pool), make_pool().with_text_ids() if suffix == "csv" else make_pool()
    )
    assert said["rows"] == expected["rows"]
    if suffix != "csv":  # Whose ids are texts, and have other hashes.
        assert said == expected


def _pool(tmp_path: Path, table: pa.Table, **pool: Any) -> Path:
    return spec_of(tmp_path, as_flat(tmp_path / "pool", table) | pool)


def test_the_place_of_a_bad_value_behind_a_filter(table: pa.Table, tmp_path: Path) -> None:
    scores = table["score"].to_pylist()
    scores[701] = None
    table = table.set_column(1, "score", pa.array(scores)).set_column(
        0, "id", pa.array(range(len(table)))
    )
    failed = call("prepare", _pool(tmp_path, table, where="id >= 650 AND id < 900"), "--in-process")
    assert "a.parquet: column 'score', row 701: null" in failed.err


@pytest.mark.slow
def test_an_id_that_is_there_twice_behind_a_filter(table: pa.Table, tmp_path: Path) -> None:
    ids = list(range(len(table)))
    ids[830] = 690
    spec = _pool(tmp_path, table.set_column(0, "id", pa.array(ids)), where="id >= 650")
    failed = call("prepare", spec, "--check-ids", "--runner=FnApiRunner")
    assert "690" in failed.err
    assert "row 830" in failed.err


def test_a_scorer_sees_wanted_rows_alone(
    table: pa.Table, expected: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "scoring_wanted.py").write_text(
        "import pyarrow.compute as pc\n"
        "def same(batch):\n"
        "    assert len(batch) and pc.min(batch['score']).as_py() >= -3.5\n"
        "    return batch\n"
    )
    spec = _pool(tmp_path, table, where=WHERE, scorer="scoring_wanted:same")
    assert evaluated(spec, make_pool()) == expected


@pytest.mark.slow
def test_more_rows_of_a_table(table: pa.Table, tmp_path: Path) -> None:
    """A reserve that is topped up with payload, from the version that was pinned."""
    pool = as_delta(tmp_path / "pool", table) | {"where": WHERE}
    spec = spec_of(tmp_path, pool, budget=20, round_size=20)
    assert call("prepare", spec, "--in-process").status == 0
    _appended(tmp_path / "pool", table)
    assert call("sample", tmp_path / "run").status == 0
    held = sum(map(len, reserve_of(tmp_path / "run").values()))
    topped = call("prepare", spec, "--top-up", "60", "--runner=FnApiRunner", "--json").done
    assert topped.json["reserve_rows"] > held
    added = pa.concat_tables(
        [pq.read_table(path) for path in (tmp_path / "run").rglob("*.parquet")
         if "payload.name" in pq.read_schema(path).names],
        promote_options="permissive",
    )  # fmt: skip
    names = dict(zip(table["id"].to_pylist(), table["name"].to_pylist(), strict=True))
    shown = zip(added["id"].to_pylist(), added["payload.name"].to_pylist(), strict=True)
    assert all(names[id] == name for id, name in shown)


@pytest.mark.parametrize(
    ("where", "options"),
    [
        ("country = 'XX'", ("--in-process",)),
        ("score > 1000", ("--in-process",)),
        ("score > 1 AND score < 1", ("--in-process",)),
        pytest.param("country = 'XX'", ("--runner=FnApiRunner",), marks=pytest.mark.slow),
        pytest.param("country = 'AA'", ("--runner=FnApiRunner",), marks=pytest.mark.slow),
    ],
)
def test_a_condition_that_keeps_nothing(
    table: pa.Table, tmp_path: Path, where: str, options: tuple[str, ...]
) -> None:
    spec = _pool(tmp_path, table, where=where)
    failed = call("prepare", spec, *options)
    assert f"pool.where: no row of {tmp_path}/pool/*.parquet satisfies {where}" in failed.err
    assert not (tmp_path / "run").exists()
    assert "no row of" in call("prepare", "--check", spec).out


# --- versions


def _appended(folder: Path, table: pa.Table) -> None:
    ids = pa.array([id + 1_000_000 for id in table["id"].to_pylist()])
    write_deltalake(str(folder), table.set_column(0, "id", ids), mode="append")


def test_a_table_that_changes_between_the_passes(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of(tmp_path, as_delta(tmp_path / "pool", table))
    own = Catalog.from_files

    def then(*arguments: Any) -> Catalog:
        _appended(tmp_path / "pool", table)
        return own(*arguments)

    monkeypatch.setattr(Catalog, "from_files", then)
    assert prepare_in_process(EvaluationSpec.load(spec)).rows == len(table)
    monkeypatch.undo()
    marker = json.loads((tmp_path / "run" / "evaluation.json").read_text())
    assert marker["table"]["pinned"] == 2
    assert DeltaTable(str(tmp_path / "pool")).version() == 3
    assert "version" not in marker["spec"]["pool"]["table"]
    # Later commands read what was pinned.
    assert call("prepare", spec, "--in-process").status == 0
    assert read_unchanged(PreparedPool.read(Workspace(tmp_path / "run"))).rows == len(table)
    assert "version: 2" in call("status", tmp_path / "run").out


def test_a_prepare_that_was_killed_goes_on_with_its_version(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = spec_of(tmp_path, as_delta(tmp_path / "pool", table))

    def killed(*_: Any) -> None:
        shutil.copytree(tmp_path / "run", tmp_path / "left")
        raise KeyboardInterrupt

    monkeypatch.setattr(PoolFile, "inspect", killed)
    with pytest.raises(KeyboardInterrupt):
        prepare_in_process(EvaluationSpec.load(spec), threads=1)
    monkeypatch.undo()
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
    (tmp_path / "left").rename(tmp_path / "run")  # As no process could clear it away.
    _appended(tmp_path / "pool", table)
    assert prepare_in_process(EvaluationSpec.load(spec)).rows == len(table)
    assert not (tmp_path / "run" / "table.json").exists()


def test_a_prepare_that_failed_leaves_no_version(table: pa.Table, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, as_delta(tmp_path / "pool", table) | {"score": "nothing"})
    assert "column 'nothing' is missing" in call("prepare", spec, "--in-process").err
    assert not (tmp_path / "run").exists()


def test_another_version_is_another_pool(table: pa.Table, tmp_path: Path) -> None:
    pool = as_delta(tmp_path / "pool", table)
    assert call("prepare", spec_of(tmp_path, pool), "--in-process").status == 0
    pool["table"]["version"] = 1
    failed = call("prepare", spec_of(tmp_path, pool), "--in-process")
    assert "prepared with another pool.table.version" in failed.err


def test_a_file_that_was_removed_since(table: pa.Table, tmp_path: Path) -> None:
    spec = spec_of(tmp_path, as_delta(tmp_path / "pool", table))
    assert call("prepare", spec, "--in-process").status == 0
    gone = next((tmp_path / "pool").glob("country=DE/*.parquet"))
    gone.unlink()
    with pytest.raises(InputError, match=f"{gone.name}: no such file; .*/pool at version 2 has it"):
        read_unchanged(PreparedPool.read(Workspace(tmp_path / "run")))
    assert call("sample", tmp_path / "run").status == 0


def test_a_preparation_without_waiting_is_pinned(table: pa.Table, tmp_path: Path) -> None:
    spec = EvaluationSpec.load(spec_of(tmp_path, as_delta(tmp_path / "pool", table)))
    assert Preparation.from_spec(spec, HERE, detached=True).table["pinned"] == 2  # type: ignore[index]


def test_a_table_that_is_not_there(tmp_path: Path) -> None:
    spec = spec_of(tmp_path, {"table": {"delta": str(tmp_path / "none")}})
    assert "none: no Delta table" in call("prepare", spec, "--in-process").refused
    assert "none: no Delta table" in call("prepare", "--check", spec).out
