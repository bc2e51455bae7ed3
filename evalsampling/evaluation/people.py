"""How well people agree with each other, on the rows that have two answers or more."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.choice import by_weights
from evalsampling.inference.evidence import FEWEST_EVIDENCE, Evidence, Gap
from evalsampling.inference.results import Target
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures.agreement import Kappa
from evalsampling.measures.base import Measure
from evalsampling.measures.binary import Accuracy
from evalsampling.measures.joint import parts_of
from evalsampling.report.numbers import decimals, shown, shown_range
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.history import NO_LABEL
from evalsampling.stats.outputs import Outputs

AGREEMENT = "agreement"
"""The share of pairs of answers to a row that are the same."""


@dataclasses.dataclass(frozen=True)
class PeopleNumber:
    """A number about the answers of people to the same rows.

    Attributes:
        measure: ``agreement``, or a kappa's name.
        value: None where it is undefined.
        low: lower end of a design-based interval; None where nothing is claimed.
        high: upper end.
    """

    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None

    @property
    def words(self) -> str:
        """The value with its interval: ``0.91 (0.87 to 0.94)``."""
        if self.value is None:
            return "undefined"
        if self.low is None or self.high is None:
            return shown(self.value, 3)
        digits = decimals(self.low, self.high)
        return f"{shown(self.value, digits)} ({shown_range(self.low, self.high, digits)})"


@dataclasses.dataclass(frozen=True)
class PeopleAgreement:
    """How well people agree with each other.

    Attributes:
        rows: that have the answers of two people or more.
        people: who gave these answers.
        weighted: whether rows count by the design, so that numbers are of the pool; else they are
            of these rows alone.
        numbers: the share of the same answers, then kappas.
        statement: the numbers, and what they are of, in plain sentences.
    """

    rows: int
    people: int
    weighted: bool
    numbers: tuple[PeopleNumber, ...]
    statement: str


def people_agree(
    analysis: Analysis, answers: Mapping[int, Mapping[str | None, int]], votes: int
) -> PeopleAgreement | None:
    """Return how well people agree, None of labels that are no classes, or of fewer than two rows.

    Where the spec asks for several votes a row, the rows that have two represent the rows drawn, as
    rows with a label represent those without one. Other second answers come by themselves, so
    their rows represent nothing.

    Of two people kappa is Cohen's. Of more, each pair of answers counts in both orders, which gives
    the kappa of Fleiss (Psychological Bulletin 76, 1971) where all rows have as many answers.

    Args:
        analysis: where the evaluation stands.
        answers: codes of the answers of each person, by question; those below 0 name no class.
        votes: answers wanted of each row.
    """
    spec = analysis.spec
    told = {
        question: {name: code for name, code in codes.items() if code >= 0}
        for question, codes in sorted(answers.items())
        if question < len(analysis.history)
    }
    told = {question: codes for question, codes in told.items() if len(codes) > 1}
    if spec is None or spec.labels.space.kind != "classes" or len(told) < 2:
        return None
    names = {name for codes in told.values() for name in codes}
    pairs = _Pairs.of(list(told.values()), ordered=len(names) == 2)
    rows = np.array([*told], dtype=np.int64)
    sample = None
    if votes > 1 and not analysis.sampler.stochastic:
        sample = _weighed(analysis, rows)
    numbers = [
        _number(name, measure, pairs, rows, sample, analysis)
        for name, measure in {AGREEMENT: Accuracy(), **_kappas(analysis)}.items()
    ]
    weighted = sample is not None
    said = _statement(numbers, len(rows), weighted)
    return PeopleAgreement(len(rows), len(names), weighted, tuple(numbers), said)


def _statement(numbers: Sequence[PeopleNumber], rows: int, weighted: bool) -> str:
    """Return what is known of it, in two sentences."""
    agreement, *kappas = numbers
    of_kappas = ", ".join(f"{number.measure} {number.words}" for number in kappas)
    answered = f"{rows:,} rows with two answers or more"
    basis = (
        f"This is of the pool, from {answered}, weighted as they were drawn."
        if weighted
        else f"This is of {answered}, and of no other rows."
    )
    return f"People agree with each other on {agreement.words} of rows; {of_kappas}. {basis}"


@dataclasses.dataclass(frozen=True)
class _Pairs:
    """Pairs of answers: the place of their row, both codes, and the pair's share of the row."""

    row: IntArray
    first: IntArray
    second: IntArray
    share: FloatArray

    @classmethod
    def of(cls, told: Sequence[Mapping[str | None, int]], ordered: bool) -> "_Pairs":
        """Return all pairs, in the order of names if that tells who is who, else in both orders."""
        pairs = []
        for row, codes in enumerate(told):
            by_name = [codes[name] for name in sorted(codes, key=lambda name: name or "")]
            choose = itertools.combinations if ordered else itertools.permutations
            both = list(choose(by_name, 2))
            pairs += [(row, *each, len(both)) for each in both]
        row, first, second, number = np.array(pairs, dtype=np.int64).T
        return cls(row, first, second, 1 / number)

    def mean_loss(self, measure: Measure, classes: int) -> FloatArray:
        """Return the mean loss of the pairs of each row, the first answer being the prediction."""
        nothing = np.zeros((len(self.row), 1, classes))
        outputs = Outputs(self.first[:, None], nothing[:, :, 0], nothing)
        loss = self.share[:, None] * measure.loss(outputs, self.second)
        return np.asarray(np.add.reduceat(loss, np.unique(self.row, return_index=True)[1]))


def _kappas(analysis: Analysis) -> dict[str, Measure]:
    """Return the kappas that are reported, by name; the one without weights if none is."""
    listed = [part for measure in analysis.measures for part in parts_of(measure)]
    listed += () if any(isinstance(part, Kappa) for part in listed) else analysis.chosen("kappa")
    kappas = [part for part in listed if isinstance(part, Kappa)]
    return {kappa.name: dataclasses.replace(kappa, system=0) for kappa in kappas}


def _weighed(analysis: Analysis, rows: IntArray) -> WeightedSample | None:
    """Return some questions with design weights, as if no other had a label; None without any.

    Which label they have does not matter: a dispute has none.
    """
    history = dataclasses.replace(analysis.history, corrected={})
    label = np.full(len(history), NO_LABEL, dtype=np.int64)
    label[rows] = np.maximum(history.label[rows], 0)
    sample = analysis.sampler.weigh(analysis.table, history.with_labels(label))
    return sample if sample.draws and sample.weight.sum() > 0 else None


def _number(
    name: str,
    measure: Measure,
    pairs: _Pairs,
    rows: IntArray,
    sample: WeightedSample | None,
    analysis: Analysis,
) -> PeopleNumber:
    """Return a number, with an interval where rows are weighted."""
    loss = pairs.mean_loss(measure, analysis.table.classes)
    if sample is None:
        value = float(measure.value(loss.mean(axis=0))[0])
        return PeopleNumber(name, value if np.isfinite(value) else None)
    loss, total = loss[np.searchsorted(rows, sample.question)], sample.weight.sum()
    risk = sample.weight @ loss / total
    influence = (loss - risk) @ measure.jacobian(risk).T / total
    few = Gap("few rows", "") if len(rows) < FEWEST_EVIDENCE else None
    (found,) = by_weights(
        [Target(name, measure.bounds)],
        measure.value(risk),
        influence,
        sample,
        [Evidence(measure.undefined_without, few)],
        analysis.confidence,
    )
    ends = (found.low, found.high) if found.value is not None and found.claims else (None, None)
    return PeopleNumber(name, found.value, *ends)
