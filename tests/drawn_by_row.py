"""Rounds and samples picked row by row from the rows of a pool, for the tests of several files."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from evalsampling.labels.vote import Vote, vote_of
from evalsampling.pool.batch import PoolBatch
from evalsampling.preparation.assignment import CellBatch, assign_cells
from evalsampling.preparation.plan import pool_rows
from evalsampling.preparation.poisson import keep_rows
from evalsampling.preparation.shares import LOCAL
from evalsampling.spec import AnalysisPlan
from evalsampling.stats.labelled_counts import LabelledCounts
from evalsampling.stats.round_chances import RoundChances
from evalsampling.workspace.pool_facts import PoolFacts
from evalsampling.workspace.snapshot import Snapshot
from tests.jobs import Job


def cells_of(facts: PoolFacts, table: pa.Table) -> CellBatch:
    """The rows of a table with their cells."""
    (batch,) = table.combine_chunks().to_batches()
    return assign_cells(PoolBatch(batch), facts.pool.stratification)


def picked(
    facts: PoolFacts, table: pa.Table, rounds: Sequence[RoundChances], parts: int = 1
) -> pa.Table:
    """The rows of a table that the last of some rounds takes, looked at in parts."""
    picker = facts.picker(tuple(rounds))
    ends = np.linspace(0, len(table), parts + 1).astype(int)
    tables = [
        picker.pick(cells_of(facts, table.slice(begin, end - begin)))
        for begin, end in itertools.pairwise(ends)
    ]
    return pa.concat_tables(tables, promote_options="permissive")


def poisson_sample(plan: AnalysisPlan, by_cell: bool = False) -> pa.Table:
    """The Poisson sample of the pool of a plan, its rows in the order of the pool."""
    kept = keep_rows(LOCAL, pool_rows(plan.reading), plan, by_cell)
    return pa.concat_tables(kept.batches())


def votes_of(answers: Sequence[Mapping[str, Any]]) -> list[Vote]:
    """Answers as a delivery has them."""
    return [vote_of(0, answer) for answer in answers]


def counts_in(job: Job) -> LabelledCounts:
    """The counts of the rows that a workspace has drawn and labelled."""
    snapshot = Snapshot.at(job.workspace)
    return LabelledCounts.of_history(snapshot.history, snapshot.pool.table)


def delivered(job: Job, answers: Sequence[Mapping[str, Any]], name: str = "votes.csv") -> Any:
    """Deliver answers by the command, and return what it says."""
    columns = list(dict.fromkeys(key for answer in answers for key in answer))
    rows = [[str(answer.get(key) or "") for key in columns] for answer in answers]
    return job.estimate("--labels", job.deliver(rows, name, ",".join(columns))).json
