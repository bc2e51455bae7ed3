"""The reserve, a mergeable state, against sorting all rows."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import scipy.stats

from evalsampling import InputError
from evalsampling.pool.stored_columns import CELL, FILE, GIVEN, HASH, ID, ROW
from evalsampling.preparation import reserve_builder
from evalsampling.preparation.reserve import Reserve, check_complete
from evalsampling.preparation.reserve_builder import ReserveBuilder, hash_limits
from evalsampling.workspace.pool_facts import PoolFacts
from tests.contracts import assert_mergeable
from tests.drawn_by_row import cells_of
from tests.jobs import Job


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of the pool, as a reserve holds it."""

    cell: int
    hash: int
    id: int | str
    file: str
    row: int
    name: str | None


def make_rows(count: int, text: bool, seed: int = 0) -> list[Row]:
    """Five cells, one of them with one row; two pairs of ids whose hashes are equal."""
    rng = np.random.default_rng(seed)
    hashes = rng.integers(0, 2**64 - 1, count, dtype=np.uint64).tolist()
    cells = [4, *rng.integers(0, 4, count - 1).tolist()]
    for pair in ((5, 6), (7, 8)):
        for i in pair:
            cells[i], hashes[i] = 2, pair[0]
    ids = rng.permutation(10 * count)[:count].tolist()
    return [
        Row(c, h, f"id-{i}" if text else i, f"part-{n % 3}", n, None if n % 4 else f"row {n}")
        for n, (c, h, i) in enumerate(zip(cells, hashes, ids, strict=True))
    ]


def reserve_of(rows: list[Row], capacity: int) -> Reserve:
    if not rows:
        return Reserve(capacity)
    table = pa.table(
        {
            CELL: pa.array([r.cell for r in rows], pa.int64()),
            HASH: pa.array([r.hash for r in rows], pa.uint64()),
            ID: pa.array([r.id for r in rows]),
            FILE: pa.array([r.file for r in rows]).dictionary_encode(),
            ROW: pa.array([r.row for r in rows]),
            "payload.name": pa.array([r.name for r in rows], pa.string()),
        }
    )
    return Reserve.from_rows(capacity, [table])


def content(reserve: Reserve) -> list[tuple]:
    if reserve.rows is None:
        return []
    return [tuple(row.values()) for row in reserve.rows.to_pylist()]


def same(a: Reserve, b: Reserve) -> bool:
    return a.capacity == b.capacity and content(a) == content(b)


def sorted_by_hand(rows: list[Row], capacity: int) -> list[tuple]:
    kept = []
    for cell in sorted({r.cell for r in rows}):
        inside = sorted((r for r in rows if r.cell == cell), key=lambda r: (r.hash, r.id))
        kept += inside[:capacity]
    return [dataclasses.astuple(r) for r in kept]


@pytest.mark.parametrize("text", [False, True], ids=["integers", "strings"])
@pytest.mark.parametrize("capacity", [1, 3, 7, 1000])
def test_merge_contract(capacity: int, text: bool) -> None:
    """With capacity 1 and 3 the end of the reserve falls between two equal hashes."""
    rows = make_rows(80, text)
    shards = [rows[:30], rows[30:31], [], rows[31:33], rows[33:]]
    states = [reserve_of(shard, capacity) for shard in shards]
    assert_mergeable(states, Reserve(capacity), same)
    whole = sum(states, start=Reserve(capacity))
    expected = sorted_by_hand(rows, capacity)
    assert content(whole) == expected
    cells = [row[0] for row in expected]
    assert whole.ranks.tolist() == [cells[:i].count(cell) for i, cell in enumerate(cells)]
    assert len(whole) == len(expected)


@pytest.mark.parametrize("capacity", [1, 3, 1000])
def test_rows_with_a_label_come_first_and_are_all_kept(capacity: int) -> None:
    """In whatever shares they come; those without fill the capacity."""
    rows = make_rows(80, text=False)
    labelled = {row.id for row in rows[::3]}

    def reserve(part: list[Row]) -> Reserve:
        table = reserve_of(part, 1000).rows
        given = [1 if id in labelled else None for id in table[ID].to_pylist()]
        return Reserve.from_rows(capacity, [table.append_column(GIVEN, pa.array(given, pa.int8()))])

    shards = [rows[:30], rows[30:31], rows[31:33], rows[33:]]
    assert_mergeable([reserve(shard) for shard in shards], Reserve(capacity), same)
    whole = sum(map(reserve, shards), start=Reserve(capacity))
    expected = []
    for cell in range(5):
        inside = sorted((r for r in rows if r.cell == cell), key=lambda r: (r.hash, r.id))
        expected += [r.id for r in inside if r.id in labelled]
        expected += [r.id for r in inside if r.id not in labelled][:capacity]
    assert whole.rows[ID].to_pylist() == expected
    count = np.bincount([row.cell for row in rows])
    check_complete(whole.rows, count, capacity)
    unlabelled = pc.indices_nonzero(whole.rows[GIVEN].is_null()).to_numpy()
    lacking = whole.rows.take(np.delete(np.arange(len(whole)), unlabelled[0]))
    with pytest.raises(InputError, match="were found"):
        check_complete(lacking, count, capacity)


def test_large_payload_is_compacted_as_it_comes(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few rows it is of: what is held is looked at each time so many bytes have come."""
    one = job().prepared()
    facts = PoolFacts.read(one.workspace)
    looked: list[int] = []
    monkeypatch.setattr(reserve_builder, "check_payload", lambda _, __, rows: looked.append(rows))
    for most, times in ((0, 2), (1 << 26, 0)):
        monkeypatch.setattr(reserve_builder, "_COMPACT_BYTES_ABOVE", most)
        looked.clear()
        builder = ReserveBuilder(facts.pool.stratification, capacity=4)
        for part in (one.pool.table[:300], one.pool.table[300:900]):
            builder.add(cells_of(facts, part))
        assert len(looked) == times


def test_labels_are_not_too_many(job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reserve_builder, "MOST_LABELS", 1999)
    done = job(labels={"column": "prediction", "drawn": "random"}).prepare()
    assert done.status == 1
    assert "labels.column: more than 1,999 rows have a label" in done.err


def test_reserves_of_different_capacity_do_not_add_up() -> None:
    with pytest.raises(ValueError, match="do not add up"):
        Reserve(2) + Reserve(3)


@pytest.mark.parametrize("capacity", [1, 50, 2000, 10**6])
@pytest.mark.parametrize("times", [1.5, 30, 10**6])
def test_hash_limits_let_the_first_rows_pass(capacity: int, times: float) -> None:
    """The exact probability that too few rows pass is below exp(-50)."""
    rows = int(times * (capacity + 10 * np.sqrt(capacity) + 100))
    limit = int(hash_limits(np.array([rows]), capacity)[0])
    short = scipy.stats.binom.logcdf(capacity - 1, rows, limit / 2**64)
    assert short < -50
    assert limit / 2**64 * rows < capacity + 10 * np.sqrt(capacity) + 101


def test_hash_limits_pass_all_of_small_cells() -> None:
    limits = hash_limits(np.array([0, 1, 60, 230, 10**9]), capacity=60)
    assert (limits[:4] == 2**64 - 1).all()
    assert limits[4] < 2**64 / 10**6


def test_a_reserve_that_lacks_rows_is_found_out() -> None:
    rows = pa.table({CELL: [0, 0, 2, 2, 2]})
    count = np.array([2, 0, 7])
    check_complete(rows, count, capacity=3)
    for capacity, words in [(4, "cell 2 has 7 rows, but 3 of 4"), (2, "cell 2 has 7 .* 3 of 2")]:
        with pytest.raises(InputError, match=words):
            check_complete(rows, count, capacity)
    with pytest.raises(InputError, match=r"cell 1 has 1 rows, but 0 of 1 were found .* changed"):
        check_complete(rows, np.array([2, 1, 7]), capacity=3)


@pytest.mark.parametrize("cells", [1, 200, 60_000, 10**6])
@pytest.mark.parametrize("ties", [0, 40])
def test_order_is_that_of_cell_hash_and_id(cells: int, ties: int) -> None:
    """Whatever integers the cells fit in; rows with the same id stay in the order they came in."""
    rng = np.random.default_rng(cells + ties)
    rows = [
        Row(cell, key, number, "part", number, None)
        for number, (cell, key) in enumerate(
            zip(
                rng.integers(0, cells, 3000).tolist(),
                rng.integers(0, 2**64 - 1, 3000, dtype=np.uint64).tolist(),
                strict=True,
            )
        )
    ]
    for first, second in rng.permutation(3000)[: 2 * ties].reshape(-1, 2).tolist():
        twin = rows[first]
        rows[second] = dataclasses.replace(twin, id=twin.id - second % 3, row=second)
    assert reserve_of(rows, 5000).rows is not None
    ordered = sorted(rows, key=lambda r: (r.cell, r.hash, r.id))  # a stable sort
    assert content(reserve_of(rows, 5000)) == [dataclasses.astuple(row) for row in ordered]
