"""A model of the labels that a user gives: the probability of each label in each cell."""

import copy
import dataclasses
from typing import Protocol

import numpy as np

from evalsampling.errors import InputError
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History

_LEAST = 1e-9
"""Least probability of a class, so that no row is out of reach."""

_ROUNDING = 1e-6
"""How far the probabilities of a cell may sum up to something else than 1."""


class OwnModel(Protocol):
    """A function of cells and labels; of the same ones it must return the same.

    Both are copies: what it writes into them changes nothing else.
    """

    def __call__(self, cells: CellTable, labels: FloatArray) -> FloatArray:
        """Return P(label | cell), shape (cells, classes), rows summing to 1.

        Args:
            cells: the cells of the pool: see `stats.cells.CellTable`.
            labels: shape (cells, classes): labels of each class so far. Which rows of a cell have
                labels does not depend on the labels, so they have no weights. Of a stochastic
                oracle an answer counts once; several to a question share one.
        """


def probabilities(key: str, model: OwnModel, table: CellTable, history: History) -> FloatArray:
    """Return the probability of each label in each cell by an own model, shape (cells, classes).

    Args:
        key: of the spec, for messages.
        model: the model.
        table: the cells.
        history: rounds and labels so far.

    Raises:
        InputError: if the model fails, or returns no probabilities of this shape.
    """
    labels = history.seen(len(table), table.classes)
    own = copy.deepcopy(dataclasses.replace(table))  # Without what is remembered of the cells.
    try:
        values = np.asarray(model(own, labels), dtype=np.float64)
    except Exception as error:  # Whatever a function of somebody else raises.
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"{key}: the model failed: {text}") from error
    problem = _problem(values, (len(table), table.classes))
    if problem:
        raise InputError(f"{key}: {problem}")
    floored: FloatArray = np.maximum(values, _LEAST)
    return floored / floored.sum(axis=1, keepdims=True)


def _problem(values: FloatArray, shape: tuple[int, int]) -> str:
    """Return why values are no probabilities of cells, in words; empty if they are."""
    if values.shape != shape:
        return f"the model must return an array of shape {shape}, got {values.shape}"
    wrong = ~((values >= 0) & (values <= 1 + _ROUNDING))  # NaN is not.
    if wrong.any():
        cell = int(np.flatnonzero(wrong.any(axis=1))[0])
        worst = values[cell][wrong[cell]][0]
        return f"the model must return probabilities from 0 to 1, got {worst} in cell {cell}"
    sums = values.sum(axis=1)
    cell = int(np.argmax(np.abs(sums - 1)))
    if abs(sums[cell] - 1) > _ROUNDING:
        return f"the probabilities of a cell must sum up to 1, got {sums[cell]:.6g} in cell {cell}"
    return ""
