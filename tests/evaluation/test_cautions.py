"""What is said before estimates are trusted."""

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.evaluation.cautions import cautions


@pytest.fixture
def evaluation() -> Evaluation:
    rng = np.random.default_rng(3)
    score = rng.normal(size=3000)
    one = Evaluation.from_arrays(score, score > 0, seed=1)
    ids = one.sample(50)
    one.label(ids[:30], score[ids[:30]] > 0.3)
    return one


def test_missing_labels(evaluation: Evaluation) -> None:
    analysis = evaluation.analysis
    estimates = analysis.estimate()
    of_missing = "; others of their round stand for them, as if missing at random"
    drawn = "20 of 50 rows drawn have no label"
    assert cautions(analysis, estimates)[-1] == drawn + of_missing
    assert cautions(analysis, estimates, 7)[-1] == f"{drawn} (7 still open){of_missing}"
    about = cautions(analysis, estimates, 7, ["annotators err"])
    assert about == [*cautions(analysis, estimates, 7), "annotators err"]


def test_warnings_of_each_estimate_come_first() -> None:
    score = np.linspace(-3, 3, 400)
    few = Evaluation.from_arrays(score, score > 0, seed=1, sampler="passive")
    ids = few.sample(8)
    few.label(ids[:6], score[ids[:6]] > 0.3)
    estimates = few.analysis.estimate()
    own = [warning for one in estimates for warning in one.warnings]
    assert len(own) == 1
    assert cautions(few.analysis, estimates)[: len(own)] == own
