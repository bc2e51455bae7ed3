"""What every label space says: codes, texts, what annotators fill in, what probabilities are of."""

import abc
import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt

from evalsampling.errors import InputError
from evalsampling.label_spaces.spellings import label_texts, meant_texts, plain
from evalsampling.stats import score_kinds
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray

COLUMN, SCORE, LOG_ODDS, EVEN, NO_PROBABILITY = "column", "score", "expit(score)", "even", "none"
"""Rules: where the probabilities of a system, or the prior ones, come from."""

RANKS = "ranks(score)"
"""Rule of prior probabilities of scores that are an order; a system has none of its own then."""

CONFIDENCE = score_kinds.CONFIDENCE
"""Rule of probabilities of several classes that are made of `Confidences`."""

SCORE_RULES = {
    score_kinds.PROBABILITY: SCORE,
    score_kinds.LOG_ODDS: LOG_ODDS,
    score_kinds.ORDER: RANKS,
    CONFIDENCE: SCORE,
}
"""The rule by which probabilities come from scores, by what these are."""

SOFTMAX = "softmax(logits)"
"""Rule of probabilities that are made of a column of logits for each class."""

MAJORITY, MEDIAN = "majority", "median"
"""Rules by which several votes decide a row."""

UNSURE_LABEL = "unsure"
"""Answer of an annotator who cannot decide, unless it is the name of a class."""

LABEL = "label"
"""Column of labels in files of them."""

FLAG = "label."
"""What the name of a column of one label begins with: ``label.toxic``."""


Scores = npt.NDArray[np.floating] | None
"""Scores of rows, shape (n,), None if there are none."""

Codes = npt.NDArray[np.integer]
"""Codes of labels, shape (n,), as narrow as they are stored."""

Named = str | Mapping[str, str] | None
"""Column of the probability of the positive class, columns of all classes by name, or neither."""


class Logits(dict[str, str]):
    """Columns of the logits of all classes by name, in place of columns of probabilities."""


class Confidences(dict[str, str]):
    """Columns ``score``, the probability of the class predicted, and ``prediction``, this class."""


class Keys(Protocol):
    """A section of a spec."""

    is_stored: bool

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value, the default if it is missing or null."""

    def refuse(self, keys: Sequence[str], problem: str) -> None:
        """Raise an `InputError` with the problem if a key is there."""

    def text(self, key: str) -> str | None:
        """Return a text that is not empty, None if it is missing."""

    def numbers(self, key: str) -> tuple[float, ...]:
        """Return a list of finite numbers."""


class System(Protocol):
    """The columns of a system's outputs; see `spec.SystemSpec`."""

    @property
    def score(self) -> str | None:
        """Column of its scores."""

    @property
    def prediction(self) -> str | None:
        """Column of its predictions."""

    @property
    def threshold(self) -> float | None:
        """Score from which on it predicts the positive class, if no column has its predictions."""

    @property
    def by_label(self) -> Mapping[str, str]:
        """Columns of 0 and 1, by label, in place of a column of predictions."""


class Columns(Protocol):
    """Columns of n rows of a pool. Each method raises an `InputError` that names the bad row."""

    def __len__(self) -> int:
        """Return the number of rows."""

    def __contains__(self, name: str) -> bool:
        """Tell whether there is a column of a name."""

    def distinct(self, name: str) -> tuple[list[Any], IntArray]:
        """Return the distinct values of a column, and the place among them of each row's."""

    def numbers(self, name: str) -> npt.NDArray[np.floating]:
        """Return a column of finite numbers, shape (n,)."""

    def shares(self, name: str) -> FloatArray:
        """Return a column of numbers in [0, 1], shape (n,)."""

    def flags(self, name: str) -> IntArray:
        """Return a column of 0 and 1, or of truth values, shape (n,)."""

    def places(self, name: str, among: Sequence[int | str]) -> Codes:
        """Return the place of each value among some values, shape (n,)."""

    def tags(self, name: str, among: Sequence[str]) -> BoolArray:
        """Return which labels each row has, shape (n, labels)."""

    def error(self, column: str, row: int, problem: str) -> InputError:
        """Return the error of one value, ``row`` being its place in these rows."""


@dataclasses.dataclass(frozen=True)
class Field:
    """What an annotator fills in.

    Attributes:
        words: what to write, in a sentence that ends with a colon and `choices` or `form`.
        choices: texts to choose from; none if anything may be written.
        several: whether more than one of them may be chosen, or none.
        form: what may be written where there are no choices.
        ends: least and greatest number, if it is one.
    """

    words: str
    choices: tuple[str, ...] = ()
    several: bool = False
    form: str = ""
    ends: tuple[str, str] | None = None


@dataclasses.dataclass(frozen=True)
class InSpec:
    """What a spec of a kind of labels may leave out, what it has keys for, and what it refuses.

    Attributes:
        measure: of a spec that names none.
        sampler: of a spec that names none; None for that of classes.
        score: key of ``pool`` that names the column that drives the strata.
        system_keys: of each system; the first names what `score` names of a single one.
        compared: our name of the space that takes its place where several systems predict; None if
            it stays.
        noun: what the names are of.
        are: what labels are, in words that end a sentence.
        refusal: what is said of a measure whose `label_kinds` lack the kind; empty if such a
            measure finds out itself.
    """

    measure: Any = "f1"
    sampler: str | None = None
    score: str = "score"
    system_keys: tuple[str, ...] = ("score", "score_is", "prediction", "probability", "logits")
    compared: str | None = None
    noun: str = "classes"
    are: str = "labels are classes"
    refusal: str = ""


class LabelSpace(abc.ABC):
    """What labels there are. A label is stored as a whole number of at least 0, its code.

    What it does not override is right for a few classes, one of which each row has.

    Attributes:
        kind: in one word; measures say by it which labels they are about.
        in_spec: defaults and keys.
        has_score: whether a column drives the strata; else what systems predict does.
        rule: the rule by which several votes decide: `MAJORITY`, or `MEDIAN` of numbers.
        has_classes: whether rows have one of a few labels, of which cells tell the probabilities.
        has_items: whether labels are of items of a row, not of the row.
        tagged: whether cells tell the probability of each of several labels of a row.
        positive: code of the positive class.
        turned: whether names are in another order than in the spec.
        chosen: whether a spec says which class is positive.
    """

    kind: ClassVar[str] = "classes"
    in_spec: ClassVar[InSpec] = InSpec()
    has_score: ClassVar[bool] = True
    rule: ClassVar[str] = MAJORITY
    has_classes: ClassVar[bool] = True
    has_items: ClassVar[bool] = False
    tagged: ClassVar[bool] = False
    turned: bool = False
    chosen: bool = True
    positive: int

    # --- as a spec has it

    @classmethod
    def read(cls, labels: Keys) -> Self:
        """Return the space that the section ``labels`` of a spec describes.

        Raises:
            InputError: naming the key that is wrong.
        """
        raise NotImplementedError

    @abc.abstractmethod
    def to_mapping(self) -> dict[str, Any]:
        """Return the space's own keys of ``labels``, as `read` takes them."""

    @property
    @abc.abstractmethod
    def names(self) -> tuple[int | str, ...]:
        """What annotators choose from, as a spec names it; empty if from nothing."""

    def check_order(self, parameters: Iterable[Any]) -> None:
        """Raise an `InputError` if one is a list, in an order of classes that was turned round."""
        if self.turned and any(isinstance(one, list | tuple) for one in parameters):
            raise InputError(
                f"labels.classes: list the positive class last, as {list(self.names)}: losses, "
                "weights and a sampler's lists are in that order"
            )

    @property
    def outcomes(self) -> tuple[int | str, ...]:
        """What the columns of probabilities are of, at least 2: codes are their places."""
        return self.names

    @property
    def size(self) -> str:
        """How many there are, in words."""
        return f"{len(self.names)} {self.in_spec.noun}"

    @property
    def needs_columns(self) -> bool:
        """Whether probabilities need a column for each of `names`: one column does not tell all."""
        return len(self.names) > 2

    @property
    def is_binary(self) -> bool:
        """Whether a threshold decides, and a column of probabilities tells all."""
        return len(self.outcomes) == 2

    def signatures(self, systems: int) -> tuple[int, ...]:
        """Return how many predictions of each system cells tell apart."""
        return (len(self.outcomes),) * systems

    def score(self, pool: Keys, without: bool) -> str | None:
        """Return the column that drives the strata, None if the spec does not name it.

        Args:
            pool: the section.
            without: whether strata are features' or those of columns, not cut from a score.

        Raises:
            InputError: naming a key that is for other labels.
        """
        pool.refuse(["variance"], "is of labels that are numbers, which need labels.range")
        return pool.text("score")

    # --- codes and texts

    @functools.cached_property
    def codes(self) -> Mapping[str, int]:
        """Code of each label by its text; may list none, where there are too many."""
        return {str(outcome): code for code, outcome in enumerate(self.outcomes)}

    def text(self, code: int) -> str:
        """Return the text of a code."""
        return str(self.outcomes[code])

    @property
    def words(self) -> str:
        """The possible labels, in words."""
        return str(list(self.codes))

    def problem(self, text: str) -> str:
        """Return why a text is no label."""
        return f"label {text!r} is none of: {', '.join(self.codes)}"

    def meant(self, texts: Collection[str]) -> dict[str, str]:
        """Return the label of each text of a column that spells one in another way."""
        return meant_texts(texts, self.codes)

    def texts(self, values: Sequence[Any]) -> list[str | None]:
        """Return a column of labels of any type as texts, None for a null or a NaN.

        What is no label is returned as it was given.
        """
        return label_texts(values, self.codes)

    def spelled(self, text: str) -> str:
        """Return an answer in the spelling of its label; as it is if it is none."""
        return text

    def of_choices(self, chosen: Sequence[str]) -> tuple[str | None, str]:
        """Return the text of what an annotator chose from a list, and what is wrong with it."""
        choices = f"{len(chosen)} choices" if chosen else "no choice"
        return None, f"{choices} where one class is wanted"

    @property
    def flags(self) -> tuple[str, ...]:
        """The labels that columns of 0 and 1 may tell, all of them or none; empty if not so."""
        return ()

    def goes_on(self, text: str) -> bool:
        """Tell whether a text is the beginning of a longer answer."""
        given = plain(text)
        answers = map(plain, [*self.codes, UNSURE_LABEL])
        return any(answer != given and answer.startswith(given) for answer in answers)

    # --- annotators

    @property
    def field(self) -> Field:
        """What an annotator fills in."""
        return Field("one of these, exactly as it stands here", tuple(map(str, self.names)))

    @property
    def rates(self) -> Mapping[str, Sequence[int]]:
        """What rates are shown of: titles with the codes that count; of two classes one."""
        texts = list(self.codes)
        shown = [self.positive] if self.is_binary else range(len(texts))
        return {texts[code]: [code] for code in shown}

    # --- columns of a pool

    @abc.abstractmethod
    def predictions(self, rows: Columns, system: System, score: Scores) -> Codes:
        """Return the codes that a system predicts, shape (n,), as narrow as they are stored."""

    def tags(self, rows: Columns, system: System) -> BoolArray | None:
        """Return which labels a system predicts, shape (n, labels); None if codes say it all."""
        return None

    def signed(self, predictions: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return predictions as cells are cut by them: codes below `signatures`, (n, systems)."""
        return predictions

    @abc.abstractmethod
    def probabilities(self, rows: Columns, named: Named, rule: str, score: Scores) -> FloatArray:
        """Return the probability of each outcome, shape (n, outcomes); rows add to 1.

        Args:
            rows: the columns.
            named: column of the positive class, or one for each of `names`; of their logits by the
                rule `SOFTMAX`.
            rule: where they come from.
            score: shape (n,), for rules that need it.
        """

    def prior_rule(self, named: Any, kind: str | None) -> str:
        """Return where probabilities come from.

        Args:
            named: the columns of probabilities, None if there are none.
            kind: what the scores are, see `stats.score_kinds`; None if there are none.
        """
        if named is not None:
            of_each = SOFTMAX if isinstance(named, Logits) else COLUMN
            return CONFIDENCE if isinstance(named, Confidences) else of_each
        if kind is None or self.needs_columns:
            return NO_PROBABILITY
        return SCORE_RULES[kind]

    def true_codes(self, rows: Columns) -> IntArray:
        """Return the labels in a file of them, shape (n,): its column `LABEL`."""
        values, place = rows.distinct(LABEL)
        texts = self.texts(values)
        codes = np.array([self.codes.get(str(text), -1) for text in texts], dtype=np.int64)[place]
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise rows.error(LABEL, row, f"{texts[place[row]]!r} is no class")
        return codes

    def true_rates(self, rows: Columns) -> FloatArray:
        """Return P(label | row) in a file for a stochastic oracle, shape (n, outcomes).

        Here labels are certain; see `true_codes`.
        """
        return np.eye(len(self.outcomes))[self.true_codes(rows)]


@dataclasses.dataclass(frozen=True)
class UnlistedCodes(Mapping[str, int]):
    """Codes of labels by their texts that are too many to list, so iteration yields none."""

    code: Callable[[str], int | None]  # returns the code of a text, None if it is no label

    def __getitem__(self, text: str) -> int:
        code = self.code(text)
        if code is None:
            raise KeyError(text)
        return code

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def refuse_controls(labels: Keys, problem: str) -> None:
    """Raise an `InputError` with the problem if a spec asks for gold rows or repeats."""
    for key in ("gold", "repeats"):
        if labels.get(key):
            raise InputError(f"labels.{key}: {problem}")


def flag_columns(key: str, given: Any, flags: Sequence[str]) -> dict[str, str]:
    """Return the column of 0 and 1 of each label, if predictions are given so, else nothing."""
    return column_of_each(key, given, flags) if flags and isinstance(given, Mapping) else {}


def column_of_each(key: str, given: Mapping[Any, Any], names: Sequence[str]) -> dict[str, str]:
    """Return the column of each class or label, in the order of the names."""
    columns = {str(name): column for name, column in given.items()}
    texts = all(isinstance(column, str) for column in columns.values())
    if set(columns) != set(names) or not texts:
        raise InputError(
            f"{key}: must name a column for each of {list(names)}, as `labels` has them, "
            f"got {given!r}"
        )
    return {name: columns[name] for name in names}
