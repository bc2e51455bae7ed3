"""Gates: what an interval says of a target, by where the target lies."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.evaluation.estimates import Estimates
from evalsampling.evaluation.gates import judge
from evalsampling.evaluation.missing_labels import MissingBounds
from evalsampling.inference.domains import WHOLE_POOL
from evalsampling.inference.intervals import Interval
from evalsampling.inference.outlook import rounded
from evalsampling.inference.results import Estimate, Target, census, undefined
from evalsampling.notebook.states import MemoryState
from evalsampling.spec.gates import GatesSpec

BY_MODEL = ("model-based", "calibration-curve")


def estimate(low: float, high: float, value: float | None = None, **fields: Any) -> Estimate:
    """Recall with an interval by the design."""
    middle = (low + high) / 2 if value is None else value
    target = Target("recall", **fields.pop("target", {}))
    intervals = (Interval(low, high, "design-based", "korn-graubard"),)
    return Estimate(target, middle, 0.01, 0.95, intervals, **fields)


def judged(what: Estimate, labels: int = 400, **gates: Any) -> Any:
    return judge(GatesSpec(**gates), Estimates([what]), labels).gates[0]


@pytest.mark.parametrize(
    ("target", "at_least", "at_most"),
    [
        (0.79, True, False),
        (0.80, True, None),  # the interval begins at the target
        (0.85, None, None),
        (0.90, None, True),
        (0.91, False, True),
    ],
)
def test_the_three_answers(target: float, at_least: Any, at_most: Any) -> None:
    assert judged(estimate(0.8, 0.9), at_least={"recall": target}).reached is at_least
    assert judged(estimate(0.8, 0.9), at_most={"recall": target}).reached is at_most


def test_sentences() -> None:
    between = estimate(0.8, 0.9, value=0.83)
    assert judged(between, at_least={"recall": 0.75}).statement == (
        "Recall at least 0.75: reached. The interval is 0.8000 to 0.9000."
    )
    assert judged(between, at_most={"recall": 0.75}).statement == (
        "Recall at most 0.75: not reached. The interval is 0.8000 to 0.9000."
    )
    assert judged(between, at_least={"recall": 0.85}).statement == (
        "Recall at least 0.85: cannot be said. The interval is 0.8000 to 0.9000. If the value "
        "stays 0.8300, expect 4,900 to 9,800 labels to decide it."
    )


def test_labels_that_decide_follow_from_the_end_that_has_to_move() -> None:
    """The high end is 0.07 above the value and must come to 0.02: 400 (7 / 2)^2."""
    assert judged(estimate(0.8, 0.9, 0.83), at_least={"recall": 0.85}).labels == 4900
    below = judged(estimate(0.8, 0.9, 0.83), at_least={"recall": 0.815})
    assert below.labels == math.ceil(400 * (0.03 / 0.015) ** 2)
    near = judged(estimate(0.8, 0.9, 0.83), at_least={"recall": 0.8301})
    assert near.labels is None
    assert "No affordable number of labels decides it if the value stays 0.8300" in near.statement
    assert judged(estimate(0.8, 0.9, 0.83), at_least={"recall": 0.83}).labels is None


def test_intervals_by_the_model_become_narrower_faster() -> None:
    design = estimate(0.8, 0.9)
    model = dataclasses.replace(design, intervals=(Interval(0.8, 0.9, *BY_MODEL),))
    gate = {"at_least": {"recall": 0.83}}
    assert judged(design, **gate).labels == math.ceil(400 * 2.5**2)
    assert judged(model, **gate).labels == math.ceil(400 * 2.5**1.6)
    sliced = dataclasses.replace(model, target=Target("recall", slice="city=Bern"))
    assert judged(sliced, at_least={"recall": 0.83}).labels == math.ceil(400 * 2.5**2)


def test_an_exact_number_decides_whatever_the_target() -> None:
    exact = census(Target("recall"), 0.9, 0.95, "positive")
    assert judged(exact, at_least={"recall": 0.9}).reached is True
    assert judged(exact, at_least={"recall": 0.901}).reached is False
    assert judged(exact, at_least={"recall": 0.9}).statement == (
        "Recall at least 0.9: reached. It is exactly 0.9000."
    )


@pytest.mark.parametrize(
    ("what", "why"),
    [
        (undefined(Target("recall"), 0.95, "undefined", "no positive"), "(no positive)"),
        (estimate(0.0, 1.0), "claims nothing (korn-graubard)"),
        (estimate(0.8, 0.9, reliable=False, warnings=("recall: too few",)), "on: too few."),
    ],
)
@pytest.mark.parametrize("target", [0.0, 0.5, 1.0])
def test_an_interval_that_claims_nothing_decides_nothing(
    what: Estimate, why: str, target: float
) -> None:
    for bound in ("at_least", "at_most"):
        gate = judged(what, **{bound: {"recall": target}})
        assert gate.reached is None
        assert gate.labels is None
        assert "cannot be said" in gate.statement
        assert why in gate.statement


def test_one_end_may_decide_where_the_other_is_infinite() -> None:
    ratio = estimate(1.2, math.inf, 2.0, target={"bounds": (0.0, math.inf)})
    assert judged(ratio, at_least={"recall": 1.0}).reached is True
    assert judged(ratio, at_most={"recall": 1.0}).reached is False
    open_gate = judged(ratio, at_least={"recall": 1.5})
    assert (open_gate.reached, open_gate.high) == (None, None)


@pytest.mark.parametrize(
    ("targets", "reached", "code"),
    [
        ((0.7, 0.75), True, 0),
        ((0.7, 0.95), False, 10),
        ((0.7, 0.85), None, 11),
        ((0.85, 0.95), False, 10),
    ],
)
def test_all_gates_are_to_be_reached(targets: tuple[float, float], reached: Any, code: int) -> None:
    titles = ("recall of old", "recall of new")
    systems = [estimate(0.8, 0.9, target={"system": name}) for name in ("old", "new")]
    spec = GatesSpec(at_least=dict(zip(titles, targets, strict=True)))
    gates = judge(spec, Estimates(systems), 400)
    assert (gates.reached, gates.exit_code) == (reached, code)
    assert repr(gates).startswith(f"<Gates: {gates.outcome}>\nRecall of old at least")


# --- of labels in doubt


def bounds(low: float, high: float, **fields: Any) -> MissingBounds:
    ends = {"low": low, "high": high, "interval_low": low, "interval_high": high}
    return MissingBounds(
        **{"measure": "recall", "system": None, "threshold": None, **ends, **fields}
    )


@pytest.mark.parametrize(
    ("bound", "reached"),
    [
        (bounds(0.76, 0.95), True),  # whatever they are
        (bounds(0.5, 0.95), None),
        (bounds(0.5, 0.95, measure="precision"), True),
        (bounds(0.5, 0.95, against="new"), True),
    ],
)
def test_with_many_missing_labels_it_is_to_be_so_whatever_they_are(
    bound: MissingBounds, reached: Any
) -> None:
    gates = GatesSpec(at_least={"recall": 0.75})
    [gate] = judge(gates, [estimate(0.8, 0.9)], 400, [bound]).gates
    assert gate.reached is reached
    told = "The interval is 0.8000 to 0.9000. But with the missing labels it may be 0.5000 to"
    assert (told in gate.statement) == (reached is None)
    [surely_not] = judge(
        GatesSpec(at_least={"recall": 0.97}), [estimate(0.8, 0.9)], 400, [bound]
    ).gates
    assert surely_not.reached is False


def test_labels_that_are_not_what_they_seem_decide_nothing() -> None:
    """An evaluation whose answers are swapped surely misses any target, and so does not."""
    for gates in ({"at_least": {"recall": 0.75}}, {"at_most": {"recall": 0.5}}):
        found = judge(GatesSpec(**gates), [estimate(0.8, 0.9)], 400, are_odd=True)
        assert found.exit_code == 11
        assert found.gates[0].statement.endswith(
            "The interval is 0.8000 to 0.9000. But the labels may not be what they seem: see the "
            "warnings."
        )
    score = np.random.default_rng(0).beta(0.3, 0.5, 5000)
    evaluation = Evaluation.from_arrays(score, score > 0.5, measure="precision")
    ids = evaluation.sample(150)
    evaluation.label(ids, (score[ids] < 0.5).astype(int))
    estimates = evaluation.estimate()
    assert "contradict the predictions" in estimates.warnings[0]
    assert estimates["precision"].high < 0.5
    assert evaluation.claims("precision >= 0.5").reached is None


# --- of an evaluation


def evaluated(**keys: Any) -> Evaluation:
    score = np.linspace(-4, 4, 2000)
    evaluation = Evaluation.from_arrays(score, score > 1, measure=["f1", "recall"], **keys)
    ids = evaluation.sample(150)
    evaluation.label(ids, (score[ids] > 1.2).astype(int))
    return evaluation


def test_an_evaluation_has_gates_of_its_spec_or_of_a_call() -> None:
    evaluation = evaluated(gates={"at_least": {"f1": 0.2}})
    assert evaluation.gates().reached is True
    assert evaluation.gates(at_least={"f1": 0.999}).reached is not True
    assert evaluation.gates(at_most={"recall": 0.2}).reached is False


@pytest.mark.parametrize(
    ("gates", "problem"),
    [
        ({}, "gates: none is asked for"),
        ({"at_least": {"precision": 0.5}}, "gates.at_least: no estimate 'precision'; there are: "),
        (
            {"at_least": {"f1": 90}},
            "gates.at_least.f1: it lies between 0 and 1, so 90 decides nothing; for 90 % give 0.9",
        ),
        ({"at_most": {"f1": "x"}}, "gates.at_most.f1: must be a number, got 'x'"),
    ],
)
def test_gates_that_cannot_be(gates: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError) as caught:
        evaluated().gates(**gates)
    assert problem in str(caught.value)


def test_where_positives_that_were_not_met_make_the_width_more_labels_may_be_needed() -> None:
    one = estimate(0.36, 0.84)
    claim = GatesSpec(at_least={"recall": 0.5})
    assert "labels to decide it" in judge(claim, [one], 400).gates[0].statement
    unmet = dataclasses.replace(one, without_unmet=Interval(0.77, 0.84, *BY_MODEL))
    one = judge(claim, [unmet], 400).gates[0]
    assert f"expect {rounded(one.labels):,} labels or more to decide it." in one.statement


def test_claims_are_gates_in_words() -> None:
    evaluation = evaluated()
    claims = evaluation.claims("recall >= 0.7", "f1 <= 0.1")
    assert claims == evaluation.gates(at_least={"recall": 0.7}, at_most={"f1": 0.1})
    assert claims == evaluation.claims("recall >= 0.7 and f1 <= .1")
    with pytest.raises(InputError, match=r"for 70 % give 0\.7"):
        evaluation.claims("recall >= 70")


def test_a_claim_is_judged_for_each_system() -> None:
    names = ("old", "new")
    systems = [estimate(0.8, 0.9, target={"system": name}) for name in names]
    compared = estimate(-0.1, 0.1, target={"system": "old", "against": "new"})
    gates = judge(GatesSpec(at_least={"recall": 0.7}), [*systems, compared], 400)
    assert [gate.number for gate in gates.gates] == ["recall of old", "recall of new"]
    one = judge(GatesSpec(at_least={"recall of new": 0.7}), [*systems, compared], 400)
    assert one.gates == gates.gates[1:]


@pytest.mark.slow
def test_a_gate_that_is_just_missed_passes_in_a_fortieth_of_samples_at_most() -> None:
    """By design-based intervals: 2.5 % may pass. More than 19 of 400 has a chance below 0.003."""
    rng = np.random.default_rng(3)
    score = rng.normal(size=4000)
    truth = rng.random(4000) < 1 / (1 + np.exp(-2 * score))
    guess = score > 0
    gate = GatesSpec(at_least={"recall": (guess & truth).sum() / truth.sum() + 1e-9})
    begun = Evaluation.from_arrays(score, guess, measure="recall", sampler="importance")
    plain = dataclasses.replace(begun.analysis, hidden=None, scope=WHOLE_POOL)
    passed = 0
    for seed in range(400):
        analysis = dataclasses.replace(plain, seed=seed)
        evaluation = Evaluation(MemoryState(begun.state.pool, analysis))
        ids = evaluation.sample(100)
        evaluation.label(ids, truth[ids].astype(int))
        passed += judge(gate, evaluation.analysis.estimate(), 100).reached is True
    assert 0 < passed <= 19
