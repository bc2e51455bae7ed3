"""Bounds that hold at every look and for any number of labels: bets against a null hypothesis.

A hypothesis says that the sum of f over the rows of the pool is at most 0. With [s >= t] (y - g)
for f it says that the precision above t is at most g. A gambler stakes wealth against it with each
*block* of rows. If it is true, wealth is a supermartingale from 1. So it ever reaches 1 / alpha
with a probability of at most alpha (Ville), however often one looks and whatever made one stop.

Rows of a block are drawn from those that no block had; a row of cell c is drawn with the chance
q_c, which labels so far decide, and d = f / q_c. The sets that may be drawn are strongly Rayleigh
(`stats.inclusion.round_sizes`), so their generating polynomial is log-concave where all variables
are positive, and E prod (1 + v d) <= exp(v sum E d) for stakes v >= 0 with 1 + v d >= 0. The sum of
f over the rows left is at most -A under the hypothesis, A that of the labelled ones. So wealth is
multiplied by exp(v A) prod (1 + v d). A draw with replacement is a block of its own with A = 0.

Which row of a cell is drawn is random, so any rule may decide the next block. Within a block stakes
do not change, since the order of its cells is not random, unless it is of simple random samples of
strata, or of draws with replacement: then each row is a block. The stake looks ahead: with L the
logarithm still to be won, and W the variance that d will have until the planned end, under the
hypothesis, it is sqrt(2 L / W), which just gets there (V. Voráček and F. Orabona, *STaR-Bets*,
arXiv 2505.22422, 2025). Bets on the ratio itself, without replacement: S. Shekhar, Z. Xu,
Z. C. Lipton, P. J. Liang and A. Ramdas, *Risk-limiting financial audits via weighted sampling
without replacement*, UAI 2023. Log-concavity: J. Borcea, P. Brändén and T. M. Liggett, *Negative
dependence and the geometry of polynomials*, Journal of the AMS 22, 2009.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, SAMPLER, History

_MOST_STAKED = 0.95
"""Most of the wealth that may be lost at once."""

_UNPLANNED = 300
"""Rows that bets look ahead to where nothing was planned."""

_HALVINGS = 25

_ROUNDING = 1e-9
"""Rounding error of a sum, for each of its rows."""


@dataclasses.dataclass(frozen=True)
class Block:
    """The rows of a round, in an order that is random where they are bet on one by one."""

    question: IntArray  # (k,): their questions, with repeats if drawn with replacement
    chance: FloatArray  # (cells,): chance of each row that could be drawn
    left: IntArray  # (cells,): number of such rows
    rate: FloatArray  # (cells,): share of positives that was expected before the round
    before: int  # rows drawn before
    planned: int | None  # rows that were to be drawn in all; None if that was not decided
    round: int = 0  # number of the round, from 0
    replaced: bool = False  # whether each row was drawn from all, also from those drawn before
    # (cells,): strata of which simple random samples were drawn; None if chances alone are known,
    # so that the round is one bet
    stratum: IntArray | None = None

    def ahead(self, place: int) -> int:
        """Return the number of rows that a bet looks ahead to: as planned, else as many as before.

        At least the rest of the round. All of that was known before these rows were drawn.
        """
        before, planned = self.before + place, self.planned or _UNPLANNED
        left = planned - before if planned > before else before
        return max(left, 1 if self.replaced else len(self.question) - place)


def blocks_of(
    table: CellTable,
    history: History,
    planned: int | None,
    positive: int,
    replaced: bool,
    at_random: bool = False,
) -> Iterator[Block]:
    """Yield the rounds of a history, in the order drawn, without rounds of unknown chances.

    `planned`: rows that were to be drawn in all, known before the first; None if it was not.
    `at_random`: whether the first round are labels at hand, of a simple random sample.
    """
    before = 0
    for number, drawn in enumerate(history.rounds):
        rows, chance, question = len(drawn.question), drawn.cell_probability, drawn.question
        stratum = None
        if drawn.stratum is not None and chance is not None:  # rows of a stratum share a chance
            stratum = np.unique(chance, return_inverse=True)[1]
        if at_random and not number:
            stratum = np.zeros(len(table), dtype=np.int64)
            question = np.random.Generator(np.random.PCG64(rows)).permutation(question)
        if drawn.origin == SAMPLER and chance is not None and not (replaced and not rows):
            left = table.count
            if not replaced:
                left = left - history.first(number).drawn_by_cell(len(table))
            model = drawn.posterior
            rate = table.prior[:, positive] if model is None else model[table.leaf, positive]
            yield Block(question, chance, left, rate, before, planned, number, replaced, stratum)
        before += rows


@dataclasses.dataclass(frozen=True)
class Hypotheses:
    """Hypotheses that the sum of f over the pool is at most 0."""

    value: FloatArray  # (m, cells, 2): f of a row of each cell without and with a positive label
    # (questions,): rows of the history that count, all if None: f of others is 0
    inside: BoolArray | None = None

    def of_questions(self, cell: IntArray, positive: IntArray, question: IntArray) -> FloatArray:
        """Return f of questions, shape (m, n); the least one where the label is missing (-1)."""
        cells, y = cell[question], positive[question]
        known = self.value[:, cells, np.maximum(y, 0)]
        value = np.where(y < 0, self.value[:, cells].min(axis=2), known)
        return value if self.inside is None else value * self.inside[question]


def log_wealth(
    blocks: Iterable[Block], hypotheses: Hypotheses, history: History, positive: int, level: float
) -> FloatArray:
    """Return the logarithm of the greatest wealth against each hypothesis so far, shape (m,).

    A row without a label counts as what speaks least against them. At ``level`` one is rejected.
    """
    after_each_bet = wealths(blocks, hypotheses, history, positive, level)
    return np.maximum.reduce([np.zeros(len(hypotheses.value)), *after_each_bet])


def wealths(
    blocks: Iterable[Block], hypotheses: Hypotheses, history: History, positive: int, level: float
) -> Iterator[FloatArray]:
    """Yield the logarithm of the wealth after each bet, shape (m,): see `log_wealth`."""
    y = np.where(history.label == NO_LABEL, -1, history.label == positive)
    value, cell = hypotheses.value, history.cell
    least = np.minimum(value.min(axis=2), 0.0)
    wealth, known, counted = np.zeros(len(value)), np.zeros(len(value)), 0
    for block in blocks:
        if not block.replaced and len(block.question):
            earlier = np.arange(counted, block.question.min())  # no bets were on these
            known = known + hypotheses.of_questions(cell, y, earlier).sum(axis=1)
            counted = int(block.question.max()) + 1
        drawn = hypotheses.of_questions(cell, y, block.question)
        square = _null_squares(value, block.rate, block.left, known * (not block.replaced))
        bets = _Bets(block, square, least, drawn, cell[block.question], known)
        for bet in bets.of_round:
            wealth = wealth + bet.gain(np.maximum(level - wealth, 0.0))
            yield wealth
        if not block.replaced:
            known = known + drawn.sum(axis=1)
            rest = block.left - np.bincount(cell[block.question], minlength=len(block.left))
            # What is known already rules it out, whatever the other rows are.
            certain = known + least @ rest > _ROUNDING * block.left.sum()
            wealth = np.where(certain, np.inf, wealth)
            yield wealth


@dataclasses.dataclass(frozen=True)
class _Bet:
    """A bet against m hypotheses."""

    outcome: FloatArray  # (m, k): d of its rows
    surplus: FloatArray  # (m,): A
    worst: FloatArray  # (m,): greatest loss -d that a row may bring
    ahead: FloatArray  # (m,): variance of d until the planned end

    def gain(self, need: FloatArray) -> FloatArray:
        """Return the gain in the logarithm of the wealth, which is still to grow by `need`."""
        is_one = self.outcome.shape[1] == 1
        # Of one row 1 + v (d + A) has a mean of at most 1, so that v may be larger if A is.
        most = np.maximum(self.worst - self.surplus if is_one else self.worst, 1e-12)
        with np.errstate(divide="ignore", invalid="ignore"):
            stake = np.minimum(np.sqrt(2 * need / self.ahead), _MOST_STAKED / most)
        stake = np.nan_to_num(stake, nan=0.0)
        if is_one:
            return np.asarray(np.log1p(stake * (self.outcome[:, 0] + self.surplus)))
        of_rows = np.log1p(stake[:, None] * self.outcome).sum(axis=1)
        return np.asarray(of_rows + stake * self.surplus)


@dataclasses.dataclass(frozen=True)
class _Bets:
    """The bets on a round."""

    block: Block
    square: FloatArray  # (m, cells): mean f^2 under the hypothesis
    least: FloatArray  # (m, cells): least f, at most 0
    drawn: FloatArray  # (m, k): f of its rows
    cell: IntArray  # (k,): their cells
    known: FloatArray  # (m,): sum of f over the rows that were labelled before

    @property
    def of_round(self) -> Iterator[_Bet]:
        """The bets, in order."""
        if self.block.stratum is not None:
            yield from self._row_by_row(self.block.stratum)
            return
        block = self.block
        is_open = (block.chance > 0) & (block.left > 0)
        weight = np.divide(1, block.chance, out=np.zeros(len(is_open)), where=is_open)
        # Rows that could not be drawn count as the least f.
        surplus = self.least @ np.where(is_open, 0, block.left)
        worst, variance = (weight * -self.least).max(axis=1), self.square @ (block.left * weight)
        outcome = self.drawn * weight[self.cell]
        if block.replaced:
            for place in range(len(self.cell)):
                ahead = variance * block.ahead(place)
                yield _Bet(outcome[:, [place]], surplus, worst, ahead)
            return
        if len(self.cell) == 1:  # The design may be one of as many rows as coins decide.
            outcome = np.column_stack([outcome, np.zeros(len(outcome))])
        ahead = variance * (block.ahead(0) / max(len(self.cell), 1))
        yield _Bet(outcome, self.known + surplus, worst, ahead)

    def _row_by_row(self, stratum: IntArray) -> Iterator[_Bet]:
        """Yield a bet for each row of simple random samples of strata, in their random order.

        The next row is of a stratum with the chance of its share in those still to come.
        """
        block, known = self.block, self.known
        inside = stratum == np.arange(int(stratum.max()) + 1)[:, None]
        rows = (inside @ block.left).astype(np.float64)
        own = stratum[self.cell]
        to_come = np.bincount(own, minlength=len(rows)).astype(np.float64)
        held = np.where(block.left > 0, self.least, 0)
        lowest = np.stack([np.where(one, held, 0).min(axis=1) for one in inside], axis=1)
        lost = (self.least * block.left) @ inside.T
        spread = (self.square * block.left) @ inside.T / np.maximum(rows, 1)
        for place, at in enumerate(own.tolist()):
            is_open = to_come > 0
            weight = np.where(is_open, rows * to_come.sum() / np.maximum(to_come, 1), 0.0)
            yield _Bet(
                self.drawn[:, [place]] * weight[at],
                known + lost @ (~is_open & (rows > 0)),
                (weight * -lowest).max(axis=1),
                spread @ (weight * rows) * block.ahead(place),
            )
            known = known + self.drawn[:, place]
            rows[at] -= 1
            to_come[at] -= 1


def term(measure: str, above: Any, positive: Any, goal: Any) -> Any:
    """Return f = n - goal d of a row, whose sum is above 0 if a measure, sum n / sum d, exceeds it.

    Arrays of any shapes: 1 where a row is above the threshold, 1 where it is positive, the goal.
    """
    if measure == "precision":
        return above * (positive - goal)
    if measure == "recall":
        return positive * (above - goal)
    if measure == "f1":
        return 2 * above * positive - goal * (above + positive)
    return above * positive + (1 - above) * (1 - positive) - goal


def terms_of_cells(
    measure: str, score: FloatArray, threshold: FloatArray, goal: float | FloatArray
) -> FloatArray:
    """Return f of a row of each cell without and with a positive label: (m, cells, 2)."""
    above, g = (score >= threshold[:, None]).astype(np.float64), np.reshape(goal, (-1, 1))
    return np.stack([term(measure, above, y, g) for y in (0.0, 1.0)], axis=2)


@dataclasses.dataclass(frozen=True)
class Outlook:
    """How easily it is proved by rows of equal chance that a measure exceeds a goal."""

    threshold: FloatArray  # (m,), descending: all scores
    # (m,): logarithm of the wealth that all rows together are expected to win at the best stake,
    # half the squared sum of f over the sum of its squares; negative where the measure is below the
    # goal
    won: FloatArray
    rows: IntArray  # (m,): number of rows whose f is not 0 whatever their label

    @classmethod
    def of(
        cls, measure: str, goal: float, score: FloatArray, rate: FloatArray, count: IntArray
    ) -> "Outlook":
        """Return the outlook by the score, the rate of positives and the rows of cells."""
        threshold, place = np.unique(-score, return_inverse=True)

        def at(above: float, power: int) -> FloatArray:
            """Return the sum of f^power of the rows of each score: shape (m,)."""
            f0, f1 = (term(measure, above, y, goal) ** power for y in (0.0, 1.0))
            terms = count * ((1 - rate) * f0 + rate * f1)
            return np.asarray(np.bincount(place, terms, len(threshold)), dtype=np.float64)

        def total(power: int) -> FloatArray:
            below = at(0.0, power)
            return np.asarray(np.cumsum(at(1.0, power) - below) + below.sum())

        matters = [any(term(measure, a, y, goal) for y in (0.0, 1.0)) for a in (0.0, 1.0)]
        above = np.cumsum(np.bincount(place, count, len(threshold))).astype(np.int64)
        mean, square = total(1), np.maximum(total(2), 1e-300)
        rows = matters[1] * above + matters[0] * (above[-1] - above)
        return cls(-threshold, np.sign(mean) * mean**2 / (2 * square), rows)


def _null_squares(
    value: FloatArray, rate: FloatArray, left: IntArray, surplus: FloatArray
) -> FloatArray:
    """Return E f^2 of a row of each cell, shape (m, cells), under the likeliest null rates.

    Rates are tilted by exp(-c f), with the c >= 0 at which the sum of f is what is allowed.
    """
    rate = np.clip(rate, 1e-6, 1 - 1e-6)
    low, high = np.zeros(len(value)), np.full(len(value), 60.0)
    difference = value[:, :, 1] - value[:, :, 0]
    odds = np.log(rate / (1 - rate))

    def tilted(c: FloatArray) -> FloatArray:
        return np.asarray(1 / (1 + np.exp(c[:, None] * difference - odds)))

    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        rates = tilted(middle)
        mean = (value[:, :, 0] + rates * difference) @ left
        too_high = mean > -surplus
        low, high = np.where(too_high, middle, low), np.where(too_high, high, middle)
    rates = tilted((low + high) / 2)
    return np.asarray((1 - rates) * value[:, :, 0] ** 2 + rates * value[:, :, 1] ** 2)
