"""Rounds for a promise: where they aim, and how they spread."""

import dataclasses

import numpy as np
import pytest

from evalsampling.measures import Precision
from evalsampling.samplers.calibrated import CalibratedDesign
from evalsampling.samplers.certified import CertifyingDesign
from evalsampling.stats.history import History
from tests.samplers.pools import Pool, make_pool

POOL = make_pool(2000, 40, seed=3, positive=0.2, strength=6)
SCORE = POOL.table.outputs.score[POOL.table.first_kind, 0]


def design(**goals: float) -> CertifyingDesign:
    return CertifyingDesign(Precision(), goals=goals, planned=400)


def after_rounds(sampler: CalibratedDesign, rounds: int) -> History:
    history = POOL.start()
    for number in range(rounds):
        history = sampler.design(POOL.table, history, 100, np.random.default_rng(number))
        history = history.with_labels(POOL.answers(history)) if hasattr(POOL, "answers") else history
    return history
