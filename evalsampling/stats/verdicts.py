"""Cells of systems that give a verdict and no score: strata, and what is expected of labels."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import UNORDERED, CellTable

GUESSED = 0.3
"""Share of the verdicts that are expected to be guesses, right as often as chance has it.

Each class then has as many rows as are predicted, and two verdicts that agree have a kappa of 1
less this share. It is what `plan` reckons with, and where samplers that need a prior begin."""


def expected_of_verdicts() -> str:
    """Return what is expected of verdicts, in words."""
    right = 100 * (1 - GUESSED)
    return f"{right:.0f} % of the verdicts are right and the others are guesses, for want of scores"


def named_verdicts(table: CellTable, classes: Sequence[str]) -> list[list[str]]:
    """Return what each system predicts in each leaf, as texts; of mixed leaves of one kind."""
    first = np.unique(table.leaf, return_index=True)[1]
    verdict = table.outputs.prediction[table.first_kind[first]]
    return [[f"predicted {classes[code]}" for code in says] for says in verdict.tolist()]


def by_verdict(table: CellTable, guessed: float | None = GUESSED) -> CellTable:
    """Return cells whose leaves are what the systems predict: rows of a leaf are exchangeable.

    Args:
        table: cells of one leaf.
        guessed: share of verdicts that are guesses; None to keep the prior probabilities.
    """
    signature = table.outputs.prediction[table.first_kind]
    mixed = np.cumsum(table.is_mixed) * table.is_mixed  # Rare signatures that share a cell.
    key = np.concatenate([signature, mixed[:, None]], axis=1)
    kinds, leaf = np.unique(key, axis=0, return_inverse=True)
    prior = table.prior if guessed is None else _expected(table, guessed)
    return dataclasses.replace(
        table, leaf=leaf.reshape(-1), leaves=len(kinds), prior=prior, ordered_by=UNORDERED
    )


def _expected(table: CellTable, guessed: float) -> FloatArray:
    """Return the probability of each class in each cell: the mean over the systems' verdicts."""
    prediction, classes = table.outputs.prediction, table.classes
    says = (prediction[:, :, None] == np.arange(classes)).mean(axis=1)
    by_cell = table.mean_by_cell(says)
    share = table.count @ by_cell / table.rows
    return np.asarray((1 - guessed) * by_cell + guessed * share)
