"""Names and columns under which rows are stored in a workspace: reserve, draws, batches."""

import numpy as np
import pyarrow as pa

from evalsampling.label_spaces.sets import packed, unpacked
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.magnitudes import POWERS
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.slices import Named, SliceCodes

CELL, RANK, HASH, ID, FILE, ROW = "cell", "rank", "hash", "id", "file", "row"

GIVEN, GIVEN_NUMBER = "given", "given.number"
"""Columns of the code of a label that a row had already, null where it had none, and of the chance
or weight that it was drawn with."""

CLUSTER = "cluster"
"""Column of the numbers of clusters, where a spec names them."""

TAGS = "tags."
"""Columns of the labels that each system predicts begin with this."""

PAYLOAD_PREFIX = "payload."
"""Payload columns keep their name behind this, so that none can be taken for another."""

SLICE_PREFIX = "slice."
"""Slice columns keep their name behind this."""


def output_columns(outputs: Outputs) -> dict[str, pa.Array]:
    """Return the systems' outputs as Arrow columns, by the names they are stored under.

    ``prediction.S``, ``score.S`` and ``probability.S.C`` for system number S and class code C, or
    ``tags.S``, a bit for each of many labels; the names of magnitudes that rows differ in;
    `CLUSTER` if the spec names clusters. ``within.K`` for column number K of the slices that the
    spec names: the code of the row's value.
    """
    columns = {}
    for system in range(outputs.prediction.shape[1]):
        columns[f"prediction.{system}"] = pa.array(outputs.prediction[:, system])
        columns[f"score.{system}"] = pa.array(outputs.score[:, system])
        for y in range(outputs.probability.shape[2]):
            columns[f"probability.{system}.{y}"] = pa.array(outputs.probability[:, system, y])
        if outputs.tags is not None:
            bits = packed(outputs.tags[:, system])
            columns[f"{TAGS}{system}"] = pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(bits.shape[1]), len(bits), [None, pa.py_buffer(bits.tobytes())]
            )
    columns |= _magnitude_columns(outputs)
    if outputs.cluster is not None:
        columns[CLUSTER] = pa.array(outputs.cluster)
    if outputs.slices is not None:
        codes = map(pa.array, outputs.slices.code.T)
        columns |= zip(_slice_names(outputs.slices.named), codes, strict=True)
    return columns


def _slice_names(named: Named) -> list[str]:
    return [f"within.{place}" for place in range(len(named))]


def _magnitude_columns(outputs: Outputs) -> dict[str, pa.Array]:
    return {name: pa.array(values) for name, values in outputs.magnitudes.items()}


def magnitudes_of(rows: pa.Table) -> dict[str, FloatArray]:
    """Return the cost and the weight of each of some stored rows, by the names that are there."""
    return {name: rows[name].to_numpy() for name in POWERS if name in rows.column_names}


def query_columns(outputs: Outputs) -> dict[str, pa.Array]:
    """Return the columns of queries besides their lists: which systems differ, and the cost."""
    columns = {f"prediction.{s}": pa.array(codes) for s, codes in enumerate(outputs.prediction.T)}
    return columns | _magnitude_columns(outputs)


def outputs_of_columns(rows: pa.Table, systems: int, classes: int, named: Named) -> Outputs:
    """Return the systems' outputs stored in a table by `output_columns`."""
    prediction = [rows[f"prediction.{s}"].to_numpy() for s in range(systems)]
    score = [rows[f"score.{s}"].to_numpy() for s in range(systems)]
    tags = None
    if f"{TAGS}0" in rows.column_names:
        columns = [rows[f"{TAGS}{s}"].to_pylist() for s in range(systems)]
        tags = np.stack([unpacked(column, classes) for column in columns], axis=1)
        probability = np.zeros((len(rows), systems, 0))
    else:
        of_system = [
            [rows[f"probability.{s}.{y}"].to_numpy() for y in range(classes)]
            for s in range(systems)
        ]
        probability = np.stack([np.stack(own, axis=1) for own in of_system], axis=1)
    codes = [rows[name].to_numpy() for name in _slice_names(named)]
    return Outputs(
        np.stack(prediction, axis=1), np.stack(score, axis=1), probability, tags=tags,
        slices=SliceCodes(named, np.stack(codes, axis=1)) if codes else None,
        magnitudes=magnitudes_of(rows),
        cluster=rows[CLUSTER].to_numpy() if CLUSTER in rows.column_names else None,
    )  # fmt: skip
