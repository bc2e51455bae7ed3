"""Poisson sampling: every row is in the sample independently, with a probability of its own.

References:
    [Y] Yilmaz, Hayes, Habib, Burgess and Barber, *Sample Efficient Model Evaluation*, 2021,
    algorithm 2, eq. 18 to 29, appendices B, C and E.
    C.-E. Särndal, B. Swensson and J. Wretman, *Model Assisted Survey Sampling*, Springer 1992,
    sections 3.5 (Poisson sampling) and 6.3 (difference estimator).
"""

import dataclasses
from typing import Literal

import numpy as np

from evalsampling.inference.inputs import EstimationInput
from evalsampling.inference.nonresponse import response_by_cell, rows_represented, share_answered
from evalsampling.inference.random_answers import with_random_answers
from evalsampling.inference.sample import WeightedSample
from evalsampling.inference.score_calibration import Calibration, check_calibration, recalibrated
from evalsampling.measures.deviation import Deviation, anticipate
from evalsampling.samplers.base import Rng, Sampler, no_rounds
from evalsampling.spec.values import Proportion
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, distinct_rows
from evalsampling.stats.cells import CellTable
from evalsampling.stats.costs import per_root_cost
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.inclusion import draw_next, draw_these, mix_evenly, saturates, water_fill
from evalsampling.stats.permanent import RowNumbers
from evalsampling.stats.poisson import (
    PoissonRound,
    PoissonSize,
    Threshold,
    inclusion_so_far,
    poisson_rounds,
)


@dataclasses.dataclass(frozen=True)
class Poisson(Sampler):
    """Rows drawn independently, with probabilities b = min(1, kappa h) that sum to the budget.

    h is the expected deviation of a row's label (`measures.deviation`), over the root of what the
    label costs, a share of it spread evenly over the pool. The estimator is the ratio of
    Horvitz-Thompson totals ([Y] eq. 18), its variance eq. 28.

    A round raises the probabilities to those of a larger budget: rows whose permanent random number
    lies between are its rows. So rounds together are one sample of the whole budget, whatever their
    sizes, and weights are one over the probability of all.

    Online, a round answers to earlier labels: the prior is calibrated by them. Then the estimates
    of the rounds are combined with weights in proportion to the sizes that were asked for, which no
    label decides ([Y] eq. 128 has 1/R).

    Attributes:
        delta: share of the pool's own distribution in the measure of size, in [0, 1].
        smoothing: lambda of p_a = lambda p + (1 - lambda) / classes, in [0, 1]; 0.9 in [Y].
        online: None for rounds that are one sample; ``exclude`` for rounds that answer to labels
            and draw from rows not drawn yet, ``include`` for such that draw from all rows again.
        calibration: how the prior is calibrated online: ``logistic`` (the default) or ``isotonic``
            regression of the labels so far on the scores.
        estimator: ``ratio``, or ``difference``: with the totals of the prior for rows without
            label.
        correct_bias: whether the bias is subtracted.
        cap: whether a round has at most as many rows as the budget still allows; the expected
            number otherwise.
    """

    delta: Proportion = 0.1
    smoothing: Proportion = 1.0
    online: Literal["exclude", "include"] | None = None
    calibration: Calibration = None
    estimator: Literal["ratio", "difference"] = "ratio"
    correct_bias: bool = False
    cap: bool = False
    name = "poisson"
    takes = frozenset({"stochastic", "tags", "numbers"})
    trusts_prior = True

    @property
    def by_row(self) -> bool:  # type: ignore[override]
        """Whether no round draws rows of earlier rounds again."""
        return self.online != "include"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_calibration(self.calibration)
        if self.calibration is not None and self.online is None:
            raise ValueError(
                "calibration answers to labels, and rounds that are one sample do not: online must "
                "be exclude or include"
            )
        if self.correct_bias and self.estimator == "difference":
            raise ValueError("correct_bias is for the ratio estimator, not for the difference one")
        if self.stochastic and self.online == "exclude":
            raise ValueError(
                "rows of earlier rounds have one label each, which says nothing certain of a "
                "stochastic oracle: online must be include, or left out"
            )

    @property
    def models_classes(self) -> bool:
        return self.online is not None

    def design(
        self, table: CellTable, history: History, new_rows: int, rng: Rng, budget: int | None = None
    ) -> History:
        wanted = new_rows if budget is None else min(new_rows, budget)
        left = table.count - history.drawn_by_cell(len(table))
        threshold = self._threshold(table, history, left, wanted)
        fresh = None
        if self.numbers is not None:
            fresh = self.numbers.fresh(table.count - left, inclusion_so_far(table, history))
        old: IntArray = np.zeros(0, dtype=np.int64)
        if self.online == "include":
            old = distinct_rows(np.stack([history.cell, history.rank], axis=1))[0]
        coins = RowNumbers(history.cell[old], rng.random(len(old)))
        cap, asked = budget if self.cap else None, coins if self._asks_again else None
        made, sizes = threshold.draw(left, rng, cap, fresh, asked)
        after = draw_next(table, history, made.chance, sizes, rng)
        again = np.sort(old[threshold.takes(coins, made.kappa)])
        if len(again):
            after = self._with_old(table, history, after, again)
        return after.with_last(wanted=wanted)

    def _threshold(
        self, table: CellTable, history: History, left: IntArray, wanted: int
    ) -> Threshold:
        """Return the next round, before it is drawn."""
        size = self.size(table, history)
        if self.online is not None:
            none = np.zeros(len(table))
            asked = table.count if self._asks_again else left
            return Threshold(size, none, water_fill(size, asked, wanted))
        before = inclusion_so_far(table, history)
        until = water_fill(size, table.count, float(table.count @ before) + wanted)
        return Threshold(size, before, np.maximum(until, before))

    @property
    def _asks_again(self) -> bool:
        """Whether a row that is drawn again is asked about again."""
        return self.stochastic and self.online == "include"

    def _with_old(
        self, table: CellTable, history: History, after: History, old: IntArray
    ) -> History:
        """Return a history in whose last round rows of earlier rounds are drawn again."""
        drawn, chance = after.rounds[-1], after.rounds[-1].cell_probability
        assert chance is not None
        cell = history.cell[old]
        if self._asks_again:
            cells = np.concatenate([after.cell[drawn.question], cell])
            ranks = np.concatenate([after.rank[drawn.question], history.rank[old]])
            return draw_these(table, history, chance, cells, ranks)
        return after.with_last(
            question=np.concatenate([drawn.question, old]),
            probability=np.append(drawn.probability, chance[cell]),
            new=np.append(drawn.new, np.zeros(len(old), dtype=np.bool_)),
        )

    def size(self, table: CellTable, history: History) -> FloatArray:
        """Return the size of the rows of each cell, shape (cells,), of the next round."""
        prior, smoothing = table.prior, self.smoothing
        if self.online is not None:
            method = self.calibration or "logistic"
            prior = recalibrated(table, history, method, self.measure.system)
        deviation = Deviation.from_cells(self.measure, table, prior, smoothing)
        size = per_root_cost(deviation.of_cells(table, prior), table.cost)
        return mix_evenly(size, table.count, self.delta)

    def support(self, table: CellTable) -> BoolArray:
        if self.delta > 0:
            return np.ones(len(table), dtype=np.bool_)
        return self.size(table, no_rounds(table)) > 0

    def exhausted(self, table: CellTable, history: History) -> bool:
        return not self._asks_again and self.unseen(table, history) == 0

    def spent(self, table: CellTable, history: History, answers: int) -> int:
        """Return the labels expected of all rounds; with a cap, the answers if they are more."""
        expected = round(self.expected_size(table, history))
        return max(expected, answers) if self.cap else expected

    def expected_size(self, table: CellTable, history: History) -> float:
        """Return the number of labels expected of all rounds so far."""
        if self.online is None:
            return float(table.count @ inclusion_so_far(table, history))
        return sum(
            float((table.count if self._asks_again else drawn.fresh) @ drawn.chance)
            for drawn in poisson_rounds(table, history)
        )

    def sample_size(self, table: CellTable, history: History) -> PoissonSize:
        b = inclusion_so_far(table, history)
        expected = self.expected_size(table, history)
        size = self.size(table, history)
        return PoissonSize(
            expected=expected,
            deviation=float(np.sqrt(table.count @ (b * (1 - b)))),
            realised=int(history.drawn_by_cell(len(table)).sum()),
            certain=int(table.count[b >= 1].sum()),
            saturated=saturates(size, table.count, expected),
        )

    def weigh(self, table: CellTable, history: History) -> WeightedSample:
        """Return the labelled rows with their Horvitz-Thompson weights ([Y] eq. 18 and 28).

        Rows of a round without a label are missing at random within response classes
        (`inference.nonresponse`), so the chance is that of the round times the share with a label.
        Of a stochastic oracle rows and answers vary at random (`inference.random_answers`).
        """
        rounds = list(poisson_rounds(table, history))
        weigh = self._weigh_one_sample if self.online is None else self._weigh_rounds
        weight, square, inclusion = weigh(table, history, rounds)
        weighed = np.flatnonzero(np.sqrt(square) + weight)
        square, labels = square[weighed], len(history.labelled)
        sample = WeightedSample.independent(
            weighed, weight[weighed], square, np.sqrt(square), labels
        )
        if not self.stochastic:
            return sample
        cell = history.cell[weighed]
        group = cell if self.online is None else cell + len(table) * history.met[weighed]
        votes = history.votes(weighed)
        return with_random_answers(
            sample, votes, inclusion[weighed], group, table.count[cell].astype(np.float64)
        )

    def _weigh_one_sample(
        self, table: CellTable, history: History, rounds: list[PoissonRound]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return weights, what they add to the variance, and chances, of all questions.

        They are 0 without a label. A round without any label still leaves fewer rows to later ones.
        """
        missed, labelled = np.ones(len(table)), np.zeros(len(table))
        for drawn in rounds:
            labelled += missed * drawn.chance * response_by_cell(table, history, drawn.question)
            missed *= 1 - drawn.chance
        rows = history.labelled
        inclusion = np.zeros(len(history))
        inclusion[rows] = np.minimum(labelled[history.cell[rows]], 1.0)
        weight = np.divide(
            1 / table.rows, inclusion, out=np.zeros(len(history)), where=inclusion > 0
        )
        return weight, (1 - inclusion) * weight**2, inclusion

    def _weigh_rounds(
        self, table: CellTable, history: History, rounds: list[PoissonRound]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the same where each round is a sample; chances are of the last that drew a row.

        With known rows aside, rows of a round stand for all rows without a label so far; else for
        those of the round that first drew them. A round counts in proportion to its size and to the
        share of its new rows with a label.
        """
        share = share_answered(history) * [drawn_round.wanted for drawn_round in rounds]
        share /= max(float(share.sum()), 1e-300)
        drawn_in, represented = history.drawn, None
        if self.online == "include":
            represented = rows_represented(history, table, ask_again=self._asks_again)
        labelled = history.label != NO_LABEL
        weight, square, chances = np.zeros((3, len(history)))
        for number in np.flatnonzero(share):
            drawn_round, share_of_round = rounds[number], share[number]
            is_labelled = labelled[drawn_round.question]
            drawn = drawn_round.question[is_labelled]
            if represented is None:
                before = np.flatnonzero(labelled[: drawn_round.begin])
                unknown = table.count - np.bincount(history.cell[before], minlength=len(table))
                answered = response_by_cell(table, history, drawn_round.question)
                chance = drawn_round.chance * answered
                chance = chance * drawn_round.fresh / np.maximum(unknown, 1)
                weight[before] += share_of_round / table.rows
                inclusion = chance[history.cell[drawn]]
            else:
                of_draw = represented[drawn_in == number][is_labelled]
                inclusion = drawn_round.chance[history.cell[drawn]] / of_draw
            weight[drawn] += share_of_round / (inclusion * table.rows)
            square[drawn] += share_of_round**2 * (1 - inclusion) / (inclusion * table.rows) ** 2
            chances[drawn] = inclusion
        return weight, square, chances

    def adapted(self, inputs: EstimationInput) -> EstimationInput:
        differs = self.estimator == "difference"
        response = anticipate(inputs.table.prior, self.smoothing) if differs else None
        return dataclasses.replace(
            inputs, response=response, self_normalised=not differs, correct_bias=self.correct_bias
        )

    def _with_next_draw(self, inputs: EstimationInput) -> EstimationInput:
        """Return inputs with the chances of a draw: of the sample so far, or of the next row."""
        table, history = inputs.table, inputs.history
        if self.online is None and inputs.sample.draws:
            return dataclasses.replace(
                inputs, chance=inclusion_so_far(table, history) / inputs.sample.draws
            )
        size = self.size(table, history)
        return dataclasses.replace(inputs, chance=size / float(size @ inputs.table.count))
