"""Measures samplers on a folder of pools with known truth: errors, coverage, interval scores.

    python benchmarks/corpus.py run --pools=DIR --samplers calibrated ais    # continues
    python benchmarks/corpus.py report --pools=DIR                    # writes docs/real-pools.md
    python benchmarks/corpus.py report --keep=ais --baseline=FILE     # keeps results as CSV
    python benchmarks/corpus.py run --pairs --pools=DIR           # pairs of systems: system_pairs
    python benchmarks/corpus.py report --pairs                    # prints their tables

Every sampler labels every pool, each repeat with seeds of its own, with rounds that begin with 50
rows and grow by 1.3. A folder holds NAME.parquet (columns id, score, probability, prediction) and
NAME-truth.parquet (id, label). The page compares `calibrated` with a baseline kept as CSV.
"""

import argparse
import functools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import commits
import corpus_settings
import pairs_report
import pools
import system_pairs
from blocks import Block
from trials import Trial, run

from evalsampling import EvaluationSpec
from evalsampling.measures.base import Measure
from evalsampling.measures.build import Range, build_measures
from evalsampling.preparation.local import stratify_pool
from evalsampling.samplers.build import build_sampler
from evalsampling.simulation.truth import KnownPool

SAMPLERS = ("calibrated", "ais")
MEASURES = ("f1", "precision", "recall", "accuracy", "average_precision")
BUDGETS = (100, 300, 1000, 2000)
REPEATS, PAIRED = 20, 4
BASELINE = pools.PROJECT / "benchmarks" / "corpus_ais.csv"


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    parser = pools.study_parser(__doc__, "corpus", "real-pools.md", repeats=REPEATS, block=5)
    parser.set_defaults(pools=pools.PROJECT.parent / "shared" / "corpus", repeats=None)
    parser.add_argument("--samplers", nargs="*", default=SAMPLERS, metavar="NAME")
    parser.add_argument("--measures", nargs="*", default=MEASURES, metavar="NAME")
    parser.add_argument("--baseline", type=Path, default=BASELINE, metavar="FILE")
    parser.add_argument("--keep", metavar="SAMPLER", help="write its results to the baseline")
    parser.add_argument(
        "--pairs", action="store_true", help=f"of systems, not single ones; {PAIRED} repeats"
    )
    options = parser.parse_args(argv)
    if options.pairs:
        options.repeats = PAIRED if options.repeats is None else options.repeats
        return of_pairs(options)
    options.repeats = REPEATS if options.repeats is None else options.repeats
    if options.action == "run":
        found = pools.find(options.pools)
        if found:
            trials = functools.partial(
                trials_of_pool, folder=options.pools, measures=options.measures
            )
            run(options, pools.chosen(options.only, found), trials, BUDGETS)
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
        pairs_report.section(options.results / "pairs"),
    )
    options.output.write_text(text, encoding="utf-8")
    print(f"{options.output}: written")
    return 0


def trials_of_pool(block: Block, folder: Path, measures: Sequence[str]) -> Iterator[Trial]:
    """Yield the one trial of a pool in a folder."""
    spec, ranges, known = read(folder, block.pool, tuple(measures))
    wanted = [one for one in build_measures(spec, ranges) if isinstance(one, Measure)]
    yield Trial(known, build_sampler(spec, ranges, block.sampler), wanted)


def of_pairs(options: argparse.Namespace) -> int:
    """Simulate pairs, or print their tables; return the exit status."""
    options.results /= "pairs"
    if options.action == "report":
        print("\n".join(pairs_report.tables(options.results)))
        return 0
    kept = options.results / "models"
    names = pools.chosen(options.only, [*system_pairs.pairs(options.pools, kept)])
    trials = functools.partial(system_pairs.trials, folder=options.pools, kept=kept)
    run(options, names, trials, system_pairs.BUDGETS)
    return 0


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


if __name__ == "__main__":
    sys.exit(main())
