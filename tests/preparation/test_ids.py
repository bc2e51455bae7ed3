"""All ids of a pool, compared by their hashes first."""

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evalsampling import EvaluationSpec, InputError
from evalsampling.pool.catalog import Catalog
from evalsampling.preparation import ids as checked
from evalsampling.preparation.ids import (
    check_repeated,
    repeated_hashes,
    spill,
    spilled,
    split_hashes,
)
from evalsampling.preparation.plan import read_cells, stratify_pool
from evalsampling.stats.hashing import hash_integers


def pool(directory: Path, ids: list[np.ndarray]) -> EvaluationSpec:
    for number, some in enumerate(ids):
        scores = np.linspace(0, 1, len(some))
        table = pa.table({"id": some, "score": scores, "prediction": some % 2})
        pq.write_table(table, directory / f"{number}.parquet", row_group_size=70)
    content = {"pool": {"path": str(directory / "*.parquet")}, "budget": 10}
    return EvaluationSpec.from_mapping(content, directory)


def test_spilled_hashes_are_those_of_the_places_told(tmp_path: Path) -> None:
    """By several threads at once, each of which has written in vain before."""
    rng = np.random.default_rng(0)
    batches = rng.integers(1 << 60, size=(20, 50), dtype=np.uint64)

    def write(batch: np.ndarray) -> list[tuple[int, bytes]]:
        for _ in spill([(7, b"in vain")], tmp_path):
            pass
        return list(spill([(7, batch.tobytes()), (8, batch[:3].tobytes())], tmp_path))

    with ThreadPoolExecutor(8) as threads:
        told = [place for places in threads.map(write, batches) for place in places]
    for number, wanted in ((7, batches), (8, batches[:, :3])):
        places = [place for share, place in told if share == number]
        found = np.frombuffer(b"".join(spilled(number, places, tmp_path)), dtype=np.uint64)
        np.testing.assert_array_equal(found, wanted.ravel())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is full")
def test_a_full_disk_is_told(tmp_path: Path) -> None:
    (tmp_path / "7").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        list(spill([(7, b"hashes")], tmp_path))


def hashes(spec: EvaluationSpec) -> np.ndarray:
    shares = defaultdict(list)
    for cells in read_cells(stratify_pool(spec.reading)):
        for number, some in split_hashes(cells):
            assert isinstance(some, bytes)
            shares[number].append(some)
    assert sum(len(some) for share in shares.values() for some in share) == 8 * 600
    return np.concatenate([repeated_hashes(share) for share in shares.values()])


def test_ids_that_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = pool(tmp_path, [np.arange(300), np.arange(300, 600)])
    found = hashes(spec)
    assert not len(found)
    monkeypatch.setattr(checked, "read_batches", None)
    check_repeated(found, Catalog.read(spec.reading).items, "id", spec.seed)


@pytest.mark.parametrize("sought", [1, 1000])
def test_ids_that_come_twice(tmp_path: Path, sought: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checked, "_MOST_SOUGHT", sought)
    second = np.arange(300, 600)
    second[[40, 200]] = [7, 8]
    spec = pool(tmp_path, [np.arange(300), second])
    found = hashes(spec)
    assert sorted(found) == sorted(hash_integers(np.array([7, 8]), spec.seed))
    with pytest.raises(InputError, match=r"1\.parquet: column 'id', row (40|200): duplicate id"):
        check_repeated(found, Catalog.read(spec.reading).items, "id", spec.seed)


def test_hashes_that_are_equal_by_chance_are_no_error(tmp_path: Path) -> None:
    spec = pool(tmp_path, [np.arange(300), np.arange(300, 600)])
    found = hash_integers(np.array([7, 8]), spec.seed)
    check_repeated(found, Catalog.read(spec.reading).items, "id", spec.seed)
