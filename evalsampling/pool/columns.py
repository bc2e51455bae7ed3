"""What the columns of a pool mean: outputs of the systems, features, slices, hashes of ids."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.label_spaces.base import COLUMN, EVEN, NO_PROBABILITY, RANKS, SCORE
from evalsampling.pool.arrow import characters, is_number, is_text
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.label_columns import LabelColumns, first_fraction, whole_numbers
from evalsampling.pool.rendering import rendered
from evalsampling.spec import EvaluationSpec
from evalsampling.spec.id_columns import columns_of
from evalsampling.spec.slices import NULL
from evalsampling.stats.arrays import FloatArray, IntArray, UInt64Array
from evalsampling.stats.hashing import hash_integers, hash_strings
from evalsampling.stats.magnitudes import COST, WEIGHT
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.partition import Coded
from evalsampling.stats.rank_prior import RankPrior
from evalsampling.stats.slices import SliceCodes

_DIGITS = 9
"""Of expected numbers of labels, so that no stratum depends on the order of a sum."""


def read_outputs(
    batch: PoolBatch,
    spec: EvaluationSpec,
    rules: tuple[str, ...],
    ranks: RankPrior | None = None,
) -> Outputs:
    """Return scores, predictions and probabilities of each system for the rows of a batch."""
    scores, predictions, probabilities, tags = [], [], [], []
    space, columns = spec.labels.space, LabelColumns.of(batch)
    for system, rule in zip(spec.pool.systems, rules, strict=True):
        score = None if system.score is None else read_scores(batch, spec, system.score)
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
        if score is None:
            scores.append(np.full(len(batch.rows), np.inf))
        else:
            scores.append(score.astype(np.float64, copy=False))
    return Outputs(
        prediction=_side_by_side(predictions),
        score=_side_by_side(scores),
        probability=_side_by_side(probabilities),
        slices=read_named_slices(batch, spec),
        tags=np.stack(tags, axis=1) if tags else None,
        magnitudes=read_magnitudes(batch, spec),
        cluster=read_clusters(batch, spec),
    )


def read_scores(batch: PoolBatch, spec: EvaluationSpec, name: str) -> npt.NDArray[np.floating]:
    """Return a column of scores, shape (n,), to be compared with the thresholds of a spec."""
    return batch.scores(name, np.array(spec.thresholds))


def read_magnitudes(batch: PoolBatch, spec: EvaluationSpec) -> dict[str, FloatArray]:
    """Return cost and weight of each row, shape (n,) each, by the names that the spec has."""
    words = {COST: "a label costs more than 0", WEIGHT: "a row counts 0 or more"}
    magnitudes = {}
    for name, column in spec.pool.magnitudes.items():
        values = batch.numbers(column).astype(np.float64, copy=False)
        if np.any(values <= 0):
            row = int(np.argmax(values <= 0))
            raise batch.error(column, row, f"{words[name]}, got {values[row]:g}")
        magnitudes[name] = values
    return magnitudes


def read_clusters(batch: PoolBatch, spec: EvaluationSpec) -> IntArray | None:
    """Return the number of each row's cluster, shape (n,), below 2^53, as a float holds it.

    It is a part of the keyed hash of the cluster's name; None if the spec names no clusters.
    """
    if spec.pool.cluster is None:
        return None
    return (hash_ids(batch.ids(spec.pool.cluster), spec.seed) >> np.uint64(11)).astype(np.int64)


def read_predictions(batch: PoolBatch, spec: EvaluationSpec) -> npt.NDArray[np.integer]:
    """Return what cells know of the predictions of the systems, shape (n, systems).

    Of a single system they may be narrow integers, as they are stored.
    """
    predictions, space, columns = [], spec.labels.space, LabelColumns.of(batch)
    for system in spec.pool.systems:
        by_score = system.threshold is not None and system.score is not None
        score = read_scores(batch, spec, str(system.score)) if by_score else None
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


def read_features(batch: PoolBatch, spec: EvaluationSpec) -> FloatArray:
    """Return what a k-d tree cuts strata from, shape (n, features): columns, or `_label_counts`."""
    if not spec.pool.features:
        return _label_counts(batch, spec)
    return np.stack([batch.numbers(name) for name in spec.pool.features], axis=1, dtype=np.float64)


def _label_counts(batch: PoolBatch, spec: EvaluationSpec) -> FloatArray:
    """Return how many labels are expected to be right, wrong and missing, shape (n, 3 systems).

    Of rows with many labels: by these numbers rows differ in how far their labels move a measure.
    """
    space, columns = spec.labels.space, LabelColumns.of(batch)
    rule = EVEN if spec.pool.probability is None else COLUMN
    p = space.probabilities(columns, spec.pool.probability, rule, None)
    counts = []
    for system in spec.pool.systems:
        f = space.tags(columns, system)
        assert f is not None, "other labels have features or a score"
        counts += [(f * p).sum(axis=1), (f * (1 - p)).sum(axis=1), (~f * p).sum(axis=1)]
    return np.round(np.stack(counts, axis=1), _DIGITS) + 0.0


def label_columns(spec: EvaluationSpec) -> list[str]:
    """Return the columns of predictions and probabilities, which `_label_counts` reads."""
    named: list[str | None] = [*_columns(spec.pool.probability)]
    for system in spec.pool.systems:
        named += [system.prediction, *system.by_label.values()]
    return [name for name in named if name is not None]


def read_slices(batch: PoolBatch, spec: EvaluationSpec) -> dict[str, pa.Array]:
    """Return the slice columns that are reported, by their names: see `_groups`."""
    return {name: _groups(batch, name, "slices") for name in spec.pool.slices}


def read_partition(batch: PoolBatch, spec: EvaluationSpec) -> list[Coded]:
    """Return the columns of a partition, coarse to fine, a null as `NULL`."""
    coded = [pc.dictionary_encode(_groups(batch, name, "clusters")) for name in spec.strata.columns]
    return [(column.dictionary.to_pylist(), column.indices.to_numpy()) for column in coded]


def read_named_slices(batch: PoolBatch, spec: EvaluationSpec) -> SliceCodes | None:
    """Return the codes of the slices that the spec names, None if it names none."""
    named, codes = spec.named_slices, []
    if not named:
        return None
    for name, values in named.items():
        code = pc.index_in(_groups(batch, name, "slices"), value_set=pa.array(values, pa.string()))
        codes.append(pc.fill_null(code, -1).to_numpy().astype(np.int64) + 1)
    return SliceCodes(named, np.stack(codes, axis=1))


def _groups(batch: PoolBatch, name: str, what: str) -> pa.Array:
    """Return a column of groups as text, a null as `NULL`; numbers that are all whole as such."""
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
        raise batch.error(
            name, row, f"{what} are whole numbers, booleans, dates or text, got {got}"
        )
    return pc.fill_null(column.cast(pa.string()), NULL)


def hash_ids(ids: pa.Array, seed: int) -> UInt64Array:
    """Return the keyed hash of each id, shape (n,): see `stats.hashing`."""
    if pa.types.is_integer(ids.type):
        return hash_integers(ids.to_numpy(), seed)
    if ids.type == pa.string():
        ids = ids.cast(pa.large_string())
    bounds, text = characters(ids)
    return hash_strings(text, bounds, seed)


def required_columns(spec: EvaluationSpec, payload: bool = True) -> list[str]:
    """Return the columns of the pool that the second pass reads, each once."""
    pool = spec.pool
    named: list[Any] = [*columns_of(pool.id), pool.score, *_columns(pool.probability)]
    if pool.lists is not None:
        named.append(pool.lists.items)
    for system in pool.systems:
        named += [system.score, system.prediction, *system.by_label.values()]
        named += _columns(system.probability)
    named += [*pool.magnitudes.values(), pool.cluster, *pool.features, *spec.strata.columns]
    named += [*pool.slices, *spec.named_slices]
    named += [] if spec.labels.at_hand is None else spec.labels.at_hand.columns
    named += pool.payload if payload else ()
    return list(dict.fromkeys(name for name in named if name is not None))


def missing_column(name: str, spec: EvaluationSpec) -> str:
    """Return what may be done where a pool lacks a column; empty where that is plain."""
    pool = spec.pool
    if name != pool.score:
        return ""
    if not isinstance(pool.probability, Mapping):
        another = "another" if pool.probability is None else f"another, as {pool.probability}"
        return (
            f"; pool.score names the column of scores: name {another} or, if there is none, leave "
            "it to what is predicted by strata.method: predictions"
        )
    features = ", ".join(pool.probability.values())
    return (
        "; pool.score names the column that strata are cut from: name another, or cut them from "
        f"the probabilities by strata.method: kd and pool.features: [{features}]"
    )


def number_columns(spec: EvaluationSpec) -> frozenset[str]:
    """Return the columns whose values are numbers, whole or not."""
    pool = spec.pool
    if pool.lists is not None:
        return frozenset(pool.magnitudes.values())
    named = [pool.score, *_columns(pool.probability), *pool.features, *pool.magnitudes.values()]
    for system in pool.systems:
        named += [system.score, *_columns(system.probability)]
        named += spec.labels.space.number_columns(system)
    return frozenset(name for name in named if name is not None)


def _columns(named: str | Mapping[str, str] | None) -> list[str]:
    if isinstance(named, Mapping):
        return list(named.values())
    return [] if named is None else [named]
