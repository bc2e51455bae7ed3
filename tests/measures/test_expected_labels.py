"""What many labels are expected to add to measures, against all sets that there are."""

import itertools

import numpy as np
import pytest

from evalsampling.label_spaces.sets import Sets, Tags, probabilities_of_sets
from evalsampling.measures import (
    F1OfMacroAverages,
    Joint,
    MacroF,
    Measure,
    MicroF,
    PerClassF,
    WeightedF1,
)
from evalsampling.measures.comparisons import Difference
from evalsampling.measures.deviation import Deviation
from evalsampling.measures.expected_labels import expected_of_rows, influence_moments, smoothed
from evalsampling.stats.outputs import Outputs

LABELS, ROWS = 4, 12
SPACE = Tags(tuple("abcd"))
EVERY_SET = np.array([[code >> c & 1 for c in range(LABELS)] for code in range(1 << LABELS)]) > 0

MEASURES: list[Measure] = [
    MicroF(LABELS, sets=SPACE),
    MicroF(LABELS, sets=SPACE, alpha=0.2, over=(0, 3)),
    MacroF(LABELS, sets=SPACE),
    PerClassF(LABELS, sets=SPACE),
    WeightedF1(LABELS, sets=SPACE),
    F1OfMacroAverages(LABELS, sets=SPACE),
    Difference(MicroF(LABELS, sets=SPACE), MicroF(LABELS, system=1, sets=SPACE)),
    Joint((MacroF(LABELS, system=1, sets=SPACE), MicroF(LABELS, sets=SPACE))),
]
ALL = pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)


def outputs_of(tags: np.ndarray) -> Outputs:
    n, systems, _ = tags.shape
    prediction = np.zeros((n, systems), dtype=np.int64)
    return Outputs(prediction, np.zeros((n, systems)), np.zeros((n, systems, 0)), tags=tags)


def made_up(seed: int = 3) -> tuple[Outputs, np.ndarray, np.ndarray]:
    """Rows of two systems, the probability of each label, and a risk near what is expected."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.15, 0.8, (ROWS, LABELS))
    return outputs_of(rng.random((ROWS, 2, LABELS)) < 0.5), p, rng.uniform(0.9, 1.1, 64)


def risk_of(measure: Measure, outputs: Outputs, p: np.ndarray, off: np.ndarray) -> np.ndarray:
    expected = expected_of_rows(outputs.tags, p)
    mean = measure.mean_loss(outputs, expected, np.full(len(p), 1 / len(p)))
    return mean * off[: len(mean)]


@ALL
def test_moments_of_rows_are_those_of_all_sets(measure: Measure) -> None:
    """[Y] eq. 92 to 97: labels are independent given the row."""
    outputs, p, off = made_up()
    risk = risk_of(measure, outputs, p, off)
    chance = probabilities_of_sets(p)
    influences = np.stack([
        measure.influence(outputs, SPACE.encode(np.tile(held, (ROWS, 1))), risk)
        for held in EVERY_SET
    ])  # fmt: skip
    mean = np.einsum("ns,snm->nm", chance, influences)
    square = np.einsum("ns,snm->nm", chance, influences**2)
    found = influence_moments(measure, outputs, expected_of_rows(outputs.tags, p), risk)
    np.testing.assert_allclose(found[0], mean, atol=1e-12)
    np.testing.assert_allclose(found[1], square - mean**2, atol=1e-12)


@ALL
def test_expected_losses_of_a_cell_are_the_means_of_its_rows(measure: Measure) -> None:
    outputs, p, _ = made_up()
    expected = expected_of_rows(outputs.tags, p)
    cell = outputs_of(outputs.tags.mean(axis=0, keepdims=True))
    of_cell = measure.loss(cell, expected.mean(axis=0, keepdims=True))[0]
    np.testing.assert_allclose(of_cell, measure.loss(outputs, expected).mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("measure", [MEASURES[0], MEASURES[2], MEASURES[6]], ids=str)
def test_variance_of_a_cell_takes_its_labels_to_be_independent(measure: Measure) -> None:
    """All predictions of two systems and labels, independent from label to label: 8^3 cases."""
    rng = np.random.default_rng(2)
    p, first, other = rng.uniform(0.2, 0.8, (3, LABELS))
    p[3] = 0.0  # a label that no row has, so that 8^3 cases are all
    first[3] = other[3] = 0.0
    up = rng.uniform(1.0, 1.2, LABELS)
    hits = np.stack([p * np.minimum(first * up, 1), p * np.minimum(other * up, 1)])
    tags = np.stack([first, other])
    cell = outputs_of(tags[None])
    expected = np.concatenate([p[None], hits])[None]
    risk = measure.loss(cell, expected)[0] + 0.05
    found = influence_moments(measure, cell, expected, risk)
    mean = square = np.zeros(len(measure.components))
    for cases in itertools.product(itertools.product((0, 1), repeat=3), repeat=LABELS - 1):
        chance, y, f = 1.0, np.zeros(LABELS, bool), np.zeros((2, LABELS), bool)
        for c, (held, *predicted) in enumerate(cases):
            y[c], f[:, c] = held, predicted
            of_all = p[c] if held else 1 - p[c]
            chance *= of_all
            for system in range(2):
                both = hits[system, c] if held else tags[system, c] - hits[system, c]
                chance *= both / of_all if predicted[system] else 1 - both / of_all
        influence = measure.influence(outputs_of(f[None]), SPACE.encode(y[None]), risk)[0]
        mean, square = mean + chance * influence, square + chance * influence**2
    np.testing.assert_allclose(found[0][0], mean, atol=1e-12)
    np.testing.assert_allclose(found[1][0], square - mean**2, atol=1e-12)


@pytest.mark.parametrize("smoothing", [1.0, 0.8])
@pytest.mark.parametrize("kind", [MicroF, MacroF, F1OfMacroAverages])
def test_deviation_is_that_over_all_sets(kind: type[MicroF], smoothing: float) -> None:
    """Of few labels it is that of `Sets`: smoothed labels are smoothed sets of two classes each.

    Probabilities are kept from 0 by 10^-4 in both, of labels here and of sets there.
    """
    outputs, p, _ = made_up(7)
    measure, few = kind(LABELS, sets=SPACE), kind(LABELS, sets=Sets(("a", "b", "c", "d")))
    risk = risk_of(measure, outputs, p, np.ones(64))
    found = Deviation(measure, risk, smoothing).of_rows(outputs, p)
    bits = outputs.tags @ (1 << np.arange(LABELS))
    by_set = Outputs(bits, np.zeros((ROWS, 2)), np.zeros((ROWS, 2, 16)))
    sets = probabilities_of_sets(smoothing * p + (1 - smoothing) / 2)
    wanted = Deviation(few, risk).of_rows(by_set, sets)
    np.testing.assert_allclose(found, wanted, rtol=1e-3)


def test_smoothed_probabilities_keep_what_was_predicted() -> None:
    outputs, p, _ = made_up()
    found = smoothed(expected_of_rows(outputs.tags, p), outputs.tags.astype(float), 0.7)
    wanted = expected_of_rows(outputs.tags, 0.7 * p + 0.15)
    np.testing.assert_allclose(found, wanted)


def test_labels_by_the_hundred_take_no_sets() -> None:
    """500 labels: the variance is the sum over labels, here by another formula."""
    rng = np.random.default_rng(1)
    space = Tags(tuple(map(str, range(500))))
    p = rng.uniform(0, 0.1, (40, 500))
    outputs = outputs_of(p[:, None] > 0.07)
    measure = MicroF(500, sets=space)
    expected = expected_of_rows(outputs.tags, p)
    risk = measure.mean_loss(outputs, expected, np.full(40, 1 / 40))
    mean, variance = influence_moments(measure, outputs, expected, risk)
    f1, f = risk[0] / risk[1], outputs.tags[:, 0].astype(float)
    wanted = (f * p - f1 * (f + p) / 2).sum(axis=1) / risk[1]
    np.testing.assert_allclose(mean[:, 0], wanted, atol=1e-12)
    wanted = (p * (1 - p) * (f - f1 / 2) ** 2).sum(axis=1) / risk[1] ** 2
    np.testing.assert_allclose(variance[:, 0], wanted, atol=1e-12)
