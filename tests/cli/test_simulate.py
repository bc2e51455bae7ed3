"""`simulate` in words."""

import argparse

import pytest

from evalsampling.cli import simulate
from evalsampling.commands.simulate import IntervalSummary, SimulatedError, SimulateResult

NONE = IntervalSummary(None, None, None)


def error(sampler: str, measure: str, budget: float, **told: float | None) -> SimulatedError:
    given = {"coverage": 0.95, "median_width": 0.1, "interval_score": 0.2, **told}
    return SimulatedError(
        sampler=sampler, measure=measure, budget=budget, rmse=0.01, bias=-0.002, undefined=0,
        draws=9.0, labels=9.0, cost=9.0, seconds=1.0, wald=NONE, intervals={}, divergence=None,
        claims=1.0, coverage_of_claims=None, **given,
    )  # fmt: skip


def test_errors_stand_below_their_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names as long as they come, in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    result = SimulateResult(
        {"f1": 0.5, "roc_curve": [0.1, 0.2]},
        (
            error("optimal_importance", "precision(positive=used cars)", 25_600),
            error("optimal_importance", "f1", 200, coverage=None),
            error("ais", "f1", 200),
        ),
    )
    truth, *table = simulate.COMMAND.text(argparse.Namespace(), result).splitlines()
    assert truth == "truth: f1 0.5000"
    assert max(map(len, table)) == 80
    assert [line.split("  ")[0] for line in table if not line.startswith("  ")] == [
        "sampler, measure", "optimal_importance", "ais"
    ]  # fmt: skip
    assert table[2].startswith("  precisi…used cars)  25,600  0.0100")
    assert table[3].split() == ["f1", "200", "0.0100", "-0.0020", "-", "0.100", "0.200", "0"]
