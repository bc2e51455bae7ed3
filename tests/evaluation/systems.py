"""Three systems of which the first is best, in memory."""

from typing import Any

import numpy as np

from evalsampling import Evaluation


def three_systems(best: float = 0.9, **changes: Any) -> tuple[Evaluation, np.ndarray]:
    """Rows of which the first system is right on 90 %, the others on 80 and 60 %."""
    rng = np.random.default_rng(6)
    label = rng.integers(0, 2, 3000)
    right = rng.random((3000, 3)) < [best, 0.8, 0.6]
    says = np.where(right, label[:, None], 1 - label[:, None])
    columns = {name: says[:, number] for number, name in enumerate("abc")}
    systems = {name: {"prediction": name} for name in "abc"}
    score = np.clip(0.4 * label + 0.6 * rng.random(3000), 0, 1)
    keys = {"measure": "accuracy", "sampler": "compare", "seed": 3, **changes}
    evaluation = Evaluation.from_arrays(
        score, None, columns=columns, pool={"score": "score", "systems": systems}, **keys
    )
    return evaluation, label
