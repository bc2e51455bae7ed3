"""`plan` in words."""

import argparse
from typing import Any

import numpy as np
import pytest

from evalsampling.cli import plan
from evalsampling.commands.plan import PlannedError, PlanResult
from tests.jobs import Jobs, call, make_pool, make_rich_pool


def text(*errors: PlannedError, by_cost: bool = False) -> list[str]:
    return plan.COMMAND.text(argparse.Namespace(), PlanResult(errors, by_cost)).splitlines()


def test_errors_stand_below_their_sampler(monkeypatch: pytest.MonkeyPatch) -> None:
    """With all columns that there may be, in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = text(
        PlannedError("optimal_importance", "accuracy of new against old", 800.5, 0.01, 0.02,
                     power=0.8, draws=1_600, labels=745.6, cost=800.5, saving=0.25,
                     label_likelihood=0.7),
        PlannedError("optimal_importance", "f1 of old", None, None, 0.05),
        PlannedError("passive", "f1 of old", 50, 0.01, None, power=0.8),
        by_cost=True,
    )  # fmt: skip
    assert max(map(len, lines)) <= 80
    assert lines[0] == "Accuracy of new against old with 800.5: ± 0.02 by optimal_importance."
    table = lines[lines.index("if the scores' probabilities are right:") + 1 :]
    assert table[0].split() == [
        "sampler,", "measure", "budget", "std.", "error", "half-width", "power", "draws",
        "labels", "cost",
    ]  # fmt: skip
    assert [line for line in table[1:] if line in ("optimal_importance", "passive")]
    assert table[3].split() == ["f1", "of", "old", "more", "-", "0.0500", "-", "-", "-"]
    words = " ".join(" ".join(table[6:]).split())
    assert words == (
        "Accuracy of new against old: rows chosen as well as can be leave 0.25 of the variance of "
        "rows drawn evenly for equal money label likelihood 0.70: from 0.6 on it pays to choose "
        "rows by the scores, if labels agree with them"
    )


def test_power_stands_where_something_is_compared() -> None:
    for power, shown in ((None, []), (0.8, ["power"])):
        lines = text(PlannedError("passive", "f1 of old", 50, 0.01, 0.02, power=power))
        assert lines[2].split()[2:] == ["labels", "std.", "error", "half-width", *shown]


@pytest.mark.slow
def test_a_low_label_likelihood_is_told(job: Jobs) -> None:
    even, says = 0.498 + np.linspace(0, 1e-3, 400), np.arange(400) % 2
    pool = make_pool(400).with_columns(chance=even, prediction=says)
    one = job(pool, pool={"probability": "chance"}, strata={"leaves": 4})
    few = ("--budgets", "50", "--repeats", "2")
    told = call("plan", one.spec, *few, "--sampler", "importance").done
    assert "warning: the label likelihood to expect of the scores is 0.5" in told.err
    assert "warning" not in told.out
    quiet = call("plan", one.spec, *few, "--sampler", "importance", "--quiet")
    assert "warning" not in quiet.err
    assert "warning" not in call("plan", one.spec, *few).err, "labels correct the default"


def test_the_power_of_no_comparison_is_refused(job: Jobs) -> None:
    spec = job().spec
    words = "evaluation.yaml: --power is that of a comparison, and no measure compares"
    assert words in call("plan", spec, "--power", "0.8").refused
    for wrong in ("--half-width=0", "--power=0.05", "--power=1", "--effect=0.1"):
        assert call("plan", spec, wrong).status == 2


@pytest.mark.slow
def test_samplers_without_labels_for_a_power_are_named(job: Jobs) -> None:
    systems = {f"s{n}": {"score": f"s{n}.score", "prediction": f"s{n}.prediction"} for n in (0, 1)}
    one = job(make_rich_pool(100), pool={"systems": systems}, measure="accuracy")
    for sampler, is_named in (("calibrated", True), ("ais", False)):
        told = call("plan", one.spec, "--power", "0.8", "--effect", "0.1", "--sampler", sampler,
                    "--budgets", "20", "--repeats", "1")  # fmt: skip
        words = "no number of labels is found for it, nor for an effect, by calibrated"
        assert (words in told.err) == is_named


def row(budget: float | None, width: float, **told: Any) -> PlannedError:
    return PlannedError("ais", "f1", budget, None if budget is None else 0.1, width, **told)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row(100, 0.2), row(None, 0.1)],
         {0: "F1 with 100 labels: ± 0.2 by ais.", 4: "f1 100 0.1000 0.2000",
          5: "f1 more - 0.1000"}),
        # A half-width that was asked for adds a row of a smaller budget, or of the same.
        ([row(100, 0.2), row(500, 0.1), row(228, 0.15), row(500, 0.1)],
         {0: "F1 with 500 labels: ± 0.1 by ais."}),
        ([row(20, 4.9e-17, half_width_low=0.0, half_width_high=0.0)],
         {0: "F1 with 20 labels: ± 0 by ais."}),
        ([row(20, 4.9e-17, half_width_low=0.083, half_width_high=0.095), row(20, 0.2)],
         {0: "F1 with 20 labels: ± 0.083 to 0.095 by ais.",
          1: "Nine real pools in ten were in such ranges."}),
        ([row(20, 0.3, half_width_low=0.2, half_width_high=0.5, no_claim=0.5)],
         {0: "F1 with 20 labels: ± 0.2 to no claim by ais."}),
        ([row(20, 0.3, half_width_low=0.5, half_width_high=0.5, no_claim=0.5)],
         {0: "F1 with 20 labels: no claim by ais."}),
        ([row(20, 0.5, no_claim=0.5)], {0: "F1 with 20 labels: no claim by ais."}),
        ([row(20, float("inf"))], {0: "F1 with 20 labels: no claim by ais."}),
    ],
)  # fmt: skip
def test_lines_of_half_widths(rows: list[PlannedError], expected: dict[int, str]) -> None:
    lines = text(*rows)
    assert {place: " ".join(lines[place].split()) for place in expected} == expected
