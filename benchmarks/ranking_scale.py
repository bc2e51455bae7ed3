"""What larger pools of queries take: seconds and memory of `prepare` and `sample`.

    python benchmarks/ranking_scale.py --queries 50000 100000 200000

Each query has 20 items and two rankers, which agree on half of the queries; the first expects five
grades. The pool is made by NumPy in one go and written in files of 50,000 queries.
"""

import argparse
import tempfile
from pathlib import Path

import measured
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

ITEMS, GRADES = 20, 5
IN_FILE = 50_000


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--queries", type=int, nargs="+", default=[100_000, 200_000], metavar="N")
    arguments = parser.parse_args()
    print("| queries | command | seconds | processor seconds | peak MiB |")
    print("| ---: | --- | ---: | ---: | ---: |", flush=True)
    for queries in arguments.queries:
        with tempfile.TemporaryDirectory() as folder:
            spec = write_pool(Path(folder), queries)
            work = Path(folder) / "work"
            for command in (
                ("prepare", spec, "--in-process", "--json"),
                ("sample", work, "--json"),
            ):
                cost, _ = measured.measure("measured.py", *command)
                print(
                    f"| {queries:,} | {command[0]} | {cost.seconds:.1f} | {cost.cpu_seconds:.1f} "
                    f"| {cost.peak_mib:.0f} |",
                    flush=True,
                )


def write_pool(folder: Path, queries: int) -> Path:
    """Write a pool of queries and its spec; return the path of the spec."""
    rng = np.random.default_rng(4)
    (folder / "pool").mkdir()
    for first in range(0, queries, IN_FILE):
        table = _queries(first, min(IN_FILE, queries - first), rng)
        pq.write_table(table, folder / f"pool/part-{first}.parquet", row_group_size=10_000)
    content = {
        "pool": {
            "path": "pool/*.parquet", "id": "query", "lists": {"items": "document"},
            "systems": {"new": {"score": "new", "probability": "grades"}, "old": {"score": "old"}},
        },
        "labels": {"classes": list(range(GRADES))},
        "measure": [{"difference": "dcg"}, {"difference": "err"}],
        "workspace": "work",
    }  # fmt: skip
    path = folder / "spec.yaml"
    path.write_text(yaml.safe_dump(content), "utf-8")
    return path


def _queries(first: int, count: int, rng: np.random.Generator) -> pa.Table:
    """Return some queries, numbered from the first on."""
    quality = rng.normal(rng.normal(-1.0, 0.8, (count, 1)), 1.0, (count, ITEMS))
    new = quality + rng.normal(0, 0.6, quality.shape)
    agrees = rng.random((count, 1)) < 0.5
    old = np.where(agrees, new, new + rng.normal(0, 0.7, quality.shape))
    above = 1 / (1 + np.exp(2.5 * (np.arange(GRADES - 1) - quality[..., None])))
    chances = -np.diff(above, axis=2, prepend=1, append=0)
    document = np.char.add("d", np.arange(ITEMS).astype(str))
    return pa.table(
        {
            "query": np.char.add("q", np.arange(first, first + count).astype(str)),
            "document": _lists(np.tile(document, count)),
            "new": _lists(new.ravel()),
            "old": _lists(old.ravel()),
            "grades": _lists(_lists(chances.ravel(), GRADES)),
        }
    )


def _lists(values: npt.NDArray | pa.Array, length: int = ITEMS) -> pa.Array:
    """Return lists of one length."""
    ends = pa.array(np.arange(0, len(values) + 1, length, dtype=np.int32))
    return pa.ListArray.from_arrays(ends, pa.array(values))


if __name__ == "__main__":
    main()
