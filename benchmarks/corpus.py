"""Measures samplers on a folder of pools with known truth: errors, coverage, interval scores.

    python benchmarks/corpus.py run --pools=DIR --samplers calibrated ais    # continues
    python benchmarks/corpus.py report                                # writes docs/real-pools.md

Every sampler labels every pool, each repeat with seeds of its own, with rounds that begin with 50
rows and grow by 1.3. A folder holds NAME.parquet (columns id, score, probability, prediction) and
NAME-truth.parquet (id, label). The page compares `calibrated` with a baseline kept as CSV.
"""

import functools
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import corpus_settings
import numpy as np
import numpy.typing as npt
import pools
import pyarrow as pa
import trials

from evalsampling.measures.base import Measure
from evalsampling.simulation.simulate import Plan
from evalsampling.simulation.summary import Point
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior

SAMPLERS = ("calibrated", "ais")
MEASURES = ("f1", "precision", "recall", "accuracy", "average_precision")
BASELINE = pools.PROJECT / "benchmarks" / "corpus_ais.csv"
PLAN = Plan(
    budgets=(100, 300, 1000, 2000),
    round_size=RoundSize(50, 1.3),
    repeats=1,
    seed=53,
    confidence=0.95,
    divergence=False,
    hidden=HiddenPrior(),
)

SCHEMA = pa.schema(
    {
        "repeat": pa.int64(),
        "budget": pa.int64(),
        "measure": pa.string(),
        "truth": pa.float64(),
        "value": pa.float64(),
        "claims": pa.bool_(),
        "warned": pa.bool_(),
        "beyond": pa.bool_(),
        "kind": pa.string(),
        "low": pa.float64(),
        "high": pa.float64(),
        "seconds": pa.float64(),
    }
)
"""A row for each repeat, budget and measure, with the default interval.

`beyond` is `Estimate.claims_more_than_labels`.
"""


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    parser = trials.parser(__doc__, "corpus", repeats=20, block=5)
    parser.set_defaults(pools=pools.CORPUS, output=pools.PROJECT / "docs" / "real-pools.md")
    parser.add_argument("--samplers", nargs="*", default=SAMPLERS, metavar="NAME")
    parser.add_argument("--measures", nargs="*", default=MEASURES, metavar="NAME")
    options = parser.parse_args(argv)
    if options.action == "run":
        if found := pools.find(options.pools):
            names = itertools.product(pools.chosen(options.only, found), options.samplers)
            study = study_of(options.pools, tuple(options.measures), PLAN)
            todo = trials.blocks([*names], options.repeats, options.block)
            trials.run(options, study, todo, PLAN)
        return 0
    import corpus_report  # it needs matplotlib

    text = corpus_report.document(
        corpus_settings.settings(options.results, "calibrated"),
        corpus_settings.read_baseline(BASELINE),
        options.output.parent / "figures",
        BASELINE.name,
        trials.commits(options.results),
    )
    options.output.write_text(text, encoding="utf-8")
    print(f"{options.output}: written")
    return 0


def study_of(folder: Path, measures: tuple[str, ...], plan: Plan) -> trials.Study:
    """Return the study of the pools in a folder."""
    return trials.Study(functools.partial(_trial, folder, measures, plan), rows_of, SCHEMA)


def _trial(
    folder: Path, measures: tuple[str, ...], plan: Plan, pool: str, sampler: str
) -> trials.Trial:
    ground = _read(folder, pool, measures)
    return trials.Trial(ground.known, ground.sampler(sampler), ground.measures, plan)


@functools.lru_cache(maxsize=8)
def _read(folder: Path, name: str, measures: tuple[str, ...]) -> pools.Ground:
    return pools.Ground.read(folder, name, measure=list(measures), seed=1)


def rows_of(
    measure: Measure, truth: npt.NDArray[np.float64], point: Point, _: trials.Result
) -> Iterator[trials.Result]:
    """Yield a row for each number of a measure."""
    for one, true in zip(point.estimates, truth.tolist(), strict=True):
        yield {
            "measure": measure.name,
            "truth": true,
            "value": one.value,
            "claims": one.claims,
            "warned": bool(one.warnings),
            "beyond": one.claims_more_than_labels,
            "kind": one.intervals[0].kind,
            "low": one.low,
            "high": one.high,
        }


if __name__ == "__main__":
    sys.exit(main())
