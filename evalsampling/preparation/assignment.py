"""The cell of each row of a pool: the second pass over a batch."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evalsampling.errors import InputError
from evalsampling.label_spaces.base import LOG_ODDS, SCORE
from evalsampling.pool.batch import PoolBatch
from evalsampling.pool.columns import (
    LabelColumns,
    hash_ids,
    read_given,
    read_outputs,
    read_scores,
    read_slices,
    with_chances,
    with_slices,
)
from evalsampling.pool.lists import QueryBatch
from evalsampling.pool.stored_columns import GIVEN, output_columns, query_columns
from evalsampling.preparation.queries import ExpectedQueries
from evalsampling.preparation.stratification import Stratification
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray, UInt64Array
from evalsampling.stats.cells import CellSums
from evalsampling.stats.clusters import ClusterSums
from evalsampling.stats.kdtree import KdTree
from evalsampling.stats.outputs import Outputs
from evalsampling.stats.permanent import keys_by_cluster
from evalsampling.stats.slices import SliceCounts

MOST_SLICE_VALUES = 1000
"""Most values of a slice column."""


@dataclasses.dataclass(frozen=True)
class CellBatch:
    """A batch of rows with the cell, prior, outputs and slices of each."""

    batch: PoolBatch  # the rows as read
    ids: pa.Array  # their ids
    cell: IntArray  # shape (n,): cell codes
    prior: FloatArray  # shape (n, classes): prior probabilities
    outputs: Outputs  # what the systems say of them
    slices: Mapping[str, pa.Array]  # their values in the slice columns, as text
    stratification: Stratification  # whose cells they are
    queries: QueryBatch | None = None  # the lists, if rows are queries
    # identity of the workspace whose strata they are cut by; None for none
    workspace: str | None = None
    # columns of the labels that rows have already (`pool.columns.read_given`)
    given: Mapping[str, pa.Array] = dataclasses.field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.cell)

    @property
    def nbytes(self) -> int:
        """Size in memory, bytes, the slices apart."""
        outputs = self.outputs
        arrays = (
            self.cell, self.prior, outputs.prediction, outputs.score, outputs.probability
        )  # fmt: skip
        return self.batch.nbytes + sum(array.nbytes for array in arrays)

    def sums(self) -> CellSums:
        """Return the sums of the rows over the cells."""
        sums = CellSums.from_rows(self.stratification.grid.cells, self.cell, self._shares)
        return dataclasses.replace(sums, workspace=self.workspace)

    @property
    def _shares(self) -> FloatArray:
        """The prior, the probabilities of each system unless they are the prior's, magnitudes."""
        compared = self.stratification.compared
        columns = [self.prior] if compared is None else [compared.shares(self.outputs)]
        if self.outputs.tags is not None:
            tags = np.moveaxis(self.outputs.tags, 1, 0)
            columns += [*tags.astype(np.float64), *(tags * self.prior)]
        elif compared is None and self.stratification.has_system_probabilities:
            own = np.nan_to_num(self.outputs.probability)
            columns.append(own.reshape(len(own), math.prod(own.shape[1:])))
        for name, classes in self.stratification.magnitudes.items():
            columns.append(classes.relative(self.outputs.magnitudes[name])[:, None])
        return columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)

    def stored(self, taken: IntArray) -> dict[str, pa.Array]:
        """Return the columns to store of the rows: the systems' outputs, or the queries' lists."""
        if self.queries is not None:
            return query_columns(self.outputs.take(taken)) | self.queries.take(taken)
        places = pa.array(taken)
        given = {name: column.take(places) for name, column in self.given.items()}
        return output_columns(self.outputs.take(taken)) | given

    @property
    def keys(self) -> UInt64Array:
        """Sort keys of the rows of a cell, (n,): keyed hashes of ids, clusters together."""
        plan, cluster = self.stratification.plan, self.outputs.cluster
        keys = hash_ids(self.ids, plan.seed)
        if not plan.by_cluster:
            return keys
        assert cluster is not None, "the sampler was built, so the spec names clusters"
        return keys_by_cluster(keys, cluster)

    def cluster_sums(self) -> ClusterSums:
        """Return the sketch of the clusters of the rows; the spec names clusters."""
        assert self.outputs.cluster is not None
        return ClusterSums.of_numbers(self.outputs.cluster)

    @property
    def has_label(self) -> BoolArray | None:
        """Which rows have a label already, shape (n,); None where none is looked for."""
        if GIVEN not in self.given:
            return None
        return self.given[GIVEN].is_valid().to_numpy(zero_copy_only=False)

    def slice_counts(self) -> SliceCounts:
        """Return how often each value of the slice columns comes in each cell."""
        columns = []
        for name, column in self.slices.items():
            coded = pc.dictionary_encode(column)
            values = coded.dictionary.to_pylist()
            _check_values(name, len(values))
            columns.append((values, coded.indices.to_numpy()))
        cells = self.stratification.grid.cells
        counts = SliceCounts.from_codes(cells, self.cell, tuple(columns))
        return dataclasses.replace(counts, workspace=self.workspace)


def check_slices(counts: SliceCounts, names: Sequence[str]) -> None:
    """Check that no slice column has too many values."""
    for name, column in zip(names, counts.columns, strict=True):
        _check_values(name, len(column))


def _check_values(name: str, values: int) -> None:
    if values > MOST_SLICE_VALUES:
        raise InputError(
            f"pool.slices: column {name!r} has {values} values or more, at most "
            f"{MOST_SLICE_VALUES} are possible"
        )


def assign_cells(batch: PoolBatch, stratification: Stratification) -> CellBatch:
    """Return the rows of a batch with their cells, all columns checked."""
    plan, known = stratification.plan, stratification.scores
    ids = batch.ids(plan.pool.id)
    if plan.pool.lists is not None:
        return _assign_queries(batch, ids, stratification)
    read = with_chances(batch, plan)
    outputs = read_outputs(read, plan, known.rules, known.ranks)
    if stratification.has_system_probabilities or stratification.labels:
        rule, ranks, scores = known.prior, known.ranks, None
        if rule == LOG_ODDS or ranks is not None:
            scores = read_scores(read, plan, str(plan.pool.score))
            scores = scores if ranks is None else ranks.find(scores)
        named = plan.pool.score if rule == SCORE else plan.pool.probability
        prior = plan.labels.space.probabilities(LabelColumns.of(read), named, rule, scores)
    else:
        prior = outputs.probability[:, 0]
    try:
        cell = stratification.grid.codes(
            stratification.bins(read, outputs),
            with_slices(plan.labels.space.signed(outputs.prediction), outputs.slices),
            outputs.magnitudes,
        )
    except ValueError as error:
        raise InputError(
            f"{batch.path}: the pool has changed between two passes: it has {error}"
        ) from error
    return CellBatch(
        batch, ids, cell, prior, outputs, read_slices(batch, plan.pool), stratification,
        given=read_given(batch, plan.labels),
    )  # fmt: skip


def _assign_queries(batch: PoolBatch, ids: pa.Array, stratification: Stratification) -> CellBatch:
    """Return queries with their cells, which are cut by expected gains."""
    plan = stratification.plan
    expected = ExpectedQueries.read(batch, plan)
    outputs = expected.outputs
    assert isinstance(stratification.grouped, KdTree)
    bins = stratification.grouped.find(expected.features)
    cell = stratification.grid.codes(bins, outputs.prediction, outputs.magnitudes)
    prior, slices = np.ones((len(ids), 1)), read_slices(batch, plan.pool)
    return CellBatch(batch, ids, cell, prior, outputs, slices, stratification, expected.queries)
