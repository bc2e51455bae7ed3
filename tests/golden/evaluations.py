"""What an evaluation in memory says, as plain JSON."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from evalsampling import Evaluation
from evalsampling.inference.interval_methods import BY_NAME
from tests.golden.cases import Case
from tests.golden.pools import pool_of


def told_by(case: Case) -> dict[str, Any]:
    """Return the rows of each round and all that is estimated in the end."""
    pool, rng = pool_of(case.pool), np.random.default_rng(11)
    evaluation = Evaluation.from_frame(pool.table, **case.keys)
    ids = [_round(evaluation, case, size, pool.truth, rng) for size in case.rounds]
    estimates = evaluation.estimate(intervals=tuple(BY_NAME))
    # What they say in words, and what they expect of further labels, is in `said`.
    by_title = {
        title: {key: value for key, value in one.items() if key not in ("statement", "outlook")}
        for title, one in estimates.to_dict().items()
    }
    assert len(by_title) == len(estimates), "two estimates have one title"
    return plain(
        {
            "pool": case.pool,
            "spec": case.keys,
            "sampler": evaluation.analysis.sampler.name,
            "ids": ids,
            "exhausted": evaluation.analysis.exhausted,
            "label_likelihood": evaluation.analysis.label_likelihood,
            "sample_size": evaluation.analysis.sample_size,
            "curve": _curve(evaluation),
            "region": _region(evaluation, case),
            "warnings": list(dict.fromkeys(one for each in estimates for one in each.warnings)),
            "notes": list(dict.fromkeys(one for each in estimates for one in each.notes)),
            "unreliable": [title for title, one in zip(by_title, estimates, strict=True)
                           if not one.reliable],
            "estimates": by_title,
        }
    )  # fmt: skip


def _round(
    evaluation: Evaluation,
    case: Case,
    size: int,
    truth: Mapping[Any, Any],
    rng: np.random.Generator,
) -> list[Any]:
    """Draw and label a round; return its ids."""
    ids = evaluation.sample(size)
    told = [truth[id] for id in ids.tolist()]
    if case.pool == "queries":
        items = evaluation.items(ids)
        told = [[known[one] for one in of] for known, of in zip(told, items, strict=True)]
    if evaluation.analysis.sampler.stochastic:
        told = np.where(rng.random(len(told)) < 0.2, 1 - np.array(told), told).tolist()
    answered = [place for place in range(len(told)) if not case.skips or place % case.skips]
    if answered:
        evaluation.label(ids[answered], [told[place] for place in answered])
    return list(ids.tolist())


def _curve(evaluation: Evaluation) -> Any:
    """Return the guarantee of a curve by ranks, where the sampler gives one."""
    curve = evaluation.analysis.curve
    return None if curve is None else curve.guarantee


def _region(evaluation: Evaluation, case: Case) -> Any:
    """Return the region of measures that are listed jointly."""
    first = case.keys["measure"][0]
    if not isinstance(first, Mapping) or "joint" not in first:
        return None
    return evaluation.analysis.region(list(first["joint"]))


def plain(value: Any) -> Any:
    """Return a value as JSON has it: records and arrays taken apart, no number without an end."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in dataclasses.fields(value) if not one.name.startswith("_")]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
