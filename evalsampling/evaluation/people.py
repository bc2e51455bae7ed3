"""How well people agree with each other, on the rows that have two answers or more."""

import dataclasses
import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.estimates import by_weights
from evalsampling.inference.evidence import FEWEST_EVIDENCE, Evidence, Gap
from evalsampling.inference.results import Estimate, Target
from evalsampling.inference.sample import WeightedSample
from evalsampling.measures import Accuracy, Joint, Kappa
from evalsampling.measures.joint import parts_of
from evalsampling.report.numbers import decimals, shown, shown_range
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.history import NO_LABEL
from evalsampling.stats.outputs import Outputs

_MOST_WRONG = 0.1
"""Wrong labels, in rows of the rarer class, that need no word."""


@dataclasses.dataclass(frozen=True)
class PeopleNumber:
    """The agreement of people, or a kappa, by its name: None where it is undefined.

    Its interval is design-based; None where nothing is claimed.
    """

    measure: str
    value: float | None
    low: float | None = None
    high: float | None = None


@dataclasses.dataclass(frozen=True)
class PeopleAgreement:
    """How well people agree with each other."""

    rows: int  # that have the answers of two people or more
    people: int  # who gave these answers
    # whether numbers are of the pool, the rows being weighted by the design; else they are of these
    # rows alone
    weighted: bool
    numbers: tuple[PeopleNumber, ...]  # the agreement, then kappas
    statement: str  # the numbers, and what they are of, in two sentences
    warnings: tuple[str, ...] = ()  # that they disagree too often for the labels to be trusted


def people_agree(
    analysis: Analysis, answers: Mapping[int, Mapping[str | None, int]], votes: int
) -> PeopleAgreement | None:
    """Return how well people agree; None of fewer than two rows, and of labels that are no classes.

    ``answers`` has the codes of each person by question; those below 0 name no class. Where several
    ``votes`` a row are wanted, the rows that have two represent those drawn, as rows with a label
    represent those without. Other second answers represent nothing.
    """
    told = {
        question: named
        for question, codes in sorted(answers.items())
        for named in [{name: code for name, code in codes.items() if code >= 0}]
        if question < len(analysis.history) and len(named) > 1
    }
    if analysis.reading.labels.space.kind != "classes" or len(told) < 2:
        return None
    rows = np.array([*told], dtype=np.int64)
    weighed = _weighed(analysis, rows) if votes > 1 else None
    alone = WeightedSample.stratified(rows, np.zeros_like(rows), np.array([len(rows)]))
    sample = alone if weighed is None else weighed
    measure = Joint((Accuracy(), *_kappas(analysis)))
    loss = _losses(measure, list(told.values()), analysis.table.classes)
    loss, total = loss[np.searchsorted(rows, sample.question)], sample.weight.sum()
    risk = sample.weight @ loss / total
    names = ("agreement", *(part.name for part in measure.parts[1:]))
    few = Gap("few rows", "") if len(rows) < FEWEST_EVIDENCE else None
    found = by_weights(
        [Target(name, part.bounds) for name, part in zip(names, measure.parts, strict=True)],
        measure.value(risk),
        (loss - risk) @ measure.jacobian(risk).T / total,
        sample,
        [Evidence(part.undefined_without, few) for part in measure.parts],
        analysis.confidence,
    )
    people = len({name for codes in told.values() for name in codes})
    numbers = tuple(
        PeopleNumber(
            each.target.measure, each.value, *((each.low, each.high) if each.claims else ())
        )
        for each in found
    )
    of_pool = weighed is not None
    warnings: tuple[str, ...] = ()
    if of_pool and analysis.table.classes == 2 and not few:
        second = np.array([np.mean([*codes.values()]) for codes in told.values()])
        share = sample.weight @ second[np.searchsorted(rows, sample.question)] / total
        warnings = _errors(measure.value(risk)[0], min(share, 1 - share), votes)
    said = _statement(found, len(rows), of_pool)
    return PeopleAgreement(len(rows), people, of_pool, numbers, said, warnings)


def _errors(agreement: float, share: float, votes: int) -> tuple[str, ...]:
    """Return a warning if wrong labels may be many beside the rarer class, given its share.

    Two people who err on any row with the chance e agree with the chance 1 - 2 e (1 - e). Of
    several most err by the binomial distribution.
    """
    error = (1 - math.sqrt(max(2 * agreement - 1, 0))) / 2
    most = range(votes // 2 + 1, votes + 1)
    wrong = sum(math.comb(votes, k) * error**k * (1 - error) ** (votes - k) for k in most)
    rarer = max(share - error, 0) / max(1 - 2 * error, 1e-9)
    if wrong <= _MOST_WRONG * rarer:
        return ()
    of_class = f"{rarer:.2g} of the rows are" if rarer else "no row need be"
    return (
        f"people disagree often for so rare a class. If they err alike on all rows, {wrong:.2g} of "
        f"the labels are wrong, and {of_class} of that class. More votes a row help; gold rows "
        "show what wrong labels do",
    )


def _losses(measure: Joint, told: Sequence[Mapping[str | None, int]], classes: int) -> FloatArray:
    """Return the mean loss of the pairs of answers to each row, one being the prediction: (n, d).

    Of two people the first by name is, and kappa is Cohen's. Of more each is in turn: the kappa of
    Fleiss (Psychological Bulletin 76, 1971), where all rows have as many answers.
    """
    people = {name for codes in told for name in codes}
    choose = itertools.combinations if len(people) == 2 else itertools.permutations
    pairs = [[*choose([codes[name] for name in sorted(codes, key=str)], 2)] for codes in told]
    size = np.array([*map(len, pairs)])
    first, second = np.array([*itertools.chain.from_iterable(pairs)], dtype=np.int64).T
    nothing = np.zeros((len(first), 1, classes))
    loss = measure.loss(Outputs(first[:, None], nothing[:, :, 0], nothing), second)
    return np.asarray(np.add.reduceat(loss, np.cumsum(size) - size) / size[:, None])


def _kappas(analysis: Analysis) -> Sequence[Kappa]:
    """Return the kappas that are reported, as of one system; by default the unweighted one."""
    listed = [part for measure in analysis.measures for part in parts_of(measure)]
    listed += () if any(isinstance(part, Kappa) for part in listed) else analysis.chosen("kappa")
    kappas = [part for part in listed if isinstance(part, Kappa)]
    return list(dict.fromkeys(dataclasses.replace(kappa, system=0) for kappa in kappas))


def _weighed(analysis: Analysis, rows: IntArray) -> WeightedSample | None:
    """Return some questions with design weights, as if they alone had labels.

    Which labels does not matter: disputes have none. None where rows had no chance to be drawn, and
    of a stochastic oracle, each answer of which is a draw of its own.
    """
    if analysis.sampler.stochastic or not analysis.sampler.covers_pool(analysis.table):
        return None
    history = dataclasses.replace(analysis.history, corrected={})
    label = np.full(len(history), NO_LABEL, dtype=np.int64)
    label[rows] = np.maximum(history.label[rows], 0)
    sample = analysis.sampler.weigh(analysis.table, history.with_labels(label))
    return sample if sample.weight.sum() > 0 else None


def _statement(numbers: Sequence[Estimate], rows: int, weighted: bool) -> str:
    """Return how well people agree, and on which rows, in two sentences."""
    agreement, *kappas = numbers
    said = ", ".join(f"{kappa.target.measure} {_words(kappa)}" for kappa in kappas)
    answered = f"{rows:,} rows with two answers or more"
    basis = f"{answered}, and of no other rows"
    if weighted:
        basis = f"the pool, from {answered}, weighted as they were drawn"
    return (
        f"People agree with each other on {_words(agreement)} of rows; {said}. This is of {basis}."
    )


def _words(number: Estimate) -> str:
    if number.value is None:
        return "undefined"
    digits = decimals(number.low, number.high) if number.claims else 3
    ends = f" ({shown_range(number.low, number.high, digits)})" if number.claims else ""
    return shown(number.value, digits) + ends
