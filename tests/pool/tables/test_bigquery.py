"""A table of BigQuery becomes the workspace that files with its rows become."""

import datetime
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from evalsampling import InputError
from evalsampling.commands.forget import ForgetOptions, forget
from evalsampling.commands.options import WorkspaceOptions
from evalsampling.commands.prepare import Preparation
from evalsampling.commands.prepare_plan import prepare_in_process
from evalsampling.commands.verify import verify
from evalsampling.pool.tables.stored import parts_of, store_part
from evalsampling.spec import EvaluationSpec
from evalsampling.storage import open_store
from evalsampling.storage.local import LocalStore
from tests.bigquery import TABLE, FakeBigQuery, serving
from tests.engines import Case, StartSpark, on_engines
from tests.jobs import Job, Pool, make_pool
from tests.reference import assert_same, assert_same_evaluation, reference
from tests.stored_tables import assert_same_as_files, million_rows, of_table

POOL = make_pool()
LATER = datetime.datetime(2026, 6, 1, tzinfo=datetime.UTC)


@pytest.fixture
def fake() -> Iterator[FakeBigQuery]:
    """BigQuery with the pool as a table, among whose columns are some that no spec names."""
    table = POOL.table
    others = {"more": table["id"], "at": pa.array([LATER] * len(table))}
    for name, values in others.items():
        table = table.append_column(name, values)
    with serving(table) as server:
        yield server


@pytest.fixture
def start_spark(request: pytest.FixtureRequest) -> StartSpark:
    """Starts Spark when it is asked for."""
    return lambda: request.getfixturevalue("session")


@pytest.fixture
def of_bigquery(job: Callable[..., Job]) -> Callable[..., Job]:
    """Makes a job whose pool is a table of BigQuery: `of_bigquery({"time": ...}, budget=30)`."""

    def make(
        table: dict[str, Any] | None = None,
        where: str | None = None,
        pool: Pool = POOL,
        **keys: Any,
    ) -> Job:
        return of_table(job(pool, **keys), {"bigquery": TABLE, **(table or {})}, where)

    return make


def spec_of(one: Job) -> EvaluationSpec:
    return EvaluationSpec.load(one.spec)


def prepare(one: Job) -> Any:
    return prepare_in_process(spec_of(one))


@pytest.mark.parametrize(("engine", "breaks"), on_engines([(0,), (2,)], [(1,)]))
def test_the_same_workspace_though_streams_break(
    fake: FakeBigQuery, of_bigquery: Any, start_spark: StartSpark, engine: Case, breaks: int
) -> None:
    one, fake.breaks = of_bigquery(budget=300), breaks
    engine.prepare(spec_of(one), start_spark, True)
    assert_same(one.workspace, reference(one), budget=300)
    assert len(fake.sessions) == 1
    streams = {stream for stream, _ in fake.reads}
    assert len(streams) == fake.streams
    for stream in streams:
        offsets = [offset for name, offset in fake.reads if name == stream]
        assert offsets == [number * fake.page_rows for number in range(breaks + 1)]


def test_the_same_rounds_and_estimates(fake: FakeBigQuery, of_bigquery: Any) -> None:
    one = of_bigquery()
    prepare(one)
    assert_same_evaluation(one)


def test_what_is_asked_of_bigquery_and_what_the_workspace_keeps(
    fake: FakeBigQuery, of_bigquery: Any
) -> None:
    """Columns that the spec names, the condition in its SQL, and the time, which is pinned."""
    one = of_bigquery({"billing_project": "payer"}, where='"more" >= 0 AND score > -1')
    before = datetime.datetime.now(datetime.UTC)
    prepare(one)
    (request,) = fake.sessions
    session, options = request.read_session, request.read_session.read_options
    assert request.parent == "projects/payer"
    assert session.table == "projects/a-project/datasets/a_dataset/tables/pool"
    assert {*options.selected_fields} == {"id", "score", "prediction", "name", "more"}
    assert options.row_restriction == "`more` >= 0 AND score > -1"
    marker = json.loads((one.workspace / "evaluation.json").read_text())
    time = datetime.datetime.fromisoformat(marker["table"]["pinned"]["time"])
    assert before <= time <= datetime.datetime.now(datetime.UTC)
    assert session.table_modifiers.snapshot_time == time
    assert marker["rows"] == (POOL.table["score"].to_numpy() > -1).sum() < 2000


def test_the_table_as_it_was_at_a_time(fake: FakeBigQuery, of_bigquery: Any) -> None:
    now = fake.versions[TABLE][0][1]
    fake.versions[TABLE].append((LATER, now.slice(0, 700)))
    for time, rows in [
        ("2026-05-31T23:59:59Z", 2000),
        (LATER, 700),
        (None, 700),
        ("2026-06-01T00:30:00+01:00", 2000),
    ]:
        assert prepare(of_bigquery({} if time is None else {"time": time})).rows == rows


def test_a_prepare_that_was_killed_begins_anew_at_the_same_time(
    fake: FakeBigQuery, of_bigquery: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it had stored is not taken for whole."""
    one = of_bigquery(budget=300)

    def killed(*_: Any) -> Any:
        raise RuntimeError("killed")

    with monkeypatch.context() as patch:
        patch.setattr(Preparation, "plan", killed)
        patch.setattr(LocalStore, "_abandon", lambda *_: None)
        with pytest.raises(RuntimeError, match="killed"):
            prepare(one)
    left = one.workspace / "stored" / "00002.parquet"
    left.rename(left.with_name("00003.parquet"))
    fake.versions[TABLE].append((datetime.datetime.now(datetime.UTC), POOL.table.slice(0, 700)))
    prepare(one)
    assert_same(one.workspace, reference(one), budget=300)
    first, second = fake.sessions
    assert first.read_session.table_modifiers == second.read_session.table_modifiers


def test_a_part_that_is_read_again_changes_nothing(fake: FakeBigQuery, of_bigquery: Any) -> None:
    one = of_bigquery()
    preparation = Preparation.from_spec(spec_of(one), None).settled()  # type: ignore[arg-type]
    table = preparation.spec.pool.table
    assert table is not None
    open_store(preparation.stored_directory).make()
    for part in [*parts_of(preparation.spec), *parts_of(preparation.spec)][:4]:
        list(store_part(part, table))
    files = sorted((one.workspace / "stored").glob("*.parquet"))
    assert [file.name for file in files] == [f"0000{number}.parquet" for number in range(3)]
    stored = pa.concat_tables([pq.read_table(file) for file in files])
    assert stored["id"].to_pylist() == POOL.table["id"].to_pylist()


def _without(column: str) -> Callable[[FakeBigQuery], None]:
    def change(fake: FakeBigQuery) -> None:
        since, table = fake.versions[TABLE][0]
        fake.versions[TABLE] = [(since, table.drop_columns([column]))]

    return change


def _empty(fake: FakeBigQuery) -> None:
    since, table = fake.versions[TABLE][0]
    fake.versions[TABLE] = [(since, table.slice(0, 0))]


def _bad(fake: FakeBigQuery) -> None:
    since, table = fake.versions[TABLE][0]
    scores = table["score"].to_pylist()
    scores[-1] = None
    place = table.schema.get_field_index("score")
    fake.versions[TABLE] = [(since, table.set_column(place, "score", [scores]))]


def _same(_: FakeBigQuery) -> None:
    pass


@pytest.mark.parametrize(
    ("change", "table", "where", "message"),
    [
        (_empty, {}, None, f"^{TABLE}: the pool is empty$"),
        (_same, {}, "score > 99", "no row of a-project.a_dataset.pool satisfies score > 99$"),
        (_bad, {}, None, f"^stream 2 of {TABLE}: column 'score', row 665: null"),
        (_without("score"), {}, None, f"^{TABLE}: column 'score' is missing; there are: id, "),
        (
            _same,
            {"time": "2025-12-31T00:00:00Z"},
            None,
            f"^{TABLE}: BigQuery: request failed: Invalid snapshot time .*before its creation",
        ),
        (_same, {"bigquery": "a.b.c"}, None, "^a.b.c: BigQuery: Not found: Table a.b.c"),
        (_same, {"bigquery": "pool"}, None, "pool.table.bigquery: must be project.dataset.table"),
        (_same, {"time": "yesterday"}, None, "pool.table.time: must be a time with its zone"),
        (_same, {"time": "2026-11-01T00:00:00"}, None, "pool.table.time: must be a time with its"),
        (_same, {"version": 3}, None, "pool.table.version"),
    ],
)
def test_what_is_no_pool(
    fake: FakeBigQuery, of_bigquery: Any, change: Any, table: Any, where: Any, message: str
) -> None:
    change(fake)
    one = of_bigquery(table, where)
    with pytest.raises(InputError, match=message) as error:
        prepare(one)
    assert len(str(error.value).splitlines()) == 1
    assert not one.workspace.exists()


@pytest.mark.slow
def test_later_commands_read_what_was_stored_and_payload_can_be_erased(
    fake: FakeBigQuery, of_bigquery: Any
) -> None:
    one = of_bigquery(budget=30)
    prepare(one)
    fake.versions.clear()
    options = WorkspaceOptions(str(one.workspace))
    assert verify(options).ok
    id = POOL.table["id"][1234].as_py()
    forgotten = forget(ForgetOptions(str(one.workspace), str(id)))
    assert "stored/00001.parquet" in forgotten.files
    stored = pq.read_table(one.workspace / "stored")
    assert stored.filter(pc.equal(stored["id"], id))["name"].to_pylist() == [None]
    assert stored["name"].null_count == 1
    assert verify(options).ok
    assert prepare(one).rows == 2000
    assert one.prepare("--check-ids").status == 0
    assert one.prepare("--top-up").status == 0
    damaged = one.workspace / "stored" / "00000.parquet"
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert "00000.parquet" in str(verify(options).bad)
    assert one.prepare("--top-up").status == 1


def test_a_package_that_is_not_installed(of_bigquery: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from google import cloud

    monkeypatch.setitem(sys.modules, "google.cloud.bigquery_storage_v1", None)
    monkeypatch.delattr(cloud, "bigquery_storage_v1")
    one = of_bigquery()
    with pytest.raises(InputError, match=r"needs google-cloud-bigquery-storage: pip install 'eval"):
        prepare(one)
    assert not one.workspace.exists()


def test_only_prepare_reads_such_a_table(fake: FakeBigQuery, of_bigquery: Any) -> None:
    from evalsampling.pool.source import planned_files

    with pytest.raises(
        InputError,
        match=r"pool.table.bigquery: only `prepare` reads .* export .* name these by pool.path",
    ):
        planned_files(spec_of(of_bigquery()).pool)


@pytest.mark.slow
def test_a_million_rows(fake: FakeBigQuery, of_bigquery: Any, job: Any) -> None:
    pool, fake.streams, fake.page_rows, fake.breaks = million_rows(), 5, 20_000, 2
    fake.versions[TABLE] = [(fake.versions[TABLE][0][0], pool.table)]
    one, flat = of_bigquery(pool=pool, budget=300), job(pool, budget=300)
    prepare(one)
    prepare_in_process(spec_of(flat))
    assert_same_as_files(one, flat)
