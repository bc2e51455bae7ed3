"""Expectations over everything that can happen, on a pool of five rows.

Each round has a fixed number of draws. All orders of the rows within cells, all outcomes of
the draws and, of a stochastic oracle, all answers are gone through with their exact chances, by
way of the sampler's own `design`.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from evalsampling.measures import (
    Accuracy,
    BalancedAccuracy,
    FBeta,
    Joint,
    MacroF,
    Measure,
    Precision,
    Recall,
    Sliced,
    Weighted,
)
from evalsampling.samplers import (
    AdaptiveImportance,
    Given,
    Importance,
    Oasis,
    Passive,
    ReplacementSampler,
)
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.history import History
from tests.samplers.pools import Pool, Uniforms, build_sampler
from tests.slow import fast, slowly

MEASURES = {m.name: m for m in (FBeta(), Precision(), Recall(), Accuracy())}
SAMPLERS = {s.name: s for s in (Passive, Importance, AdaptiveImportance)}
OTHERS = {s.name: s for s in (Oasis, Given)}
VECTORS = {
    "joint": Joint((FBeta(), Accuracy())),
    "macro": MacroF(2),
    "balanced": BalancedAccuracy(),
}

P1 = np.array([0.1, 0.3, 0.6, 0.7, 0.8])
POOL = Pool(
    leaf=np.array([0, 0, 1, 1, 1]),
    prediction=np.array([0, 0, 0, 1, 1]),
    probability=np.stack([1 - P1, P1], axis=1),
    label=np.array([0, 1, 0, 1, 0]),
)
"""All four outcomes; two cells hold both labels."""
SLICED = dataclasses.replace(POOL, rare=np.array([1, 1, 0, 1, 1]))
"""The same with a slice of four rows."""
CHANCE = np.array([[0.9, 0.1], [0.4, 0.6], [0.75, 0.25], [0.0, 1.0], [0.5, 0.5]])
"""p(y|x) of a stochastic oracle: nothing like the prior."""


def orders() -> Iterator[list[np.ndarray]]:
    """All orders of rows within cells, each as likely."""
    cells = [np.flatnonzero(POOL.cell == c) for c in range(len(POOL.table))]
    for choice in itertools.product(*(itertools.permutations(rows) for rows in cells)):
        yield [np.array(rows) for rows in choice]


def outcomes_of(sampler: ReplacementSampler, history: History) -> list[tuple]:
    """What one draw can do: a pair of uniforms in the middle of those that do it, its chance."""
    count = POOL.table.count
    proposal = sampler.proposal(POOL.table, history)
    free = count - np.bincount(history.cell[proposal.atom], minlength=len(count))
    mass = np.concatenate([free * proposal.cell_probability, proposal.atom_probability])
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    outcomes = []
    for pick in np.flatnonzero(mass):
        places = int(free[pick]) if pick < len(count) else 1
        outcomes += [
            ((middle[pick], (place + 0.5) / places), mass[pick] / mass.sum() / places)
            for place in range(places)
        ]
    return outcomes


Seen = list[tuple[History, dict[int, float]]]
"""Histories, each with its chance together with each order that it may come of."""


def fingerprint(history: History) -> bytes:
    """All that a sampler sees of a history."""
    outputs = history.outputs
    seen = (history.cell, history.rank, history.label, history.question, history.probability)
    return b"|".join(
        np.ascontiguousarray(part).tobytes()
        for part in (*seen, outputs.prediction, outputs.probability, history.slice)
    )


def drawn_next(sampler: ReplacementSampler, draws: int, history: History) -> Seen:
    """All rounds of so many draws that may come next, none answered, under order 0."""
    drawn: dict[bytes, tuple[History, dict[int, float]]] = {}
    fixed = dataclasses.replace(sampler, draws=draws)
    for sequence in itertools.product(outcomes_of(fixed, history), repeat=draws):
        uniforms, chances = zip(*sequence, strict=True)
        after = fixed.design(POOL.table, history, 99, Uniforms([*uniforms]))
        assert len(after.rounds[-1].question) == draws
        _, of = drawn.setdefault(fingerprint(after), (after, {0: 0.0}))
        of[0] += float(np.prod(chances))
    return [*drawn.values()]


def one_round(
    sampler: ReplacementSampler, draws: int, listed: list[list[np.ndarray]], seen: Seen
) -> Seen:
    """All histories of one round more; what looks the same to a sampler is one."""
    merged: dict[bytes, tuple[History, dict[int, float]]] = {}
    given = CHANCE if sampler.stochastic else None
    for history, before in seen:
        for after, once in drawn_next(sampler, draws, history):
            for order, chance in before.items():
                for answered, answer_chance in POOL.answers(after, listed[order], given):
                    _, of = merged.setdefault(fingerprint(answered), (answered, {}))
                    of[order] = of.get(order, 0.0) + chance * once[0] * answer_chance
    return [*merged.values()]


def at_first(listed: list[list[np.ndarray]]) -> Seen:
    """The history of nothing: each order is as likely."""
    return [(POOL.start(), dict.fromkeys(range(len(listed)), 1 / len(listed)))]


@functools.lru_cache(2)  # tests of several measures on the same draws follow one another
def histories(sampler: ReplacementSampler, sizes: tuple[int, ...]) -> list[tuple[History, float]]:
    """All histories of rounds of given sizes with their chances."""
    listed = [*orders()]
    seen = at_first(listed)
    for draws in sizes:
        seen = one_round(sampler, draws, listed, seen)
    return [(history, sum(chances.values())) for history, chances in seen]


def estimated_risk(sampler: ReplacementSampler, measure: Measure, history: History) -> np.ndarray:
    """R^ = (1/N) sum w l, draw by draw."""
    question = history.question
    losses = measure.loss(history.outputs.take(question), history.label[question])
    weights = 1 / (POOL.table.rows * history.probability)
    risk = np.mean(weights[:, None] * losses, axis=0)
    sample = sampler.weigh(POOL.table, history)
    outputs, label = history.outputs.take(sample.question), history.label[sample.question]
    np.testing.assert_allclose(sample.mean(measure.loss(outputs, label)), risk, atol=1e-12)
    return risk


def expected_risk(
    sampler: ReplacementSampler, measure: Measure, sizes: tuple[int, ...]
) -> tuple[np.ndarray, float]:
    """Expectation of R^ and the sum of all chances."""
    mean, total = np.zeros(measure.size), 0.0
    for history, chance in histories(sampler, sizes):
        mean += chance * estimated_risk(sampler, measure, history)
        total += chance
    return mean, total


def true_risk(measure: Measure, stochastic: bool = False) -> np.ndarray:
    if not stochastic:
        return POOL.risk(measure)
    by_label = [measure.loss(POOL.outputs, np.full(len(POOL), y)) for y in range(2)]
    return np.mean([CHANCE[:, [y]] * by_label[y] for y in range(2)], axis=(0, 1)) * 2


def assert_unbiased(
    sampler: ReplacementSampler, measure: Measure, sizes: tuple[int, ...], error: float = 1e-12
) -> None:
    """Check that chances of rounds sum to 1, and their estimates times these to the truth."""
    mean, total = expected_risk(sampler, measure, sizes)
    assert total == pytest.approx(1, abs=1e-12)
    truth = true_risk(measure, sampler.stochastic)
    np.testing.assert_allclose(mean, truth, rtol=0, atol=error)


@pytest.mark.parametrize("sizes", [(1, 1, 1), *slowly((2, 2), (3,))], ids=str)
@pytest.mark.parametrize("measure", fast(2, MEASURES))
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_risk_is_unbiased(sampler: str, measure: str, sizes: tuple[int, ...]) -> None:
    chosen = SAMPLERS[sampler](MEASURES[measure])
    assert_unbiased(chosen, MEASURES[measure], sizes)


@pytest.mark.parametrize("measure", ["recall", *slowly("accuracy")])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_risk_on_a_slice_is_unbiased(
    monkeypatch: pytest.MonkeyPatch, sampler: str, measure: str
) -> None:
    """The rows are drawn for the slice; only passive sampling draws any others."""
    monkeypatch.setattr(f"{__name__}.POOL", SLICED)
    sliced = Sliced(MEASURES[measure], {"part": "rare"})
    chosen = SAMPLERS[sampler](sliced)
    outside = SLICED.cell[SLICED.rare == 0]
    assert chosen.support(SLICED.table)[outside].all() == (sampler == "passive")
    assert_unbiased(chosen, sliced, (2, 1))


@pytest.mark.parametrize("measure", MEASURES)
def test_risk_of_rows_with_weights_is_unbiased(
    monkeypatch: pytest.MonkeyPatch, measure: str
) -> None:
    """The weighted losses and, where the measure needs it, the mean weight; by a closed form too.

    All labels give exactly what rows that stand as often as they count do.
    """
    pool = dataclasses.replace(POOL, weight=np.array([1.0, 9.0, 2.0, 2.0, 30.0]))
    monkeypatch.setattr(f"{__name__}.POOL", pool)
    weighted = Weighted(MEASURES[measure])
    assert_unbiased(AdaptiveImportance(weighted), weighted, (2, 1), 1e-11)
    copies = np.repeat(np.arange(5), pool.weight.astype(int))
    plain = MEASURES[measure].loss(pool.outputs.take(copies), pool.label[copies]).mean(axis=0)
    expected = MEASURES[measure].value(plain)
    np.testing.assert_allclose(weighted.value(true_risk(weighted)), expected, rtol=1e-14)


DRIVEN: list[tuple[str, str, dict]] = [
    *((sampler, measure, {}) for sampler in ("importance", "ais") for measure in MEASURES),
    *((sampler, "precision", {"delta": 0.2}) for sampler in ("importance", "ais")),
    *(("ais", measure, {"oracle": "stochastic"}) for measure in MEASURES),
    *(("passive", measure, {}) for measure in MEASURES),
    ("passive", "precision", {"delta": 0.2}),
]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize(("sampler", "driven_by", "keys"), fast(9, DRIVEN))
def test_a_measure_is_supported_if_and_only_if_its_risk_is_unbiased(
    sampler: str, driven_by: str, keys: dict, measure: str
) -> None:
    """Two rounds: a row that is never drawn again once its label is known shows in the second.

    A share of the pool lets any measure be estimated. Of a stochastic oracle cells tell: a row that
    answered with what adds nothing may answer otherwise, so it is drawn again.
    """
    chosen, wanted = SAMPLERS[sampler](MEASURES[driven_by], **keys), MEASURES[measure]
    mean, _ = expected_risk(chosen, wanted, (1, 1) if chosen.stochastic else (2, 1))
    bias = np.abs(mean - true_risk(wanted, chosen.stochastic)).max()
    if chosen.can_estimate(POOL.table, wanted):
        assert bias < 1e-12
    else:
        assert bias > 1e-3
        assert not chosen.delta
    if chosen.stochastic:
        assert chosen.can_estimate(POOL.table, Recall()) == (driven_by != "precision")


@pytest.mark.parametrize(
    ("measure", "delta"),
    fast(2, [*zip([*VECTORS, "f1"], [0.0, 0.3] * 2, strict=True),
             *zip([*VECTORS, "f1"], [0.3, 0.0] * 2, strict=True)]),
)  # fmt: skip
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_risk_of_a_vector_is_unbiased(sampler: str, measure: str, delta: float) -> None:
    """All of its components; with and without the pool mixed in."""
    wanted = VECTORS.get(measure, FBeta())
    chosen = SAMPLERS[sampler](wanted, delta=delta)
    assert_unbiased(chosen, wanted, (1, 1, 1))


def contrary(cells: CellTable, labels: FloatArray) -> FloatArray:
    """A model that is wrong: the opposite of the prior and of the labels."""
    shares = 0.5 * cells.prior[:, ::-1] + labels[:, ::-1]
    return shares / shares.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
@pytest.mark.parametrize(
    "keys",
    fast(
        2,
        [
            {"model": "scores"},
            {"model": contrary},
            {"model": "tree", "branching": 9},
            {"alpha": (3.0, 1.0), "beta": 0.1, "prior_weight": 0.2, "epsilon": 0.05},
        ],
    ),
    ids=["scores", "own model", "flat tree", "own constants"],
)
def test_any_model_is_unbiased(oracle: str, keys: dict) -> None:
    measure, sizes = VECTORS["joint"], (1, 1, 1) if oracle == "deterministic" else (1, 1)
    assert_unbiased(AdaptiveImportance(measure, oracle, **keys), measure, sizes)


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("sampler", OTHERS)
def test_other_proposals_are_unbiased(sampler: str, measure: str) -> None:
    """They reach every row, so they support every measure."""
    chosen = build_sampler(OTHERS[sampler], FBeta())
    assert isinstance(chosen, ReplacementSampler)
    assert_unbiased(chosen, MEASURES[measure], (2, 1))


def test_truth_of_a_stochastic_oracle_is_that_of_its_answers() -> None:
    """Accuracy row by row: p(f(x)|x) on average."""
    right = CHANCE[np.arange(5), POOL.prediction].mean()
    assert true_risk(Accuracy(), stochastic=True) == pytest.approx(1 - right)


@pytest.mark.parametrize(
    ("measure", "sizes"),
    [
        *((measure, (1, 1)) for measure in (*VECTORS, "f1", "accuracy")),
        pytest.param("joint", (2, 1), marks=pytest.mark.slow),
        pytest.param("f1", (1, 1, 1), marks=pytest.mark.slow),
    ],
    ids=str,
)
@pytest.mark.parametrize("sampler", ["importance", "ais"])
def test_risk_under_a_stochastic_oracle_is_unbiased(
    sampler: str, measure: str, sizes: tuple[int, ...]
) -> None:
    """Rows may be asked about again and answer otherwise."""
    wanted = {**VECTORS, **MEASURES}[measure]
    chosen = SAMPLERS[sampler](wanted, "stochastic")
    assert_unbiased(chosen, wanted, sizes)


def unordered_histories(
    sampler: ReplacementSampler, sizes: tuple[int, ...], history: History, order: list[np.ndarray]
) -> Iterator[History]:
    """All histories of rounds of given sizes, up to the order of the draws within a round."""
    if not sizes:
        yield history
        return
    draws, *rest = sizes
    fixed = dataclasses.replace(sampler, draws=draws)
    uniforms = [pair for pair, _ in outcomes_of(fixed, history)]
    drawn: dict[bytes, History] = {}
    for sequence in itertools.combinations_with_replacement(uniforms, draws):
        after = fixed.design(POOL.table, history, 99, Uniforms([*sequence]))
        drawn.setdefault(fingerprint(after), after)
    for after in drawn.values():
        answered = POOL.answer(after, order)
        yield from unordered_histories(sampler, tuple(rest), answered, order)


@pytest.mark.parametrize(
    "sampler",
    [name if name == "ais" else pytest.param(name, marks=pytest.mark.slow) for name in SAMPLERS],
)
def test_estimated_accuracy_is_that_of_the_risk_or_exact(sampler: str) -> None:
    """The whole way through `estimate`: 1 - R^ cut to [0, 1], or the truth once all is known.

    Under two orders: each row comes before the others of its cell in one of them.
    """
    chosen, exact = SAMPLERS[sampler](Accuracy()), 0
    first, *_, last = orders()
    assert all(a.tolist() == b.tolist()[::-1] for a, b in zip(first, last, strict=True))
    for order in (first, last):
        for history in unordered_histories(chosen, (3, 2), POOL.start(), order):
            (found,) = chosen.estimate(POOL.table, history, [Accuracy()], 0.95)
            if len(history) == POOL.table.rows:
                exact += 1
                assert found.value == pytest.approx(POOL.value(Accuracy()), abs=1e-12)
                assert found.intervals[0].low == found.intervals[0].high == found.value
                continue
            row = history.question
            wrong = history.outputs.prediction[row, 0] != history.label[row]
            risk = np.mean(wrong / (POOL.table.rows * history.probability))
            assert found.value == pytest.approx(np.clip(1 - risk, 0, 1), abs=1e-12)
    assert exact > 0


@pytest.mark.parametrize("sampler", ["passive", "importance"])
def test_variance_of_independent_draws_is_unbiased(sampler: str) -> None:
    """The expectation of the estimated covariance is the covariance of the estimates."""
    chosen, size = SAMPLERS[sampler](FBeta()), (3,)
    truth = true_risk(FBeta())
    estimated, actual = np.zeros((2, 2)), np.zeros((2, 2))
    for history, chance in histories(chosen, size):
        sample = chosen.weigh(POOL.table, history)
        outputs, label = history.outputs.take(sample.question), history.label[sample.question]
        losses = FBeta().loss(outputs, label)
        estimated += chance * sample.covariance(losses)
        actual += chance * np.outer(sample.mean(losses) - truth, sample.mean(losses) - truth)
    np.testing.assert_allclose(estimated, actual, rtol=1e-10)


@pytest.mark.parametrize("wrong_row", [1, *slowly(3)])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_corrected_labels_do_not_bias(sampler: str, wrong_row: int) -> None:
    """A label that was wrong while the second round was drawn, and is right afterwards.

    Row 1 is a missed positive: of its wrong label nothing adds, and `ais` never draws it again.
    """
    chosen = SAMPLERS[sampler](FBeta())
    mean, total = np.zeros(2), 0.0
    listed = [*orders()]
    for first, chances in one_round(chosen, 2, listed, at_first(listed)):
        [order, *_] = chances  # The rows are the same in all of them.
        wrong = POOL.rows(first, listed[order]) == wrong_row
        mistaken = first.with_labels(np.where(wrong, 1 - first.label, first.label))
        for second, of in one_round(chosen, 1, listed, [(mistaken, chances)]):
            before = second.label.copy()
            before[np.flatnonzero(wrong)] = 1 - before[np.flatnonzero(wrong)]
            history = second.with_labels(before).with_corrections(second.label)
            assert len(history.corrected) == wrong.sum()
            sample = chosen.weigh(POOL.table, history)
            outputs = history.outputs.take(sample.question)
            losses = FBeta().loss(outputs, history.label[sample.question])
            mean += sum(of.values()) * sample.mean(losses)
            total += sum(of.values())
    assert total == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(mean, POOL.risk(FBeta()), rtol=1e-10)
