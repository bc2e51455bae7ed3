"""Names of tasks."""

from collections.abc import Callable

from evalsampling.labels.tasks import task_name
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Job


def test_names_cannot_be_told_from_spec_and_id(job: Callable[..., Job]) -> None:
    """Whoever knows the spec and all ids of the pool finds no task; the key is kept."""
    one, other = job(seed=0), job(seed=0)
    for each in (one, other):
        assert each.prepare().status == 0
        assert each.sample().status == 0
    assert set(one.batch(1)["id"]) == set(other.batch(1)["id"])
    assert not set(one.batch(1)["task"]) & set(other.batch(1)["task"])
    pool = PreparedPool.read(Workspace(one.workspace))
    tasks = set(one.batch(1)["task"])
    ids = one.pool.table["id"].to_pylist()
    by_seed = {task_name(pool.spec, (0).to_bytes(8, "little"), 1, id, 1) for id in ids}
    assert not tasks & by_seed
    assert tasks <= {task_name(pool.spec, pool.task_key, 1, id, 1) for id in ids}
    assert len(bytes.fromhex(pool.marker["key"])) == 16
