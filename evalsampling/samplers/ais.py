"""Adaptive importance sampling with a model of the oracle.

References:
    [MR] Marchant and Rubinstein, *Needle in a Haystack: Label-Efficient Evaluation under
    Extreme Class Imbalance*, KDD 2021, algorithm 1, proposition 2 and section 4; technical
    report, appendix H (stochastic oracle).
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from evalsampling.inference.score_calibration import OwnModel, probabilities
from evalsampling.measures.base import Measure
from evalsampling.measures.comparisons import is_aimed_at
from evalsampling.measures.on_cells import (
    FLOOR,
    adds_to,
    always_adds_to,
    cell_norms,
    cells_adding_to,
    loss_norms,
    model_risk,
)
from evalsampling.samplers.base import ReplacementSampler
from evalsampling.spec.values import Positive, convert
from evalsampling.stats.arrays import BoolArray, FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.draws import Proposal
from evalsampling.stats.history import History
from evalsampling.stats.oracle import TreePrior, fit_dirichlet_tree, predict_stochastic
from evalsampling.stats.tree import LeafTree

MODELS = ("tree", "scores")


_even_tree = functools.lru_cache(maxsize=8)(LeafTree.even)
"""The even tree of a number of leaves and a branching: every round needs it."""


@dataclasses.dataclass(frozen=True)
class AdaptiveImportance(ReplacementSampler):
    """AIS: the proposal that would be optimal if the model of the oracle were right.

    For a deterministic oracle v(x) = p(x) sum_y n(x, y) pi_t(y|x), no square root; pi_t is the
    posterior of the Dirichlet tree given all labels so far. A labelled row is an atom with a
    posterior of its own, a point mass at its label. Expectation-maximization starts from the
    posterior of the round before, which the history holds.

    For a stochastic oracle v(x) = p(x) sqrt(sum_y n(x, y)^2 p_t(y|x)), p_t the posterior
    predictive of the same tree given importance-weighted counts; there are no atoms.

    Attributes:
        branching: children of a node of the tree; the model is flat if this is at least the number
            of leaves. Where leaves have a hierarchy of their own, that is the tree.
        model: ``tree``; ``scores`` for the prior probabilities as they are, so that only the
            chances of labelled rows adapt; or a function (`inference.score_calibration.OwnModel`).
        accelerate: False to fit the tree by expectation-maximization alone, as [MR] does; on
            large pools that does not move (`stats.oracle.fit_dirichlet_tree`).
        epsilon: eps_0 of [MR] proposition 2, above 0: least weight of a loss that is not 0.
        alpha: concentration of the labels in the tree, one number or one for each class
            (`stats.oracle.TreePrior`).
        beta: concentration of the branches of the tree, above 0.
        prior_weight: rows that a prior probability of 1 counts as in the tree, above 0.
        classes: number of classes, by which alpha is checked; None if it is not known.
    """

    branching: int = 2
    model: str | OwnModel = "tree"
    accelerate: bool = True
    epsilon: Positive = FLOOR
    alpha: float | tuple[float, ...] = 1.0
    beta: Positive = 1.0
    prior_weight: Positive = 1.0
    classes: int | None = None
    name = "ais"
    models_classes = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.model) and self.model not in MODELS:
            raise ValueError(
                f"model must be one of tree, scores, module:object, got {self.model!r}"
            )
        self._check_alpha()
        for key in ("alpha", "beta", "prior_weight") if self.model != "tree" else ():
            if getattr(self, key) != getattr(type(self), key):
                raise ValueError(f"{key} is a constant of the model tree: another model has none")

    def _check_alpha(self) -> None:
        if isinstance(self.alpha, list | tuple):
            if self.classes not in (None, len(self.alpha)):
                raise ValueError(
                    f"alpha must be one number, or one for each of the {self.classes} classes, "
                    f"got {len(self.alpha)}"
                )
            object.__setattr__(self, "alpha", tuple(self.alpha))
        for alpha in np.atleast_1d(np.asarray(self.alpha, dtype=object)):
            if convert("alpha", alpha, Positive, "") < 1 and not self.stochastic:
                raise ValueError(
                    f"alpha must be at least 1 for a deterministic oracle, got {alpha}"
                )

    @property
    def concentration(self) -> TreePrior:
        """What the tree has before any label."""
        return TreePrior(self.alpha, self.beta, self.prior_weight)

    def _tree(self, table: CellTable) -> LeafTree:
        """Return the tree over the leaves: their own hierarchy if they have one."""
        own = table.leaves.hierarchy
        return _even_tree(len(table.leaves), self.branching) if own is None else own

    def _model(
        self, table: CellTable, history: History, by_tree: Callable[[FloatArray], FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Return P(y|cell), (cells, classes), and its mean in leaves, (leaves, classes)."""
        if not isinstance(self.model, str):
            response = probabilities("sampler.model", self.model, table, history)
            return response, table.mean_by_leaf(response)
        # A class that the prior excludes keeps a small probability.
        posterior = np.maximum(table.leaf_prior, FLOOR)
        posterior = by_tree(posterior) if self.model == "tree" else posterior
        return posterior[table.leaf], posterior

    @property
    def has_atoms(self) -> bool:  # type: ignore[override]
        """Whether each labelled row has a probability of its own: for a deterministic oracle."""
        return not self.stochastic

    def variance_minimising(self, table: CellTable, history: History) -> Proposal:
        if self.stochastic:
            return self._for_stochastic(table, history)
        return self._for_deterministic(table, history)

    def _for_deterministic(self, table: CellTable, history: History) -> Proposal:
        atom = history.labelled
        cell, label = history.cell[atom], history.label[atom]

        def by_tree(prior: FloatArray) -> FloatArray:
            labelled = np.zeros((len(table.leaves), table.classes))
            np.add.at(labelled, (table.leaf[cell], label), 1)
            return fit_dirichlet_tree(
                tree=self._tree(table),
                prior=prior,
                labelled=labelled,
                unlabelled=table.leaf_count - labelled.sum(axis=1),
                start=history.rounds[-1].posterior if history.rounds else None,
                accelerate=self.accelerate,
                concentration=self.concentration,
            ).posterior

        response, posterior = self._model(table, history, by_tree)
        free = table.count - np.bincount(cell, minlength=len(table))
        outputs = history.outputs.take(atom)
        risk = model_risk(self.measure, table, free[:, None] * response)
        risk = (risk + self.measure.mean_loss(outputs, label, np.ones(len(atom)))) / table.rows
        floor = self.epsilon * max(free.sum(), 1) / table.rows
        value = np.sum(cell_norms(self.measure, table, risk, floor) * response, axis=1)
        atom_value = _atom_norms(self.measure, table, history, risk, floor)
        total = np.sum(free * value) + atom_value.sum()
        if total == 0:  # All labels are known and no row adds, so any will do.
            value, atom_value, total = np.ones(len(table)), np.ones(len(atom)), table.rows
        return Proposal(value / total, atom, atom_value / total, posterior)

    def _for_stochastic(self, table: CellTable, history: History) -> Proposal:

        def by_tree(prior: FloatArray) -> FloatArray:
            sample = self.weigh(table, history)
            votes = history.votes(sample.question)
            leaf = table.leaf[history.cell[sample.question[votes.row]]]
            counts = np.zeros((len(table.leaves), table.classes))
            np.add.at(counts, (leaf, votes.label), votes.spread(sample.weight_sum))
            return predict_stochastic(self._tree(table), prior, counts, self.concentration)

        response, posterior = self._model(table, history, by_tree)
        risk = model_risk(self.measure, table, table.count[:, None] * response) / table.rows
        # eps_t bounds the square here, which `loss_norms` takes the root of.
        floor = np.sqrt(self.epsilon / (len(history.rounds) + 1))
        norms = cell_norms(self.measure, table, risk, floor)
        value = np.sqrt(np.sum(norms**2 * response, axis=1))
        if not value.any():  # No row adds, so any will do.
            value = np.ones(len(table))
        total = np.sum(table.count * value)
        return Proposal(value / total, posterior=posterior)

    def unmixed_support(self, table: CellTable) -> BoolArray:
        return cells_adding_to(self.measure, table)

    def covers_pool(self, table: CellTable) -> bool:
        """Tell whether labelled rows that add nothing can be drawn too."""
        return super().covers_pool(table) if self.stochastic else self.delta > 0

    def can_estimate(self, table: CellTable, measure: Measure) -> bool:
        """Tell whether rows that add to a measure add to the one sampled for, label by label."""
        if self.stochastic or self.delta:
            return super().can_estimate(table, measure)
        if is_aimed_at(measure, self.measure):
            return True
        return bool(np.all(always_adds_to(self.measure, table) | ~adds_to(measure, table)))


def _atom_norms(
    measure: Measure, table: CellTable, history: History, risk: FloatArray, floor: float
) -> FloatArray:
    """Return the norm n(x, y) of the loss of each labelled row, shape (labelled,).

    It is at least the floor where rows of the cell with that label always add to the measure, even
    if this row does not. So labelled rows have a chance wherever their cell has.
    """
    atom = history.labelled
    label = history.label[atom]
    norms = loss_norms(measure, history.outputs.take(atom), label, risk, floor)
    return np.maximum(norms, floor * always_adds_to(measure, table)[history.cell[atom], label])
