"""How often intervals of the difference of two systems hold it: model-based and design-based.

python benchmarks/difference_coverage.py    # prints a table of docs/studies/comparisons.md
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling import EvaluationSpec
from evalsampling.measures.build import build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, simulate
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize

ROWS = 10_000

LABELS = (100, 300)

SAMPLERS = ("passive", "compare", "calibrated")

SITUATIONS = {"right": (1.0, 0.0), "too sure": (2.5, 0.0), "too high": (1.0, 1.5)}
"""What log-odds of the scores' probabilities are multiplied by, and what is added to them."""

MEASURES = ("accuracy", "f1")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200, metavar="N")
    parser.add_argument("--workers", type=int, metavar="N")
    arguments = parser.parse_args()
    print("| probabilities | drawn by | labels | measure | default | width | student | width |")
    print("| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |", flush=True)
    for situation in SITUATIONS:
        with tempfile.TemporaryDirectory() as folder:
            truth = write_pool(Path(folder), situation)
            for sampler in SAMPLERS:
                for line in lines(Path(folder), truth, sampler, arguments.repeats,
                                  arguments.workers):  # fmt: skip
                    print(f"| {situation} | {line}", flush=True)


def write_pool(folder: Path, situation: str) -> Path:
    """Write a pool of two systems, the one a noisier version of the other, and its truth."""
    rng = np.random.default_rng(5)
    signal = rng.normal(size=ROWS)
    log_odds = 3 * signal - 3
    label = rng.random(ROWS) < 1 / (1 + np.exp(-log_odds))
    slope, shift = SITUATIONS[situation]
    columns = {"id": np.arange(ROWS)}
    for name, noise in (("new", 0.3), ("old", 0.6)):
        seen = 3 * (signal + noise * rng.normal(size=ROWS)) - 3
        columns[name] = 1 / (1 + np.exp(-(slope * seen + shift)))
        columns[f"{name} says"] = (seen > 0).astype(int)
    pq.write_table(pa.table(columns), folder / "pool.parquet")
    truth = folder / "truth.parquet"
    pq.write_table(pa.table({"id": columns["id"], "label": label.astype(int)}), truth)
    return truth


def lines(folder: Path, truth: Path, sampler: str, repeats: int, workers: int | None) -> list[str]:
    """Return what one sampler shows: for each number of labels and measure, a line of the table."""
    content = {
        "pool": {
            "path": "pool.parquet",
            "systems": {
                name: {"score": name, "probability": name, "prediction": f"{name} says"}
                for name in ("new", "old")
            },
        },
        "measure": [{"difference": one} for one in MEASURES],
        "sampler": {"name": "compare", "delta": 0.2} if sampler == "compare" else sampler,
        "strata": {"leaves": 24},
    }
    spec = EvaluationSpec.from_mapping(content, folder)
    stratification = stratify_pool(spec)
    known = KnownPool.read(spec, stratification, truth)
    plan = Plan(LABELS, RoundSize(100), repeats, 3, 0.95, divergence=False,
                hidden=spec.label_prior)  # fmt: skip
    ranges = stratification.ranges
    found = simulate(
        known, [build_sampler(spec, ranges)], build_measures(spec, ranges), plan, workers
    )
    told = []
    for one in found["results"]:
        design = one["intervals"].get("student", one)
        told.append(
            f"{sampler} | {one['budget']} | {one['measure'].split(' of ')[0]} | "
            f"{one['coverage']:.2f} | {one['median_width']:.3f} | {design['coverage']:.2f} | "
            f"{design['median_width']:.3f} |"
        )
    return told


if __name__ == "__main__":
    main()
