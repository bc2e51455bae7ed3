"""The search for thresholds of a score for which labels prove a promise.

A promise is tested at one threshold after the other, in a sequence that is fixed before the labels
which decide, until the first that fails. So the chance that any threshold is certified wrongly is
that of a single test (W. Maurer, L. A. Hothorn and W. Lehmacher, *Multiple comparisons in drug
clinical trials and preclinical assays: a-priori ordered hypotheses*, 1995). A test is a bet
(`inference.bets`), so all of it holds at every look. A promise of several measures, or for each
slice, holds at a threshold if each part is proved there, which costs no confidence (R. L. Berger,
*Multiparameter hypothesis testing and acceptance sampling*, Technometrics 24, 1982).

The sequence of recall alone begins at the lowest score. Others go down from a *start*, and share
the error (`_SHARES`). One starts where the promise is expected to be easiest to prove by scores.
The others prove by the labels after the first round. They start where the labels of that make it
easiest, and where twice and four times as many rows are. So a few negatives on top of all scores
end the first of them, but not all.
"""

import dataclasses
import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference import bets
from evalsampling.inference.domains import Domain
from evalsampling.spec.labels_at_hand import RANDOM
from evalsampling.spec.promise import BELOW, Promise
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.history import SAMPLER

_SHARES = {0: 0.2, 1: 0.5, 2: 0.15, 4: 0.15}
"""Share of the error of the sequence that starts by the scores (0), and of those that start where
labels make the promise easiest to prove, or so many times more rows are."""

_ONE_LOOK = 0.5
"""Share of the error that a look at the model may take, since there are several."""

_STEP = 1.01
"""Least factor between the numbers of rows above two thresholds that are tested."""

_AT_A_TIME = 16
"""Thresholds tested together."""


@dataclasses.dataclass(frozen=True)
class Proof:
    """The result of testing a sequence of thresholds, given by their places.

    The first ``proved`` of them are; ``wealth`` is the logarithm of that at the one that failed,
    and ``level`` what it did not reach.
    """

    goals: Mapping[str, float]
    order: IntArray
    proved: int
    wealth: float
    level: float
    blocks: Sequence[bets.Block]

    @property
    def last(self) -> int:
        """Place of the last threshold that is proved, if any is."""
        return int(self.order[self.proved - 1])

    def holds(self, thresholds: int) -> BoolArray:
        """Return whether each threshold is proved, shape (thresholds,)."""
        mask = np.zeros(thresholds, dtype=np.bool_)
        mask[self.order[: self.proved]] = True
        return mask


@dataclasses.dataclass(frozen=True)
class Search:
    """The search for a threshold; see `certify`."""

    analysis: Analysis
    promise: Promise
    confidence: float
    planned: int | None

    def check(self) -> None:
        """Check that bets can be made on the pool and its rounds."""
        analysis, sampler, table = self.analysis, self.analysis.sampler, self.analysis.table
        own = [drawn for drawn in analysis.history.rounds if drawn.origin == SAMPLER]
        reasons = {
            "labels must be of two classes": not analysis.reading.has_classes or table.classes != 2,
            "scores of several systems": table.kinds.prediction.shape[1] > 1,
            "rows have no score": table.leaves.exchangeable or not np.isfinite(self.score).any(),
            "answers about a row differ": sampler.stochastic,
            "rows have weights": table.kinds.weight is not None,
            "whole clusters were drawn": analysis.history.together is not None,
            f"rows drawn by {sampler.name} have no known chances": sampler.has_atoms
            or not (sampler.with_replacement or sampler.by_row)
            or getattr(sampler, "cap", False)
            or any(r.cell_probability is None for r in own),
        }
        for reason, holds in reasons.items():
            if holds:
                raise InputError(f"certify: cannot be proved here: {reason}")
        columns = analysis.reading.pool.slices
        if self.promise.each is not None and self.promise.each not in columns:
            known = ", ".join(columns) or "the spec has none"
            raise InputError(f"certify: in each {self.promise.each}: no slice; known: {known}")

    @property
    def positive(self) -> int:
        """Code of the positive class."""
        return self.analysis.reading.labels.positive

    @functools.cached_property
    def score(self) -> FloatArray:
        """Least score of each cell, shape (cells,)."""
        table = self.analysis.table
        return np.asarray(table.kinds.score[table.kinds.first, 0])

    @functools.cached_property
    def thresholds(self) -> FloatArray:
        """Thresholds that may be tested, descending."""
        scores, place = np.unique(-self.score, return_inverse=True)
        rows = np.cumsum(np.bincount(place, self.analysis.table.count))
        step = np.floor(np.log(rows) / math.log(_STEP))
        return np.asarray(-scores[np.append(np.diff(step) > 0, True)])

    @functools.cached_property
    def domains(self) -> Sequence[Domain]:
        """The slices in each of which the promise is to hold, or the pool."""
        if self.promise.each is None:
            return [Domain()]
        start = f"{self.promise.each}="
        return [d for d in self.analysis.scope.domains if (d.title or "").startswith(start)]

    @functools.cached_property
    def blocks(self) -> Sequence[bets.Block]:
        """Rows that were drawn together, in order."""
        analysis, at_hand = self.analysis, self.analysis.reading.labels.at_hand
        blocks = bets.blocks_of(
            analysis.table,
            analysis.history,
            self.planned,
            self.positive,
            analysis.sampler.with_replacement,
            at_hand is not None and at_hand.drawn == RANDOM,
        )
        return list(blocks)

    def above(self, threshold: FloatArray) -> FloatArray:
        """Return 1 where rows of a cell score at least each threshold, else 0: (m, cells)."""
        return (self.score >= threshold[:, None]).astype(np.float64)

    def rows_above(self, threshold: float) -> int:
        """Return the number of rows that score at least a threshold."""
        return int(self.analysis.table.count[self.score >= threshold].sum())

    # --- sequences

    def start(self, goals: Mapping[str, float], rate: FloatArray) -> int:
        """Return the place of the threshold at which goals are easiest to prove by rates.

        That is where the part that is hardest to prove is easiest.
        """
        count, won = self.analysis.table.count, []
        for name, goal in goals.items():
            outlook = bets.Outlook.of(name, goal, self.score, rate, count)
            won.append(outlook.won[np.searchsorted(-outlook.threshold, -self.thresholds)])
        return int(np.argmax(np.min(won, axis=0)))

    def _falling(self, goals: Mapping[str, float], alpha: float) -> list[Proof]:
        """Return the results of the sequences that go down from a start."""
        prior = self.analysis.table.prior[:, self.positive]
        later = [block for block in self.blocks if block.round > 0]
        starts = {0: self.start(goals, prior)}
        if later:
            starts[1] = self.start(goals, later[0].rate)
            rows = self.analysis.table.count @ self.above(self.thresholds).T
            for times in [times for times in _SHARES if times > 1]:
                starts[times] = int(np.searchsorted(rows, times * rows[starts[1]]))
        return [
            self._walk(
                goals,
                np.arange(start, len(self.thresholds)),
                later if times else self.blocks,
                alpha * _SHARES[times],
            )
            for times, start in starts.items()
            if start < len(self.thresholds)
        ]

    def _walk(
        self,
        goals: Mapping[str, float],
        order: IntArray,
        blocks: Sequence[bets.Block],
        alpha: float,
    ) -> Proof:
        """Return the result of testing a sequence of thresholds."""
        level, proved = math.log(1 / alpha), 0
        for first in range(0, len(order), _AT_A_TIME):
            some = order[first : first + _AT_A_TIME]
            wealth = np.full(len(some), np.inf)
            for name, goal in goals.items():
                for domain in self.domains:
                    own = self.wealth(name, self.thresholds[some], goal, domain, blocks, level)
                    wealth = np.minimum(wealth, own)
            failed = np.flatnonzero(wealth < level)
            if len(failed):
                proved += int(failed[0])
                return Proof(goals, order, proved, float(wealth[failed[0]]), level, blocks)
            proved += len(some)
        return Proof(goals, order, proved, level, level, blocks)

    def wealth(
        self,
        name: str,
        threshold: FloatArray,
        goal: float | FloatArray,
        domain: Domain,
        blocks: Sequence[bets.Block],
        level: float,
    ) -> FloatArray:
        """Return the log-wealth against a measure at most a goal, at each threshold: (m,)."""
        history = self.analysis.history
        inside = None
        if domain.count is not None:
            inside = domain.holds(history, np.arange(len(history)))
        asked = bets.Hypotheses(bets.terms_of_cells(name, self.score, threshold, goal), inside)
        return bets.log_wealth(blocks, asked, history, self.positive, level)

    # --- the model

    @functools.cached_property
    def model(self) -> Any:
        """Draws of all labels; None where there are none, or labels contradict them."""
        model = self.analysis.label_model
        return None if model is None or model.contradiction else model

    def positives(self, domain: Domain) -> FloatArray:
        """Return draws of the number of positives in each cell of a domain, (draws, cells)."""
        history, table = self.analysis.history, self.analysis.table
        known = domain.labelled(history)
        known = known[history.label[known] == self.positive]
        met = np.bincount(history.cell[known], minlength=len(table))
        return np.asarray(self.model.within(domain).unlabelled[:, :, self.positive] + met)

    def _posterior(
        self, name: str, threshold: FloatArray, domain: Domain, goal: float
    ) -> FloatArray:
        """Return the posterior probability that a measure is at least a goal: shape (m,)."""
        positives = self.positives(domain)
        above, rows = self.above(threshold), domain.rows(self.analysis.table)
        hits, total = positives @ above.T, positives.sum(axis=1)[:, None]
        whole = total if name == "recall" else (above @ rows + total) / 2
        return np.asarray(np.mean(hits >= goal * whole, axis=0))

    # --- thresholds

    @functools.cached_property
    def parts(self) -> tuple[dict[str, float], dict[str, float], dict[str, float]]:
        """The goals that are proved upwards, downwards, and by the model."""
        goals = self.promise.goals
        model = {name: goals[name] for name in goals if self.promise.by_model and name in BELOW}
        tested = {name: goal for name, goal in goals.items() if name not in model}
        up = {name: goal for name, goal in tested.items() if name == "recall"}
        return up, {name: goal for name, goal in tested.items() if name not in up}, model

    @functools.cached_property
    def proofs(self) -> tuple[list[Proof], BoolArray]:
        """The sequences that go down, and which thresholds the other parts allow.

        Parts share the error evenly.
        """
        up, down, model = self.parts
        alpha = (1 - self.confidence) / sum(map(bool, self.parts))
        allowed = np.ones(len(self.thresholds), dtype=np.bool_)
        if up:
            order = np.arange(len(allowed))[::-1]
            allowed &= self._walk(up, order, self.blocks, alpha).holds(len(allowed))
        for name, goal in model.items():
            for domain in self.domains:
                chance = self._posterior(name, self.thresholds, domain, goal)
                allowed &= chance >= 1 - alpha * _ONE_LOOK
        return (self._falling(down, alpha) if down else []), allowed

    @functools.cached_property
    def best(self) -> tuple[float, float] | None:
        """The wanted threshold, and the highest threshold proved with it."""
        sequences, allowed = self.proofs
        masks = [proof.holds(len(allowed)) & allowed for proof in sequences] or [allowed]
        places = [np.flatnonzero(mask) for mask in masks if mask.any()]
        if not places:
            return None
        if self.promise.goes_up:
            place = int(places[0][0])
            return float(self.thresholds[place]), float(self.thresholds[place])
        chosen = max(places, key=lambda own: int(own[-1]))
        first = chosen[np.append([0], np.flatnonzero(np.diff(chosen) > 1) + 1)[-1]]
        return float(self.thresholds[chosen[-1]]), float(self.thresholds[first])

    def at(self, threshold: float, proof: Proof) -> Iterator[tuple[str, str | None, float, float]]:
        """Yield each measure and slice with the estimate and the lower bound at a threshold."""
        table, history = self.analysis.table, self.analysis.history
        sample = self.analysis.sampler.weigh(table, history)
        a = (self.score[history.cell[sample.question]] >= threshold) * 1.0
        y = (history.label[sample.question] == self.positive) * 1.0
        for name in proof.goals:
            for domain in self.domains:
                weight = sample.weight * domain.holds(history, sample.question)
                with np.errstate(divide="ignore", invalid="ignore"):
                    # f is num - g den, so its sum for g of 0 and 1 gives both.
                    zero, one = (weight @ bets.term(name, a, y, goal) for goal in (0.0, 1.0))
                    value = float(np.nan_to_num(zero / (zero - one)))
                goals = np.linspace(0.0, value, 102)[1:-1]
                wealth = self.wealth(
                    name, np.full(100, threshold), goals, domain, proof.blocks, proof.level
                )
                first = np.append(np.flatnonzero(wealth < proof.level), 100)[0]
                low = float(np.concatenate([[0.0], goals[:-1], [value]])[first])
                yield name, domain.title, value, low
