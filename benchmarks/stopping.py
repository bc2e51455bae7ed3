"""What stopping at a width costs: coverage of the interval at the first look that is narrow.

    python benchmarks/stopping.py --repeats 40 --only tied rounded     # some ten minutes on a core
    python benchmarks/stopping.py --sampler ais --repeats 40 --only tied rounded

F1 drives, 100 new rows a round, a look after each round, 2,000 labels at most. An evaluation
stops when the widest half-width of its measures is at most W (`inference.results.widest_half`, the
rule of `stop` and of the schedules). Beside it stands what the same default intervals cover where
nobody looks: at the mean number of labels of the runs that stopped. The table is in
docs/studies/stopping.md.
"""

import argparse
import concurrent.futures
import functools
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from coverage_situations import write_situations

from evalsampling import EvaluationSpec
from evalsampling.inference.intervals import covers
from evalsampling.inference.results import Estimate, widest_half
from evalsampling.measures.build import build_measures
from evalsampling.measures.calibrated import measure_of
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior

SITUATIONS = ("calibrated", "over-confident", "balanced", "tied", "rounded", "separated")
MEASURES = ("f1", "recall", "precision")
WATCHED = {"F1 alone": ("f1",), "all three": MEASURES}
WIDTHS = (0.2, 0.1, 0.05)
LOOKS = tuple(range(100, 2001, 100))
CONFIDENCE = 0.95
FEWEST = 20
"""Stopped runs below which a coverage is not told."""

Look = dict[str, tuple[Estimate, float]]
"""Estimate and truth of each measure."""


def looks_of(directory: Path, sampler_name: str, repeats: int, pool: str) -> list[list[Look]]:
    """Return, for each repeat, what is seen after each round."""
    content = {
        "pool": {"path": f"{pool}.parquet", "probability": "probability"},
        "measure": list(MEASURES),
        "sampler": {"name": sampler_name},
        "budget": LOOKS[-1],
    }
    spec = EvaluationSpec.from_mapping(content, directory)
    stratification = stratify_pool(spec)
    known = KnownPool.read(spec, stratification, directory / f"{pool}-truth.parquet")
    sampler = build_sampler(spec, stratification.ranges)
    measures = [measure_of(one) for one in build_measures(spec, stratification.ranges)]
    truth = [float(known.value(measure)[0]) for measure in measures]
    plan = Plan(
        LOOKS, RoundSize(100), repeats, 11, CONFIDENCE, divergence=False, hidden=HiddenPrior()
    )
    return [
        [
            {
                measure.name: (point.estimates[0], true)
                for measure, true, point in zip(measures, truth, points, strict=True)
            }
            for points in run_repeat(known, sampler, measures, plan, repeat)
        ]
        for repeat in range(repeats)
    ]


def rows(pool: str, runs: Sequence[Sequence[Look]]) -> Iterator[str]:
    """Yield a line of the table for each width and each set of measures that is watched."""
    for (watched, names), width in [(w, h) for w in WATCHED.items() for h in WIDTHS]:
        stops = []
        for run in runs:
            for number, look in enumerate(run):
                half = widest_half([look[name][0] for name in names])
                if half is not None and half <= width:
                    stops.append((number, look))
                    break
        if len(stops) < FEWEST:
            continue
        labels = float(np.mean([LOOKS[number] for number, _ in stops]))
        at = int(np.argmin(np.abs(np.array(LOOKS) - labels)))
        fixed = [run[at] for run in runs if run[at]["f1"][0].claims]
        yield (
            f"| {pool} | {watched} | {width:g} | {len(stops) / len(runs):.2f} | {labels:,.0f} | "
            f"{_coverage([look for _, look in stops]):.2f} | {_coverage(fixed):.2f} |"
        )


def _coverage(looks: Sequence[Look]) -> float:
    """Return how often F1's default interval holds the truth."""
    held = [covers(one.intervals[0], true) for one, true in (look["f1"] for look in looks)]
    return float(np.mean(held)) if held else np.nan


def main() -> None:
    """Simulate all situations and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=200, metavar="N", help="default: 200")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes, default: 1")
    parser.add_argument("--sampler", default="calibrated", metavar="NAME")
    parser.add_argument("--only", nargs="*", default=SITUATIONS, metavar="POOL")
    options = parser.parse_args()
    print("| pool | watched | W | stopped | labels | coverage, stopped | coverage, not |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_situations(directory)
        work = functools.partial(looks_of, directory, options.sampler, options.repeats)
        with concurrent.futures.ProcessPoolExecutor(options.workers) as executor:
            for pool, runs in zip(options.only, executor.map(work, options.only), strict=True):
                print("\n".join(rows(pool, runs)), flush=True)


if __name__ == "__main__":
    main()
