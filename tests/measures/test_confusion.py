"""The confusion matrix."""

import numpy as np

from evalsampling import Evaluation
from evalsampling.measures import ConfusionMatrix
from tests.measures.pools import make_pool, value_of


def test_shares_are_those_of_a_table() -> None:
    outputs, label = make_pool(seed=1, rows=90)
    counts = np.zeros((3, 3))
    np.add.at(counts, (label, outputs.prediction[:, 1]), 1)
    measure = ConfusionMatrix(3, system=1, titles=("a", "b", "c"))
    np.testing.assert_allclose(value_of(measure, outputs, label), counts.ravel() / 90)
    names = [component.name for component in measure.components]
    assert names[1] == "confusion_matrix[a as b]"
    assert len(names) == 9


def test_shares_are_called_by_the_titles_of_the_classes() -> None:
    outputs, label = make_pool(seed=1, rows=90)
    told = ConfusionMatrix(3, titles=("1", "2", "3")).shares(outputs, label)
    assert told[1].name == "share of class 1 among rows predicted 2"
    assert told[1].rows_name == "rows predicted 2"
    assert told[5].hit_name == "row of class 2"
    assert ConfusionMatrix(3).shares(outputs, label)[1].rows_name == "rows predicted 1"


def test_cells_have_intervals_and_sum_to_one() -> None:
    """Those of a class's column sum to the known share of its predictions."""
    rng = np.random.default_rng(3)
    truth = rng.choice(["no", "maybe", "yes"], size=2000, p=[0.6, 0.3, 0.1])
    guess = np.where(rng.random(2000) < 0.7, truth, rng.choice(["no", "maybe", "yes"], size=2000))
    chance = {name: np.where(guess == name, 0.8, 0.1) for name in ("no", "maybe", "yes")}
    evaluation = Evaluation.from_frame(
        {"score": rng.random(2000), "prediction": guess, **chance},
        probability={name: name for name in chance},
        labels={"classes": list(chance)}, measure=["accuracy", "confusion_matrix"], seed=1,
        sampler="passive", strata={"leaves": 4},
    )  # fmt: skip
    ids = evaluation.sample(400)
    evaluation.label(ids, truth[ids])
    told = evaluation.estimate("confusion_matrix")
    assert len(told) == 9
    assert sum(one.value for one in told) == 1 or abs(sum(one.value for one in told) - 1) < 1e-9
    covered = 0
    for label in chance:
        for prediction in chance:
            one = told[f"confusion_matrix[{label} as {prediction}]"]
            true = np.mean((truth == label) & (guess == prediction))
            covered += one.low <= true <= one.high
    assert covered >= 7  # of nine 95 % intervals: fewer has a chance below 1 in 1000
