"""What draws by cell lose beside draws row by row: variances of F1, precision and recall, exactly.

A row's chance goes with its own expected deviation, or with that of its cell. The true labels of
the pools are known, so the asymptotic variance of either is a sum over the rows: nothing is drawn.
Pools are those of ../shared/corpus and ../shared/pools; what is not there is left out.
"""

import itertools
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pools
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import runner
from runner import Options, Row, Table

from evalsampling import EvaluationSpec
from evalsampling.measures import FBeta, Measure, Precision, Recall
from evalsampling.measures.deviation import Deviation
from evalsampling.preparation.plan import read_cells, read_table, stratify_pool
from evalsampling.stats.inclusion import mix_evenly, water_fill
from evalsampling.stats.outputs import Outputs

METHODS = ("csf", "logit_rank")
LEAVES = (8, 16, 32, 64, 128, 256, 512, 1024)  # 256 is the default
MEASURES: Mapping[str, Measure] = {"f1": FBeta(), "precision": Precision(), "recall": Recall()}
LABELS, DELTA = 1000, 0.1
WAYS = ("expected", "static", "mixed", "poisson", "learnt")
"""Static draws without a mixture, by the scores alone and by the true labels; with a tenth spread
evenly; a Poisson sample of `LABELS`; draws by cell that have learnt its labels, as `ais` does."""


def efficiencies(folder: Path, name: str, strata: str, leaves: int) -> Iterator[Row]:
    """Yield lines of the table: by way the variance of rows over that of cells."""
    content = {
        "pool": {"path": f"{name}.parquet", "probability": "probability"},
        "strata": {"method": strata, "leaves": leaves},
    }
    cut = stratify_pool(EvaluationSpec.from_mapping(content, folder.resolve()).reading)
    table, batches = read_table(cut), [*read_cells(cut)]
    truth = pq.read_table(folder / f"{name}-truth.parquet")
    place = pc.index_in(pa.chunked_array([batch.ids for batch in batches]), truth["id"])
    label = truth["label"].take(place).to_numpy().astype(np.int64)
    cell = np.searchsorted(table.code, np.concatenate([batch.cell for batch in batches]))
    prior = np.concatenate([batch.prior for batch in batches])
    outputs = Outputs.concatenate([batch.outputs for batch in batches])
    one, rows = np.ones(len(cell), dtype=np.int64), len(cell)
    for title, measure in MEASURES.items():
        risk = measure.mean_loss(outputs, label, one / rows)
        square = measure.influence(outputs, label, risk)[:, 0]
        square = (square - square.mean()) ** 2
        if not square.any():  # A perfect score: no design has a variance.
            continue
        deviation = Deviation.from_cells(measure, table, table.prior)
        own, shared = deviation.of_rows(outputs, prior), deviation.of_cells(table, table.prior)
        learnt = np.sqrt(np.bincount(cell, square) / table.count)
        # By row, then by cell; sizes of cells are given to their rows.
        plain = own, shared[cell]
        mixed = mix_evenly(own, one, DELTA), mix_evenly(shared, table.count, DELTA)[cell]
        apart = [water_fill(size, one, min(LABELS, rows / 2)) for size in mixed]
        taught = mixed[0], mix_evenly(learnt, table.count, DELTA)[cell]
        drawn = [[size.sum() * (square / size).sum() for size in way] for way in (plain, mixed)]
        kept = [((1 / chance - 1) * square).sum() for chance in apart]
        last = [size.sum() * (square / size).sum() for size in taught]
        foreseen = [float(size.sum()) ** 2 for size in plain]
        found = (by_row / by_cell for by_row, by_cell in (foreseen, *drawn, kept, last))
        yield name, title, strata, leaves, len(table), *found


def rows(options: Options) -> Iterator[Row]:
    """Yield the efficiencies on all pools that are there."""
    for folder in (options.pools, pools.CORPUS):
        for setting in itertools.product(pools.find(folder), METHODS, LEAVES):
            yield from efficiencies(folder, *setting)


HEADER = ",".join(("pool,measure,strata,leaves,cells", *WAYS))
TABLES = (Table("cells-and-rows", HEADER, rows, form=".3f"),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES)
