"""Measures samplers on a folder of pools with known truth: errors, coverage, interval scores.

    python benchmarks/corpus.py run --pools=DIR --samplers calibrated ais    # continues
    python benchmarks/corpus.py report --pools=DIR                    # writes docs/real-pools.md
    python benchmarks/corpus.py report --keep=ais --baseline=FILE     # keeps results as CSV

Every sampler labels every pool, each repeat with seeds of its own, with rounds that begin with 50
rows and grow by 1.3. A folder holds NAME.parquet (columns id, score, probability, prediction) and
NAME-truth.parquet (id, label). The page compares `calibrated` with a baseline kept as CSV.
"""

import argparse
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import commits
import corpus_settings
import pools
import pyarrow as pa
from blocks import Block, run_missing
from threadpoolctl import threadpool_limits

from evalsampling import EvaluationSpec
from evalsampling.inference.results import Estimate
from evalsampling.measures.base import Measure
from evalsampling.measures.build import Range, build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers import Sampler
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.simulate import Plan, run_repeat
from evalsampling.simulation.truth import KnownPool
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior

SAMPLERS = ("calibrated", "ais")
MEASURES = ("f1", "precision", "recall", "accuracy", "average_precision")
BUDGETS = (100, 300, 1000, 2000)
SEED = 53
BASELINE = pools.PROJECT / "benchmarks" / "corpus_ais.csv"

SCHEMA = pa.schema(
    {
        "pool": pa.string(),
        "sampler": pa.string(),
        "repeat": pa.int64(),
        "budget": pa.int64(),
        "measure": pa.string(),
        "truth": pa.float64(),
        "value": pa.float64(),
        "claims": pa.bool_(),
        "warned": pa.bool_(),
        "kind": pa.string(),
        "low": pa.float64(),
        "high": pa.float64(),
        "design_low": pa.float64(),
        "design_high": pa.float64(),
        "seconds": pa.float64(),
    }
)
"""A row for each repeat, budget and measure: the default interval, and the design's."""


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    parser = pools.study_parser(__doc__, "corpus", "real-pools.md", repeats=20, block=5)
    parser.set_defaults(pools=pools.PROJECT.parent / "shared" / "corpus")
    parser.add_argument("--samplers", nargs="*", default=SAMPLERS, metavar="NAME")
    parser.add_argument("--measures", nargs="*", default=MEASURES, metavar="NAME")
    parser.add_argument("--baseline", type=Path, default=BASELINE, metavar="FILE")
    parser.add_argument("--keep", metavar="SAMPLER", help="write its results to the baseline")
    options = parser.parse_args(argv)
    if options.action == "run":
        found = pools.find(options.pools)
        if found:
            trials = functools.partial(
                trials_of_pool, folder=options.pools, measures=options.measures
            )
            run(options, pools.chosen(options.only, found), trials)
        return 0
    if options.keep is not None:
        kept = corpus_settings.settings(options.results, options.keep)
        corpus_settings.write_baseline(kept, options.baseline)
        print(f"{options.baseline}: written")
        return 0
    import corpus_report  # it needs matplotlib

    text = corpus_report.document(
        corpus_settings.settings(options.results, "calibrated"),
        corpus_settings.read_baseline(options.baseline),
        options.output.parent / "figures",
        options.baseline.name,
        commits.of(options.results),
    )
    options.output.write_text(text, encoding="utf-8")
    print(f"{options.output}: written")
    return 0


def run(
    options: argparse.Namespace,
    names: Sequence[str],
    trials: Callable[[Block], Iterator["Trial"]],
    budgets: tuple[int, ...] = BUDGETS,
) -> None:
    """Simulate whatever has no results yet; a file of results is there whole or not at all."""
    todo = [
        Block(pool, sampler, first, min(first + options.block, options.repeats))
        for first in range(0, options.repeats, options.block)
        for sampler in options.samplers
        for pool in names
    ]
    each = functools.partial(simulate, results=options.results, trials=trials, budgets=budgets)
    run_missing(todo, options.results, options.workers, each)


@dataclasses.dataclass(frozen=True)
class Trial:
    """An evaluation that is simulated: a known pool, a sampler, what is reported.

    Attributes:
        known: the pool with its truth.
        sampler: driven by what it was built for.
        measures: what is estimated.
        told: columns of its rows of results beside those of `SCHEMA`.
    """

    known: KnownPool
    sampler: Sampler
    measures: Sequence[Measure]
    told: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def trials_of_pool(block: Block, folder: Path, measures: Sequence[str]) -> Iterator[Trial]:
    """Yield the one trial of a pool in a folder."""
    spec, ranges, known = read(folder, block.pool, tuple(measures))
    wanted = [one for one in build_measures(spec, ranges) if isinstance(one, Measure)]
    yield Trial(known, build_sampler(spec, ranges, block.sampler), wanted)


@functools.lru_cache(maxsize=8)
def read(
    folder: Path, name: str, measures: tuple[str, ...]
) -> tuple[EvaluationSpec, Sequence[Range | None], KnownPool]:
    """Return a pool's spec, the range of its scores, and its cells with the truth."""
    content = {
        "pool": {"path": f"{name}.parquet", "probability": "probability"},
        "measure": list(measures),
        "seed": 1,
    }
    spec = EvaluationSpec.from_mapping(content, folder.resolve())
    cut = stratify_pool(spec)
    return spec, cut.ranges, KnownPool.read(spec, cut, folder / f"{name}-truth.parquet")


def simulate(
    block: Block,
    results: Path,
    trials: Callable[[Block], Iterator[Trial]],
    budgets: tuple[int, ...],
) -> None:
    """Simulate the trials of a block and write its file."""
    plan = Plan(
        budgets,
        RoundSize(50, 1.3),
        1,
        SEED,
        0.95,
        divergence=False,
        hidden=HiddenPrior(),
        assumption_light=False,
    )
    rows: list[dict[str, Any]] = []
    with threadpool_limits(1):
        for trial in trials(block):
            truths = [float(trial.known.value(measure)[0]) for measure in trial.measures]
            for repeat in range(block.first, block.end):
                points = run_repeat(trial.known, trial.sampler, trial.measures, plan, repeat)
                for budget, of_budget in zip(budgets, points, strict=True):
                    at = {"pool": block.pool, "sampler": block.sampler, "repeat": repeat}
                    at |= {"budget": budget, **trial.told}
                    for truth, point in zip(truths, of_budget, strict=True):
                        told = {"truth": truth, "seconds": point.seconds}
                        rows.append(at | told | told_of(point.estimates[0]))
    block.write(rows, SCHEMA, results)


def told_of(one: Estimate) -> dict[str, Any]:
    """Return the columns of an estimate."""
    default = one.intervals[0]
    design = next((i for i in one.intervals if i.kind == "design-based"), None)
    return {
        "measure": one.target.measure,
        "value": one.value,
        "claims": one.claims,
        "warned": bool(one.warnings),
        "kind": default.kind,
        "low": default.low,
        "high": default.high,
        "design_low": None if design is None else design.low,
        "design_high": None if design is None else design.high,
    }


if __name__ == "__main__":
    sys.exit(main())
