"""One pass over a pool that sums its cells, in one of several ways; `prepare_speed.py` runs these.

    python benchmarks/cell_passes.py edges POOL                        # edges that csf cuts
    python benchmarks/cell_passes.py WAY POOL --edges edges.json

All ways but `duckdb-bins` return the same: rows a cell, and the sums of round(p 2^32) for both
classes, as whole numbers. A cell is a leaf of the score with a predicted class.
"""

import argparse
import concurrent.futures
import itertools
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import preparations
from measured import report

PROBABILITY_ONE = 2**32
THREADS = 2
_ROWS_AT_A_TIME = 1 << 17
"""Rows whose arrays stay in the processor's cache: of what was tried, the fastest."""

Sums = dict[str, list[int]]
"""`count`, `negative` and `positive`, each a list by cell: 2 x leaf + predicted class."""


def main() -> None:
    """Import what the way needs, then run and report it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("way", choices=["edges", *WAYS])
    parser.add_argument("pool", type=Path, help="folder of its files")
    parser.add_argument("--edges", type=Path, help="JSON list of inner edges")
    options = parser.parse_args()
    if options.way == "edges":
        work = _cut(options.pool)
    else:
        work = WAYS[options.way](options.pool, json.loads(options.edges.read_text()))
    report(work)


def _cut(pool: Path) -> Callable[[], list[float]]:
    """Return what cuts the edges of the scores in the pool's first file."""
    from evalsampling.preparation.local import stratify_pool

    first = min(pool.iterdir())
    return lambda: stratify_pool(_spec(first)).edges.tolist()


def _spec(pool: Path, **keys: Any) -> Any:
    from evalsampling.spec import EvaluationSpec

    content = {"pool": {"path": str(pool), "probability": "score"}, **keys}
    return EvaluationSpec.from_mapping(content, Path())


# --- pyarrow and numpy


def _plain(pool: Path, edges: Sequence[float]) -> Callable[[], Sums]:
    """What a program made for these columns and statistics alone would do."""
    import numpy as np

    cuts = np.array(edges)
    cells = 2 * (len(cuts) + 1)

    def add_part(path: Path, group: int) -> Any:
        sums = np.zeros((3, cells), dtype=np.int64)
        for scores, predictions in _READERS[path.suffix](path, group):
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
        total = np.zeros((3, cells), dtype=object)
        with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
            for sums in threads.map(add_part, *zip(*_parts(pool), strict=True)):
                total += sums
        return dict(zip(("count", "negative", "positive"), total.tolist(), strict=True))

    return work


def _parts(pool: Path) -> Iterator[tuple[Path, int]]:
    """Yield what a thread reads at a time: a row group, or a file that has none."""
    import pyarrow.parquet as pq

    for path in sorted(pool.iterdir()):
        groups = pq.read_metadata(path).num_row_groups if path.suffix == ".parquet" else 1
        for group in range(groups):
            yield path, group


def _read_parquet(path: Path, group: int) -> Iterator[tuple[Any, Any]]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        yield _columns(file.read_row_group(group, _READ, use_threads=False))


def _read_csv(path: Path, _: int) -> Iterator[tuple[Any, Any]]:
    import pyarrow.csv

    reading = pyarrow.csv.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
    converting = pyarrow.csv.ConvertOptions(include_columns=_READ)
    with pyarrow.csv.open_csv(path, reading, convert_options=converting) as batches:
        yield from map(_columns, batches)


def _read_json(path: Path, _: int) -> Iterator[tuple[Any, Any]]:
    import pyarrow as pa
    import pyarrow.json

    reading = pyarrow.json.ReadOptions(use_threads=False, block_size=_BLOCK_BYTES)
    schema = pa.schema([("score", pa.float64()), ("prediction", pa.int64())])
    parsing = pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    with pyarrow.json.open_json(path, reading, parsing) as batches:
        yield from map(_columns, batches)


def _read_avro(path: Path, _: int) -> Iterator[tuple[Any, Any]]:
    import fastavro
    import numpy as np

    with path.open("rb") as file:
        records = fastavro.reader(file)
        while some := list(itertools.islice(records, _ROWS_AT_A_TIME)):
            scores = np.array([record["score"] for record in some])
            yield scores, np.array([record["prediction"] for record in some])


def _columns(rows: Any) -> tuple[Any, Any]:
    return rows["score"].to_numpy(), rows["prediction"].to_numpy()


_READ = ["score", "prediction"]
_BLOCK_BYTES = 1 << 22
_READERS: dict[str, Callable[[Path, int], Iterator[tuple[Any, Any]]]] = {
    ".parquet": _read_parquet,
    ".csv": _read_csv,
    ".jsonl": _read_json,
    ".avro": _read_avro,
}


# --- the library


def _statistics(pool: Path, edges: Sequence[float]) -> Callable[[], Sums]:
    """The library's own pass on its default runner, without the reserve."""
    import apache_beam as beam
    from apache_beam import pvalue

    from evalsampling.pipelines.running import parse_options, run
    from evalsampling.preparation.stratification import Stratification
    from evalsampling.transforms import FindCells, SumCells

    spec = _spec(preparations.pattern(pool), strata={"edges": [*edges]})
    given = Stratification.given(spec)
    assert given is not None

    def work() -> Sums:
        with tempfile.TemporaryDirectory() as directory:
            found = Path(directory) / "sums.json"
            root = beam.Pipeline(options=parse_options([]))
            stratification = pvalue.AsSingleton(root | "GivenPartition" >> beam.Create([given]))
            cells = _fetch(root, spec) | "FindCells" >> FindCells(spec, stratification)
            sums = cells | "SumCells" >> SumCells()
            _ = sums | "Write" >> beam.Map(_write, found)
            run(root)
            count, probability = json.loads(found.read_text())
        negative, positive = map(list, zip(*probability, strict=True))
        return {"count": count, "negative": negative, "positive": positive}

    return work


def _write(sums: Any, path: Path) -> None:
    path.write_text(json.dumps([sums.count.tolist(), sums.probability.tolist()]))


def _fetch(root: Any, spec: Any) -> Any:
    """Return the pool's rows in a pipeline: all that is taken of how the library reads pools."""
    import apache_beam as beam

    from evalsampling.pool.catalog import Catalog
    from evalsampling.pool.columns import required_columns
    from evalsampling.transforms import FetchPool

    columns = required_columns(spec, payload=False)
    items = root | "ListItems" >> beam.Create(Catalog.read(spec).items)
    return items | "FetchRows" >> FetchPool(columns)


# --- DuckDB


def _duckdb(leaf: Callable[[Sequence[float]], str], join: str = "") -> Any:
    """Return the way that groups by an expression for the leaf, and joins if that needs a table."""

    def way(pool: Path, edges: Sequence[float]) -> Callable[[], Sums]:
        import duckdb

        def work() -> Sums:
            connection = duckdb.connect(config={"threads": THREADS})
            connection.execute("set enable_progress_bar = false")
            low = ["-infinity", *map(repr, edges)]
            values = ", ".join(f"({k}, '{edge}'::double)" for k, edge in enumerate(low))
            connection.execute(f"create table leaves as from (values {values}) leaves(leaf, low)")
            # A cast to bigint rounds half to even, as np.rint does; round() does not.
            found = connection.execute(
                f"""
                select {leaf(edges)} as leaf, prediction, count(*),
                    sum(((1 - score::double) * {PROBABILITY_ONE})::bigint),
                    sum((score::double * {PROBABILITY_ONE})::bigint)
                from read_parquet('{pool}/*.parquet') {join} group by all
                """
            ).fetchall()
            sums: Sums = {name: [0] * 2 * len(low) for name in ("count", "negative", "positive")}
            for number, prediction, *values in found:
                for name, value in zip(sums, values, strict=True):
                    sums[name][2 * number + prediction] = value
            return sums

        return work

    return way


def _nested(edges: Sequence[float], first: int = 0, last: int | None = None) -> str:
    """Return a binary search as an SQL expression: the number of edges at or below the score."""
    last = len(edges) if last is None else last
    if first == last:
        return str(first)
    middle = (first + last + 1) // 2
    below, above = _nested(edges, first, middle - 1), _nested(edges, middle, last)
    return f"case when score < {edges[middle - 1]!r}::double then {below} else {above} end"


def _equal_width(edges: Sequence[float]) -> str:
    return f"least(floor(score * {len(edges) + 1}), {len(edges)})::int"


WAYS: dict[str, Callable[[Path, Sequence[float]], Callable[[], Sums]]] = {
    "plain": _plain,
    "statistics": _statistics,
    "duckdb": _duckdb(_nested),
    "duckdb-asof": _duckdb(lambda edges: "leaf", "asof join leaves on score::double >= low"),
    "duckdb-bins": _duckdb(_equal_width),
}


if __name__ == "__main__":
    main()
