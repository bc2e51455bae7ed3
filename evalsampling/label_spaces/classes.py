"""Labels that are one of a few classes with names."""

import dataclasses
import reprlib
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import (
    CONFIDENCE,
    EVEN,
    FLAG,
    LABEL,
    LOG_ODDS,
    SOFTMAX,
    Codes,
    Columns,
    InSpec,
    Keys,
    LabelSpace,
    Named,
    Scores,
    System,
    refuse_controls,
)
from evalsampling.label_spaces.spellings import plain
from evalsampling.stats.arrays import FloatArray

_ANSWERS = {"yes": True, "true": True, "no": False, "false": False}


@dataclasses.dataclass(frozen=True)
class Classes(LabelSpace):
    """Classes, one of which each row has.

    Attributes:
        values: whole numbers or texts, at least two; their places are their codes. Of two the
            second is positive, as models of labels take it: they are turned round if need be.
        positive: code of the positive class.
        turned: whether a spec lists two classes the other way round.
        chosen: whether a spec says which class is positive; else it is the last.
    """

    values: tuple[int | str, ...] = (0, 1)
    positive: int = 1
    turned: bool = dataclasses.field(default=False, compare=False)
    chosen: bool = dataclasses.field(default=True, compare=False)

    @classmethod
    def read(cls, labels: Keys) -> Self:
        values = labels.get("classes", [0, 1])
        _check_values(values)
        positive = labels.get("positive", values[-1])
        if positive not in values or isinstance(positive, bool):
            raise InputError(f"labels.positive: {positive!r} is not one of the classes {values!r}")
        # Codes are in the files of a workspace, so what is stored stays as it is.
        if len(values) == 2 and cls.has_classes and not labels.is_stored and positive == values[0]:
            return cls((values[1], positive), 1, turned=True)
        chosen = labels.get("positive") is not None
        return cls(tuple(values), values.index(positive), chosen=chosen)

    def to_mapping(self) -> dict[str, Any]:
        positive = {"positive": self.values[self.positive]} if self.chosen else {}
        return {"classes": list(self.values), **positive}

    def meant(self, texts: Collection[str]) -> dict[str, str]:
        """Return the class of each text that spells one in another way.

        Of two words, yes is the positive one and no the other: that is how people are asked.
        """
        found = super().meant(texts)
        if len(self.values) != 2 or not all(isinstance(value, str) for value in self.values):
            return found
        said = {text: _ANSWERS.get(plain(text)) for text in {*texts} - {*self.codes, *found}}
        of_answer = {True: self.text(self.positive), False: self.text(1 - self.positive)}
        return {**{text: of_answer[yes] for text, yes in said.items() if yes is not None}, **found}

    @property
    def names(self) -> tuple[int | str, ...]:
        return self.values

    def predictions(self, rows: Columns, system: System, score: Scores) -> Codes:
        if system.prediction is not None:
            return rows.places(system.prediction, self.values)
        assert score is not None
        assert system.threshold is not None
        # As float64, like curves and leaves: a float32 score counts for what it is.
        is_positive = score.astype(np.float64, copy=False) >= system.threshold
        return np.where(is_positive, self.positive, 1 - self.positive).astype(np.int64)

    def true_rates(self, rows: Columns) -> FloatArray:
        """Return P(label | row), (n, classes), from `LABEL` or columns called ``label.<class>``.

        Of two classes `LABEL` is the probability of the positive one, unless all its values are
        classes.
        """
        columns = [f"{FLAG}{name}" for name in self.values]
        if any(column in rows for column in columns):
            matrix = _of_columns(rows, columns)
            return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))
        if not self.is_binary or {*map(str, self.texts(rows.distinct(LABEL)[0]))} <= {*self.codes}:
            return super().true_rates(rows)
        positive = rows.shares(LABEL)
        return np.stack([1 - positive, positive], axis=1)[:, [1 - self.positive, self.positive]]

    def probabilities(self, rows: Columns, named: Named, rule: str, score: Scores) -> FloatArray:
        if isinstance(named, Mapping):
            columns = list(named.values())
            if rule == CONFIDENCE:
                return self._of_confidences(rows, *columns)
            if rule == SOFTMAX:
                logits = np.stack([rows.numbers(name) for name in columns], axis=1, dtype=float)
                return np.asarray(scipy.special.softmax(logits, axis=1))
            return _of_columns(rows, columns)
        if named is None and rule == EVEN:
            return np.full((len(rows), len(self.values)), 1 / len(self.values))
        values: npt.NDArray[np.floating]
        if named is not None:
            values = rows.shares(named)
        else:
            assert score is not None
            values = score
            if rule == LOG_ODDS:
                values = scipy.special.expit(score.astype(np.float64, copy=False))
        # Each class by itself, as they will be summed.
        both = np.empty((2, len(values)))
        positive = both[self.positive]
        positive[:] = values
        np.subtract(1, positive, out=both[1 - self.positive])
        return both.T

    def _of_confidences(self, rows: Columns, score: str, prediction: str) -> FloatArray:
        """Return the score for the class predicted; the others share the rest evenly."""
        confidence, others = rows.shares(score)[:, None], len(self.values) - 1
        predicted = np.eye(others + 1)[rows.places(prediction, self.values)]
        return np.asarray(np.where(predicted, confidence, (1 - confidence) / others))


@dataclasses.dataclass(frozen=True)
class Grades(Classes):
    """Grades: each item of a query has one; cells are of queries, by their expected gains.

    A query has one outcome, graded, so its predictions are whether a list is another than the
    first system's.
    """

    kind: ClassVar[str] = "grades"
    in_spec: ClassVar[InSpec] = InSpec(sampler="ranking", are="labels are grades of items")
    has_classes: ClassVar[bool] = False
    has_items: ClassVar[bool] = True

    @classmethod
    def read(cls, labels: Keys) -> Self:
        labels.refuse(("multilabel", "range", "space"), "an item of a list has one grade")
        grades = super().read(labels)
        if grades.values != tuple(range(len(grades.values))):
            raise InputError(
                "labels.classes: with pool.lists these are grades, 0, 1, 2 and so on, "
                f"got {list(grades.values)}"
            )
        if labels.get("oracle", "deterministic") != "deterministic":
            raise InputError("labels.oracle: an item of a list is graded once")
        refuse_controls(labels, "there are no control tasks among items of lists")
        return grades

    def signatures(self, systems: int) -> tuple[int, ...]:
        """Return 2, for a list that differs from the first system's or not; 1 for the first."""
        return (1, *(2,) * (systems - 1))


def _check_values(values: Any) -> None:
    """Raise an `InputError` that names the class that is wrong of those that a spec lists."""
    if not isinstance(values, list) or len(values) < 2:
        raise InputError(f"labels.classes: must list at least two classes, got {values!r}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, int | str):
            hint = " (put yes, no, true and false in quotes)" * isinstance(value, bool)
            raise InputError(f"labels.classes: must be whole numbers or text, got {value!r}{hint}")
        if isinstance(value, str) and not value.strip():
            raise InputError(f"labels.classes: {value!r} is blank, which no answer can be")
        if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63:
            raise InputError(f"labels.classes: no whole number of 64 bits: {reprlib.repr(value)}")
    if len({str(value) for value in values}) < len(values):
        raise InputError(f"labels.classes: two classes are spelt alike in {values!r}")


def _of_columns(rows: Columns, columns: Sequence[str]) -> FloatArray:
    """Return probabilities with a column for each class, shape (n, classes); they add to 1."""
    matrix = np.stack([rows.shares(column) for column in columns], axis=1)
    wrong = np.abs(matrix.sum(axis=1) - 1) > 1e-3
    if wrong.any():
        row = int(np.argmax(wrong))
        total = f"{matrix[row].sum():g}"
        raise rows.error(columns[0], row, f"probabilities of the classes sum to {total}, not 1")
    return matrix
