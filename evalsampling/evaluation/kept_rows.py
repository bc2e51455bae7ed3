"""Estimates from rows that a filter kept of a pool, with the labels that annotators gave them."""

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.errors import InputError
from evalsampling.evaluation.answers import codes_by_question
from evalsampling.inference.estimates import estimate_from_inclusion
from evalsampling.inference.results import Estimate
from evalsampling.label_spaces.base import NO_PROBABILITY
from evalsampling.measures.build import build_measures
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import read_outputs, with_chances
from evalsampling.pool.frames import Frame, Table, to_array
from evalsampling.preparation.poisson import INCLUSION
from evalsampling.spec import EvaluationSpec
from evalsampling.stats.history import NO_LABEL


def estimate_kept_rows(
    spec: EvaluationSpec, rows: Frame, id: Any, label: Any = None
) -> list[Estimate]:
    """Return the estimates of a spec's measures from a Poisson sample of rows with labels.

    Labels are taken to be missing at random: the inclusion probability of each labelled row is
    multiplied by the share of rows that have a label. From the rows of a part of the pool, the
    estimates are of that part.

    Args:
        spec: spec of the evaluation; of its sampler ``correct_bias`` is used.
        rows: all that a filter kept (`preparation.poisson`, on any engine), a table of any kind:
            the columns that the spec names, and `INCLUSION`.
        id: ids of the rows that have labels, or a table of ids and labels: see `Evaluation.label`.
        label: labels of these rows, in the order of the ids.

    Raises:
        InputError: naming the column and row, the id or the key of the spec that is wrong.
    """
    table = Table.of(rows, "the rows")
    names = [*spec.reading.columns, INCLUSION]
    batch = PoolBatch(pa.record_batch({name: to_array(table.column(name), name) for name in names}))
    inclusion = batch.numbers(INCLUSION).astype(np.float64)
    batch.refuse(
        INCLUSION,
        ~((inclusion > 0) & (inclusion <= 1)),
        lambda row: f"an inclusion probability lies in (0, 1], got {inclusion[row]:g}",
    )
    labels, parameters = spec.labels, spec.sampler.parameters
    if parameters.get("estimator") == "difference":
        raise InputError("sampler.estimator: the totals of the prior are those of the pool")
    ids = batch.ids(spec.pool.id).to_pylist()
    codes = codes_by_question(id, label, spec, ids, [NO_LABEL] * len(ids))
    if not codes:
        raise InputError("no row has a label")
    kept, code = (np.array(part) for part in zip(*sorted(codes.items()), strict=True))
    # Where the probabilities of each system come from: a column, or nowhere.
    rules = [labels.space.prior_rule(one.probability, None) for one in spec.pool.systems]
    read = with_chances(batch, spec.reading)
    outputs = read_outputs(read, spec.reading, tuple(rules)).take(kept)
    measures = build_measures(dataclasses.replace(spec.reading, levels=(None,) * len(rules)))
    for measure in measures:
        if measure.looks_at == {"probability"} and NO_PROBABILITY in rules:
            raise InputError(f"{measure.name}: needs pool.probability here")
    return [
        estimate
        for measure in measures
        for estimate in estimate_from_inclusion(
            measure,
            outputs,
            code,
            inclusion[kept] * len(kept) / len(batch),
            spec.confidence,
            bool(parameters.get("correct_bias", False)),
            labels.oracle == "stochastic",
            systems=tuple(system.name for system in spec.pool.systems),
        )
    ]
