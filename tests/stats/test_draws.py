"""Draws through cells, atoms and ranks against draws of individual rows."""

import collections
import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from evalsampling.stats.draws import Proposal, StopRule, draw_rows
from evalsampling.stats.history import NO_LABEL, History, Round

NEVER = 10**9


class Uniforms:
    """A generator of given numbers, then of halves."""

    def __init__(self, numbers: tuple[tuple[float, float], ...]) -> None:
        self._numbers = numbers

    def random(self, shape: tuple[int, int]) -> np.ndarray:
        filled = np.full(shape, 0.5)
        filled[: len(self._numbers)] = self._numbers
        return filled


def make_history(cell: list[int], label: list[int]) -> History:
    """Rows drawn before, in one round; ranks count up within a cell."""
    seen: collections.Counter = collections.Counter()
    rank = []
    for c in cell:
        rank.append(seen[c])
        seen[c] += 1
    drawn = Round(np.arange(len(cell)), np.full(len(cell), 0.1), np.full(len(cell), True))
    history = History().with_round(drawn, np.array(cell, np.int64), np.array(rank, np.int64))
    return history.with_labels(np.array(label, np.int64))


def make_proposal(q: list[float], atom: list[int], atom_q: list[float]) -> Proposal:
    return Proposal(np.array(q), np.array(atom, np.int64), np.array(atom_q))


def pool_rows(proposal: Proposal, count: list[int], history: History) -> list[tuple]:
    """List (cell, index in history or None, q) of all rows of the pool."""
    atoms = dict(zip(proposal.atom.tolist(), proposal.atom_probability.tolist(), strict=True))
    rows = [
        (c, i, atoms.get(i, proposal.cell_probability[c]))
        for i, c in enumerate(history.cell.tolist())
    ]
    for c, total in enumerate(count):
        unseen = total - sum(known == c for known in history.cell.tolist())
        rows += [(c, None, proposal.cell_probability[c])] * unseen
    return rows


def expected_outcomes(
    proposal: Proposal, count: list[int], history: History, draws: int
) -> dict[tuple, float]:
    """Exact chance of each sequence of (cell, rank), from independent draws of rows.

    Unseen rows of a cell are alike: which is which shows only in the order they are met in.
    """
    rows = pool_rows(proposal, count, history)
    assert sum(q for _, _, q in rows) == pytest.approx(1)
    outcomes: dict[tuple, float] = collections.defaultdict(float)
    for sequence in itertools.product(range(len(rows)), repeat=draws):
        met: dict[int, int] = {}
        number = collections.Counter(history.cell.tolist())
        outcome, chance = [], 1.0
        for x in sequence:
            cell, known, q = rows[x]
            if known is not None:
                rank = int(history.rank[known])
            elif x in met:
                rank = met[x]
            else:
                rank = met[x] = number[cell]
                number[cell] += 1
            outcome.append((cell, rank))
            chance *= q
        outcomes[tuple(outcome)] += chance
    return outcomes


# Chances are tenths, unlabelled rows of a cell divide the second number: with one uniform in the
# middle of every interval, all that can happen happens as often as it should.
CASES = {
    "nothing seen": ([0.3, 0.4], [2, 1], [], [], [], [], (10, 2), 3),
    "labels ignored": ([0.2, 0.3, 0.1], [3, 1, 1], [0, 1, 0], [1, 0, 0], [], [], (10, 3), 2),
    "atoms and a seen row without label": (
        [0.1, 0.1, 0.2],
        [3, 2, 2],
        [0, 2],
        [NO_LABEL, 1],
        [1],
        [0.3],
        (10, 6),
        2,
    ),
    "all rows of a cell are atoms": (
        [0.7, 0.1],
        [1, 6],
        [0, 1],
        [0, 1],
        [0, 1],
        [0.2, 0.3],
        (10, 5),
        2,
    ),
    "a row that is never drawn": ([0.0, 0.25, 0.5], [2, 2, 1], [0], [1], [0], [0.0], (4, 2), 3),
}


@pytest.mark.parametrize("case", CASES)
def test_sequences_have_the_chances_of_independent_draws(case: str) -> None:
    q, count, cell, label, atom, atom_q, (steps, places), draws = CASES[case]
    history, proposal = make_history(cell, label), make_proposal(q, atom, atom_q)
    grid = [((i + 0.5) / steps, (j + 0.5) / places) for i in range(steps) for j in range(places)]
    found: collections.Counter = collections.Counter()
    for uniforms in itertools.product(grid, repeat=draws):
        after = draw_rows(
            proposal, np.array(count), history, StopRule(NEVER, draws), Uniforms(uniforms)
        )
        row = after.rounds[-1].row
        outcome = zip(after.cell[row].tolist(), after.rank[row].tolist(), strict=True)
        found[tuple(outcome)] += 1
    expected = expected_outcomes(proposal, count, history, draws)
    expected = {outcome: chance for outcome, chance in expected.items() if chance > 0}
    total = Fraction(1, found.total())
    assert found.keys() == expected.keys()
    for outcome, times in found.items():
        assert float(times * total) == pytest.approx(expected[outcome], rel=1e-12)


def test_sequences_from_a_generator_have_the_chances_of_independent_draws() -> None:
    """Chi-square of 4,000 seeds over all sequences of two draws; fails by chance 1 in 10,000."""
    q, count, cell, label, atom, atom_q, _, draws = CASES["atoms and a seen row without label"]
    history, proposal = make_history(cell, label), make_proposal(q, atom, atom_q)
    expected = expected_outcomes(proposal, count, history, draws)
    found: collections.Counter = collections.Counter()
    for seed in range(4000):
        rng = np.random.Generator(np.random.PCG64(seed))
        after = draw_rows(proposal, np.array(count), history, StopRule(NEVER, draws), rng)
        row = after.rounds[-1].row
        found[tuple(zip(after.cell[row].tolist(), after.rank[row].tolist(), strict=True))] += 1
    assert set(found) <= set(expected)
    observed = [found[outcome] for outcome in expected]
    chances = np.array([*expected.values()])
    assert stats.chisquare(observed, 4000 * chances / chances.sum()).pvalue > 1e-4


def draw_many(
    proposal: Proposal, count: list[int], history: History, stop: StopRule, seed: int = 0
) -> History:
    return draw_rows(proposal, np.array(count), history, stop, np.random.default_rng(seed))


def test_many_draws_fall_on_rows_by_their_chance() -> None:
    """Chi-square over the rows of a pool in which each is met; fails by chance 1 in 10,000.

    Rows of a cell are listed in the order they were met, which their chi-square ignores.
    """
    count = [40, 5, 1, 100]
    history = make_history([0, 0, 3, 1, 3], [1, NO_LABEL, 0, 0, 1])
    weights = np.array([1.0, 20, 60, 0.5])
    atom, atom_weight = [0, 2, 3, 4], np.array([30.0, 0.2, 4, 9])
    free = np.array(count) - [1, 1, 0, 2]
    total = free @ weights + atom_weight.sum()
    proposal = make_proposal((weights / total).tolist(), atom, (atom_weight / total).tolist())
    after = draw_many(proposal, count, history, StopRule(NEVER, 30_000))
    drawn = after.rounds[-1]
    assert len(drawn.row) == 30_000
    chance = proposal.cell_probability[after.cell]
    chance[atom] = proposal.atom_probability
    assert len(chance) == sum(count)
    np.testing.assert_array_equal(drawn.probability, chance[drawn.row])
    observed = np.bincount(drawn.row, minlength=len(chance))
    assert stats.chisquare(observed, 30_000 * chance).pvalue > 1e-4


def test_distinct_rows_are_as_many_as_independent_draws_meet() -> None:
    """n draws of M equal rows meet M (1 - (1 - 1/M)^n) rows on average.

    Over 200 seeds the mean stays within 4 standard errors, the variance being that of the
    number of empty boxes.
    """
    rows, draws, repeats = 300, 200, 200
    proposal = make_proposal([1 / rows], [], [])
    met = [
        len(draw_many(proposal, [rows], History(), StopRule(NEVER, draws), seed).cell)
        for seed in range(repeats)
    ]
    one, two = (1 - 1 / rows) ** draws, (1 - 2 / rows) ** draws
    variance = rows * (rows - 1) * two + rows * one - (rows * one) ** 2
    error = np.sqrt(variance / repeats)
    assert abs(np.mean(met) - rows * (1 - one)) < 4 * error


def test_rounds_that_ignore_labels_meet_rows_of_all_rounds_again() -> None:
    """Three rounds of equal chances are one longer round: d counts the rows of all of them.

    The number of distinct rows over 200 seeds stays within 4 standard errors of that of one round.
    """
    rows, repeats = 60, 200
    proposal = make_proposal([1 / rows, 1 / rows], [], [])
    met = []
    for seed in range(repeats):
        history = History()
        for number in range(3):
            history = draw_many(proposal, [20, 40], history, StopRule(NEVER, 30), 3 * seed + number)
            history = history.with_labels(np.zeros(len(history.cell), np.int64))
        assert len(history.row) == 90
        met.append(len(history.cell))
    one, two = (1 - 1 / rows) ** 90, (1 - 2 / rows) ** 90
    variance = rows * (rows - 1) * two + rows * one - (rows * one) ** 2
    assert abs(np.mean(met) - rows * (1 - one)) < 4 * np.sqrt(variance / repeats)


@pytest.mark.parametrize("seed", range(5))
def test_ranks_count_up_and_new_marks_first_draws(seed: int) -> None:
    """Over rounds that stop in different ways, checked draw by draw."""
    rng = np.random.default_rng(seed)
    count = [7, 300, 1, 30]
    history, seen = History(), set()
    for stop in (StopRule(9, 400), StopRule(NEVER, 700), StopRule(5, NEVER), StopRule(3, 1)):
        atom = history.labelled
        free = np.array(count) - np.bincount(history.cell[atom], minlength=4)
        weights, atom_weights = rng.uniform(0.5, 2, 4), rng.uniform(0.1, 3, len(atom))
        total = free @ weights + atom_weights.sum()
        proposal = Proposal(weights / total, atom, atom_weights / total)
        before = history
        history = draw_many(proposal, count, history, stop, seed)
        drawn = history.rounds[-1]
        for row, new in zip(drawn.row.tolist(), drawn.new.tolist(), strict=True):
            assert new == (row >= len(before.cell) and row not in seen)
            if new:
                assert row == len(before.cell) + len(seen - set(range(len(before.cell))))
            seen.add(row)
        assert seen == set(range(len(history.cell)))
        np.testing.assert_array_equal(history.cell[: len(before.cell)], before.cell)
        np.testing.assert_array_equal(history.rank[: len(before.cell)], before.rank)
        for c in range(4):
            ranks = history.rank[history.cell == c].tolist()
            assert ranks == [*range(len(ranks))]
            assert len(ranks) <= count[c]
        assert np.all(history.label[len(before.cell) :] == NO_LABEL)
        labels = history.label.copy()
        labels[len(before.cell) :] = rng.choice([0, 1, NO_LABEL], len(labels) - len(before.cell))
        history = history.with_labels(labels)


@pytest.mark.parametrize("wanted", [1, 2, 40, 300])
def test_round_ends_with_the_draw_that_meets_the_last_new_row(wanted: int) -> None:
    proposal = make_proposal([1 / 400, 1 / 800], [], [])
    after = draw_many(proposal, [200, 400], History(), StopRule(wanted, NEVER))
    drawn = after.rounds[-1]
    assert len(after.cell) == drawn.new.sum() == wanted
    assert drawn.new[-1]


@pytest.mark.parametrize("draws", [1, 255, 256, 257, 1000])
def test_round_ends_after_its_draws(draws: int) -> None:
    proposal = make_proposal([1 / 400, 1 / 800], [], [])
    after = draw_many(proposal, [200, 400], History(), StopRule(NEVER, draws))
    assert len(after.rounds[-1].row) == draws
    assert after.rounds[-1].new.sum() == len(after.cell) < draws + 1


def test_round_on_an_exhausted_pool_meets_nothing_new() -> None:
    history = make_history([0, 0, 1], [NO_LABEL, 1, 0])
    proposal = make_proposal([0.2, 0.5], [1, 2], [0.3, 0.5])
    after = draw_many(proposal, [2, 1], history, StopRule(1, 500))
    assert len(after.rounds[-1].row) == 500
    assert not after.rounds[-1].new.any()
    assert len(after.cell) == 3
    assert set(after.rounds[-1].row.tolist()) == {0, 1, 2}


def test_rows_without_a_chance_are_never_drawn() -> None:
    """Not even by uniforms at the ends of their range."""
    history = make_history([1, 2], [0, 1])
    proposal = make_proposal([0.0, 0.5, 0.0, 0.0], [0, 1], [0.5, 0.0])
    below_one = 1 - 2.0**-53
    for first, second in itertools.product((0.0, below_one, 0.4), (0.0, below_one)):
        after = draw_rows(
            proposal,
            np.array([3, 2, 4, 5]),
            history,
            StopRule(NEVER, 1),
            Uniforms(((first, second),)),
        )
        assert after.rounds[-1].probability.tolist() == [0.5]


def test_the_same_seed_draws_the_same_rows() -> None:
    proposal = make_proposal([1 / 400, 1 / 800], [], [])
    stop = StopRule(50, NEVER)
    a, b, c = (draw_many(proposal, [200, 400], History(), stop, seed) for seed in (1, 1, 2))
    assert a.row.tolist() == b.row.tolist()
    assert a.cell.tolist() == b.cell.tolist()
    assert a.cell.tolist() != c.cell.tolist()
