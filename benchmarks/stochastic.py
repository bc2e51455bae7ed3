"""Standard errors and coverage for a stochastic oracle, by the share of the pool that is labelled.

    python benchmarks/stochastic.py    # prints the tables of docs/studies/stochastic.md

The pools are those of the coverage study whose labels are probabilities (`coverage_situations`).
"""

import argparse
import dataclasses
import functools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from coverage_situations import AT_RANDOM, write_situations

from evalsampling import EvaluationSpec
from evalsampling.inference.results import Estimate
from evalsampling.measures.build import build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.processes import repeat_all
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize

SMALL = "at-random-small"
SHARES = (0.05, 0.3, 0.6, 0.9)
"""Shares of the pool that are labelled."""

LABELS = (100, 1000)
SAMPLERS = ("poisson", "ais")
MEASURES = ["f1", "accuracy"]


@dataclasses.dataclass(frozen=True)
class Ground:
    """A pool of a stochastic oracle, with its spec and what was made of it."""

    folder: Path
    pool: str

    def lines(self, sampler: str, votes: int, budgets: tuple[int, ...], repeats: int, workers: int,
              model: bool = True) -> Iterator[tuple[int, str, np.ndarray]]:  # fmt: skip
        """Yield of each budget and measure what `_summary` says."""
        spec = EvaluationSpec.from_mapping(
            {
                "pool": {"path": f"{self.pool}.parquet", "probability": "probability"},
                "labels": {"oracle": "stochastic", "votes": votes},
                "measure": MEASURES,
                "sampler": sampler,
            },
            self.folder,
        )
        cut = stratify_pool(spec)
        known = KnownPool.read(spec, cut, self.folder / f"{self.pool}-truth.parquet")
        measures = build_measures(spec, cut.ranges)
        plan = Plan(budgets, RoundSize(100, 1.4), repeats, 7, 0.95, divergence=False,
                    hidden=spec.label_prior if model else None,
                    votes=votes)  # fmt: skip
        run = functools.partial(run_repeat, known, measures=measures, plan=plan)
        tried = [build_sampler(spec, cut.ranges)]
        (runs,) = repeat_all(run, tried, repeats, workers, lambda repeats: None)
        for b, budget in enumerate(budgets):
            for m, measure in enumerate(measures):
                truth = float(known.value(measure)[0])
                estimates = [each[b][m].estimates[0] for each in runs]
                yield budget, measure.name, _summary(estimates, truth)


def _summary(estimates: Sequence[Estimate], truth: float) -> np.ndarray:
    """Return rmse, reported by true standard error, coverage and width of the default, of t."""
    defined = [one for one in estimates if one.value is not None]
    value = np.array([one.value for one in defined])
    error = np.array([one.standard_error for one in defined])
    ends = []
    for method in (None, "student"):
        chosen = [
            next((i for i in one.intervals if i.method == method), one.intervals[0])
            for one in defined
        ]
        ends.append(np.mean([i.low <= truth <= i.high for i in chosen]))
        ends.append(np.median([i.high - i.low for i in chosen]))
    rmse = np.sqrt(np.mean((value - truth) ** 2))
    return np.array([rmse, np.sqrt(np.mean(error**2)) / value.std(), *ends])


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100, metavar="N")
    parser.add_argument("--covered", type=int, default=40, metavar="N")
    parser.add_argument("--workers", type=int, metavar="N")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_situations(Path(folder))
        rows = pq.read_metadata(Path(folder) / f"{SMALL}.parquet").num_rows
        budgets = tuple(round(share * rows) for share in SHARES)
        print("| sampler | votes | measure | " + " | ".join(f"{s:.0%}" for s in SHARES) + " |")
        print("| --- | ---: | --- |" + " ---: |" * len(SHARES))
        ground = Ground(Path(folder), SMALL)
        for sampler, votes in (("poisson", 1), ("poisson", 3), ("passive", 1), ("ais", 1)):
            found = list(ground.lines(sampler, votes, budgets, arguments.repeats,
                                      arguments.workers, model=False))  # fmt: skip
            for name in MEASURES:
                cells = [f"{told[1]:.2f}" for _, measure, told in found if measure == name]
                print(f"| {sampler} | {votes} | {name} | {' | '.join(cells)} |", flush=True)
        print("\n| pool | sampler | labels | measure | RMSE | default | width | student | width |")
        print("| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
        for pool in AT_RANDOM:
            for sampler in SAMPLERS:
                ground = Ground(Path(folder), pool)
                for line in ground.lines(sampler, 1, LABELS, arguments.covered, arguments.workers):
                    budget, measure, (rmse, _, cover, width, design, plain) = line
                    print(f"| {pool} | {sampler} | {budget} | {measure} | {rmse:.4f} | "
                          f"{cover:.2f} | {width:.3f} | {design:.2f} | {plain:.3f} |",
                          flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
