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
