"""Pools whose rows are in slices that a spec names, and have weights."""

import dataclasses

import numpy as np

from evalsampling.stats.outputs import Outputs
from evalsampling.stats.slices import SliceCodes
from tests.measures.pools import make_pool

NAMED_SLICES = {"country": ("DE", "FR"), "device": ("phone",)}
WHERE = {"country": ("DE",), "device": ("phone",)}


def pool_with_slices(seed: int = 0, rows: int = 200) -> tuple[Outputs, np.ndarray, np.ndarray]:
    """Outputs, labels and which rows are in `WHERE`: some of every kind are, and are not."""
    outputs, label = make_pool(seed, rows)
    rng = np.random.default_rng(seed)
    code = np.stack([rng.integers(0, 3, rows), rng.integers(0, 2, rows)], axis=1)
    inside = (code[:, 0] == 1) & (code[:, 1] == 1)
    codes = SliceCodes(NAMED_SLICES, code)
    weight = {"weight": rng.integers(1, 5, rows).astype(np.float64)}
    return dataclasses.replace(outputs, slices=codes, magnitudes=weight), label, inside
