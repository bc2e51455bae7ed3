"""One pass over a pool that sums its cells, by plain work or by the library, for `bench_ratios.py`.

It is run with the way, the folder of the pool's files and a JSON list of inner edges.
Both ways return the same: rows a cell, and the sums of round(p 2^32) for both classes, as whole
numbers. A cell is a leaf of the score with a predicted class.
"""

import concurrent.futures
import json
import operator
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import measured

PROBABILITY_ONE = 2**32
THREADS = 2
_READ = ["score", "prediction"]
_ROWS_AT_A_TIME = 1 << 17
"""Rows whose arrays stay in the processor's cache: of what was tried, the fastest."""

Sums = dict[str, list[int]]
"""`count`, `negative` and `positive`, each a list by cell: 2 x leaf + predicted class."""


def _plain(pool: Path, edges: Sequence[float]) -> Callable[[], Sums]:
    """What a program of pyarrow and numpy for these columns and statistics alone would do.

    It loads pyarrow as it begins: limits and lines of `docs/bench.md` are of such a pass.
    """
    import numpy as np

    cuts = np.array(edges)
    cells = 2 * (len(cuts) + 1)

    def add_part(path: Path, group: int) -> Any:
        import pyarrow.parquet as pq

        sums = np.zeros((3, cells), dtype=np.int64)
        with pq.ParquetFile(path) as file:
            rows = file.read_row_group(group, _READ, use_threads=False)
        scores, predictions = (rows[name].to_numpy() for name in _READ)
        for begin in range(0, len(scores), _ROWS_AT_A_TIME):
            part = slice(begin, begin + _ROWS_AT_A_TIME)
            positive = scores[part].astype(np.float64)
            cell = 2 * np.searchsorted(cuts, positive, side="right") + predictions[part]
            sums[0] += np.bincount(cell, minlength=cells)
            for row, probability in ((1, 1 - positive), (2, positive)):
                integers = np.rint(probability * PROBABILITY_ONE)
                sums[row] += np.bincount(cell, integers, cells).astype(np.int64)
        return sums

    def work() -> Sums:
        import pyarrow.parquet as pq

        files = sorted(pool.iterdir())
        groups = ((path, n) for path in files for n in range(pq.read_metadata(path).num_row_groups))
        total = np.zeros((3, cells), dtype=object)
        with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
            for sums in threads.map(add_part, *zip(*groups, strict=True)):
                total += sums
        return dict(zip(("count", "negative", "positive"), total.tolist(), strict=True))

    return work


def _statistics(pool: Path, edges: Sequence[float]) -> Callable[[], Sums]:
    """The library's own pass on its default runner, without the reserve."""
    import apache_beam as beam

    from evalsampling.pipelines.running import parse_options, run
    from evalsampling.pool.catalog import Catalog
    from evalsampling.preparation import plan
    from evalsampling.preparation.stages import Step
    from evalsampling.preparation.stratification import Stratification
    from evalsampling.spec import EvaluationSpec
    from evalsampling.transforms import BeamEngine

    content = {"path": str(measured.pattern(pool)), "probability": "score"}
    spec = EvaluationSpec.from_mapping({"pool": content, "strata": {"edges": [*edges]}}, Path())
    given = Stratification.from_summary(None, spec.reading)

    def work() -> Sums:
        with tempfile.TemporaryDirectory() as directory:
            found = Path(directory) / "sums.json"
            root = beam.Pipeline(options=parse_options([]))
            engine = BeamEngine(root)
            catalog = engine.value("Catalog", Catalog.read(spec.reading))
            items = engine.expand(Step("ListItems", operator.attrgetter("items")), catalog)
            stratification = engine.value("Stratification", given)
            cells, _ = engine.read(plan.fetch_cells(stratification), items)
            (sums,) = engine.run(cells, plan.SUM_CELLS)
            engine.call(Step("Write", _write, (found,)), sums)
            run(root)
            count, probability = json.loads(found.read_text())
        negative, positive = map(list, zip(*probability, strict=True))
        return {"count": count, "negative": negative, "positive": positive}

    return work


def _write(sums: Any, path: Path) -> None:
    path.write_text(json.dumps([sums.count.tolist(), sums.probability.tolist()]))


WAYS: dict[str, Callable[[Path, Sequence[float]], Callable[[], Sums]]] = {
    "plain": _plain,
    "statistics": _statistics,
}

if __name__ == "__main__":
    asked, folder, inner = sys.argv[1:]
    measured.report(WAYS[asked](Path(folder), json.loads(Path(inner).read_text())))
