"""Draws through cells, atoms and ranks against draws of individual rows."""

import collections
import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from evalsampling.stats.cells import CellTable, Kinds, Leaves
from evalsampling.stats.draws import Proposal, StopRule, draw_rows
from evalsampling.stats.history import NO_LABEL, History, Round
from evalsampling.stats.outputs import Outputs
from tests.slow import fast

NEVER = 10**9


class Uniforms:
    """A generator of given numbers, then of halves."""

    def __init__(self, numbers: tuple[tuple[float, float], ...]) -> None:
        self._numbers = numbers

    def random(self, shape: tuple[int, int]) -> np.ndarray:
        filled = np.full(shape, 0.5)
        filled[: len(self._numbers)] = self._numbers
        return filled


def rows_of(count: int) -> Outputs:
    return Outputs(np.zeros((count, 1), np.int64), np.zeros((count, 1)), np.zeros((count, 1, 2)))


def make_table(count: list[int], kinds: list[int] | None = None) -> CellTable:
    """Cells of so many rows, each of one kind, or of so many; predictions number the kinds."""
    cell = np.repeat(np.arange(len(count)), kinds or 1)
    share = 1 / np.bincount(cell)[cell]
    outputs = rows_of(len(cell))
    outputs.prediction[:, 0] = np.arange(len(cell))
    cells = np.arange(len(count))
    prior = np.full((len(count), 2), 0.5)
    of_cells = Kinds(**vars(outputs), cell=cell, share=share)
    return CellTable(cells, cells, np.array(count), prior, Leaves(len(count)), of_cells)


def make_history(cell: list[int], label: list[int]) -> History:
    """Rows drawn before, in one round; ranks count up within a cell."""
    seen: collections.Counter = collections.Counter()
    rank = []
    for c in cell:
        rank.append(seen[c])
        seen[c] += 1
    drawn = Round(np.arange(len(cell)), np.full(len(cell), 0.1), np.full(len(cell), True))
    cells, ranks = np.array(cell, np.int64), np.array(rank, np.int64)
    history = History.start().with_round(drawn, cells, ranks, rows_of(len(cell)))
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
    """Exact chance of each sequence of (cell, rank), unseen rows of a cell being alike."""
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


def assert_chances(
    proposal: Proposal,
    count: list[int],
    history: History,
    steps: tuple[int, int],
    draws: int,
    expected: dict[tuple, float],
    ask_again: bool = False,
) -> None:
    """Go through all that can happen, one uniform in the middle of every interval."""
    grid = [
        ((i + 0.5) / steps[0], (j + 0.5) / steps[1])
        for i in range(steps[0])
        for j in range(steps[1])
    ]
    stop, found = StopRule(NEVER, draws), collections.Counter()
    for uniforms in itertools.product(grid, repeat=draws):
        table, numbers = make_table(count), Uniforms(uniforms)
        after = draw_rows(proposal, table, history, stop, numbers, ask_again=ask_again)  # type: ignore[arg-type]
        row = after.rounds[-1].question
        found[tuple(zip(after.cell[row].tolist(), after.rank[row].tolist(), strict=True))] += 1
        if ask_again:
            assert row.tolist() == [*range(len(history), len(history) + draws)]
            assert after.rounds[-1].new.all()
    expected = {outcome: chance for outcome, chance in expected.items() if chance > 0}
    assert found.keys() == expected.keys()
    for outcome, times in found.items():
        chance = float(times * Fraction(1, found.total()))
        assert chance == pytest.approx(expected[outcome], rel=1e-12)


@pytest.mark.parametrize("case", fast(1, CASES))
def test_sequences_have_the_chances_of_independent_draws(case: str) -> None:
    q, count, cell, label, atom, atom_q, steps, draws = CASES[case]
    history, proposal = make_history(cell, label), make_proposal(q, atom, atom_q)
    expected = expected_outcomes(proposal, count, history, draws)
    assert_chances(proposal, count, history, steps, draws, expected)


def draw_many(
    proposal: Proposal, count: list[int], history: History, stop: StopRule, seed: int = 0
) -> History:
    return draw_rows(proposal, make_table(count), history, stop, np.random.default_rng(seed))


def test_distinct_rows_are_as_many_as_independent_draws_meet() -> None:
    """n draws of M equal rows meet M (1 - (1 - 1/M)^n) rows on average.

    Over 200 seeds the mean stays within 4 standard errors, the variance being that of the
    number of empty boxes.
    """
    rows, draws, repeats = 300, 200, 200
    proposal = make_proposal([1 / rows], [], [])
    met = [
        len(draw_many(proposal, [rows], History.start(), StopRule(NEVER, draws), seed).cell)
        for seed in range(repeats)
    ]
    one, two = (1 - 1 / rows) ** draws, (1 - 2 / rows) ** draws
    variance = rows * (rows - 1) * two + rows * one - (rows * one) ** 2
    error = np.sqrt(variance / repeats)
    assert abs(np.mean(met) - rows * (1 - one)) < 4 * error


@pytest.mark.parametrize("seed", range(2))
def test_ranks_count_up_and_new_marks_first_draws(seed: int) -> None:
    """Over rounds that stop in different ways, checked draw by draw."""
    rng = np.random.default_rng(seed)
    count = [7, 300, 1, 30]
    history, seen = History.start(), set()
    for stop in (StopRule(9, 400), StopRule(NEVER, 700), StopRule(5, NEVER), StopRule(3, 1)):
        atom = history.labelled
        free = np.array(count) - np.bincount(history.cell[atom], minlength=4)
        weights, atom_weights = rng.uniform(0.5, 2, 4), rng.uniform(0.1, 3, len(atom))
        total = free @ weights + atom_weights.sum()
        proposal = Proposal(weights / total, atom, atom_weights / total)
        before = history
        history = draw_many(proposal, count, history, stop, seed)
        drawn = history.rounds[-1]
        for row, new in zip(drawn.question.tolist(), drawn.new.tolist(), strict=True):
            assert new == (row >= len(before) and row not in seen)
            if new:
                assert row == len(before) + len(seen - set(range(len(before))))
            seen.add(row)
        assert seen == set(range(len(history)))
        np.testing.assert_array_equal(history.cell[: len(before)], before.cell)
        np.testing.assert_array_equal(history.rank[: len(before)], before.rank)
        for c in range(4):
            ranks = history.rank[history.cell == c].tolist()
            assert ranks == [*range(len(ranks))]
            assert len(ranks) <= count[c]
        assert np.all(history.label[len(before) :] == NO_LABEL)
        labels = history.label.copy()
        labels[len(before) :] = rng.choice([0, 1, NO_LABEL], len(labels) - len(before))
        history = history.with_labels(labels)


@pytest.mark.parametrize("wanted", [1, 2, 40, 300])
def test_round_ends_with_the_draw_that_meets_the_last_new_row(wanted: int) -> None:
    proposal = make_proposal([1 / 400, 1 / 800], [], [])
    after = draw_many(proposal, [200, 400], History.start(), StopRule(wanted, NEVER))
    drawn = after.rounds[-1]
    assert len(after) == drawn.new.sum() == wanted
    assert drawn.new[-1]


@pytest.mark.parametrize("draws", [1, 255, 256, 257, 1000])
def test_round_ends_after_its_draws(draws: int) -> None:
    proposal = make_proposal([1 / 400, 1 / 800], [], [])
    after = draw_many(proposal, [200, 400], History.start(), StopRule(NEVER, draws))
    assert len(after.rounds[-1].question) == draws
    assert after.rounds[-1].new.sum() == len(after) < draws + 1


def test_round_on_an_exhausted_pool_meets_nothing_new() -> None:
    history = make_history([0, 0, 1], [NO_LABEL, 1, 0])
    proposal = make_proposal([0.2, 0.5], [1, 2], [0.3, 0.5])
    after = draw_many(proposal, [2, 1], history, StopRule(1, 500))
    assert len(after.rounds[-1].question) == 500
    assert not after.rounds[-1].new.any()
    assert len(after) == 3
    assert set(after.rounds[-1].question.tolist()) == {0, 1, 2}


def test_rows_without_a_chance_are_never_drawn() -> None:
    """Not even by uniforms at the ends of their range."""
    history = make_history([1, 2], [0, 1])
    proposal = make_proposal([0.0, 0.5, 0.0, 0.0], [0, 1], [0.5, 0.0])
    below_one = 1 - 2.0**-53
    for first, second in itertools.product((0.0, below_one, 0.4), (0.0, below_one)):
        after = draw_rows(
            proposal,
            make_table([3, 2, 4, 5]),
            history,
            StopRule(NEVER, 1),
            Uniforms(((first, second),)),
        )
        assert after.rounds[-1].probability.tolist() == [0.5]


# A stochastic oracle: every draw asks, and a row asked about before has its rank again. Here a
# history is a list of (cell, rank).
ASKED_BEFORE = {
    "nothing asked": ([0.3, 0.4], [2, 1], [], (10, 2), 3),
    "rows asked about, some twice": (
        [0.2, 0.1, 0.2],
        [2, 2, 2],
        [(0, 0), (0, 0), (2, 0), (0, 1), (2, 0)],
        (10, 2),
        2,
    ),
    "a cell without a chance": ([0.0, 0.5], [3, 2], [(0, 0), (1, 0)], (2, 2), 3),
}


def asked(places: list[tuple[int, int]]) -> History:
    count = len(places)
    drawn = Round(np.arange(count), np.full(count, 0.1), np.full(count, True))
    cell, rank = (np.array([p[i] for p in places], dtype=np.int64) for i in (0, 1))
    history = History.start().with_round(drawn, cell, rank, rows_of(count))
    return history.with_labels(np.arange(count) % 2)


def rows_met(places: list[tuple[int, int]]) -> History:
    """The history of a deterministic oracle in which the same rows were met."""
    cells = [cell for cell, _ in dict.fromkeys(places)]
    return make_history(cells, [0] * len(cells))


@pytest.mark.parametrize(
    "case", [pytest.param("nothing asked", marks=pytest.mark.slow), *list(ASKED_BEFORE)[1:]]
)
def test_questions_to_a_stochastic_oracle_have_the_chances_of_independent_draws(case: str) -> None:
    q, count, places, steps, draws = ASKED_BEFORE[case]
    history, proposal = asked(places), make_proposal(q, [], [])
    expected = expected_outcomes(proposal, count, rows_met(places), draws)
    assert_chances(proposal, count, history, steps, draws, expected, ask_again=True)


def test_rows_of_a_stochastic_oracle_are_drawn_by_their_chance() -> None:
    """Chi-square over all rows after three rounds; fails by chance 1 in 10,000. Ranks are dense."""
    count, weight = [30, 4, 1, 60], np.array([1.0, 9, 20, 0.5])
    proposal = make_proposal((weight / (weight @ count)).tolist(), [], [])
    history = History.start()
    for number, draws in enumerate((700, 5, 9000)):
        rng = np.random.default_rng([0, number])
        before = len(history)
        history = draw_rows(
            proposal, make_table(count), history, StopRule(draws, NEVER), rng, ask_again=True
        )
        assert len(history) - before == draws
        assert np.all(history.label[before:] == NO_LABEL)
        history = history.with_labels(np.zeros(len(history), np.int64))
    np.testing.assert_array_equal(history.question, np.arange(len(history)))
    np.testing.assert_array_equal(history.probability, proposal.cell_probability[history.cell])
    rows = []
    for c in range(4):
        ranks = history.rank[history.cell == c]
        first = [rank for i, rank in enumerate(ranks) if rank not in ranks[:i]]
        assert first == [*range(count[c])]
        rows += np.bincount(ranks).tolist()
    chance = np.repeat(proposal.cell_probability, count)
    assert stats.chisquare(rows, len(history) * chance).pvalue > 1e-4


def test_new_rows_are_described_by_the_first_kind_of_their_cell_until_told() -> None:
    """Kinds of cell 0 are 0, 1, 2, of cell 1 one, 3, of cell 2 two, 4 and 5."""
    table = make_table([50, 50, 50], [3, 1, 2])
    proposal = make_proposal([1 / 150] * 3, [], [])
    for ask_again in (False, True):
        rng = np.random.default_rng(1)
        after = draw_rows(proposal, table, History.start(), StopRule(40, NEVER), rng, ask_again)
        assert after.outputs.prediction[:, 0].tolist() == [[0, 3, 4][c] for c in after.cell]
        assert after.rounds[-1].cell_probability is proposal.cell_probability
        assert set(after.cell.tolist()) == {0, 1, 2}


@pytest.mark.parametrize("delta", [0.0, 0.25, 1.0])
def test_mixture_with_the_pool_is_a_distribution(delta: float) -> None:
    """(1 - delta) q + delta / M for every row, atoms among them."""
    count, history = [3, 2, 2], make_history([0, 2, 2], [1, NO_LABEL, 0])
    posterior = np.full((3, 2), 0.5)
    proposal = Proposal(
        np.array([0.1, 0.15, 0.2]), np.array([0, 2]), np.array([0.3, 0.0]), posterior
    )
    mixed = proposal.mixed(delta, 7)
    before = [q for _, _, q in pool_rows(proposal, count, history)]
    after = [q for _, _, q in pool_rows(mixed, count, history)]
    assert sum(before) == pytest.approx(1, abs=1e-15)
    assert sum(after) == pytest.approx(1, abs=1e-15)
    np.testing.assert_allclose(after, (1 - delta) * np.array(before) + delta / 7, rtol=1e-14)
    assert mixed.atom.tolist() == [0, 2]
    assert mixed.posterior is posterior
    if delta:
        assert min(after) > 0


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
    assert len(drawn.question) == 30_000
    chance = proposal.cell_probability[after.cell]
    chance[atom] = proposal.atom_probability
    assert len(chance) == sum(count)
    np.testing.assert_array_equal(drawn.probability, chance[drawn.question])
    observed = np.bincount(drawn.question, minlength=len(chance))
    assert stats.chisquare(observed, 30_000 * chance).pvalue > 1e-4
