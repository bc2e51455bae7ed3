"""Labels that rows have already, as a spec and a command line say it."""

from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.spec.labels_at_hand import LabelsAtHand, drawn_by
from tests.spec.specs import parse


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ({"column": "human"}, "labels.drawn: say how the rows were drawn that have a label in hum"),
        ({"drawn": "random"}, "labels.drawn: is of labels that are in the pool"),
        ({"column": "human", "drawn": "somehow"}, "labels.drawn: must be random, clusters"),
        ({"column": "human", "drawn": {"chance": "p", "weight": "w"}}, "labels.drawn: must be"),
        ({"column": "human", "drawn": {"odds": "p"}}, "labels.drawn: must be random"),
        ({"column": "human", "drawn": {"chance": 3}}, "labels.drawn.chance: must be text, got 3"),
        ({"column": "human", "drawn": "clusters"}, "labels.drawn: clusters: name the column"),
        ({"column": "human", "drawn": "random", "votes": 2}, "labels.column: has one label of a"),
        ({"column": "human", "drawn": "random", "oracle": "stochastic"},
         "labels.column: has one label of a row"),
    ],
)  # fmt: skip
def test_what_is_wrong(labels: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(labels=labels)
    assert str(caught.value).startswith(message)


def test_the_sampler_must_weigh_them() -> None:
    message = "goes with the sampler calibrated, for one of at most 10 classes a row, not ais"
    with pytest.raises(InputError, match=message):
        parse(labels={"column": "human", "drawn": "random"}, sampler="ais")


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("random", LabelsAtHand("human", "random")),
        ("picked", LabelsAtHand("human", "picked")),
        ("clusters", LabelsAtHand("human", "clusters")),
        ("within:region", LabelsAtHand("human", "within", "region")),
        ("chance:p", LabelsAtHand("human", "chance", "p")),
        ("weight:a:b", LabelsAtHand("human", "weight", "a:b")),
        ("old/design.json", LabelsAtHand("human", "design", "/somewhere/old/design.json")),
    ],
)
def test_on_the_command_line(text: str, drawn: LabelsAtHand) -> None:
    pool = {"path": "x", "cluster": "talk", "slices": ["topic"]}
    spec = parse(pool=pool, labels={"column": "human", "drawn": drawn_by(text)})
    assert spec.labels.at_hand == drawn
    groups = (drawn.source,) if drawn.drawn == "within" else ()
    assert spec.pool.slices == ("topic", *groups)
    # Else the rows that the old evaluation left in front, of little chance, would come first.
    of_its_own = drawn.drawn in ("chance", "weight", "design")
    assert (spec.reading.seed != spec.seed) == of_its_own
