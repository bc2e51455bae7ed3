"""Measures and samplers by `module:class` and as objects in Python, kept by `save`."""

import dataclasses
import json
import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from evalsampling import Evaluation, InputError
from evalsampling.measures import BY_NAME, Brier, FBeta, Joint, PRCurve, Recall
from evalsampling.measures.build import entry_of as entry_of_measure
from evalsampling.samplers import Passive
from evalsampling.samplers.build import entry_of as entry_of_sampler

SCORE = np.linspace(-4, 4, 1000)
GUESS = (SCORE > 1).astype(int)


@dataclasses.dataclass(frozen=True)
class Doubled(Passive):
    """A sampler of this module, which draws as `passive` does."""

    share: float = 0.5
    name = "doubled"


def evaluation_with(**spec: object) -> Evaluation:
    return Evaluation.from_arrays(SCORE, GUESS, seed=3, **spec)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ([FBeta(), Recall], ["f1", "recall"]),
        (FBeta(beta=2), {"name": "f_beta", "beta": 2}),
        ([Joint((FBeta(), Recall())), Brier()], [{"joint": ["f1", "recall"]}, "brier"]),
        (
            [FBeta, PRCurve(thresholds=(0.0, 1.0))],
            ["f1", {"name": "pr_curve", "thresholds": [0, 1]}],
        ),
        ({"name": FBeta, "beta": 3}, {"name": "f_beta", "beta": 3}),
    ],
)
def test_measures_may_be_objects(given: object, named: object) -> None:
    expected = evaluation_with(measure=named).analysis.measures
    assert evaluation_with(measure=given).analysis.measures == expected


def test_every_measure_has_a_name() -> None:
    for name in BY_NAME:
        entry = entry_of_measure(BY_NAME[name])
        assert BY_NAME[entry] is BY_NAME[name]


def test_a_sampler_may_be_a_class() -> None:
    expected = evaluation_with(sampler="passive").analysis.sampler
    assert evaluation_with(sampler=Passive).analysis.sampler == expected
    given = {"name": Passive, "delta": 0.2}
    assert entry_of_sampler(given) == {"name": "passive", "delta": 0.2}
    own = evaluation_with(sampler={"name": Doubled, "share": 0.3})
    assert own.analysis.sampler == Doubled(FBeta(), share=0.3)
    assert own.spec.sampler.name == f"{__name__}:Doubled"
    ids = own.sample(20)
    own.label(ids, GUESS[ids])
    assert own.estimate()[0].value == 1.0


@pytest.mark.parametrize(
    ("sampler", "words"),
    [
        (Passive(FBeta()), "sampler: give the class Passive"),
        ("tests.test_parts:SCORE", "sampler: tests.test_parts:SCORE is no class below"),
        ("tests.test_parts:Gone", "sampler: tests.test_parts:Gone: module"),
        ({"name": Doubled, "shares": 1}, "unknown key sampler.shares of tests.test_parts:Doubled"),
    ],
)
def test_what_is_no_sampler_is_told(sampler: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        evaluation_with(sampler=sampler)


# --- kept by `save`


def test_an_own_sampler_is_kept(tmp_path: Path) -> None:
    evaluation = evaluation_with(sampler={"name": Doubled, "share": 0.3}, measure=[FBeta(beta=2)])
    ids = evaluation.sample(30)
    evaluation.label(ids, GUESS[ids])
    evaluation.save(tmp_path / "run")
    again = Evaluation.open(tmp_path / "run")
    assert again.analysis.sampler == Doubled(FBeta(beta=2), share=0.3)
    assert again.sample(10).tolist() == evaluation.sample(10).tolist()
    (design,) = (tmp_path / "run" / "rounds" / "0001").glob("design.json")
    assert json.loads(design.read_text())["sampler"]["name"] == f"{__name__}:Doubled"


def test_own_measures_are_kept_though_no_two_are_equal(tmp_path: Path) -> None:
    """One that drives the sampling was refused, as if the sampler had been set."""
    own = "tests.evaluation.user_measures:ErrorOdds"
    for measure in ([own], ["f1", own]):
        evaluation = pickle.loads(pickle.dumps(evaluation_with(measure=measure)))
        ids = evaluation.sample(30)
        evaluation.label(ids, GUESS[ids])
        run = tmp_path / f"run-{len(measure)}"
        evaluation.save(run)
        assert Evaluation.open(run).estimate().to_dict() == evaluation.estimate().to_dict()


def test_nothing_of_an_evaluation_can_be_set() -> None:
    """400 labels by `passive` once came back as those of `calibrated`."""
    evaluation = evaluation_with()
    for name in ("sampler", "measures", "seed", "confidence", "history", "samplr"):
        with pytest.raises(dataclasses.FrozenInstanceError, match=name):
            setattr(evaluation, name, None)


def test_a_class_of_a_program_is_not_saved(tmp_path: Path) -> None:
    class Local(Passive):
        name = "local"

    Local.__module__, Local.__qualname__ = "__main__", "Local"
    sys.modules["__main__"].Local = Local  # type: ignore[attr-defined]
    evaluation = evaluation_with(sampler=Local)
    with pytest.raises(InputError, match="the spec names __main__:Local, which no other program"):
        evaluation.save(tmp_path / "run")
    assert not (tmp_path / "run").exists()
