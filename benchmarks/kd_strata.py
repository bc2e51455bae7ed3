"""What strata of features are worth beside strata of scores: errors on pools with known truth.

    python benchmarks/kd_strata.py

`ais` for F1, 1,000 labels, 256 leaves, on the pools that have files of features. Strata of the
score with and without its probabilities stand beside a k-d tree over the features, and a score
learnt from features and predictions alone, by logistic regression. The table is in
docs/studies/kd-strata.md.
"""

import argparse
import csv
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pools import add_option, find
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.pipeline import make_pipeline  # type: ignore[import-untyped]
from sklearn.preprocessing import StandardScaler  # type: ignore[import-untyped]

from evalsampling import EvaluationSpec
from evalsampling.measures.build import build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, simulate
from evalsampling.simulation.truth import KnownPool

LABELS = 1000

STRATA: dict[str, dict[str, str | None]] = {
    "score, its probabilities": {"score": "score", "probability": "probability"},
    "score, none": {"score": "score", "probability": "even"},
    "features": {"score": None},
    "learnt score": {"score": "learnt", "probability": "learnt"},
}


def write_pool(pools: Path, name: str, directory: Path) -> list[str]:
    """Write a pool with its features and what they say; return the names of the features."""
    pool = pq.read_table(pools / f"{name}.parquet")
    table = pool.select(["id", "score", "probability", "prediction"])
    file = pq.read_table(pools / f"{name}-features.parquet")
    features = [column for column in file.column_names if column not in ("id", "probability_platt")]
    for column in features:
        table = table.append_column(column, file[column])
    x = file.select(features).to_pandas().to_numpy(np.float64)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    learnt = model.fit(x, table["prediction"].to_numpy()).predict_proba(x)[:, 1]
    table = table.append_column("learnt", pa.array(learnt))
    table = table.append_column("even", pa.array(np.full(len(table), 0.5)))
    pq.write_table(table, directory / "pool.parquet")
    return features


def spec_of(strata: str, features: list[str], directory: Path) -> EvaluationSpec:
    """Return the spec of an evaluation."""
    columns = {key: column for key, column in STRATA[strata].items() if column is not None}
    by_features = "score" not in columns
    pool: dict[str, Any] = {"path": "pool.parquet", "prediction": "prediction", **columns}
    if by_features:
        pool |= {"score": None, "features": features}
    content = {
        "pool": pool,
        "measure": "f1",
        "strata": {"method": "kd" if by_features else "csf"},
        "sampler": "ais",
        "budget": LABELS,
        "seed": 1,
    }
    return EvaluationSpec.from_mapping(content, directory)


def row(pools: Path, name: str, strata: str, repeats: int) -> list[Any]:
    """Return pool, strata, RMSE, bias, coverage and share of intervals that claim something."""
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        spec = spec_of(strata, write_pool(pools, name, directory), directory)
        stratification = stratify_pool(spec)
        known = KnownPool.read(spec, stratification, pools / f"{name}-truth.parquet")
    ranges = stratification.ranges
    plan = Plan((LABELS,), spec.round_size, repeats, spec.seed, 0.95, hidden=spec.label_prior)
    content = simulate(known, [build_sampler(spec, ranges)], build_measures(spec, ranges), plan)
    (found,) = content["results"]
    numbers = [f"{found['rmse']:.3f}", f"{found['bias']:+.3f}", f"{found['coverage']:.2f}"]
    return [name, strata, *numbers, f"{found['claims']:.2f}"]


def rows(pools: Path, repeats: int, only: list[str] | None) -> Iterator[list[Any]]:
    """Yield the rows of the table."""
    for name in only or find(pools):
        if (pools / f"{name}-features.parquet").exists():
            for strata in STRATA:
                yield row(pools, name, strata, repeats)


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    add_option(parser)
    parser.add_argument("--only", nargs="*", metavar="POOL", help="default: all")
    parser.add_argument("--repeats", type=int, default=100, metavar="N")
    arguments = parser.parse_args()
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["pool", "strata", "rmse", "bias", "coverage", "claims"])
    for one in rows(arguments.pools, arguments.repeats, arguments.only):
        writer.writerow(one)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
