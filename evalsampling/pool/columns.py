"""What the columns of a pool mean: outputs of the systems, features, slices, hashes of ids."""

import reprlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import scipy

from evalsampling.arrays import FloatArray, IntArray, UInt64Array
from evalsampling.pool.batch import PoolBatch, whole_number_texts
from evalsampling.pool.label_sets import probabilities_of_sets, read_label_sets
from evalsampling.spec import EvaluationSpec, SystemSpec
from evalsampling.spec.numbers import NumberRange
from evalsampling.spec.yes_no import yes_and_no
from evalsampling.stats.hashing import hash_integers, hash_strings
from evalsampling.stats.normal_errors import CHANCES
from evalsampling.stats.outputs import Outputs

NO_PROBABILITY = "none"
"""Rule of a system whose probabilities are not known."""

_FARTHEST = 1e6
"""Ranges of labels from which on a predicted number is taken to be damaged."""

NO_VALUE = "null"
"""What a null is called in a slice column."""


def read_outputs(batch: PoolBatch, spec: EvaluationSpec, rules: tuple[str, ...]) -> Outputs:
    """Return scores, predictions and probabilities of each system for the rows of a batch.

    Args:
        batch: the rows.
        spec: names the systems' columns.
        rules: where each system's probabilities come from: "column", "score", "expit(score)" or
            "none".

    Raises:
        InputError: naming file, column and row of the first bad value.
    """
    if spec.labels.numbers is not None:
        return _normal(batch, spec, spec.labels.numbers)
    scores, predictions, probabilities = [], [], []
    classes = len(spec.labels.classes)
    for system, rule in zip(spec.pool.systems, rules, strict=True):
        score = None if system.score is None else batch.numbers(system.score)
        predicted = _predictions(batch, spec, system, score)
        predictions.append(predicted.astype(np.int64, copy=False))
        if rule == NO_PROBABILITY:
            probabilities.append(np.full((len(batch.rows), classes), np.nan))
        else:
            probabilities.append(read_probabilities(batch, spec, system.probability, rule, score))
        if score is None:
            scores.append(np.full(len(batch.rows), np.inf))
        elif rule == "score" and system.probability is None:
            scores.append(probabilities[-1][:, spec.labels.positive])  # the same numbers
        else:
            scores.append(score.astype(np.float64, copy=False))
    return Outputs(
        prediction=_side_by_side(predictions),
        score=_side_by_side(scores),
        probability=_side_by_side(probabilities),
        cost=read_costs(batch, spec),
    )


def _normal(batch: PoolBatch, spec: EvaluationSpec, known: NumberRange) -> Outputs:
    """Return predicted numbers, their variances as scores, and the chances of expected errors."""
    (system,) = spec.pool.systems
    assert system.prediction is not None
    assert system.score is not None
    predicted = batch.numbers(system.prediction).astype(np.float64, copy=False)
    variance = batch.numbers(system.score).astype(np.float64, copy=False)
    for name, wrong, words in (
        (system.score, variance < 0, "a variance is at least 0, got {}"),
        (
            system.prediction,
            np.abs(predicted - known.low) > _FARTHEST * (known.high - known.low),
            "{} is too far from labels.range",
        ),
    ):
        if wrong.any():
            row = int(np.argmax(wrong))
            value = (variance if name == system.score else predicted)[row]
            raise batch.error(name, row, words.format(f"{value:g}"))
    return Outputs(
        prediction=known.codes(predicted)[:, None],
        score=variance[:, None],
        probability=np.tile(CHANCES, (len(batch.rows), 1, 1)),
        cost=read_costs(batch, spec),
    )


def signed(outputs: Outputs, spec: EvaluationSpec) -> IntArray:
    """Return the predictions that cells are told apart by, shape (n, systems): not numbers."""
    return outputs.prediction if spec.labels.numbers is None else np.zeros_like(outputs.prediction)


def read_costs(batch: PoolBatch, spec: EvaluationSpec) -> FloatArray | None:
    """Return what a label of each row costs, shape (n,); None if all cost the same.

    Raises:
        InputError: naming file, column and row of the first cost that is not above 0.
    """
    if spec.pool.cost is None:
        return None
    costs = batch.numbers(spec.pool.cost).astype(np.float64, copy=False)
    wrong = costs <= 0
    if wrong.any():
        row = int(np.argmax(wrong))
        raise batch.error(spec.pool.cost, row, f"a label costs more than 0, got {costs[row]:g}")
    return costs


def read_predictions(batch: PoolBatch, spec: EvaluationSpec) -> npt.NDArray[np.integer]:
    """Return the class codes that the systems predict, shape (n, systems); 0 of numbers.

    Of a single system they may be narrow integers, as they are stored.

    Raises:
        InputError: naming file, column and row of the first bad value.
    """
    if spec.labels.numbers is not None:
        return np.zeros((len(batch.rows), 1), dtype=np.int64)
    predictions = []
    for system in spec.pool.systems:
        by_score = system.threshold is not None and system.score is not None
        score = batch.numbers(str(system.score)) if by_score else None
        predictions.append(_predictions(batch, spec, system, score))
    return _side_by_side(predictions)


def _side_by_side(systems: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the values of all systems, shape (n, systems, ...); of a single one a view."""
    return systems[0][:, None] if len(systems) == 1 else np.stack(systems, axis=1)


def _predictions(
    batch: PoolBatch,
    spec: EvaluationSpec,
    system: SystemSpec,
    scores: npt.NDArray[np.floating] | None,
) -> npt.NDArray[np.integer]:
    """Return the class codes that a system predicts, shape (n,), as narrow as they are stored."""
    if spec.labels.multilabel:
        return read_label_sets(batch, system.prediction, system.by_label, spec.labels.multilabel)
    name, classes = system.prediction, spec.labels.classes
    if name is None:
        assert scores is not None
        assert system.threshold is not None
        positive = spec.labels.positive
        # As float64, like curves and leaves: a float32 score counts for what it is.
        hit = scores.astype(np.float64, copy=False) >= system.threshold
        return np.where(hit, positive, 1 - positive).astype(np.int64)
    column = batch.column(name)
    whole = all(isinstance(value, int) for value in classes)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8() if whole else pa.string())
    elif pa.types.is_floating(column.type):
        column = _whole(column)
    untyped = batch.holds_text(column)
    numeric = whole and not untyped
    if numeric and pa.types.is_integer(column.type):
        values = column.to_numpy()
        if classes == tuple(range(len(classes))) and _all_below(values, len(classes)):
            return values
        beyond = values > np.iinfo(np.int64).max
        if beyond.any():
            row = int(np.argmax(beyond))
            raise batch.error(name, row, f"{values[row]} is none of {[*classes]}")
        column = column.cast(pa.int64())
    elif numeric and pa.types.is_floating(column.type):
        row = _first_fraction(column)
        raise batch.error(name, row, f"{column[row].as_py()} is none of {[*classes]}")
    elif numeric or not _is_text(column):
        codes = _said_in_words(column, classes)
        if codes is None or codes.null_count == len(codes):
            words = f"type {column.type} holds none of the classes {[*classes]}"
            if _is_text(column):
                words += ": labels.classes names others, labels.positive the positive one"
            raise batch.error(name, 0, words)
        return _codes(batch, name, column, codes, classes)
    known = pa.array([value if numeric else str(value) for value in classes], type=column.type)
    codes = pc.index_in(column, value_set=known)
    if codes.null_count and whole and untyped:
        codes = pc.index_in(whole_number_texts(column), value_set=known)
    if codes.null_count:
        said = _said_in_words(column, classes)
        codes = codes if said is None else pc.coalesce(codes, said)
    return _codes(batch, name, column, codes, classes)


def _codes(
    batch: PoolBatch, name: str, column: pa.Array, codes: pa.Array, classes: Sequence[int | str]
) -> IntArray:
    """Return class codes; a null among them is an error that names its row."""
    if codes.null_count:
        row = pc.index(codes.is_null(), True).as_py()
        shown = reprlib.repr(column[row].as_py())
        raise batch.error(name, row, f"{shown} is none of {[*classes]}")
    return codes.to_numpy().astype(np.int64)


def _is_text(column: pa.Array) -> bool:
    return pa.types.is_string(column.type) or pa.types.is_large_string(column.type)


def _said_in_words(column: pa.Array, classes: Sequence[int | str]) -> pa.Array | None:
    """Return the class codes of words like yes and no, null where a text is no such word.

    None if classes or column are not of that kind.
    """
    texts = [str(value) for value in classes]
    words = yes_and_no(texts)
    if not words or not _is_text(column):
        return None
    plain = pc.utf8_lower(pc.utf8_trim_whitespace(column.cast(pa.large_string())))
    place = pc.index_in(plain, value_set=pa.array(list(words), pa.large_string()))
    return pa.array([texts.index(name) for name in words.values()], pa.int32()).take(place)


def _whole(column: pa.Array) -> pa.Array:
    """Return floats as whole numbers if all are, as those of a column that had nulls once."""
    try:
        return column.cast(pa.int64())
    except pa.ArrowInvalid:
        return column


def _first_fraction(column: pa.Array) -> int:
    """Return the row of the first float, not null, that is no whole number of 64 bits."""
    values = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(invalid="ignore"):
        whole = (values == np.trunc(values)) & (np.abs(values) < 2.0**63)
    return int(np.argmax(~whole & column.is_valid().to_numpy(zero_copy_only=False)))


def _all_below(values: npt.NDArray[np.integer], end: int) -> bool:
    """Tell whether whole numbers lie in [0, end)."""
    return not len(values) or (int(values.min()) >= 0 and int(values.max()) < end)


def read_probabilities(
    batch: PoolBatch,
    spec: EvaluationSpec,
    named: str | Mapping[str, str] | None,
    rule: str,
    scores: npt.NDArray[np.floating] | None,
) -> FloatArray:
    """Return the probability of each class, shape (n, classes).

    Args:
        batch: the rows.
        spec: tells the classes.
        named: column of the positive class, or one for each class, if the rule is "column".
        rule: see `read_outputs`; "even" gives every class the same.
        scores: shape (n,), for rules that need them.
    """
    if isinstance(named, Mapping) and spec.labels.multilabel:
        single = np.stack([_unit_interval(batch, column) for column in named.values()], axis=1)
        return probabilities_of_sets(single)
    if isinstance(named, Mapping):
        columns = list(named.values())
        matrix = np.stack([_unit_interval(batch, column) for column in columns], axis=1)
        wrong = np.abs(matrix.sum(axis=1) - 1) > 1e-3
        if wrong.any():
            row = int(np.argmax(wrong))
            total = f"{matrix[row].sum():g}"
            raise batch.error(
                columns[0], row, f"probabilities of the classes sum to {total}, not 1"
            )
        return matrix
    classes = len(spec.labels.classes)
    values: npt.NDArray[np.floating]
    if named is not None:
        values = _unit_interval(batch, named)
    elif rule == "even":
        return np.full((len(batch.rows), classes), 1 / classes)
    else:
        assert scores is not None
        values = scores
        if rule != "score":
            values = scipy.special.expit(scores.astype(np.float64, copy=False))
    # Each class by itself, as they will be summed.
    both = np.empty((2, len(values)))
    positive = both[spec.labels.positive]
    positive[:] = values
    np.subtract(1, positive, out=both[1 - spec.labels.positive])
    return both.T


def _unit_interval(batch: PoolBatch, name: str) -> FloatArray:
    values = batch.numbers(name).astype(np.float64, copy=False)
    wrong = (values < 0) | (values > 1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise batch.error(name, row, f"a probability lies in [0, 1], got {values[row]}")
    return values


def read_features(batch: PoolBatch, spec: EvaluationSpec) -> FloatArray:
    """Return the feature columns, shape (n, features)."""
    return np.stack([batch.numbers(name) for name in spec.pool.features], axis=1, dtype=np.float64)


def read_slices(batch: PoolBatch, spec: EvaluationSpec) -> dict[str, pa.Array]:
    """Return the slice columns as text, by their names, a null as `NO_VALUE`.

    Floats that are all whole are whole numbers.

    Raises:
        InputError: for a column that is neither whole numbers, truth values nor text.
    """
    slices = {}
    for name in spec.pool.slices:
        column = batch.any_column(name)
        column = _whole(column) if pa.types.is_floating(column.type) else column
        kind = column.type
        if not (
            pa.types.is_integer(kind)
            or pa.types.is_boolean(kind)
            or pa.types.is_string(kind)
            or pa.types.is_large_string(kind)
        ):
            row = _first_fraction(column) if pa.types.is_floating(kind) else 0
            got = f"{kind}: {column[row].as_py()}" if row else str(kind)
            raise batch.error(name, row, f"slices are whole numbers, booleans or text, got {got}")
        slices[name] = pc.fill_null(column.cast(pa.string()), NO_VALUE)
    return slices


def hash_ids(ids: pa.Array, seed: int) -> UInt64Array:
    """Return the keyed hash of each id, shape (n,): see `stats.hashing`."""
    if pa.types.is_integer(ids.type):
        return hash_integers(ids.to_numpy(), seed)
    if ids.type == pa.string():
        ids = ids.cast(pa.large_string())
    _, offsets, data = ids.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
    text = np.frombuffer(data or b"", dtype=np.uint8)
    return hash_strings(text, bounds, seed)


def required_columns(spec: EvaluationSpec, payload: bool = True) -> list[str]:
    """Return the columns of the pool that the second pass reads, each once.

    Args:
        spec: names them.
        payload: whether those shown to annotators are among them.
    """
    pool = spec.pool
    named: list[Any] = [pool.id, pool.score, *_columns(pool.probability)]
    if pool.lists is not None:
        named.append(pool.lists.items)
    for system in pool.systems:
        named += [system.score, system.prediction, *system.by_label.values()]
        named += _columns(system.probability)
    named += [pool.cost, *pool.features, *pool.slices, *(pool.payload if payload else ())]
    return list(dict.fromkeys(name for name in named if name is not None))


def missing_column(name: str, spec: EvaluationSpec) -> str:
    """Return what may be done where a pool lacks a column; empty where that is plain.

    Args:
        name: the column.
        spec: names it.
    """
    pool = spec.pool
    if name != pool.score or not isinstance(pool.probability, Mapping):
        return ""
    features = ", ".join(pool.probability.values())
    return (
        "; pool.score names the column that strata are cut from: name another, or cut them from "
        f"the probabilities by strata.method: kd and pool.features: [{features}]"
    )


def number_columns(spec: EvaluationSpec) -> frozenset[str]:
    """Return the columns whose values are numbers, whole or not."""
    pool = spec.pool
    if pool.lists is not None:
        return frozenset() if pool.cost is None else frozenset({pool.cost})
    named = [pool.score, *_columns(pool.probability), *pool.features, pool.cost]
    for system in pool.systems:
        named += [system.score, *_columns(system.probability)]
        if spec.labels.numbers is not None:
            named.append(system.prediction)
    return frozenset(name for name in named if name is not None)


def _columns(named: str | Mapping[str, str] | None) -> list[str]:
    if isinstance(named, Mapping):
        return list(named.values())
    return [] if named is None else [named]
