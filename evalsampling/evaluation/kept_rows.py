"""Estimates from rows that a filter kept of a pool, with the labels that annotators gave them."""

from typing import Any

import numpy as np

from evalsampling.errors import InputError
from evalsampling.evaluation.answers import Answers
from evalsampling.evaluation.sampled_rows import SampledRows
from evalsampling.inference.inclusion import estimate_from_inclusion
from evalsampling.inference.results import Estimate
from evalsampling.pool.frames import Frame
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
    sampled = SampledRows.read(spec, rows, INCLUSION)
    batch, inclusion = sampled.batch, sampled.numbers
    in_range = (inclusion > 0) & (inclusion <= 1)
    sampled.refuse(~in_range, "an inclusion probability lies in (0, 1]")
    labels, parameters = spec.labels, spec.sampler.parameters
    if parameters.get("estimator") == "difference":
        raise InputError("sampler.estimator: the totals of the prior are those of the pool")
    answers = Answers.read(id, label, labels, spec.pool.id)
    ids = batch.ids(spec.pool.id).to_pylist()
    codes = answers.by_question(ids, [NO_LABEL] * len(ids), labels.space, False, False)
    if not codes:
        raise InputError("no row has a label")
    kept = np.array(sorted(codes))
    code = np.array([codes[row] for row in kept.tolist()])
    outputs = sampled.outputs.take(kept)
    return [
        estimate
        for measure in sampled.measures()
        for estimate in estimate_from_inclusion(
            measure,
            outputs,
            code,
            inclusion[kept] * len(kept) / len(batch),
            spec.confidence,
            bool(parameters.get("correct_bias", False)),
            labels.oracle == "stochastic",
        )
    ]
