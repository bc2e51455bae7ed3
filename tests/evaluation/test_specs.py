"""Specs together with the measures and samplers that they name."""

from pathlib import Path
from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.evaluation.specs import check_buildable, load_spec
from tests.averages import MACRO_F1
from tests.compared_numbers import spec_of
from tests.spec.specs import parse, systems

NUMBERS = {"range": [0, 100]}
COMPARED = spec_of(2, pool={"path": "x"})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"measure": "f11"}, "measure: unknown measure 'f11'; did you mean f1?"),
        ({"measure": ["f1", {"name": "f_beta", "beta": 1}]}, "measure: f1 is listed twice"),
        ({"measure": {"name": "f_beta", "beta": -1}},
         "beta must be between 0.001 and 1000, got -1"),
        ({"measure": {"name": "f_beta", "gamma": 1}}, "unknown key measure.gamma of f_beta"),
        ({"stop": {"significance": 0.05}}, "stop.significance: the first measure compares no"),
        ({"stop": {"significance": 0.05}, "pool": systems(), "sampler": "passive"},
         "stop.test: difference(f1) drawn by passive has no anytime-valid test"),
        ({"stop": {"significance": 0.05}, "pool": systems(), "sampler": "ais",
          "measure": "accuracy"},
         "stop.test: difference(accuracy) drawn by ais has no anytime-valid test"),
        ({"sampler": "aiss"},
         "sampler: unknown sampler 'aiss'; did you mean ais? (or is its package not installed?)"),
        ({"sampler": {"name": "ais", "draw": 3}}, "did you mean draws?"),
        ({"sampler": {"name": "ais", "draws": 0}}, "whole number of at least 1, got 0"),
        ({"sampler": {"name": "ais", "draws": 1.5}}, "whole number of at least 1, got 1.5"),
        ({"strata": {"leaves": 3000}},
         "strata.leaves: 3000 leaves and thresholds, at most 2048 are possible"),
        ({"pool": systems(), "measure": {"name": "f1", "system": "newer"}},
         "measure.system: unknown system 'newer'; known: old, new"),
        ({"measure": {"name": "f1", "system": "old"}}, "measure.system: unknown system 'old'"),
        ({"measure": {"name": "pr_curve", "system": "new"}, "pool": systems()},
         "measure: pr_curve of system new needs a score"),
        ({"measure": ["f1", "roc_auc"], "pool": systems()},
         "measure: roc_auc of system new needs a score"),
        ({"measure": ["f1", "brier"], "pool": systems()},
         "measure: brier of system new needs a probability"),
        ({"measure": {"name": "pr_curve", "system": "old"}, "pool": systems(score="mean")},
         "measure: pr_curve cannot come first: it needs the score that drives the strata"),
        ({"measure": {"name": "roc_auc", "system": "b"},
          "pool": systems(systems={n: {"score": n, "prediction": "p"} for n in "ab"})},
         "measure: roc_auc cannot come first"),
        ({"measure": {"joint": ["recall", "average_precision"]},
          "pool": systems(systems={n: {"score": n, "prediction": "p"} for n in "ab"})},
         "measure: average_precision cannot come first"),
        ({"pool": {"path": "x", "features": ["f"]}, "strata": {"method": "kd"},
          "measure": ["f1", "log_loss"]}, "measure: log_loss needs a probability"),
        ({"pool": {"path": "x", "features": ["f"]}, "strata": {"method": "kd"},
          "measure": "pr_curve"}, "measure: pr_curve needs a score"),
        ({"measure": "pr_curve", "strata": {"leaves": 1025}},
         "strata.leaves: 2049 leaves and thresholds, at most 2048 are possible"),
        ({"measure": {"name": "pr_curve", "thresholds": 0}},
         "measure.thresholds: must be a list of numbers, or how many there are to be"),
        ({"measure": {"name": "pr_curve", "thresholds": 4097}}, "measure.thresholds: must be"),
        ({"measure": {"name": "pr_curve", "thresholds": True}}, "measure.thresholds: must be"),
        ({"measure": {"name": "pr_curve", "thresholds": [0.1, "x"]}},
         "measure.thresholds: must be numbers, got [0.1, 'x']"),
        ({"measure": {"name": "pr_curve", "thresholds": []}},
         "measure: pr_curve: pr_curve needs at least one threshold"),
        ({"measure": {"name": "pr_curve", "thresholds": [0.5, 0.1]}},
         "thresholds of pr_curve must be finite and strictly increasing"),
        ({"measure": {"name": "f1", "thresholds": 5}}, "unknown key measure.thresholds of f1"),
        ({"measure": {"name": "log_loss", "clip": 0.5}}, "clip must be above 0 and below 0.5"),
        ({"measure": {**MACRO_F1, "over": 1}},
         "measure.over: must be a list of classes, got 1"),
        ({"measure": {**MACRO_F1, "over": [2]}}, "measure.over: 2 is none of ['0', '1']"),
        ({"measure": {**MACRO_F1, "over": [1, 1]}},
         "measure: f1: over must hold distinct class codes"),
        ({"measure": {"name": "f1", "beta": 2}}, "unknown key measure.beta of f1"),
        ({"measure": [{"joint": ["f1", "recall"]}, "recall"]},
         "measure: recall is listed twice"),
        ({"measure": {"joint": ["f1", "recal"]}}, "unknown measure 'recal'; did you mean recall?"),
        ({"sampler": {"name": "ais", "delta": 1.5}}, "sampler: ais: delta must be between 0 and 1"),
        ({"sampler": {"name": "ais", "delta": "x"}}, "delta must be a number, got 'x'"),
        ({"sampler": {"name": "passive", "model": "tree"}},
         "unknown key sampler.model of passive"),
        ({"sampler": {"name": "ais", "branching": 3}}, "unknown key sampler.branching of ais"),
        ({"sampler": {"name": "stratified", "draws": 10}},
         "unknown key sampler.draws of stratified; it has no parameters"),
        ({"sampler": "stratified", "labels": {"oracle": "stochastic"}},
         "sampler: stratified: stratified draws each row once"),
        ({"sampler": "oasis", "measure": "accuracy"},
         "sampler: oasis: it is made for F-measures, precision and recall, not for accuracy"),
        ({"sampler": "oasis", "pool": systems()}, "not for joint(f1, f1)"),
        ({"sampler": {"name": "oasis", "epsilon": 0}},
         "sampler: oasis: epsilon must be above 0 and at most 1, got 0"),
        ({"sampler": {"name": "oasis", "strength": 0}}, "strength must be above 0"),
        # Labels that are numbers.
        ({"labels": {"range": [1]}}, "labels.range: must be the least and the greatest label"),
        ({"labels": {"range": [1, 1]}}, "labels.range: must be increasing"),
        ({"labels": {"range": ["a", 2]}}, "labels.range: must be a number"),
        ({"labels": {**NUMBERS, "classes": [0, 1]}}, "labels.classes: with labels.range"),
        ({"labels": {**NUMBERS, "votes": 0}}, "votes: must be a whole number of at least 1"),
        ({"labels": {**NUMBERS, "repeats": 2}}, "labels.repeats: answers are compared with others"),
        ({"labels": {**NUMBERS, "oracle": "stochastic"}}, "labels.oracle: numbers come from a"),
        ({"labels": NUMBERS, "pool": {"path": "x", "score": "s"}}, "pool.score: with labels.range"),
        ({"pool": {"path": "x", "variance": "v"}}, "pool.variance: is of labels that are numbers"),
        ({"labels": NUMBERS, "strata": {"method": "kd"}}, "strata are those of pool.variance"),
        ({"labels": NUMBERS, "sampler": "ais"}, "sampler: ais: as it stands here it models"),
        ({"labels": NUMBERS, "sampler": "calibrated"}, "it models classes"),
        ({"labels": NUMBERS, "sampler": "importance"}, "active_risk draws all rows"),
        ({"labels": NUMBERS, "sampler": {"name": "active_risk", "model": "uniform"}}, "models"),
        ({"labels": NUMBERS, "sampler": {"name": "poisson", "online": "exclude"}}, "it models"),
        ({**COMPARED, "measure": {"difference": "mean_error"}}, "measure.difference: mean_error"),
        ({**COMPARED, "sampler": "calibrated"}, "sampler: calibrated"),
        ({**COMPARED, "stop": {"significance": 0.05}}, "stop.test"),
        ({**COMPARED, "measure": {"difference": "mse", "of": "new", "against": "x"}},
         "measure.against"),
        # Labels of which a row may have several.
        ({"labels": {"multilabel": ["a", "b"]}, "measure": "f1"},
         "f1 is about rows of one class; with labels.multilabel"),
        # A stochastic oracle.
        ({"labels": {"oracle": "stochastic", "repeats": 2}},
         "labels.repeats: a stochastic oracle is asked again by the draws"),
        ({"sampler": "calibrated", "labels": {"oracle": "stochastic"}},
         "calibrated draws each row once, so it takes a deterministic oracle"),
        # Hidden positives.
        ({"hidden": {"shares": 1}}, "unknown key hidden.shares"),
        ({"hidden": 0.1}, "hidden: must be a mapping, got 0.1"),
        ({"sampler": {"name": "calibrated", "hidden": 1}}, "unknown key sampler.hidden"),
        # Costs.
        ({"budget": {"cost": 10}}, "budget.cost: name the column of what labels cost"),
        ({"budget": {"cost": 0}}, "budget.cost: must be above 0, got 0"),
        ({"budget": {"money": 10}}, "unknown key budget.money"),
        ({"sampler": "active_lambda"}, "active_lambda: it needs pool.cost"),
        ({"sampler": {"name": "active_uniC", "calibration": "logistic"},
          "pool": {"path": "x", "cost": "c", "variance": "v"}, "labels": {"range": [0, 1]},
          "measure": "mse"},
         "sampler: active_uniC: as it stands here it models classes"),
        ({"budget": {"cost": 10}, "pool": {"path": "x", "cost": "c"}, "sampler": "adastrat",
          "measure": "average_precision"},
         "adastrat: what it queries follows from what it finds"),
        # Samplers that query ranks.
        ({"sampler": "adastrat"}, "adastrat ranks rows by score, so a curve"),
        ({"sampler": "adastrat", "measure": "pr_curve", "strata": {"method": "kd"},
          "pool": {"path": "x", "features": ["score"], "score": "score"}},
         "sampler: adastrat: it ranks rows by score, so strata.method cannot be kd"),
        ({"sampler": {"name": "logstrat", "m": 500}, "measure": "pr_curve"},
         "theorem 1 allows at most floor"),
        ({"sampler": {"name": "adastrat", "mm": 500}, "measure": "pr_curve"},
         "unknown key sampler.mm of adastrat"),
        ({"sampler": {"name": "adastrat", "eta": 0.1, "beta": 1.3}, "measure": "pr_curve"},
         "labels.oracle stochastic"),
    ],
)  # fmt: skip
def test_mistakes(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_buildable(parse(**changes))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.yaml"
    for text, message in [
        ("pool: {path: x}\nbudgets: 3", "unknown key budgets"),
        ("pool: {path: x}\nmeasure: f11", "measure: unknown measure 'f11'; did you mean f1?"),
        ("pool: {path: x}\nsampler: {name: ais, draw: 3}", "unknown key sampler.draw of ais"),
    ]:
        path.write_text(text)
        with pytest.raises(InputError) as caught:
            load_spec(path)
        assert str(caught.value).startswith(f"{path}: {message}")
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="cannot be read"):
        load_spec(tmp_path / "absent.yaml")


@pytest.mark.parametrize(
    "changes",
    [
        {"measure": "accuracy", "sampler": "compare"},
        {"measure": {"difference": "f1"}, "stop": {"significance": 0.05, "test": "fixed"}},
    ],
)
def test_tests_that_may_end_an_evaluation(changes: dict[str, Any]) -> None:
    check_buildable(parse(**{"pool": systems(), "stop": {"significance": 0.05}, **changes}))
