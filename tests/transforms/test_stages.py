"""Sizes of batches are told without encoding them."""

from collections.abc import Callable

import pytest
from apache_beam import coders

from evalsampling.evaluation.in_memory import MemoryPool
from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import CellBatch, assign_cells
from evalsampling.transforms import BatchCoder
from tests.jobs import Job
from tests.reference import reference


@pytest.mark.slow
def test_batches_are_not_encoded_to_tell_their_size(
    job: Callable[..., Job], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> bytes:
        raise AssertionError("a batch was encoded")

    monkeypatch.setattr(BatchCoder, "encode", refuse)
    assert job(files=3, group_rows=50).prepare().status == 0


def test_the_coder_keeps_batches_and_tells_their_size(job: Callable[..., Job]) -> None:
    pool: MemoryPool = reference(job())
    one = job()
    rows = one.pool.table.combine_chunks().to_batches()[0]
    batch = PoolBatch(rows, "a", 3)
    cells = assign_cells(batch, pool.stratification)
    for kind, value in ((PoolBatch, batch), (CellBatch, cells)):
        coder = coders.registry.get_coder(kind)
        assert isinstance(coder, BatchCoder)
        again = coder.decode(coder.encode(value))
        assert (again.nbytes, len(again)) == (value.nbytes, 2000)
        assert 0.5 < coder.estimate_size(value) / len(coder.encode(value)) < 2
    assert coder.decode(coder.encode(cells)).batch.rows.equals(rows)
