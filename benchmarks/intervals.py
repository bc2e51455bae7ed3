"""Which interval should be the default: coverage and score of each, by family of measure.

The criterion is the study's: of the intervals that cover, the one with the best interval score.
Only runs that claim something count. Run it with ``python benchmarks/intervals.py`` (some five
minutes on two cores); the table is in docs/methods.md.
"""

import argparse
import collections
import concurrent.futures
import dataclasses
import functools
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from evalsampling import EvaluationSpec
from evalsampling.inference.intervals import Interval, interval_score, korn_graubard
from evalsampling.inference.results import Estimate
from evalsampling.measures import (
    Accuracy,
    Brier,
    FBeta,
    MatthewsCorrelation,
    Precision,
    Recall,
)
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize

MEASURES = (FBeta(), Recall(), Precision(), Accuracy(), MatthewsCorrelation(), Brier())
SETTINGS = (
    ("passive", "f1"),
    ("stratified", "f1"),
    ("oasis", "f1"),
    ("importance", "f1"),
    ("ais", "f1"),
    ("ais", "accuracy"),
)
BUDGETS = (100, 300, 1000)
ROWS = 20_000
CONFIDENCE = 0.95
SHORT = 0.15
"""Share of the settings that an interval may cover below .9 and still be taken to cover."""

UNCAPPED = "korn-graubard, size not capped"


def make_pools(directory: Path) -> list[str]:
    """Write pools whose truth is known, and return their names."""
    rng = np.random.default_rng(5)
    names = []
    for name, centre, slope in (
        ("calibrated", -6.0, 1.0),
        ("overconfident", -6.0, 2.5),
        ("underconfident", -6.0, 0.4),
        ("balanced", 0.0, 1.0),
    ):
        logit = rng.normal(centre, 2.5 if centre else 2.0, ROWS)
        label = rng.random(ROWS) < 1 / (1 + np.exp(-logit))
        columns = {
            "id": np.arange(ROWS),
            "score": logit,
            "probability": 1 / (1 + np.exp(-slope * logit)),
            "prediction": (logit > 0).astype(np.int8),
        }
        pq.write_table(pa.table(columns), directory / f"{name}.parquet")
        truth = {"id": columns["id"], "label": label.astype(np.int8)}
        pq.write_table(pa.table(truth), directory / f"{name}-truth.parquet")
        names.append(name)
    return names


def intervals_of(estimate: Estimate) -> dict[str, Interval]:
    """Return the intervals of an estimate that claims something, by method."""
    found = {one.method: one for one in estimate.intervals}
    if "korn-graubard" in found:
        assert estimate.value is not None
        assert estimate.standard_error is not None
        found[UNCAPPED] = korn_graubard(estimate.value, estimate.standard_error, 10**12, CONFIDENCE)
    return found


@dataclasses.dataclass(frozen=True)
class Cell:
    """What one interval did in one setting at one budget."""

    coverage: float
    score: float


def simulate_setting(
    directory: Path, repeats: int, setting: tuple[str, tuple[str, str]]
) -> dict[tuple[str, str], list[Cell]]:
    """Return what each interval did: cells by measure and method."""
    pool, (sampler, driver) = setting
    content = {
        "pool": {"path": f"{pool}.parquet", "probability": "probability"},
        "measure": driver,
        "strata": {"method": "csf", "leaves": 64},
        "sampler": {"name": sampler},
        "budget": BUDGETS[-1],
    }
    spec = EvaluationSpec.from_mapping(content, directory)
    stratification = stratify_pool(spec)
    known = KnownPool.read(spec, stratification, directory / f"{pool}-truth.parquet")
    chosen = build_sampler(spec, stratification.ranges, sampler)
    measures = [one for one in MEASURES if chosen.can_estimate(known.table, one)]
    plan = Plan(BUDGETS, RoundSize(50), repeats, 7, CONFIDENCE, divergence=False)
    runs = [run_repeat(known, chosen, measures, plan, repeat) for repeat in range(repeats)]
    cells: dict[tuple[str, str], list[Cell]] = collections.defaultdict(list)
    for budget in range(len(BUDGETS)):
        for m, measure in enumerate(measures):
            truth = float(known.value(measure)[0])
            by_method: dict[str, list[tuple[bool, float]]] = collections.defaultdict(list)
            for run in runs:
                (estimate,) = run[budget][m].estimates
                if not estimate.reliable or not estimate.standard_error:
                    continue
                for method, one in intervals_of(estimate).items():
                    score = interval_score(one, truth, CONFIDENCE)
                    by_method[method].append((one.low <= truth <= one.high, score))
            for method, results in by_method.items():
                if len(results) >= repeats / 3:
                    cover, scores = zip(*results, strict=True)
                    cell = Cell(float(np.mean(cover)), float(np.mean(scores)))
                    cells[measure.name, method].append(cell)
    return dict(cells)


def table_lines(cells: dict[tuple[str, str], list[Cell]]) -> list[str]:
    """Return a Markdown table: the best of those that cover stands first in its measure."""
    lines = [
        "| measure | interval | settings | coverage | worst tenth | settings below .9 | score |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for measure in dict.fromkeys(name for name, _ in cells):
        rows = []
        for (name, method), found in cells.items():
            if name == measure:
                coverage = np.array([cell.coverage for cell in found])
                score = float(np.exp(np.mean(np.log([cell.score for cell in found]))))
                short = float(np.mean(coverage < 0.9))
                rows.append((short > SHORT, score, method, coverage))
        for _, score, method, coverage in sorted(rows, key=lambda row: row[:3]):
            lines.append(
                f"| {measure} | {method} | {len(coverage)} | {coverage.mean():.3f} | "
                f"{np.quantile(coverage, 0.1):.2f} | {np.mean(coverage < 0.9):.2f} | {score:.4f} |"
            )
    return lines


def main() -> None:
    """Simulate all settings and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=60)
    parser.add_argument("--workers", type=int, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        settings = [(pool, one) for pool in make_pools(directory) for one in SETTINGS]
        simulate = functools.partial(simulate_setting, directory, options.repeats)
        merged: dict[tuple[str, str], list[Cell]] = collections.defaultdict(list)
        with concurrent.futures.ProcessPoolExecutor(options.workers) as executor:
            for cells in executor.map(simulate, settings):
                for key, found in cells.items():
                    merged[key] += found
    print("\n".join(table_lines(merged)))


if __name__ == "__main__":
    main()
