"""What the columns of a pool may be, told by their names and by a sample of their values."""

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.catalog import PoolFile
from evalsampling.pool.files import find_files
from evalsampling.pool.formats.registry import format_of, read_batches
from evalsampling.pool.splits import WorkItem
from evalsampling.spec.sink import is_taken
from evalsampling.spec.yes_no import yes_and_no

MOST_ROWS = 10_000
"""Rows that are looked at."""

MOST_SLICES = 20
"""Values of a column that may be a slice."""

_MOST_CLASSES = 20

_IDS = ("id", "key", "uid", "uuid", "pair_id", "row_id", "record_id")
_SCORES = (
    "score", "logit", "probability", "prob", "proba", "confidence", "similarity", "weight", "risk"
)  # fmt: skip
_PROBABILITIES = ("probability", "prob", "proba", "chance")
_PREDICTIONS = (
    "prediction", "predicted", "pred", "guess", "decision", "class", "label", "output",
    "verdict", "judge", "judgement", "flagged", "flag",
)  # fmt: skip

NUMBER_TEXT = "number as text"
"""Kind of columns of numbers that no program reads as such: ``0,93`` or ``93 %``."""

_NUMBER_TEXT = r"^\s*[-+]?\d+([.,]\d+)?\s*%?\s*$"


@dataclasses.dataclass(frozen=True)
class SampledColumn:
    """A column with the first of its values.

    Attributes:
        name: of the column.
        kind: ``number``, ``whole``, ``text``, ``truth``, `NUMBER_TEXT` or ``other``.
        distinct: values that differ, of those looked at.
        rows: how many were looked at.
        nulls: of them.
        examples: a few values as text.
        low: least value of numbers, else None.
        high: greatest.
        values: all values that differ, as text, if they are few.
    """

    name: str
    kind: str
    distinct: int
    rows: int
    nulls: int
    examples: tuple[str, ...]
    low: float | None = None
    high: float | None = None
    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, batch: PoolBatch, name: str) -> "SampledColumn":
        """Look at a column of a batch; text of files without types is read as what it may be."""
        column = batch.any_column(name)
        if batch.holds_text(column):
            column = _typed(column)
        kind = _kind(column.type)
        known = column.drop_null()
        if kind == "text" and _looks_like_numbers(known):
            kind = NUMBER_TEXT
        if kind == "other":
            return cls(name, kind, 0, len(column), column.null_count, ())
        counts = pc.value_counts(known).field("values").to_pylist() if len(known) else []
        few = len(counts) <= _MOST_CLASSES
        low = high = None
        if kind in ("number", "whole") and len(known):
            ends = pc.min_max(known)
            low, high = float(ends["min"].as_py()), float(ends["max"].as_py())
        return cls(
            name, kind, len(counts), len(column), column.null_count,
            tuple(str(one)[:40] for one in counts[:3]), low, high,
            tuple(sorted(map(str, counts))) if few else (),
        )  # fmt: skip

    @property
    def is_unique(self) -> bool:
        """Whether every row has a value of its own."""
        return self.distinct == self.rows > 0


@dataclasses.dataclass(frozen=True)
class Guess:
    """What columns may be; None where no column looks like it.

    Attributes:
        id: names the rows.
        score: higher for positives.
        probability: in [0, 1], of the positive class of two, beside the score.
        prediction: the classes predicted.
        classes: of predictions, as they stand in a spec.
        slices: columns with few values.
        payload: columns that annotators may want to see.
    """

    id: SampledColumn | None
    score: SampledColumn | None
    probability: SampledColumn | None
    prediction: SampledColumn | None
    classes: tuple[int | str, ...]
    slices: tuple[SampledColumn, ...]
    payload: tuple[SampledColumn, ...]

    @classmethod
    def of(cls, columns: Sequence[SampledColumn]) -> "Guess":
        """Guess what columns are."""
        ids = [one for one in columns if one.kind in ("whole", "text") and one.is_unique]
        id = _best(ids, _IDS) or next(iter(ids), None)
        rest = [one for one in columns if one is not id and not one.nulls]
        numbers = [one for one in rest if one.kind == "number"]
        whole = [one for one in rest if one.kind == "whole"]
        score = _best(numbers, _SCORES) or _best(whole, _SCORES) or next(iter(numbers), None)
        coded = [one for one in rest if one.values and one.kind != "number" and one.distinct >= 1
                 and one is not score and all(map(str.strip, one.values))]  # fmt: skip
        prediction = _best(coded, _PREDICTIONS) or _only_yes_or_no(coded)
        classes = _classes(prediction)
        shares = [
            one for one in numbers
            if one is not score and one.low is not None and one.high is not None
            and 0 <= one.low <= one.high <= 1
        ]  # fmt: skip
        probability = _best(shares, _PROBABILITIES) if len(classes) == 2 else None
        used = {one.name for one in (id, score, probability, prediction) if one is not None}
        others = [one for one in columns if one.name not in used]
        slices = [
            one for one in others
            if one.kind in ("text", "truth", "whole") and 2 <= one.distinct <= MOST_SLICES
            and _best([one], _PREDICTIONS) is None
        ]  # fmt: skip
        payload = [
            one for one in others
            if one.kind == "text" and one not in slices and not is_taken(one.name)
            and _best([one], _SCORES) is None
        ]  # fmt: skip
        return cls(
            id, score, probability, prediction, classes, tuple(slices), tuple(payload)
        )  # fmt: skip


def look_at(pattern: str) -> tuple[int, list[SampledColumn]]:
    """Return how many files a pool has, and its columns by the first rows of the first file.

    Raises:
        InputError: if there is no such file, or it cannot be read.
    """
    files = find_files(pattern)
    path = files[0].path
    contents = PoolFile.inspect(files[0]).contents
    found = [split for split in contents.splits if split.rows] or list(contents.splits)
    if not found:
        return len(files), []
    item = WorkItem(
        path=path, begin=found[0].begin, end=found[0].end, rows=found[0].rows,
        schema=contents.schema, untyped=format_of(path).untyped, file=0, origin=path, first_row=0,
    )  # fmt: skip
    batch = next(iter(read_batches(item, None)), None)
    if batch is None:
        return len(files), []
    first = dataclasses.replace(batch, rows=batch.rows.slice(0, MOST_ROWS))
    return len(files), [SampledColumn.of(first, name) for name in batch.rows.schema.names]


def _looks_like_numbers(texts: pa.Array) -> bool:
    """Tell whether texts are numbers with a comma or a percent sign; not if there is none."""
    if not len(texts):
        return False
    return bool(pc.all(pc.match_substring_regex(texts, _NUMBER_TEXT)).as_py()) and bool(
        pc.any(pc.match_substring_regex(texts, "[,%]")).as_py()
    )


def _only_yes_or_no(columns: Sequence[SampledColumn]) -> SampledColumn | None:
    """Return the column that says yes or no, None if there is none or several."""
    found = [one for one in columns if one.kind == "truth" or yes_and_no(one.values)]
    return found[0] if len(found) == 1 else None


def _kind(kind: pa.DataType) -> str:
    if pa.types.is_boolean(kind):
        return "truth"
    if pa.types.is_integer(kind):
        return "whole"
    if pa.types.is_floating(kind):
        return "number"
    return "text" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else "other"


def _typed(text: pa.Array) -> pa.Array:
    """Return whole numbers or numbers if that is what all texts are; empty ones are null."""
    filled = pc.if_else(pc.equal(text, ""), None, text)
    for kind in (pa.int64(), pa.float64()):
        try:
            numbers = filled.cast(kind)
        except pa.ArrowInvalid:
            continue
        if kind == pa.int64() or np.isfinite(numbers.drop_null().to_numpy()).all():
            return numbers
    return filled


def _best(columns: Iterable[SampledColumn], names: Sequence[str]) -> SampledColumn | None:
    """Return the column whose name is most like one of some; of names earlier ones are better."""
    found = []
    for place, one in enumerate(columns):
        name = one.name.lower()
        ranks = [
            (exact, rank, place)
            for rank, wanted in enumerate(names)
            for exact, fits in enumerate(
                (name == wanted, wanted in name.split("_"), wanted in name)
            )
            if fits
        ]
        found += [(min(ranks), one)] if ranks else []
    return min(found, key=lambda pair: pair[0])[1] if found else None


def _classes(prediction: SampledColumn | None) -> tuple[int | str, ...]:
    """Return the classes that a column of predictions has, 0 and 1 if it has only these."""
    if prediction is None or prediction.kind == "truth" or set(prediction.values) <= {"0", "1"}:
        return (0, 1)
    if prediction.kind == "whole":
        return tuple(sorted(map(int, prediction.values)))
    return prediction.values
