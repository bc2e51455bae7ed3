"""Regions of an evaluation at one moment: what they refuse, and what they do not do again."""

from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from tests.jobs import make_pool

POOL = make_pool()


def arrays(**changes: Any) -> dict[str, Any]:
    columns = {name: POOL.table[name].to_numpy() for name in ("score", "prediction", "id")}
    return {**columns, "strata": {"leaves": 16}, "seed": 5, **changes}


def answered(evaluation: Evaluation, truth: dict[Any, int], rounds: int) -> None:
    for _ in range(rounds):
        ids = evaluation.sample(100)
        evaluation.label(ids, np.array([truth[id] for id in ids.tolist()]))


@pytest.mark.parametrize("sampler", ["ais", "calibrated"])
def test_a_region_of_a_slice_that_cells_do_not_know_is_refused(sampler: str) -> None:
    """With the first of them it ended with an error that is no `InputError`."""
    pool = POOL
    half = np.where(np.arange(len(pool.table)) % 2, "a", "b")
    evaluation = Evaluation.from_arrays(
        **arrays(sampler=sampler, columns={"half": half}, pool={"slices": ["half"]})
    )
    answered(evaluation, pool.truth, rounds=1)
    entry = {"name": "recall", "where": {"half": "a"}}
    for asked in (entry, [entry, "precision"], {"joint": [entry, "precision"]}):
        with pytest.raises(InputError, match="half=a: cells do not tell these rows apart"):
            evaluation.analysis.region(asked)
