"""What the columns of a pool may be, guessed from their names and a sample of their values."""

import dataclasses
import itertools
import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.label_spaces.spellings import YES, plain, yes_and_no
from evalsampling.pool.sampled_columns import NUMBER_TEXT, SCORES, SampledColumn
from evalsampling.spec.gates import NUMBER
from evalsampling.spec.id_columns import sides_of
from evalsampling.spec.sink import is_taken
from evalsampling.stats.score_kinds import ROUNDING

MOST_SLICES = {"text": 20, "truth": 2, "whole": 10}
"""Most values of a column of a kind that may be a slice."""

IDS = ("id", "key", "uid", "uuid", "pair_id", "row_id", "record_id")
_PROBABILITIES = ("probability", "prob", "proba", "chance")
SAID = ("prediction", "predicted", "pred")
"""Words in names of what a system says, and nobody else."""

_PREDICTIONS = (
    *SAID, "guess", "decision", "class", "label", "output",
    "verdict", "judge", "judgement", "flagged", "flag", "passed", "result", "outcome",
)  # fmt: skip
_OF_PEOPLE_TOO = {"class", "label", "result", "outcome"}

_VERDICTS = (*SAID, "verdict", "decision")
_LINKS = ("match", "matched", "link", "linked", "flag", "flagged", "positive", "hit")
"""Ends of names of predictions, and of those of predicted positives, beside a column of labels."""

TRUTHS = ("y_true", "truth", "ground_truth", "gold", "true_label", "gold_label", "actual")
"""Names of columns of labels that rows have already."""

LABELS = (*TRUTHS, "label", "human", "annotation", "answer")


@dataclasses.dataclass(frozen=True)
class Guess:
    """Which columns may have which role in a spec; None where no column looks like it."""

    # names the rows; several columns where they do so together, none if nothing does
    id: tuple[SampledColumn, ...]
    score: SampledColumn | None  # higher for positives
    probability: SampledColumn | None  # in [0, 1], of the positive class of two, beside the score
    prediction: SampledColumn | None  # the classes predicted
    classes: tuple[int | str, ...]  # of predictions, as they stand in a spec
    rows_of: Mapping[str, int]  # rows of each class that is a text
    slices: tuple[SampledColumn, ...]  # columns with few values
    payload: tuple[SampledColumn, ...]  # columns that annotators may want to see
    # other columns that may be the scores of further systems
    rivals: tuple[SampledColumn, ...]
    unread_score: SampledColumn | None  # called or written as one, which it cannot be as it stands
    # score and prediction of each, if any, by name, where there are several: ``gbm_score`` and
    # ``gbm_pred``, ``rf_score`` and ``rf_pred``; or columns with the words of the labels
    systems: Mapping[str, tuple[SampledColumn | None, SampledColumn | None]]
    truth: SampledColumn | None  # labels that rows have already, by its name
    # the probability of each class, of more than two; empty if one has none
    by_class: Mapping[int | str, SampledColumn]
    repeated: SampledColumn | None  # what is called an id, where nothing names rows

    @property
    def has_verdicts_alone(self) -> bool:
        """Whether strata can be nothing but predictions: no score, or none of many classes."""
        lacks_score = self.score is None and not self.unread_score
        of_many = len(self.classes) > 2 and not (self.is_confidence or self.by_class)
        return self.prediction is not None and (of_many or (lacks_score and not self.by_class))

    @property
    def is_confidence(self) -> bool:
        """Whether the score may be the confidence in the class predicted.

        It is never below 1/2, and no threshold of it made the predictions. Of more than two classes
        it is never below what all may have at once, to two decimals, and called a score.
        """
        score, said, many = self.score, self.prediction, len(self.classes) > 2
        if score is None or said is None or not self.classes or score.rows != said.rows:
            return False
        if not score.is_share or not score.low or score.low < 1 / len(self.classes) - 0.005 * many:
            return False
        if many:
            return score.distinct > 1 and best([score], SCORES) is not None
        return _overlap(score, said)

    @property
    def may_be_labels(self) -> bool:
        """Whether no threshold of a likely score, and no likeliest class, makes the predictions."""
        said, score, names = self.prediction, self.score, {*_PREDICTIONS} - _OF_PEOPLE_TOO
        if said is None or self.is_confidence or best([said], [*names]) is not None:
            return False
        if self.by_class:
            return not _are_likeliest(said, self.by_class)
        if score is None or score.low is None or score.high is None or said.distinct != 2:
            return False
        is_log_odds = score.low < 0 < score.high and best([score], SCORES) is not None
        return (score.is_share or is_log_odds) and _overlap(score, said)

    @property
    def why_open(self) -> str:
        """Why a key could not be guessed."""
        why, id, score = "no column or several look like it", self.repeated, self.unread_score
        if id is not None:
            return f"{why}: {id.name} has {id.distinct:,} values in {id.rows:,} rows"
        if not self.score and score and score.kind in ("text", NUMBER_TEXT):
            texts = (one for one in score.first.to_pylist() if one and not NUMBER.fullmatch(one))
            return f"{why}: {score.name} has {next(texts, '')!r}, which is no number"
        return why

    @property
    def positive(self) -> int | str:
        """The class that measures may be about: of two that are no yes and no the rarer one."""
        return _positive(self.classes, self.rows_of)

    @property
    def roles(self) -> dict[str, str]:
        """What a system says of rows: the role of each column, by its name."""
        roles = {"score": self.score, "prediction": self.prediction}
        return {one.name: role for role, one in roles.items() if one is not None}

    @classmethod
    def of(
        cls, columns: Sequence[SampledColumn], known: Sequence[str] = (), label: str | None = None,
        positive: str | None = None,
    ) -> "Guess":  # fmt: skip
        """Return which columns may have which role, by their names and values.

        Columns whose role is ``known`` are left out. The values of the column of labels are likely
        to be those of the predictions. ``positive`` is a class that measures are to be about.
        """
        labelled = next((each for each in columns if each.name == label), None)
        labels = set() if labelled is None else {*labelled.values}
        truths = [each for each in columns if each.values and each.name.lower() in TRUTHS]
        # All rows that are predicted positive may be those that have a label.
        columns = [
            column for column in columns
            if column.name not in known and column not in truths
            and not (column.of_labels and (column.nulls or best([column], _PREDICTIONS) is None))
        ]  # fmt: skip
        id = _ids(columns)
        rest = [column for column in columns if column not in id and column.nearly_full]
        # Of two values a score would order rows no further than a verdict does.
        graded = [column for column in rest if column.distinct > 2 or column.is_unique]
        numbers = [column for column in graded if column.kind == "number"]
        whole = [column for column in graded if column.kind == "whole"]
        full = [column for column in numbers if not column.nulls]
        shares = [column for column in full if column.is_share]
        score = best(numbers, SCORES) or best(whole, SCORES) or best(full, ["match_weight"])
        score = score or next(iter((*shares, *full)), None)
        coded = [column for column in rest if column is not score and _is_coded(column)]
        alike = [column for column in coded if _is_like(column, labels)]
        # Several columns of words, none of them called a prediction, are those of several systems.
        words = [column for column in alike if column.kind == "text" and score is None]
        if any(column.name.lower() in _PREDICTIONS for column in words):
            words = []
        by_values = alike[0] if len(alike) == 1 or len(words) > 1 else None
        prediction = best(alike, _PREDICTIONS) or by_values or _prediction(coded, full)
        # A threshold would judge another verdict than that of which positives alone are written
        # down. That the other rows lack it is told when it is read.
        begun = (column for column in columns if _is_partly_written(column, bool(labels)))
        prediction = prediction or next(begun, None)
        # A threshold predicts one of two classes, and labels say what these are called. A yes or
        # no is 1 or 0 where they are.
        by_number = labels == {"0", "1"} and prediction and yes_and_no(prediction.values)
        by_labels = (prediction is None and len(labels) == 2) or by_number
        said = labelled if by_labels else prediction
        # Probabilities of all classes name these where nothing else does.
        is_all = said is None and (shares[2:] or (shares[1:] and score in shares))
        named = _called(shares) if is_all and _sum_to_one(shares) else {}
        classes, rows_of = tuple(named) or _classes(said), {} if said is None else said.classes
        both = [column for column in shares if column is score or _sum_to_one([score, column])]
        outputs = _named(classes, full) if len(classes) == 2 and score not in shares else {}
        both = [*outputs.values()] if score in outputs.values() else both
        if len(both) == 2:
            likely = None if named else _positive(classes, rows_of)
            score = _of_positives(both, prediction, positive or likely)
            classes = tuple(sorted(classes, key=lambda name: named.get(name) is score))
        # Beside a score that is a probability by its name another one is of the other class.
        is_one = score is not None and best([score], _PROBABILITIES) is not None
        others = [] if is_one else [column for column in shares if column is not score]
        probability = best(others, _PROBABILITIES) if len(classes) == 2 else None
        systems = _systems((*numbers, *whole), coded) if len(classes) == 2 else {}
        alone = words if len(words) > 1 else coded if score is None else ()
        names = [one.name if one in words else _without(SAID, one.name) for one in alone]
        if sum(map(bool, names)) > 1:
            systems = {name: (None, one) for name, one in zip(names, alone, strict=True) if name}
        by_class: dict[int | str, SampledColumn] = {}
        if len(classes) > 2:
            by_class = named or _by_class(classes, shares, full, prediction)
        if score in by_class.values():
            score = None
        of_systems = itertools.chain(*systems.values())
        chosen = (*both, *id, score, probability, prediction, *by_class.values(), *of_systems)
        used = {column.name for column in chosen if column is not None}
        others = [column for column in columns if column.name not in used]
        of_people = truths if label or truths else _likely_labels(others, classes, prediction)
        beside = [column for column in others if column not in of_people]
        slices = tuple(filter(_is_slice, beside))
        guess = cls(
            id=id,
            score=score,
            probability=probability,
            prediction=prediction,
            classes=classes,
            rows_of=rows_of,
            slices=slices,
            payload=tuple(c for c in beside if c not in slices and _is_shown(c, prediction)),
            rivals=tuple(column for column in shares if column.name not in used),
            unread_score=next(filter(_may_be_score, others), None),
            systems=systems,
            truth=next(iter(of_people), None),
            by_class=by_class,
            repeated=None if id else best((one for one in columns if one.distinct), IDS),
        )
        is_said = label or truths or not guess.may_be_labels
        return guess if is_said else dataclasses.replace(guess, prediction=None, truth=prediction)


def _ids(columns: Sequence[SampledColumn]) -> tuple[SampledColumn, ...]:
    """Return the columns that name the rows, none if nothing does."""
    ids = [each for each in columns if each.kind in ("whole", "text") and each.is_unique]
    # Called an id, and one but for some rows: that these repeat is told when it is read.
    meant = [each for each in columns if each.name.lower() in IDS and each.nearly_unique]
    single = best(ids, IDS) or best(meant, IDS) or next(iter(ids), None)
    # In the first rows the ids of records may be unique too.
    pair = () if any(column.name.lower() in IDS for column in ids) else _pair(columns)
    return pair or (() if single is None else (single,))


def _is_coded(column: SampledColumn) -> bool:
    """Return whether the values of a column may be classes."""
    is_class = column.values and column.kind != "number" and column.distinct >= 1
    return bool(is_class) and all(map(str.strip, column.values))


def _is_like(column: SampledColumn, labels: set[str]) -> bool:
    """Return whether the values of a column are those of labels; of texts there may be more."""
    if column.kind != "text":  # Numbers are more often like the labels by chance than words are.
        return bool(labels) and labels == {*column.values}
    return bool(labels) and {*map(plain, labels)} <= {*map(plain, column.values)}


def _may_be_score(column: SampledColumn) -> bool:
    """Return whether a column is called or written as a score, though it is none as it stands."""
    is_graded = column.distinct > 2 or column.kind == "other"
    return is_graded and (column.kind == NUMBER_TEXT or best([column], SCORES) is not None)


def _prediction(
    coded: Sequence[SampledColumn], full: Sequence[SampledColumn]
) -> SampledColumn | None:
    """Return the column of predictions: by its name, by columns called after classes, by yes."""
    apt = (each for each in coded if each.kind == "text" and _named(_classes(each), full))
    says = [
        column for column in coded
        if not column.nulls and (column.kind == "truth" or yes_and_no(column.values))
    ]  # fmt: skip
    only = says[0] if len(says) == 1 else None
    return best(coded, _PREDICTIONS) or next(apt, None) or only


def _by_class(
    classes: Sequence[int | str], shares: Sequence[SampledColumn],
    full: Sequence[SampledColumn], said: SampledColumn | None,
) -> dict[int | str, SampledColumn]:  # fmt: skip
    """Return the column of the probability of each class, or of what makes it by a softmax."""
    named = _named(classes, shares)
    if _sum_to_one([*named.values()]):
        return named
    outputs = _named(classes, full)
    return outputs if outputs and said and _are_likeliest(said, outputs) else {}


def _is_slice(column: SampledColumn) -> bool:
    """Return whether results may be reported for each value of a column."""
    are_few = 2 <= column.distinct <= MOST_SLICES.get(column.kind, 0) and not column.nearly_unique
    is_score = column.kind == "whole" and best([column], SCORES) is not None
    return are_few and not is_score and best([column], _PREDICTIONS) is None


def _is_shown(column: SampledColumn, said: SampledColumn | None) -> bool:
    """Return whether annotators may be shown a column: a text that tells nothing of a system."""
    of_system = best([column], SCORES) or (column.values and best([column], _PREDICTIONS))
    is_text = column.kind == "text" and not is_taken(column.name)
    return is_text and not of_system and not _tells(column, said)


def is_system(
    own: Sequence[SampledColumn], columns: Sequence[SampledColumn], label: str | None
) -> bool:
    """Return whether a file has what a system says of a pool's rows, and no labels but these."""
    names, score = {one.name for one in columns}, Guess.of(columns, [label or ""], label).score
    if score is not None and {score.name} <= {one.name for one in own} <= names:
        return label is None or label in names
    graded = any(one.is_measured for one in own) and not any(one.values for one in own)
    return label is None and best(own, LABELS) is None and (graded or best(own, SAID) is not None)


def _overlap(score: SampledColumn, said: SampledColumn) -> bool:
    """Return whether no threshold of a score tells rows of two classes apart."""
    rows = pa.table({"score": score.first, "said": said.first}).group_by("said")
    ends = rows.aggregate([("score", "min"), ("score", "max")])
    least, greatest = pc.max(ends["score_min"]).as_py(), pc.min(ends["score_max"]).as_py()
    return len(ends) > 1 and least < greatest


def _positive(classes: Sequence[int | str], rows: Mapping[str, int]) -> int | str:
    """Return the class that measures may be about, given the rows of each that is a text."""
    if isinstance(classes[-1], int) or len(rows) != 2 or yes_and_no(rows):
        return classes[-1]
    return min(sorted(rows, reverse=True), key=rows.__getitem__)


def _named(
    classes: Sequence[int | str], shares: Sequence[SampledColumn]
) -> dict[int | str, SampledColumn]:
    """Return the column called after each class, by the ends of names; empty if one has none."""

    def words(name: object) -> str:
        return "_" + re.sub(r"[\W_]+", "_", str(name).casefold()).strip("_")

    columns = {}
    for name in classes:
        fitting = [column for column in shares if words(column.name).endswith(words(name))]
        if fitting:  # `p_a`, and not `p_not_a`
            columns[name] = min(fitting, key=lambda column: len(column.name))
    return columns if len(columns) == len(classes) else {}


def _are_likeliest(said: SampledColumn, by_class: Mapping[int | str, SampledColumn]) -> bool:
    """Return whether each row has the class whose probability is the greatest of all."""
    shares = np.stack([column.first.to_numpy() for column in by_class.values()])
    if said.nulls or said.rows != shares.shape[1]:
        return True
    place = {plain(str(name)): number for number, name in enumerate(by_class)}
    own = [place[plain(str(name))] for name in said.first.to_pylist()]
    return bool(np.all(shares[own, range(said.rows)] >= shares.max(axis=0) - ROUNDING))


def _sum_to_one(columns: Sequence[SampledColumn | None]) -> bool:
    """Return whether columns of shares are probabilities of all classes, by every row."""
    full = [one for one in columns if one is not None and one.is_share and not one.nulls]
    if len(full) < len(columns) or len({one.rows for one in full}) > 1:
        return False
    return bool(np.max(np.abs(sum(one.first.to_numpy() for one in full) - 1)) <= ROUNDING)


def _of_positives(
    both: Sequence[SampledColumn], said: SampledColumn | None, positive: int | str | None
) -> SampledColumn:
    """Return the column of the positive class: by predictions, by its name, or the rarer."""
    if said is not None and said.rows == both[0].rows:
        names = [plain(str(value)) for value in said.first.to_pylist()]
        chosen = pa.array([name in (plain(str(positive)), "true") for name in names])
        means = [pc.mean(column.first.filter(chosen)).as_py() or 0.0 for column in both]
        return both[0] if means[0] > means[1] else both[-1]
    named = {plain(str(name)): column for name, column in _called(both).items()}
    rarer = min(both[::-1], key=lambda one: pc.sum(pc.greater(one.first, 0.5)).as_py())
    likely = named.get(yes_and_no(named).get("yes", ""), rarer if named else both[-1])
    return named.get(plain(str(positive)), likely)


def _called(columns: Sequence[SampledColumn]) -> dict[int | str, SampledColumn]:
    """Return columns by what their names differ in: whole numbers, or else words."""
    words = [re.split(r"(?<=[\W_])", column.name) for column in columns]
    while min(map(len, words)) > 1 and len({first for first, *_ in words}) == 1:
        words = [rest for _, *rest in words]
    ends = ["".join(rest) for rest in words]
    if all(map(str.isdecimal, ends)):
        return dict(sorted(zip(map(int, ends), columns, strict=True)))
    ends = [_without(SCORES, end) or end for end in ends]
    are_words = all(map(re.compile(r"[^\W\d_]\D*").fullmatch, ends)) and not {*ends} & {*SCORES}
    is_short = len(ends) == 2 and min(map(len, ends)) == 1  # p and q
    return dict(zip(ends, columns, strict=True)) if are_words and not is_short else {}


def _pair(columns: Sequence[SampledColumn]) -> tuple[SampledColumn, ...]:
    """Return the columns of two ids called alike but for their sides, with Splink's data sets."""
    named = {column.name: column for column in columns if not column.nulls and column.distinct}
    ids = [name for name in named if {*IDS} & {*re.split("[^a-z]+", name.lower())}]
    sides = next(filter(None, map(sides_of, itertools.combinations(ids, 2))), None)
    if sides is None:
        return ()
    records = [named[name] for side in sides for name in side]
    sources = [named[name] for name in ("source_dataset_l", "source_dataset_r") if name in named]
    both = len(sources) == 2 and any(source.distinct > 1 for source in sources)
    left_to_right = zip(sources, records, strict=True) if both else [records]
    found = tuple(column for columns in left_to_right for column in columns)
    rows = pa.table({column.name: column.first for column in found})
    distinct = len(rows.group_by(rows.column_names).aggregate([]))
    return found if distinct >= 0.9 * len(rows) else ()  # as those of a message are not


def _systems(
    scores: Sequence[SampledColumn], coded: Sequence[SampledColumn]
) -> dict[str, tuple[SampledColumn | None, SampledColumn]]:
    """Return score and prediction of each system, by the shared part of names; none of a single."""
    predictions = {_without(_PREDICTIONS, column.name): column for column in coded}
    found = {}
    for column in reversed(scores):
        name = _without(SCORES, column.name)
        if name and name in predictions:
            found[name] = (column, predictions[name])
    is_one = _sum_to_one([score for score, _ in found.values()])  # The first and the second guess.
    return dict(reversed(found.items())) if len(found) > 1 and not is_one else {}


def _without(words: Sequence[str], name: str) -> str:
    """Return a name without its word for a role; empty if it has no other word."""
    parts = name.split("_")
    others = [part for part in parts if part.lower() not in words]
    return "_".join(others) if len(others) == len(parts) - 1 else ""


def _likely_labels(
    columns: Sequence[SampledColumn], classes: Sequence[int | str], said: SampledColumn | None
) -> list[SampledColumn]:
    """Return the column, if any, that may have labels: classes of some rows, or mostly as said."""
    names = {plain(str(name)) for name in classes}
    found = []
    for column in columns:
        values, is_label = {*map(plain, column.values)}, False
        if not column.nearly_full:
            is_called = said is None and len(values) == 2 and best([column], LABELS) is not None
            is_label = is_called or values <= {*names, *yes_and_no(names)}
        elif said is not None and (column.kind, column.rows) == ("text", said.rows):
            alike = values == names and said.kind == "text"
            is_label = alike and pc.mean(pc.equal(column.first, said.first)).as_py() > 0.5
        if len(values) > 1 and is_label:
            found.append(column)
    return [best(found, LABELS) or found[0]] if found else []


def _is_partly_written(column: SampledColumn, has_labels: bool) -> bool:
    """Return whether a column is called a prediction, or beside labels a link, of some rows."""
    end, says_yes = column.name.lower().split("_")[-1], {*map(plain, column.values)} <= {*YES, "1"}
    is_called = end in _VERDICTS or (has_labels and end in _LINKS and says_yes)
    return bool(column.values) and not column.nearly_full and is_called


def _tells(column: SampledColumn, said: SampledColumn | None) -> bool:
    """Return whether texts name the class predicted in most rows, as lists of likely ones do."""
    if said is None or said.kind != "text" or said.rows != column.rows:
        return False
    rows = zip(said.first.to_pylist(), column.first.to_pylist(), strict=True)
    named = (re.search(rf"\b{re.escape(one)}\b", text) for one, text in rows if one and text)
    return sum(map(bool, named)) > 0.9 * column.rows


def best(columns: Iterable[SampledColumn], names: Sequence[str]) -> SampledColumn | None:
    """Return the column whose name fits best, first of those without nulls; None if none does."""
    ranked = []
    for place, column in enumerate(columns):
        name = column.name.lower()
        for rank, wanted in enumerate(names):
            fits = (name == wanted, wanted in name.split("_"), wanted in name)
            if any(fits):
                ranked.append(((column.nulls > 0, fits.index(True), rank, place), column))
    return min(ranked, key=lambda pair: pair[0])[1] if ranked else None


def _classes(prediction: SampledColumn | None) -> tuple[int | str, ...]:
    """Return the classes that a column of predictions has, 0 and 1 if it has only these."""
    if prediction is None or prediction.kind == "truth" or set(prediction.values) <= {"0", "1"}:
        return (0, 1)
    if prediction.kind == "whole":
        return tuple(sorted(map(int, prediction.values)))
    return tuple(sorted(prediction.classes))
