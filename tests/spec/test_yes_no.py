"""Classes that are a yes and a no."""

import pytest

from evalsampling.spec.yes_no import yes_and_no


@pytest.mark.parametrize(
    ("classes", "yes", "no"),
    [(["0", "1"], "1", "0"), (["yes", "no"], "yes", "no"), ([" N", "Y"], "Y", " N"),
     (["True", "False"], "True", "False")],
)  # fmt: skip
def test_words_of_two_classes(classes: list[str], yes: str, no: str) -> None:
    words = yes_and_no(classes)
    assert [words[word] for word in ("yes", "y", "true")] == [yes] * 3
    assert [words[word] for word in ("no", "n", "false")] == [no] * 3


@pytest.mark.parametrize(
    "classes", [["0", "1", "2"], ["yes", "maybe"], ["yes", "y"], ["other", "car"], ["yes"]]
)
def test_other_classes_have_no_such_words(classes: list[str]) -> None:
    assert yes_and_no(classes) == {}
