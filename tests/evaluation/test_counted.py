"""Estimates and next rounds from counts of labelled rows are those of the rows one by one."""

import dataclasses
import json

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.counted import CountedPool, analysis_of, estimated, next_chances
from evalsampling.evaluation.graded import empty_history
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import NO_LABEL, History
from evalsampling.stats.labelled_counts import LabelledCounts
from tests.counted_histories import assert_same_history, chances_of, shuffled
from tests.golden.cases import CASES, Case
from tests.golden.pools import pool_of

FAST = [
    "rows without labels by ais",
    "clusters by calibrated",
    "slices by passive",
    "label sets by stratified",
    "numbers by optimal_importance",
    "three systems by compare",
]
"""Cases of every kind of columns; all others are slow, together."""


def has_counts(case: Case) -> bool:
    """Whether rows of a case can be counted: not one answer of many, tags or rankings."""
    one_answer = case.keys.get("labels", {}).get("oracle") != "stochastic"
    return one_answer and case.pool not in ("tags", "queries")


OTHERS = [name for name in CASES if name not in FAST and has_counts(CASES[name])]


def labelled(case: Case) -> Analysis:
    """The analysis of a case with its rounds, as far as they go."""
    pool, truth = pool_of(case.pool), pool_of(case.pool).truth
    evaluation = Evaluation.from_frame(pool.table, **case.keys)
    for size in case.rounds:
        if not evaluation.analysis.exhausted:
            ids = evaluation.sample(size)
            taken = [p for p in range(len(ids)) if not case.skips or p % case.skips]
            if taken:
                evaluation.label(ids[taken], [truth[ids[p]] for p in taken])
    return evaluation.analysis


def said(analysis: Analysis) -> str:
    return json.dumps(estimated(analysis))


def check(name: str) -> None:
    """Check that counts say to the digit what a case says, and draw what it would draw."""
    analysis = labelled(CASES[name])
    history, table = analysis.history, analysis.table
    none = analysis.with_history(empty_history(analysis.reading, table))
    if analysis.sampler.keeps_order:
        again = by_question(none, history, table)
        assert_same_history(again.history, history)
        assert said(again) == said(analysis)
        return
    counts = LabelledCounts.of_history(history, table)
    again = analysis_of(none, counts, chances_of(history, table))
    assert_same_history(again.history, history.ordered)
    assert said(again) == said(analysis)
    assert said(analysis.with_history(shuffled(history, 5))) == said(analysis)
    if not analysis.exhausted:
        one, other = next_chances(analysis, 30, 30), next_chances(again, 30, 30)
        np.testing.assert_array_equal(one.chance, other.chance)
        assert (one.wanted, one.elsewhere) == (other.wanted, other.elsewhere)
        sampled = analysis.with_round(30).history.rounds[-1].cell_probability
        np.testing.assert_allclose(one.chance, sampled, rtol=1e-12)


def by_question(none: Analysis, history: History, table: CellTable) -> Analysis:
    """The analysis of draws whose order counts: labels come with the numbers of their questions."""
    parts = [
        LabelledCounts.of_rows(
            history.met[part],
            table.code[history.cell[part]],
            history.label[part],
            history.outputs.take(part),
            history.slice[part],
            part[:, None].astype(float),
        )
        for part in np.array_split(np.random.default_rng(3).permutation(len(history)), 4)
    ]
    drawn = dataclasses.replace(
        history, label=np.full(len(history), NO_LABEL), corrected={}, taken=()
    )
    rounds = chances_of(history, table)
    return analysis_of(none, LabelledCounts.sum(parts), rounds, drawn)


@pytest.mark.parametrize("name", FAST)
def test_counts_say_what_rows_say(name: str) -> None:
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERS)
def test_counts_say_what_rows_say_of_every_kind(name: str) -> None:
    check(name)


def test_a_pool_of_sums_knows_no_numbers_of_rows() -> None:
    analysis = labelled(CASES["calibrated"])
    numbers = CountedPool(None, analysis.table).numbers()  # type: ignore[arg-type]
    assert len(numbers.number) == 0
    assert numbers.count.tolist() == analysis.table.count.tolist()


def test_rows_of_another_pool_are_refused() -> None:
    analysis = labelled(CASES["calibrated"])
    counts = LabelledCounts.of_history(analysis.history, analysis.table)
    with pytest.raises(ValueError, match="a row is of round 2, 1 are given"):
        analysis_of(analysis, counts, chances_of(analysis.history, analysis.table)[:1])
    assert issubclass(InputError, Exception)
