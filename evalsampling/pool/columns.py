"""What the columns of a pool mean: outputs of the systems, features, slices, hashes of ids."""

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.label_spaces.base import COLUMN, EVEN, NO_PROBABILITY, RANKS, SCORE, Confidences
from evalsampling.label_spaces.sets import labels_of_text, shortened
from evalsampling.label_spaces.spellings import meant_texts
from evalsampling.pool.arrow import characters, is_list, is_number, is_text, plain
from evalsampling.pool.batch import PoolBatch, whole_number_texts
from evalsampling.pool.rendering import rendered
from evalsampling.pool.stored_columns import GIVEN, GIVEN_NUMBER
from evalsampling.spec import LabelsSpec, PoolSpec, ReadingPlan
from evalsampling.spec.labels_at_hand import CHANCE
from evalsampling.spec.slices import NULL, Where
from evalsampling.spec.systems import probability_columns
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, UInt64Array
from evalsampling.stats.hashing import hash_integers, hash_strings
from evalsampling.stats.magnitudes import COST, WEIGHT
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.partition import Coded
from evalsampling.stats.rank_prior import RankPrior
from evalsampling.stats.score_kinds import CONFIDENCE, ROUNDING, cut_to_probabilities
from evalsampling.stats.slices import SliceCodes

_DIGITS = 9
"""Of expected numbers of labels, so that no stratum depends on the order of a sum."""


def read_outputs(
    batch: PoolBatch, plan: ReadingPlan, rules: tuple[str, ...], ranks: RankPrior | None = None
) -> Outputs:
    """Return scores, predictions and probabilities of each system for the rows of a batch."""
    scores, predictions, probabilities, tags = [], [], [], []
    space, columns = plan.labels.space, LabelColumns.of(batch)
    for system, rule in zip(plan.pool.systems, rules, strict=True):
        score = None if system.score is None else read_scores(batch, plan, system.score)
        predicted = space.predictions(columns, system, score)
        predictions.append(predicted.astype(np.int64, copy=False))
        if space.tagged:
            tags.append(np.asarray(space.tags(columns, system)))
            probabilities.append(np.zeros((len(batch.rows), 0)))
        elif rule == NO_PROBABILITY:
            probabilities.append(np.full((len(batch.rows), len(space.outcomes)), np.nan))
        else:
            named = system.score if rule == SCORE else system.probability
            known = score
            if rule == RANKS and ranks is not None and score is not None:
                known = ranks.find(score)
            probabilities.append(space.probabilities(columns, named, rule, known))
        score = np.full(len(batch.rows), np.inf) if score is None else score
        scores.append(score.astype(np.float64, copy=False))
    cluster, shared = None, plan.pool.cluster
    if shared is not None:  # As hashes below 2^53.
        cluster = (hash_ids(batch.ids(shared), plan.seed) >> np.uint64(11)).astype(np.int64)
    return Outputs(
        _side_by_side(predictions), _side_by_side(scores), _side_by_side(probabilities),
        slices=read_named_slices(batch, plan.named_slices),
        tags=np.stack(tags, axis=1) if tags else None,
        magnitudes=read_magnitudes(batch, plan.pool),
        cluster=cluster,
    )  # fmt: skip


def with_chances(batch: PoolBatch, plan: ReadingPlan) -> PoolBatch:
    """Return a batch with probabilities of a positive in place of confidences in a prediction."""
    for system in plan.pool.systems if plan.labels.space.is_binary else ():
        if system.score is not None and system.score_is == CONFIDENCE:
            columns = LabelColumns.of(batch)
            confidence = columns.shares(system.score)
            predicted = plan.labels.space.predictions(columns, system, None)
            chance = np.where(predicted == plan.labels.positive, confidence, 1 - confidence)
            batch = batch.with_column(system.score, pa.array(chance))
    return batch


def read_scores(batch: PoolBatch, plan: ReadingPlan, name: str) -> npt.NDArray[np.floating]:
    """Return a column of scores, shape (n,), to be compared with the thresholds of a plan."""
    return batch.scores(name, np.array(plan.thresholds))


def read_magnitudes(batch: PoolBatch, pool: PoolSpec) -> dict[str, FloatArray]:
    """Return cost and weight of each row, shape (n,) each, by the names that a spec has."""
    words = {COST: "a label costs more than 0", WEIGHT: "a row counts 0 or more"}
    magnitudes = {}
    for name, column in pool.magnitudes.items():
        magnitudes[name] = values = batch.numbers(column).astype(np.float64, copy=False)
        if np.any(values <= 0):
            row = int(np.argmax(values <= 0))
            raise batch.error(column, row, f"{words[name]}, got {values[row]:g}")
    return magnitudes


def read_predictions(batch: PoolBatch, plan: ReadingPlan) -> npt.NDArray[np.integer]:
    """Return predictions as cells tell them apart, shape (n, systems), maybe narrow integers."""
    predictions, space, columns = [], plan.labels.space, LabelColumns.of(batch)
    for system in plan.pool.systems:
        by_score = system.threshold is not None and system.score is not None
        score = read_scores(batch, plan, str(system.score)) if by_score else None
        predictions.append(space.predictions(columns, system, score))
    return space.signed(_side_by_side(predictions))


def with_slices(
    predictions: npt.NDArray[np.integer], slices: SliceCodes | None
) -> npt.NDArray[np.integer]:
    """Return the signatures of rows, shape (n, systems + columns of slices)."""
    return predictions if slices is None else np.concatenate([predictions, slices.code], axis=1)


def _side_by_side(systems: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the values of all systems, shape (n, systems, ...); of a single one a view."""
    return systems[0][:, None] if len(systems) == 1 else np.stack(systems, axis=1)


def read_features(batch: PoolBatch, plan: ReadingPlan) -> FloatArray:
    """Return the features of a k-d tree, shape (n, features): columns, or `_label_counts`."""
    if not plan.pool.features:
        return _label_counts(batch, plan)
    return np.stack([batch.numbers(name) for name in plan.pool.features], axis=1, dtype=np.float64)


def _label_counts(batch: PoolBatch, plan: ReadingPlan) -> FloatArray:
    """Return how many labels are expected to be right, wrong, missing: shape (n, 3 systems)."""
    space, columns = plan.labels.space, LabelColumns.of(batch)
    rule = EVEN if plan.pool.probability is None else COLUMN
    p = space.probabilities(columns, plan.pool.probability, rule, None)
    counts = []
    for system in plan.pool.systems:
        f = space.tags(columns, system)
        assert f is not None, "other labels have features or a score"
        counts += [(f * p).sum(axis=1), (f * (1 - p)).sum(axis=1), (~f * p).sum(axis=1)]
    return np.round(np.stack(counts, axis=1), _DIGITS) + 0.0


def label_columns(pool: PoolSpec) -> list[str]:
    """Return the columns of predictions and probabilities, which `_label_counts` reads."""
    named: list[str | None] = [*probability_columns(pool.probability)]
    for system in pool.systems:
        named += [system.prediction, *system.by_label.values()]
    return [name for name in named if name is not None]


def read_slices(batch: PoolBatch, pool: PoolSpec) -> dict[str, pa.Array]:
    """Return the slice columns that are reported, by their names: see `_groups`."""
    return {name: _groups(batch, name, "slices") for name in pool.slices}


def read_partition(batch: PoolBatch, names: Sequence[str]) -> list[Coded]:
    """Return the columns of a partition, coarse to fine, a null as `NULL`."""
    coded = [pc.dictionary_encode(_groups(batch, name, "clusters")) for name in names]
    return [(column.dictionary.to_pylist(), column.indices.to_numpy()) for column in coded]


def read_named_slices(batch: PoolBatch, named: Where) -> SliceCodes | None:
    """Return the codes of slices by column and values, None of none."""
    if not named:
        return None
    codes = []
    for name, values in named.items():
        code = pc.index_in(_groups(batch, name, "slices"), value_set=pa.array(values, pa.string()))
        codes.append(pc.fill_null(code, -1).to_numpy().astype(np.int64) + 1)
    return SliceCodes(named, np.stack(codes, axis=1))


def _groups(batch: PoolBatch, name: str, what: str) -> pa.Array:
    """Return a column of groups as text, a null as `NULL`; whole numbers without a point."""
    column = batch.any_column(name)
    column = whole_numbers(column) if is_number(column.type) else column
    kind = column.type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        column = rendered(column)
    elif pa.types.is_null(kind):  # As pandas writes a part of a pool without any value.
        column = column.cast(pa.string())
    elif not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or is_text(kind)):
        row = first_fraction(column) if is_number(kind) else 0
        got = f"{kind}: {column[row].as_py()}" if is_number(kind) else str(kind)
        wanted = f"{what} are whole numbers, booleans, dates or text"
        raise batch.error(name, row, f"{wanted}, got {got}")
    return pc.fill_null(column.cast(pa.string()), NULL)


def hash_ids(ids: pa.Array, seed: int) -> UInt64Array:
    """Return the keyed hash of each id, shape (n,): see `stats.hashing`."""
    if pa.types.is_integer(ids.type):
        return hash_integers(ids.to_numpy(), seed)
    if ids.type == pa.string():
        ids = ids.cast(pa.large_string())
    bounds, text = characters(ids)
    return hash_strings(text, bounds, seed)


def missing_column(name: str, plan: ReadingPlan) -> str:
    """Return how to mend a spec whose score is missing, for a message; empty for other columns."""
    pool = plan.pool
    if name != pool.score:
        return ""
    if plan.labels.space.field.ends is not None:
        return "; pool.variance names the column of predictive variances; if all are alike, of ones"
    named = pool.probability
    if isinstance(named, Mapping) and not isinstance(named, Confidences):
        features = f"strata.method: kd and pool.features: [{', '.join(named.values())}]"
        way = f"name another, or cut them from the probabilities by {features}"
        return f"; pool.score names the column that strata are cut from: {way}"
    another = f"another, as {named}" if isinstance(named, str) else "another"
    way = "if there is none, leave it to what is predicted by strata.method: predictions"
    return f"; pool.score names the column of scores: name {another} or, {way}"


def number_columns(plan: ReadingPlan) -> frozenset[str]:
    """Return the columns whose values are numbers, whole or not."""
    pool = plan.pool
    if pool.lists is not None:
        return frozenset(pool.magnitudes.values())
    named = [pool.score, *probability_columns(pool.probability), *pool.features]
    named += pool.magnitudes.values()
    for system in pool.systems:
        named += [system.score, *probability_columns(system.probability)]
        named += [] if plan.labels.space.field.ends is None else [system.prediction]
    return frozenset(name for name in named if name is not None)


class LabelColumns(PoolBatch):
    """The columns of a batch, as `label_spaces.base.Columns` describes them."""

    @classmethod
    def of(cls, batch: PoolBatch) -> Self:
        """Return the columns of a batch."""
        return cls(batch.rows, batch.path, batch.first_row, batch.item, batch.kept)

    def __contains__(self, name: str) -> bool:
        """Tell whether there is a column of a name."""
        return self.has(name)

    def distinct(self, name: str) -> tuple[list[Any], IntArray]:
        """Return the distinct values of a column, and the place among them of each row's."""
        coded = pc.dictionary_encode(self.column(name))
        return coded.dictionary.to_pylist(), coded.indices.to_numpy().astype(np.int64)

    def shares(self, name: str) -> FloatArray:
        """Return a column of numbers in [0, 1], shape (n,); values just outside are clipped."""
        values = self.numbers(name).astype(np.float64, copy=False)
        wrong = (values < -ROUNDING) | (values > 1 + ROUNDING)
        self.refuse(name, wrong, lambda row: f"a probability lies in [0, 1], got {values[row]}")
        return cut_to_probabilities(values)

    def flags(self, name: str) -> IntArray:
        """Return a column of 0 and 1, or of truth values, shape (n,)."""
        column = self.column(name)
        if pa.types.is_boolean(column.type):
            return column.cast(pa.int8()).to_numpy().astype(np.int64)
        if is_text(column.type):
            held = pc.index_in(whole_number_texts(column), value_set=pa.array(["0", "1"]))
            if not held.null_count:
                return held.to_numpy().astype(np.int64)
        values = self.numbers(name)
        wrong, problem = (values != 0) & (values != 1), "a label is there or not, 1 or 0, got "
        self.refuse(name, wrong, lambda row: f"{problem}{values[row]:g}")
        return values.astype(np.int64)

    def places(self, name: str, among: Sequence[int | str]) -> npt.NDArray[np.integer]:
        """Return the place of each value among some values, shape (n,), as narrow as stored."""
        classes = tuple(among)
        column = self.any_column(name)
        if column.null_count:
            way = f"give it one of {[*classes]}, or leave it out by pool.where: {name} IS NOT NULL"
            raise self.error(name, pc.index(column.is_null(), True).as_py(), f"null: {way}")
        whole = all(isinstance(value, int) for value in classes)
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.int8() if whole else pa.string())
        elif is_number(column.type):
            column = whole_numbers(column)
        if is_text(column.type):
            return self._spelled(name, column, classes)
        if not (whole and is_number(column.type)):
            raise self.error(name, 0, f"type {column.type} holds none of the classes {[*classes]}")
        if not pa.types.is_integer(column.type):
            row = first_fraction(column)
            raise self.error(name, row, f"{column[row].as_py()} is none of {[*classes]}")
        values = column.to_numpy()
        low, high = (int(values.min()), int(values.max())) if len(values) else (0, -1)
        if classes == tuple(range(len(classes))) and low >= 0 and high < len(classes):
            return values.astype(np.int64, copy=False)
        listed = pa.array(classes, pa.int64())
        codes = pc.index_in(column.cast(pa.int64(), safe=False), value_set=listed)
        wrong = codes.is_null().to_numpy(zero_copy_only=False)
        wrong |= values > np.iinfo(np.int64).max  # They became negative.
        self.refuse(name, wrong, lambda row: f"{values[row]} is none of {[*classes]}")
        return np.asarray(codes.to_numpy().astype(np.int64))

    def _spelled(self, name: str, column: pa.Array, classes: Sequence[int | str]) -> IntArray:
        """Return the place of each text among classes; ``1.0``, ``Match `` or yes may be one."""
        coded = pc.dictionary_encode(column)
        texts, known = coded.dictionary.to_pylist(), {str(c): n for n, c in enumerate(classes)}
        whole, meant = all(isinstance(value, int) for value in classes), meant_texts(texts, known)
        numbers = whole_number_texts(coded.dictionary).to_pylist() if whole else texts
        codes = [
            known.get(text, known.get(number, known.get(meant.get(text, text))))
            for text, number in zip(texts, numbers, strict=True)
        ]
        unknown = [text for text, code in zip(texts, codes, strict=True) if code is None]
        untyped = self.item is not None and self.item.untyped and pa.types.is_string(column.type)
        if len(unknown) == len(texts) > 0 and whole and not untyped:
            problem = f"type {column.type} holds none of the classes {[*classes]}"
            way_out = "labels.classes names others, labels.positive the positive one"
            raise self.error(name, 0, f"{problem}: {way_out}")
        if unknown:
            row = pc.index(column, pa.scalar(unknown[0], column.type)).as_py()
            raise self.error(name, row, f"{reprlib.repr(unknown[0])} is none of {[*classes]}")
        return np.array(codes, np.int64)[coded.indices.to_numpy()]

    def tags(self, name: str, among: Sequence[str]) -> BoolArray:
        """Return which labels each row has, shape (n, labels)."""
        column = self.column(name)
        if is_list(column.type):
            return self._of_lists(name, column, among)
        if is_text(column.type):
            return self._of_texts(name, column, among)
        raise self.error(name, 0, f"must be a list of labels, got type {column.type}")

    def _of_lists(self, name: str, column: pa.Array, among: Sequence[str]) -> BoolArray:
        held = np.zeros((len(column), len(among)), dtype=np.bool_)
        row = pc.list_parent_indices(column).to_numpy()
        label = plain(pc.list_flatten(column))
        if not is_text(label.type):
            if not len(label):
                return held
            raise self.error(name, int(row[0]), f"labels are text, got type {label.type}")
        place = pc.index_in(label, value_set=pa.array(among, type=label.type))
        if place.null_count:
            first = pc.index(place.is_null(), True).as_py()
            shown = reprlib.repr(label[first].as_py())
            raise self.error(name, int(row[first]), f"{shown} is none of {shortened(among)}")
        held[row, place.to_numpy()] = True
        return held

    def _of_texts(self, name: str, column: pa.Array, among: Sequence[str]) -> BoolArray:
        coded = pc.dictionary_encode(column)
        place = {label: number for number, label in enumerate(among)}
        held = np.zeros((len(coded.dictionary), len(among)), dtype=np.bool_)
        for number, text in enumerate(coded.dictionary.to_pylist()):
            labels = labels_of_text(text)
            if not {*labels} <= place.keys():
                row = pc.index(column, pa.scalar(text, column.type)).as_py()
                shown = f"{reprlib.repr(text)} is no set of {shortened(among)}"
                raise self.error(name, row, shown)
            held[number, [place[label] for label in labels]] = True
        return held[coded.indices.to_numpy()]


def whole_numbers(column: pa.Array) -> pa.Array:
    """Return floats as whole numbers if all are whole, as where a column once had nulls."""
    if pa.types.is_integer(column.type):
        return column
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def first_fraction(column: pa.Array) -> int:
    """Return the row of the first number, not null, that is no whole number of 64 bits."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = (values == np.trunc(values)) & (np.abs(values) < 2.0**63)
    return int(np.argmax(~whole & column.is_valid().to_numpy(zero_copy_only=False)))


def read_given(batch: PoolBatch, labels: LabelsSpec) -> dict[str, pa.Array]:
    """Return `GIVEN`, and `GIVEN_NUMBER` of rows with a label; none without labels at hand."""
    at_hand = labels.at_hand
    if at_hand is None:
        return {}
    column = batch.any_column(at_hand.column)
    labelled = np.flatnonzero(has_label(column))
    values, space = column.take(pa.array(labelled)).to_pylist(), labels.space
    texts = [str(text) for text in space.texts(values)]
    meant = space.meant({*texts})
    codes = np.full(len(batch), -1)
    for row, text in zip(labelled.tolist(), texts, strict=True):
        code = space.codes.get(meant.get(text, text))
        if code is None:
            problem = (
                f"{space.problem(text)}; the cell is empty where nobody was asked, "
                "not where nobody could decide: such rows are seldom missing at random"
            )
            raise batch.error(at_hand.column, row, problem)
        codes[row] = code
    columns = {GIVEN: pa.array(codes, mask=codes < 0)}
    if at_hand.number is not None:
        are_chances = at_hand.drawn == CHANCE
        columns[GIVEN_NUMBER] = _given_numbers(batch, at_hand.number, labelled, are_chances)
    return columns


def has_label(column: pa.Array) -> BoolArray:
    """Return which values are labels: a null, a NaN or a blank text is none."""
    empty = pc.is_null(column, nan_is_null=True)
    if is_text(column.type):
        empty = pc.or_(empty, pc.equal(pc.utf8_trim_whitespace(column.fill_null("")), ""))
    return ~empty.to_numpy(zero_copy_only=False)


def _given_numbers(batch: PoolBatch, name: str, labelled: IntArray, chances: bool) -> pa.Array:
    """Return the chances or weights of labelled rows, checked; null of all others."""
    column = pa.record_batch({name: batch.any_column(name).take(pa.array(labelled))})
    own = PoolBatch(column, batch.path, 0, batch.item, batch.row_numbers(labelled))
    values = own.numbers(name)
    wanted = "a chance is above 0 and at most 1" if chances else "a weight is above 0"
    wrong = (values <= 0) | (values > 1) if chances else values <= 0
    own.refuse(name, wrong, lambda row: f"{wanted}, got {values[row]:g}")
    numbers = np.zeros(len(batch))
    numbers[labelled] = values
    return pa.array(numbers, mask=np.isin(np.arange(len(batch)), labelled, invert=True))
