"""What may be estimated from which draws, where cells do not tell all about their rows."""

import dataclasses

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.errors import InputError
from evalsampling.inference.results import Estimate
from evalsampling.measures import Accuracy, FBeta
from evalsampling.measures.base import Measure
from evalsampling.measures.on_cells import adds_to, always_adds_to, known_exactly
from evalsampling.samplers import Given
from evalsampling.stats.outputs import Outputs
from tests.averages import MACRO_F1

ROWS = 600


def make_rows(seed: int = 0, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores in [0, 1], predictions at .5, labels that follow the score loosely."""
    rng = np.random.default_rng(seed)
    score = rng.random(rows)
    return score, (score >= 0.5).astype(int), (rng.random(rows) < score**2).astype(int)


def with_parts(evaluation: Evaluation, **parts: object) -> Evaluation:
    """Return an evaluation with other parts than those that its spec names."""
    analysis = dataclasses.replace(evaluation.analysis, **parts)
    return Evaluation(dataclasses.replace(evaluation.state, analysis=analysis))


def evaluate(seed: int = 0, rounds: int = 3, **spec: object) -> tuple[Evaluation, np.ndarray]:
    score, prediction, label = make_rows()
    evaluation = Evaluation.from_arrays(
        score, prediction, strata={"edges": [0.2, 0.4, 0.6, 0.8]}, seed=seed, **spec
    )
    for _ in range(rounds):
        ids = evaluation.sample(50)
        evaluation.label(ids, label[ids])
    return evaluation, label


@dataclasses.dataclass(frozen=True)
class SureErrors(Measure):
    """Share of the rows that are wrong with a score of at least .55: it looks at the score."""

    name = "sure_errors"
    system: int = 0

    def loss(self, outputs: Outputs, label: np.ndarray) -> np.ndarray:
        wrong = outputs.prediction[:, 0] != label
        return (wrong & (outputs.score[:, 0] >= 0.55)).astype(np.float64)[:, None]

    def value(self, risk: np.ndarray) -> np.ndarray:
        return risk


def only(estimates: list[Estimate], name: str) -> Estimate:
    (found,) = [one for one in estimates if one.measure == name]
    return found


def test_thresholds_between_bins_are_not_supported_by_labelled_rows() -> None:
    """F1's labelled negatives are never drawn again; some of them pass .45, some do not."""
    measure = ["f1", {"name": "pr_curve", "thresholds": [0.45]}]
    evaluation, _ = evaluate(measure=measure, sampler="ais")
    found = evaluation.estimate()
    assert only(found, "f1").value is not None
    assert only(found, "pr_curve.precision").value is None
    mixed, _ = evaluate(measure=measure, sampler={"name": "ais", "delta": 0.1})
    assert only(mixed.estimate(), "pr_curve.precision").value is not None


def test_what_may_and_what_must_add() -> None:
    evaluation, _ = evaluate(rounds=0)
    table = evaluation.analysis.table
    f1, accuracy = FBeta(positive=1), Accuracy()
    assert np.array_equal(adds_to(f1, table), always_adds_to(f1, table))
    assert known_exactly(accuracy, table)
    assert not known_exactly(SureErrors(), table)
    assert adds_to(SureErrors(), table).all()
    # Wrong above .55 for sure: predicted 1, labelled 0, in the bins from .6 up.
    sure = always_adds_to(SureErrors(), table)
    expected = (table.kinds.prediction[:, 0] == 1) & (table.kinds.score[:, 0] >= 0.6)
    assert np.array_equal(sure[:, 0], expected)
    assert not sure[:, 1][expected].any()


def test_rows_of_probability_zero_keep_the_chance_their_cell_has() -> None:
    """Brier's loss is exactly 0 for some rows; what it supports must not hang on these."""
    score, prediction, label = make_rows()
    probability = np.where(np.arange(ROWS) % 3 == 0, 0.0, score)
    evaluation = Evaluation.from_arrays(
        score,
        prediction,
        probability=probability,
        measure=["brier", "accuracy"],
        sampler="ais",
        strata={"leaves": 4},
    )
    ids = evaluation.sample(200)
    evaluation.label(ids, label[ids])
    proposal = evaluation.analysis.sampler.proposal(evaluation.analysis.table, evaluation.history)
    assert np.all(proposal.atom_probability > 0)


def test_signatures_that_share_a_cell_support_only_the_measure_sampled_for() -> None:
    rng = np.random.default_rng(1)
    rows, systems = 5000, 7
    score = rng.random(rows)
    label = (rng.random(rows) < score).astype(int)
    columns = {
        f"p{s}": (score + rng.normal(0, 0.3, rows) > 0.5).astype(int) for s in range(systems)
    }
    evaluation = Evaluation.from_arrays(
        None,
        None,
        columns=columns | {"s": score},
        pool={"score": "s", "systems": {f"p{s}": {"prediction": f"p{s}"} for s in range(systems)}},
        measure=[{"name": "f1", "system": "p0"}, {"name": "f1", "system": "p1"}],
        strata={"leaves": 64},
        sampler="ais",
    )
    assert evaluation.analysis.table.kinds.mixed.any()
    ids = evaluation.sample(100)
    evaluation.label(ids, label[ids])
    first, second = evaluation.estimate()
    assert first.value is not None
    assert second.value is None
    assert "no chance of being drawn" in str(second.reason)


def test_own_weights_must_not_vanish_later() -> None:
    evaluation, label = evaluate(rounds=0, measure="accuracy", sampler="passive")

    def weights(table, history):  # type: ignore[no-untyped-def]
        weight = np.ones(len(table))
        weight[0] = float(not history.rounds)
        return weight

    evaluation = with_parts(evaluation, sampler=Given(Accuracy(), weights=weights))
    ids = evaluation.sample(20)
    evaluation.label(ids, label[ids])
    with pytest.raises(InputError, match="must not have 0 later"):
        evaluation.sample(20)


def slices(seed: int, sampler: object) -> tuple[list[Estimate], float, bool]:
    rng = np.random.default_rng(9)
    rows = 4000
    score = rng.random(rows)
    part = np.where(rng.random(rows) < 0.05, "rare", "usual")
    label = (rng.random(rows) < 0.2 + 0.6 * score).astype(int)
    evaluation = Evaluation.from_arrays(
        score, (score > 0.5).astype(int), columns={"part": part}, pool={"slices": ["part"]},
        measure="accuracy", sampler=sampler, strata={"leaves": 8}, seed=seed,
    )  # fmt: skip
    ids = evaluation.sample(500)
    evaluation.label(ids, label[ids])
    rare = part == "rare"
    truth = ((score > 0.5) == label)[rare].mean()
    plain = ((score[ids] > 0.5) == label[ids])[rare[ids]].mean()
    return evaluation.estimate(), truth, plain


def test_slice_of_random_rows_has_the_plain_mean() -> None:
    """Draws without repeats of equal weight: the estimate is the share among the slice's own."""
    estimates, _, plain = slices(0, "stratified")
    rare = next(one for one in estimates if one.target.slice == "part=rare")
    assert rare.value == pytest.approx(plain, abs=0.02)


def test_slice_without_labelled_rows_is_undefined() -> None:
    score, prediction, label = make_rows()
    part = np.where(np.arange(ROWS) == 17, "lonely", "usual")
    evaluation = Evaluation.from_arrays(
        score, prediction, columns={"part": part}, pool={"slices": ["part"]},
        measure=["accuracy", "brier"], sampler="passive", seed=2,
    )  # fmt: skip
    ids = evaluation.sample(30)
    evaluation.label(ids, label[ids])
    assert 17 not in ids
    lonely = [one for one in evaluation.estimate() if one.target.slice == "part=lonely"]
    assert [one.value for one in lonely] == [None, None]
    assert all("no labelled row where part=lonely" in str(one.reason) for one in lonely)


def test_average_over_classes_is_trusted_no_more_than_its_rarest_class() -> None:
    rng = np.random.default_rng(3)
    rows = 3000
    probability = rng.dirichlet([8, 8, 0.2], rows)
    label = np.array([rng.choice(3, p=p) for p in probability])
    evaluation = Evaluation.from_arrays(
        probability[:, 2],
        probability.argmax(axis=1),
        probability=probability,
        labels={"classes": [0, 1, 2]},
        measure=MACRO_F1,
        sampler="passive",
    )
    ids = evaluation.sample(200)
    evaluation.label(ids, label[ids])
    (found,) = evaluation.estimate()
    assert (label[ids] == 2).sum() < 10
    assert not found.claims
    assert " of class " in found.warnings[0]


@pytest.mark.slow
@pytest.mark.parametrize("sampler", ["importance", "ais"])
def test_own_measure_of_scores_is_sampled_where_a_bin_straddles(sampler: str) -> None:
    """Rows of [.4, .6) add if above .55, which the bin's lower end does not tell.

    Over 60 runs the mean of the estimates is the truth to 4 standard errors of that mean.
    """
    score, prediction, label = make_rows()
    truth = ((prediction != label) & (score >= 0.55)).mean()
    values = []
    for seed in range(60):
        evaluation, _ = evaluate(seed, sampler={"name": sampler, "draws": 100}, rounds=0)
        own = dataclasses.replace(evaluation.analysis.sampler, measure=SureErrors())
        evaluation = with_parts(evaluation, sampler=own, measures=[SureErrors()])
        for _ in range(2):
            ids = evaluation.sample(50)
            evaluation.label(ids, label[ids])
        values.append(evaluation.estimate()[0].value)
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth) < 4 * error


@pytest.mark.slow
def test_slice_errs_no_more_than_its_own_labels_do() -> None:
    """25 rows of the slice: sqrt(G (1 - G) / 25) is .1; over the known share it would be .2."""
    runs = [slices(seed, "passive") for seed in range(40)]
    errors = [
        next(one for one in found if one.target.slice == "part=rare").value - truth
        for found, truth, _ in runs
    ]
    assert np.sqrt(np.mean(np.square(errors))) < 0.13
