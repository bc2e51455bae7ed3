"""Grades of the items of queries."""

from typing import Any

import pytest

from evalsampling import InputError
from evalsampling.label_spaces.grades import Grades
from evalsampling.spec.sections import Section


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"multilabel": ["a", "b"]}, "labels.multilabel: an item of a list has one grade"),
        ({"range": [0, 1]}, "labels.range: an item of a list has one grade"),
        ({"classes": [1, 2]}, "with pool.lists these are grades, 0, 1, 2"),
        ({"oracle": "stochastic"}, "labels.oracle: an item of a list is graded once"),
        ({"repeats": 3}, "labels.repeats: there are no control tasks"),
    ],
)
def test_what_is_wrong_is_told(content: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Grades.read(Section("labels", content))


def test_cells_know_of_a_query_which_lists_differ_from_the_first() -> None:
    space = Grades.read(Section("labels", {"classes": [0, 1, 2]}))
    assert space.signatures(3) == (1, 2, 2)
    assert space.codes == {"0": 0, "1": 1, "2": 2}
