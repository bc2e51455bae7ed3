"""Processes that repeat evaluations."""

import numpy as np
from threadpoolctl import threadpool_info

from evalsampling.measures import Accuracy
from evalsampling.samplers import Passive
from evalsampling.simulation.processes import repeat_all


def threads(sampler: Passive, repeat: int) -> list[int]:
    """Return the threads of each library of linear algebra, once it was at work."""
    np.linalg.solve(np.eye(200) + repeat, np.ones(200))
    return [library["num_threads"] for library in threadpool_info()]


def test_each_process_has_one_thread() -> None:
    """Several for each core wait for each other: a plan took three times as long."""
    (found,) = repeat_all(threads, [Passive(Accuracy())], 4, 2, lambda _: None)
    assert len(found) == 4
    assert all(count == 1 for counts in found for count in counts)
