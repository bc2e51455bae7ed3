"""What is worked out once of an evaluation, for its texts and for gates."""

import numpy as np
import pytest

from evalsampling import Evaluation
from evalsampling.evaluation.analysis import Analysis
from evalsampling.spec.gates import GatesSpec


def test_bounds_over_missing_labels_are_worked_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    score, calls = rng.random(2000), []
    evaluation = Evaluation.from_arrays(score, (score > 0.5).astype(int), seed=1)
    rows = np.asarray(evaluation.sample(100))[:80]
    evaluation.label(rows, (score[rows] > rng.random(80)).astype(int))
    estimate = Analysis.estimate
    monkeypatch.setattr(
        Analysis, "estimate", lambda *args, **named: calls.append(1) or estimate(*args, **named)
    )
    found = evaluation.state.findings()
    assert "Whatever they are" in found.doubts[0]
    once = len(calls)
    [gate] = found.judge(GatesSpec(at_most={"f1": 0.8})).gates
    assert once > 1
    assert len(calls) == once
    assert "with the missing labels it may be" in gate.statement
