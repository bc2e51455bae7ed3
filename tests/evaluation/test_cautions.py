"""What is said before estimates are trusted, and reasons to stop."""

from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.evaluation.cautions import cautions
from evalsampling.labels.tally import Awaited


def test_missing_labels() -> None:
    score = np.random.default_rng(3).normal(size=3000)
    evaluation = Evaluation.from_arrays(score, score > 0, seed=1)
    ids = evaluation.sample(50)
    evaluation.label(ids[:30], score[ids[:30]] > 0.3)
    analysis = evaluation.analysis
    estimates = analysis.estimate()
    of_missing = "; others of their round stand for them, as if missing at random"
    drawn = "20 of 50 rows drawn have no label"
    waiting = Awaited(unanswered=7)
    assert cautions(analysis, estimates)[-1] == drawn + of_missing
    assert cautions(analysis, estimates, waiting)[-1] == f"{drawn} (7 open){of_missing}"
    about = cautions(analysis, estimates, waiting, ["annotators err"])
    assert about == [*cautions(analysis, estimates, waiting), "annotators err"]


def test_warnings_of_each_estimate_come_first() -> None:
    score = np.linspace(-3, 3, 400)
    few = Evaluation.from_arrays(score, score > 0, seed=1, sampler="passive")
    ids = few.sample(8)
    few.label(ids[:6], score[ids[:6]] > 0.3)
    estimates = few.analysis.estimate()
    own = [warning for one in estimates for warning in one.warnings]
    assert len(own) == 1
    assert cautions(few.analysis, estimates)[: len(own)] == own


@pytest.mark.parametrize(
    ("measure", "said"),
    [
        (["accuracy", "f1"], ["F1 is about c, the positive one of 3 classes"]),
        (["f1", "recall"], ["F1, Recall are about c, the positive one of 3 classes"]),
        (["accuracy", {"f1": {"average": "macro"}}, {"name": "f1", "positive": "b"}], []),
    ],
)
def test_of_several_classes_it_says_which_one_a_number_is_about(
    measure: list[Any], said: list[str]
) -> None:
    spec: Any = {"labels": {"classes": ["a", "b", "c"]}, "measure": measure}
    evaluation = Evaluation.from_arrays(np.arange(60), ["a", "b", "c"] * 20, **spec)
    ids = evaluation.sample(9)
    evaluation.label(ids, ["c"] * 9)
    analysis = evaluation.analysis
    told = [one for one in cautions(analysis, analysis.estimate()) if " about c" in one]
    assert told == [f"{one}; {{f1: {{average: macro}}}} is about all" for one in said]


@pytest.mark.parametrize(
    ("sampler", "stop", "rounds", "warns"),
    [
        ("ais", {"half_width": 0.4}, 2, True),
        ("poisson", {"half_width": 0.4}, 2, True),
        ("ais", {"half_width": 0.4}, 1, False),
        ("ais", {"half_width": 0.001}, 2, False),
        ("ais", {}, 2, False),
        ("calibrated", {"half_width": 0.4}, 2, False),
    ],
)
def test_a_width_that_ends_an_evaluation_is_said_to_cost_coverage(
    sampler: str, stop: dict[str, Any], rounds: int, warns: bool
) -> None:
    """By `calibrated` it costs next to nothing, as does the first look, which nothing chose."""
    rng = np.random.default_rng(4)
    score = rng.random(1000)
    label = (rng.random(1000) < score**2).astype(int)
    evaluation = Evaluation.from_arrays(
        score,
        (score > 0.6).astype(int),
        probability=score**2,
        measure="f1",
        sampler=sampler,
        seed=1,
        **({"stop": stop} if stop else {}),
    )
    for _ in range(rounds):
        ids = evaluation.sample(150)
        evaluation.label(ids, label[ids])
    said = [one for one in evaluation.estimate().warnings if one.startswith("stop.half_width")]
    assert bool(said) == warns
    assert all(f"in {rounds} rounds" in one for one in said)
