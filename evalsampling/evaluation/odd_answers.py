"""Answers that are not what they seem: all alike, contrary, copied, or those of other rows.

Each is found in fewer than one delivery of honest answers in 200; docs/labels.md has the count.
"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence

import numpy as np
import scipy

from evalsampling.evaluation.analysis import Analysis
from evalsampling.label_spaces.numbers import Numbers
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.history import NO_LABEL

FEWEST = 20
"""Fewest answers that are judged together."""

_EACH_SIDE = 10
"""Fewest rows of a prediction that others are compared with."""

_CONTRARY = -5.0
"""Standard deviations below chance from which agreement is no accident."""

_MEANS_RIGHT = 0.7
"""Share of the rows predicted negative that are answered positive, where that is no miss."""

_AGREES = 6.0
"""Standard deviations above chance that scores expect of agreement, before its lack is odd."""

_NO_BETTER = 2.0
"""Standard deviations above chance below which agreement is none."""

_UNRELATED = 1.0
"""Standard deviations above chance below which answers have nothing to do with predictions."""

_FEWEST_UNRELATED = 200
"""Fewest answers that may be said to be unrelated to predictions."""

_MANY = 100
"""Fewest answers that may be a copy of predictions."""

_RARE = 1e-4
"""Chance below which answers that equal all predictions are taken to be their copy."""

_SLOPES = (0.7, 1.0, 1.5, 2.0)
_SHIFTS = (-1.0, -0.5, 0.0, 0.5, 1.0)
"""How the log-odds of scores may be off, where they are believed."""


@dataclasses.dataclass(frozen=True)
class AnswerGroup:
    """Question and class code of answers that came together, in the order they came.

    ``whose`` they are is in words, as "of labels.csv"; empty for all.
    """

    whose: str
    question: IntArray
    code: IntArray

    @classmethod
    def of_codes(cls, whose: str, codes: Iterable[tuple[int, int]]) -> "AnswerGroup":
        """Return the group of pairs of a question and a code."""
        return cls(whose, *np.array([*codes], dtype=np.int64).reshape(-1, 2).T)

    @property
    def answers(self) -> str:
        """The answers, in words."""
        return f"answers {self.whose}".rstrip()

    def of(self, rows: BoolArray) -> "AnswerGroup":
        """Return the answers about some of its rows."""
        return AnswerGroup(self.whose, self.question[rows], self.code[rows])


def odd_answers(analysis: Analysis, groups: Sequence[AnswerGroup]) -> list[str]:
    """Return warnings of odd answers, a text for each group of answers that came together."""
    history = analysis.history
    are_numbers = isinstance(analysis.reading.labels.space, Numbers)
    if not (are_numbers or (analysis.reading.has_classes and analysis.table.classes > 1)):
        return []
    judge = _of_another_unit if are_numbers else _judged
    every = AnswerGroup("", history.labelled, history.label[history.labelled])
    # People pick errors, so that what they answer contradicts the predictions.
    *parts, whole = (each.of(~history.picked[each.question]) for each in [*groups, every])
    judged = [group for group in parts if len(group.code) >= FEWEST]
    texts = [text for group in judged if (text := judge(analysis, group))]
    are_apart = all(len(group.code) != len(whole.code) for group in judged)
    if not texts and are_apart and len(whole.code) >= FEWEST:
        texts = [text for text in [judge(analysis, whole)] if text]
    return list(dict.fromkeys(texts))


def _judged(analysis: Analysis, group: AnswerGroup) -> str:
    """Return a warning of a group's oddity in one or two sentences; empty without oddity."""
    systems = analysis.history.outputs.prediction.shape[1]
    parts = [_Compared(analysis, group, system) for system in range(systems)]
    finders = [_Compared.one_left_out, _Compared.one_class, _Compared.copied]
    # Where one system is right, a bad one says nothing of the answers.
    if max(part.agreement()[2] for part in parts) < _NO_BETTER:
        finders += [_Compared.moved, _Compared.unrelated, _Compared.contrary]
    elif all(part.means_right for part in parts):
        finders += [_Compared.contrary]
    return next((text for find in finders for part in parts if (text := find(part))), "")


def _of_another_unit(analysis: Analysis, group: AnswerGroup) -> str:
    """Return a warning if all answers lie beyond nine in ten of the predicted numbers."""
    predicted = analysis.history.outputs.prediction[group.question]
    low, high = np.quantile(predicted, [0.1, 0.9])
    if group.code.max() >= low and group.code.min() <= high:
        return ""
    space = analysis.reading.labels.space
    assert isinstance(space, Numbers)
    ends = np.array([group.code.min(), group.code.max(), predicted.min(), predicted.max()])
    least, most, *told = (f"{end:.4g}" for end in space.decode(ends))
    return (
        f"All {len(group.code)} {group.answers} lie from {least} to {most}, "
        f"and what is predicted of these rows from {told[0]} to {told[1]}. Check whether both have "
        "the same unit."
    )


@dataclasses.dataclass(frozen=True)
class _Compared:
    """A group of answers beside a system's predictions of the same rows."""

    analysis: Analysis
    group: AnswerGroup
    system: int

    # --- the numbers

    def text(self, code: int) -> str:
        """Return a class in quotes."""
        return repr(self.analysis.reading.labels.space.text(code))

    @functools.cached_property
    def predicted(self) -> IntArray:
        """Codes predicted, shape (n,)."""
        history = self.analysis.history
        return history.outputs.prediction[self.group.question, self.system].astype(np.int64)

    @functools.cached_property
    def prior(self) -> FloatArray | None:
        """Probabilities of the classes, shape (n, classes); None if they are not believed.

        They are believed if the system has them and they expect as many rows of each class in
        the pool as are predicted, within a factor of two.
        """
        table, history = self.analysis.table, self.analysis.history
        own = history.outputs.probability[self.group.question, self.system]
        if not np.isfinite(own).all():
            return None
        expected = table.count @ table.prior
        predicted = np.array([*map(self._predicted_in_pool, range(table.classes))])
        fits = (expected <= 2 * predicted + 1) & (predicted <= 2 * expected + 1)
        if not fits.all():
            return None
        return np.clip(table.prior[history.cell[self.group.question]], 1e-6, 1 - 1e-6)

    def agreement(self, code: IntArray | None = None) -> tuple[float, float, float]:
        """Return how many answers agree, how many by chance, and the distance in deviations."""
        code = self.group.code if code is None else code
        counts = [self._counts(values) for values in (code, self.predicted)]
        return self._beyond_chance(float(np.sum(code == self.predicted)), *counts)

    def _counts(self, codes: IntArray) -> FloatArray:
        return np.bincount(codes, minlength=self.analysis.table.classes).astype(np.float64)

    def _beyond_chance(
        self, agree: float, given: FloatArray, predicted: FloatArray
    ) -> tuple[float, float, float]:
        """Return an agreement with its mean and distance, were answers in any order."""
        n = len(self.predicted)
        chance = float(given @ predicted / n)
        centred = np.eye(len(given)) - given[:, None] / n - predicted[None, :] / n + chance / n
        # The variance of a sum over a random permutation.
        variance = float(predicted @ centred**2 @ given) / (n - 1)
        distance = (agree - chance) / np.sqrt(variance) if variance > 1e-9 else 0.0
        return agree, chance, float(distance)

    @functools.cached_property
    def expected(self) -> tuple[float, float, float] | None:
        """`agreement` as the scores expect it; None if they are not believed."""
        if self.prior is None:
            return None
        agree = self.prior[np.arange(len(self.predicted)), self.predicted].sum()
        given = self.prior.sum(axis=0)
        return self._beyond_chance(float(agree), given, self._counts(self.predicted))

    @property
    def has_both_sides(self) -> bool:
        """Whether several classes are predicted, of enough rows each to compare them."""
        return bool(np.sort(self._counts(self.predicted))[-2] >= _EACH_SIDE)

    # --- what is odd

    def one_left_out(self) -> str:
        """Return that no answer is of some class, and rows predicted to be of it are left empty.

        Annotators see no predictions, so those who answer with other classes leave out any rows.
        """
        history, question, codes = self.analysis.history, self.group.question, self.group.code
        sent = [each.question for each in history.rounds if np.isin(each.question, question).any()]
        left = np.setdiff1d(np.concatenate(sent), question)
        left = left[history.label[left] == NO_LABEL]
        others = self._counts(history.outputs.prediction[left, self.system].astype(np.int64))
        others[codes] = 0
        code = int(others.argmax())
        n, answered, missed = len(question), int(np.sum(self.predicted == code)), int(others[code])
        drawn = n + len(left), answered + missed, n
        if missed < _EACH_SIDE or scipy.stats.hypergeom.cdf(answered, *drawn) >= _RARE:
            return ""
        alike = f"All {n} {self.group.answers} are {self.text(codes[0])}"
        none = f"None of {n} {self.group.answers} is {self.text(code)}"
        return (
            f"{alike if np.all(codes == codes[0]) else none}, and {missed} of {len(left)} rows "
            f"without a label are predicted {self.text(code)}. If an empty cell is meant as an "
            "answer, fill it in."
        )

    def one_class(self) -> str:
        """Return that all answers are one class, though scores or predictions expect others.

        Where the scores are not believed it takes many rows that are predicted otherwise. Of the
        class that most rows of the pool are predicted to be it takes more: where others are rare,
        all that a poor system finds may be false.
        """
        code = int(self.group.code[0])
        if np.any(self.group.code != code):
            return ""
        others = self._counts(self.predicted)
        n, others[code] = len(self.predicted), 0
        is_common = 2 * self._predicted_in_pool(code) > self.analysis.table.rows
        are_many = others.sum() >= (max(FEWEST, n / 5) if is_common else max(_EACH_SIDE, n / 10))
        chance = "."
        if self.prior is not None:
            # Few that are predicted rare may all be false, so the rest must be odd by itself.
            looked_at = (self.predicted == code) | are_many | (not is_common)
            if self._chance(self.group.code, 1 if code == 1 else -1, looked_at) >= _RARE:
                return ""
            expected = n - self.prior[:, code].sum()
            chance = (
                f". By the scores {expected:.0f} would be of another class; the chance of none is "
                "below 1 in 10,000."
            )
        elif not are_many:
            return ""
        other = int(others.argmax())
        named = self.text(other) if others[other] == others.sum() else "otherwise"
        predicted = f"; {others.sum():.0f} of these rows are predicted {named}" * bool(others.any())
        return f"All {n} {self.group.answers} are {self.text(code)}{predicted}{chance}"

    def _predicted_in_pool(self, code: int) -> float:
        """Return how many rows of the pool are predicted to be of a class."""
        table = self.analysis.table
        return float(table.count @ table.kinds.predicted(code, self.system))

    def moved(self) -> str:
        """Return that answers fit once they are moved by a row, or turned round."""
        agree, code = self.agreement()[0], self.group.code
        orders = {
            "moved down by one row": np.roll(code, 1),
            "moved up by one row": np.roll(code, -1),
            "in the reverse order": code[::-1],
        }
        for words, moved in orders.items():
            better, _, beyond = self.agreement(moved)
            if beyond > _AGREES:
                return (
                    f"The {self.group.answers} are those of other rows: {agree:.0f} of {len(code)} "
                    f"agree with the predictions, and {words} {better:.0f} would."
                )
        return ""

    def contrary(self) -> str:
        """Return that answers contradict the predictions more than chance would."""
        agree, chance, distance = self.agreement()
        is_beyond_chance = self.has_both_sides and distance < _CONTRARY
        if not (is_beyond_chance or self.means_right):
            return ""
        n = len(self.predicted)
        if self.analysis.table.classes > 2:
            return (
                f"The {self.group.answers} contradict the predictions: {agree:.0f} of {n} agree, "
                f"where {chance:.0f} would by chance. Check whether classes were mixed up."
            )
        positive, parts = self.analysis.reading.labels.positive, []
        one = self.text(positive)
        for code in (positive, 1 - positive):
            side = self.group.code[self.predicted == code]
            count = int(np.sum(side == positive))
            parts.append(f"{count} of {len(side)} rows predicted {self.text(code)}")
        return (
            f"The {self.group.answers} contradict the predictions: {one} is said of "
            f"{' and of '.join(parts)}. Check whether classes were swapped, or whether {one} means "
            "that the prediction is right."
        )

    @property
    def means_right(self) -> bool:
        """Whether most rows are answered positive, whether predicted so or not."""
        if self.analysis.table.classes > 2:
            return False
        positive = self.analysis.reading.labels.positive
        is_positive, is_predicted = self.group.code == positive, self.predicted == positive
        without, within = is_positive[~is_predicted], is_positive[is_predicted]
        return bool(
            len(without) >= FEWEST
            and without.mean() >= _MEANS_RIGHT
            and (not len(within) or within.mean() >= 0.5)
        )

    def unrelated(self) -> str:
        """Return that answers have nothing to do with the predictions, though scores expect it.

        There are as many of each class as the scores expect, so it is not these that are off.
        """
        agree, chance, distance = self.agreement()
        if not (self.has_both_sides and _CONTRARY <= distance < _UNRELATED):
            return ""  # A poor system with bold scores comes near it; of 100 answers too near.
        if self.expected is None or self.prior is None:
            return ""
        n = len(self.predicted)
        spread = np.sqrt((self.prior * (1 - self.prior)).sum(axis=0))
        off = np.abs(self._counts(self.group.code) - self.prior.sum(axis=0)) / spread
        if self.expected[2] <= _AGREES or off.max() >= 2.5 or n < _FEWEST_UNRELATED:
            return ""
        return (
            f"The {self.group.answers} have nothing to do with the predictions: {agree:.0f} of {n} "
            f"agree, {chance:.0f} would by chance, and {self.expected[0]:.0f} by the scores. Check "
            "whether they belong to these rows."
        )

    def copied(self) -> str:
        """Return a warning that all answers equal the predictions, though scores expect errors."""
        n, agree = len(self.predicted), self.group.code == self.predicted
        if n < _MANY or not agree.all() or not self.has_both_sides or self.expected is None:
            return ""
        sign = np.where(self.predicted == 1, 1, -1) * (self.analysis.table.classes == 2)
        if self._chance(self.predicted, sign) >= _RARE:
            return ""
        wrong = n - self.expected[0]
        return (
            f"All {n} {self.group.answers} are what is predicted, where the scores expect "
            f"{wrong:.0f} to differ. Check whether the column of answers holds predictions."
        )

    def _chance(self, code: IntArray, sign: int | IntArray, rows: BoolArray | None = None) -> float:
        """Return the greatest chance that all rows are of some classes, for scores that are off."""
        assert self.prior is not None
        own = self.prior[np.arange(len(code)), code]
        odds = np.log(own / (1 - own))
        counts = np.ones(len(code)) if rows is None else rows
        chances = [
            -float(counts @ np.logaddexp(0, -slope * (odds + sign * shift)))
            for slope in _SLOPES for shift in _SHIFTS
        ]  # fmt: skip
        return float(np.exp(max(chances)))
