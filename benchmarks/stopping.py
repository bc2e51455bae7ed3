"""What stopping at a width costs: coverage of the interval at the first look that is narrow.

    python benchmarks/stopping.py --repeats 100 > stopping.csv
    python benchmarks/stopping.py --samplers ais --only tied --most 1000

F1 drives, 100 new rows a round, a look after each round. An evaluation stops when the widest
half-width of its measures is at most W (`inference.results.widest_half`, the rule of `stop` and of
the schedules). Beside it stands what the same intervals cover where nobody looks: at the mean
number of labels of the runs that stopped. With ``--without-model`` design-based intervals stand
first, as they do of a stochastic oracle. The table is in docs/studies/stopping.md.
"""

import argparse
import concurrent.futures
import dataclasses
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
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior

SITUATIONS = ("calibrated", "over-confident", "balanced", "tied", "rounded", "separated")
SAMPLERS = ("calibrated", "ais", "importance", "poisson")
MEASURES = ("f1", "recall", "precision")
WATCHED = {"F1 alone": ("f1",), "all three": MEASURES}
WIDTHS = (0.2, 0.1, 0.05)
ROUND = 100
CONFIDENCE = 0.95
FEWEST = 20
"""Stopped runs below which a coverage is not told."""

HEADER = (
    "sampler,intervals,pool,watched,half_width,stopped,labels,coverage_stopped,coverage_not,repeats"
)

Look = dict[str, tuple[Estimate, float]]
"""Estimate and truth of each measure."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is evaluated, and how often.

    Attributes:
        sampler: its name.
        pool: its name.
        looks: numbers of labels at which the intervals are looked at.
        repeats: evaluations.
        hidden: prior of the model of the labels; None for design-based intervals alone.
    """

    sampler: str
    pool: str
    looks: tuple[int, ...]
    repeats: int
    hidden: HiddenPrior | None


def looks_of(directory: Path, setting: Setting) -> list[list[Look]]:
    """Return, for each repeat, what is seen after each round."""
    pool = setting.pool
    content = {
        "pool": {"path": f"{pool}.parquet", "probability": "probability"},
        "measure": list(MEASURES),
        "sampler": {"name": setting.sampler},
        "budget": setting.looks[-1],
    }
    spec = EvaluationSpec.from_mapping(content, directory)
    stratification = stratify_pool(spec)
    known = KnownPool.read(spec, stratification, directory / f"{pool}-truth.parquet")
    sampler = build_sampler(spec, stratification.ranges)
    measures = build_measures(spec, stratification.ranges)
    truth = [float(known.value(measure)[0]) for measure in measures]
    plan = Plan(
        setting.looks,
        RoundSize(ROUND),
        setting.repeats,
        11,
        CONFIDENCE,
        divergence=False,
        hidden=setting.hidden,
    )
    return [
        [
            {
                measure.name: (point.estimates[0], true)
                for measure, true, point in zip(measures, truth, points, strict=True)
            }
            for points in run_repeat(known, sampler, measures, plan, repeat)
        ]
        for repeat in range(setting.repeats)
    ]


def rows(setting: Setting, runs: Sequence[Sequence[Look]]) -> Iterator[str]:
    """Yield a line of the table for each width and each set of measures that is watched."""
    looks = setting.looks
    intervals = "default" if setting.hidden else "design-based"
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
        labels = float(np.mean([looks[number] for number, _ in stops]))
        at = int(np.argmin(np.abs(np.array(looks) - labels)))
        fixed = [run[at] for run in runs if run[at]["f1"][0].claims]
        yield (
            f"{setting.sampler},{intervals},{setting.pool},{watched},{width:g},"
            f"{len(stops) / len(runs):.2f},{labels:.0f},"
            f"{_coverage([look for _, look in stops]):.3f},{_coverage(fixed):.3f},{len(runs)}"
        )


def _coverage(looks: Sequence[Look]) -> float:
    """Return how often F1's default interval holds the truth."""
    held = [covers(one.intervals[0], true) for one, true in (look["f1"] for look in looks)]
    return float(np.mean(held)) if held else np.nan


def main() -> None:
    """Simulate all situations and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--repeats", type=int, default=100, metavar="N", help="default: 100")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes, default: 1")
    parser.add_argument("--samplers", nargs="*", default=SAMPLERS, metavar="NAME")
    parser.add_argument("--only", nargs="*", default=SITUATIONS, metavar="POOL")
    parser.add_argument("--most", type=int, default=2000, metavar="LABELS", help="default: 2000")
    parser.add_argument("--without-model", action="store_true", help="design-based intervals first")
    options = parser.parse_args()
    hidden = None if options.without_model else HiddenPrior()
    looks = tuple(range(ROUND, options.most + 1, ROUND))
    settings = [
        Setting(sampler, pool, looks, options.repeats, hidden)
        for sampler in options.samplers
        for pool in options.only
    ]
    print(HEADER)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        write_situations(directory)
        work = functools.partial(looks_of, directory)
        with concurrent.futures.ProcessPoolExecutor(options.workers) as executor:
            for setting, runs in zip(settings, executor.map(work, settings), strict=True):
                print("".join(f"{line}\n" for line in rows(setting, runs)), end="", flush=True)


if __name__ == "__main__":
    main()
