"""What the columns of a pool mean: outputs of the systems, features, slices, hashes of ids."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.label_spaces.base import NO_PROBABILITY
from evalsampling.pool.arrow import is_text
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.label_columns import LabelColumns, first_fraction, whole_numbers
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.arrays import FloatArray, UInt64Array
from evalsampling.stats.hashing import hash_integers, hash_strings
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.partition import Coded

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
    scores, predictions, probabilities = [], [], []
    space, columns = spec.labels.space, LabelColumns.of(batch)
    for system, rule in zip(spec.pool.systems, rules, strict=True):
        score = None if system.score is None else batch.numbers(system.score)
        predicted = space.predictions(columns, system, score)
        predictions.append(predicted.astype(np.int64, copy=False))
        if rule == NO_PROBABILITY:
            probabilities.append(np.full((len(batch.rows), len(space.outcomes)), np.nan))
        else:
            probabilities.append(space.probabilities(columns, system.probability, rule, score))
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


def read_costs(batch: PoolBatch, spec: EvaluationSpec) -> FloatArray | None:
    """Return what a label of each row costs, shape (n,); None if all cost the same.

    Raises:
        InputError: naming file, column and row of the first cost that is not above 0.
    """
    if spec.pool.cost is None:
        return None
    costs = batch.numbers(spec.pool.cost).astype(np.float64, copy=False)
    batch.refuse(
        spec.pool.cost, costs <= 0, lambda row: f"a label costs more than 0, got {costs[row]:g}"
    )
    return costs


def read_predictions(batch: PoolBatch, spec: EvaluationSpec) -> npt.NDArray[np.integer]:
    """Return what cells know of the predictions of the systems, shape (n, systems).

    Of a single system they may be narrow integers, as they are stored.

    Raises:
        InputError: naming file, column and row of the first bad value.
    """
    predictions, space, columns = [], spec.labels.space, LabelColumns.of(batch)
    for system in spec.pool.systems:
        by_score = system.threshold is not None and system.score is not None
        score = batch.numbers(str(system.score)) if by_score else None
        predictions.append(space.signed(space.predictions(columns, system, score)))
    return _side_by_side(predictions)


def _side_by_side(systems: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Return the values of all systems, shape (n, systems, ...); of a single one a view."""
    return systems[0][:, None] if len(systems) == 1 else np.stack(systems, axis=1)


def read_features(batch: PoolBatch, spec: EvaluationSpec) -> FloatArray:
    """Return the feature columns, shape (n, features)."""
    return np.stack([batch.numbers(name) for name in spec.pool.features], axis=1, dtype=np.float64)


def read_slices(batch: PoolBatch, spec: EvaluationSpec) -> dict[str, pa.Array]:
    """Return the slice columns as text, by their names, a null as `NO_VALUE`.

    Floats that are all whole are whole numbers.

    Raises:
        InputError: for a column that is neither whole numbers, truth values nor text.
    """
    return {name: _groups(batch, name, "slices") for name in spec.pool.slices}


def read_partition(batch: PoolBatch, spec: EvaluationSpec) -> list[Coded]:
    """Return the columns of a partition, coarse to fine, a null as `NO_VALUE`.

    Raises:
        InputError: for a column that is neither whole numbers, truth values nor text.
    """
    coded = [pc.dictionary_encode(_groups(batch, name, "clusters")) for name in spec.strata.columns]
    return [(column.dictionary.to_pylist(), column.indices.to_numpy()) for column in coded]


def _groups(batch: PoolBatch, name: str, what: str) -> pa.Array:
    """Return a column of groups as text: see `read_slices`.

    Args:
        batch: the rows.
        name: of the column.
        what: the groups are, for messages.
    """
    column = batch.any_column(name)
    column = whole_numbers(column) if pa.types.is_floating(column.type) else column
    kind = column.type
    if not (pa.types.is_integer(kind) or pa.types.is_boolean(kind) or is_text(kind)):
        row = first_fraction(column) if pa.types.is_floating(kind) else 0
        got = f"{kind}: {column[row].as_py()}" if row else str(kind)
        raise batch.error(name, row, f"{what} are whole numbers, booleans or text, got {got}")
    return pc.fill_null(column.cast(pa.string()), NO_VALUE)


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
    named += [
        pool.cost,
        *pool.features,
        *spec.strata.columns,
        *pool.slices,
        *(pool.payload if payload else ()),
    ]
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
        named += spec.labels.space.number_columns(system)
    return frozenset(name for name in named if name is not None)


def _columns(named: str | Mapping[str, str] | None) -> list[str]:
    if isinstance(named, Mapping):
        return list(named.values())
    return [] if named is None else [named]
