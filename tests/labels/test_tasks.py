"""Names of tasks, and their check characters."""

import string

import pytest

from evalsampling.labels.tasks import check_problem, opaque_name, task_name, with_check
from evalsampling.workspace.prepared import PreparedPool
from evalsampling.workspace.workspace import Workspace
from tests.jobs import Jobs

LETTERS = string.digits + string.ascii_lowercase
NAMES = [with_check(opaque_name(b"k" * 16, 1, id)) for id in range(30)]


def test_names_cannot_be_told_from_spec_and_id(job: Jobs) -> None:
    """Whoever knows the spec and all ids of the pool finds no task; the key is kept."""
    one, other = job(seed=0), job(seed=0)
    for each in (one, other):
        each.drawn()
    assert set(one.batch(1)["id"]) == set(other.batch(1)["id"])
    assert not set(one.batch(1)["task"]) & set(other.batch(1)["task"])
    pool = PreparedPool.read(Workspace(one.workspace))
    tasks = set(one.batch(1)["task"])
    ids = one.pool.table["id"].to_pylist()
    by_seed = {task_name(pool.spec, (0).to_bytes(8, "little"), 1, id, 1) for id in ids}
    assert not tasks & by_seed
    assert tasks <= {task_name(pool.spec, pool.task_key, 1, id, 1) for id in ids}
    assert len(bytes.fromhex(pool.marker["key"])) == 16


def test_standard_example() -> None:
    """ISO/IEC 7064, MOD 37,36: the examples of the Global Release Identifier standard."""
    assert with_check("t_a12425gabc1234002") == "t_a12425gabc1234002m"


def test_one_wrong_character_is_told() -> None:
    for name in NAMES[:5]:
        assert check_problem(name) == ""
        for place in range(2, len(name)):
            for letter in LETTERS:
                wrong = name[:place] + letter + name[place + 1 :]
                assert (check_problem(wrong) == "") is (wrong == name)


def test_nearly_all_that_changed_places_are_told() -> None:
    told = same = 0
    for name in NAMES:
        for place in range(2, len(name) - 1):
            wrong = name[:place] + name[place + 1] + name[place] + name[place + 2 :]
            same += wrong == name
            told += check_problem(wrong) != ""
    assert told >= 0.98 * (len(NAMES) * 16 - same)


@pytest.mark.parametrize(
    "name", ["t_", "x", "t_short", "T_ABC", opaque_name(b"", 1, 2), "t_" + "é" * 17]
)
def test_other_names_are_none_of_ours(name: str) -> None:
    assert check_problem(name) == ""
