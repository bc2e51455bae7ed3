"""What holds for labels of every kind."""

import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from evalsampling import InputError
from evalsampling.label_spaces.base import LabelSpace
from evalsampling.label_spaces.classes import Classes, Grades
from evalsampling.label_spaces.numbers import Numbers
from evalsampling.label_spaces.sets import Sets, Tags
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import LabelColumns
from evalsampling.spec import SystemSpec
from evalsampling.spec.labels import labels_mapping, read_labels
from evalsampling.spec.sections import Section

SPACES: dict[str, tuple[LabelSpace, list[str], Any]] = {
    "two classes": (Classes(("no", "yes")), ["no", "yes"], "p"),
    "three classes": (
        Classes((0, 1, 2), 0),
        ["2", "0", "1"],
        {"0": "p", "1": "half rest", "2": "other half"},
    ),
    "grades": (Grades((0, 1, 2), 2), ["0", "1", "2"], None),
    "sets": (Sets(("a", "b")), ["none", "a+b", "b"], {"a": "p", "b": "q"}),
    "tags": (
        Tags(tuple("abcdefghi")),
        ["none", "a+b", "i"],
        dict(zip("abcdefghi", ["p", "q"] * 4 + ["p"], strict=True)),
    ),
    "numbers": (Numbers(-1, 3), ["-1", "2.5", "0"], None),
}
"""Each kind, some of its labels, and columns of its probabilities."""

ALL = pytest.mark.parametrize(("space", "texts", "named"), SPACES.values(), ids=SPACES)
P = np.array([0.25, 0.5, 1.0])
COLUMNS = {"p": P, "q": 1 - P / 2, "half rest": (1 - P) / 2, "other half": (1 - P) / 2}


@ALL
def test_texts_come_back_from_their_codes(space: LabelSpace, texts: list[str], named: Any) -> None:
    codes = [space.codes[text] for text in texts]
    assert [space.text(code) for code in codes] == texts
    assert min(codes) >= 0
    assert list(space.codes.values()) in ([], list(range(len(space.outcomes))))
    assert pickle.loads(pickle.dumps(space)) == space


@ALL
def test_what_is_no_label_has_no_code(space: LabelSpace, texts: list[str], named: Any) -> None:
    assert "teal" not in space.codes
    assert space.problem("teal").startswith("label 'teal' is no")


@ALL
def test_a_spec_comes_back_as_it_was(space: LabelSpace, texts: list[str], named: Any) -> None:
    content = Section("labels", space.to_mapping())
    labels = read_labels(content, "/", of_items=space.has_items)
    assert labels.space == space
    assert labels_mapping(labels) == {"oracle": "deterministic", **space.to_mapping()}


@ALL
def test_labels_of_a_file_are_its_texts(space: LabelSpace, texts: list[str], named: Any) -> None:
    column: Any = [float(text) for text in texts] if space.kind == "numbers" else texts
    rows = LabelColumns.of(PoolBatch(pa.record_batch({"label": column})))
    assert space.true_codes(rows).tolist() == [space.codes[text] for text in texts]


@ALL
def test_probabilities_are_of_the_outcomes(space: LabelSpace, texts: list[str], named: Any) -> None:
    rows = LabelColumns.of(PoolBatch(pa.record_batch(COLUMNS)))
    rule = space.prior_rule(named, None)
    if named is None and rule == "none":
        rule = "even"
    given = space.probabilities(rows, named, rule, None)
    assert given.shape == (3, len(space.outcomes))
    if not space.tagged:  # of labels each has a probability by itself
        np.testing.assert_allclose(given.sum(axis=1), 1)
    assert given.min() >= 0


@ALL
def test_cells_tell_apart_as_many_predictions_as_there_are_signatures(
    space: LabelSpace, texts: list[str], named: Any
) -> None:
    assert len(space.signatures(3)) == 3
    signed = space.signed(np.array([space.codes[text] for text in texts]))
    assert space.has_items or signed.max() < space.signatures(1)[0]


@ALL
def test_an_annotator_who_chose_nothing_is_told_what_is_wanted(
    space: LabelSpace, texts: list[str], named: Any
) -> None:
    text, problem = space.of_choices(())
    assert (text is None) == bool(problem)
    assert bool(space.field.choices) != bool(space.field.form)
    assert space.field.choices == tuple(map(str, space.names))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"space": "grades"}, "labels.space: grades is not asked for by it"),
        ({"space": "teal"}, "labels.space: teal is of a package that is not installed here"),
        ({"space": "numpy:array"}, "numpy:array is no class below .*LabelSpace"),
        ({"space": "teal", "classes": [0, 1]}, "labels.classes: with labels.space, which says"),
        ({"space": 3}, "unknown labels.space 3"),
    ],
)
def test_a_space_that_is_none_is_told(content: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_labels(Section("labels", content), "/")


def test_predictions_by_threshold_and_by_column() -> None:
    rows = LabelColumns.of(PoolBatch(pa.record_batch({"f": ["no", "yes"], "score": [0.7, 0.2]})))
    space, score = Classes(("no", "yes")), np.array([0.7, 0.2])
    by_column = SystemSpec(None, "score", "f", None, None)
    by_threshold = SystemSpec(None, "score", None, 0.5, None)
    assert space.predictions(rows, by_column, score).tolist() == [0, 1]
    assert space.predictions(rows, by_threshold, score).tolist() == [1, 0]
