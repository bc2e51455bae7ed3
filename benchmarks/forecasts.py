"""Judges forecasts of labels: does an interval come to a half-width with the labels that were said?

    python benchmarks/forecasts.py run --pools=DIR     # continues
    python benchmarks/forecasts.py report              # writes docs/studies/forecasts.csv

On each pool of a folder (see corpus.py) the default evaluation goes on to 4,500 labels. What it
says at 100 and at 300 labels ("for ± 0.05 expect 400 to 800 labels") is compared with the number at
which its interval was first so narrow.
"""

import argparse
import dataclasses
import sys
from collections.abc import Iterator
from typing import Any

import corpus
import numpy as np
import numpy.typing as npt
import pools
import pyarrow as pa
import tables
import trials

from evalsampling.evaluation.statement import is_due_to_unmet
from evalsampling.inference.intervals import MODEL_BASED
from evalsampling.inference.outlook import OF_DESIGN, OF_MODEL, SPREAD, outlook
from evalsampling.measures.base import Measure
from evalsampling.simulation.summary import Point

MEASURES = ("f1", "precision", "recall", "accuracy")
ASKED = (100, 300)
FACTOR = 1.5
PLAN = dataclasses.replace(
    corpus.PLAN,
    budgets=(100, 130, 170, 220, 300, 390, 500, 660, 860, 1100, 1500, 2000, 2600, 3400, 4500),
    seed=61,
)
SCHEMA = pa.schema(
    {
        "repeat": pa.int64(),
        "budget": pa.int64(),
        "measure": pa.string(),
        "half": pa.float64(),
        "by_model": pa.bool_(),
        "told": pa.bool_(),
        "seconds": pa.float64(),
    }
)
"""A row for each repeat, budget and measure: half-width, infinite without a claim; and whether a
forecast is told."""


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    parser = trials.parser(__doc__, "forecasts", repeats=8, block=2)
    parser.set_defaults(pools=pools.CORPUS, output=tables.FOLDER)
    options = parser.parse_args(argv)
    if options.action == "run":
        names = _names(options)
        study = trials.Study(corpus.study_of(options.pools, MEASURES, PLAN).trial, rows_of, SCHEMA)
        trials.run(options, study, trials.blocks(names, options.repeats, options.block), PLAN)
    else:
        for table in TABLES:
            table.make(options)
    return 0


def _names(options: argparse.Namespace) -> list[tuple[str, ...]]:
    """Return the names of the trials: of pools, and of the default sampler."""
    chosen = pools.chosen(options.only, pools.find(options.pools))
    return [(name, "calibrated") for name in chosen]


def rows_of(
    measure: Measure, truth: npt.NDArray[np.float64], point: Point, _: trials.Result
) -> Iterator[trials.Result]:
    """Yield the row of a measure of one number."""
    one = point.estimates[0]
    yield {
        "measure": measure.name,
        "half": one.half_width if one.claims else np.inf,
        "by_model": one.intervals[0].kind == MODEL_BASED,
        "told": one.claims and one.reliable and one.half_width > 0 and not is_due_to_unmet(one),
    }


HEADER = "asked_at,measure,asked,told,within,too_few,too_many"


def rows(options: argparse.Namespace) -> Iterator[list[str]]:
    """Yield what became of the forecasts at each number of labels, by measure.

    How often one was asked for, how many were told and could be judged, and the shares of those
    whose range is within a factor of 1.5 of the labels needed, below and above that.
    """
    read = (trials.read(options.results, *name) for name in _names(options))
    found = [trials.columns(made) for made in read if made is not None]
    for asked in ASKED:
        for measure in MEASURES:
            each = [ratio for held in found for ratio in ratios_of(held, measure, asked)]
            told = np.array([ratio for ratio in each if ratio is not None])
            few, many = told < 1 / (FACTOR * SPREAD), told > FACTOR
            shares = [f"{np.mean(share):.2f}" for share in (~few & ~many, few, many)]
            yield [str(asked), measure, str(len(each)), str(len(told)), *shares]


def ratios_of(held: dict[str, Any], measure: str, asked: int) -> Iterator[float | None]:
    """Yield the fewest labels said by those needed, by repeat; None where nothing is judged."""
    for repeat in np.unique(held["repeat"]):
        kept = (held["repeat"] == repeat) & (held["measure"] == measure)
        budget, half = held["budget"][kept], held["half"][kept]
        (place,) = np.flatnonzero(budget == asked)
        power = OF_MODEL if held["by_model"][kept][place] else OF_DESIGN
        told = held["told"][kept][place]
        said = outlook(half[place], asked, None, None, power) if told else None
        if said is None or said.labels is None or said.labels > budget[-1] / FACTOR:
            yield None
            continue
        reached = np.flatnonzero((budget > asked) & (half <= said.half_width))
        needs = needed(budget, half, reached[0], said.half_width) if len(reached) else np.inf
        yield said.labels / needs


def needed(budget: Any, half: Any, place: int, aim: float) -> float:
    """Return about how many labels made an interval so narrow, between two budgets."""
    ends = np.log(np.maximum(half[[place, place - 1]], 1e-9))
    share = np.interp(np.log(aim), ends, [1.0, 0.0]) if np.isfinite(ends).all() else 1.0
    return float(np.exp(np.interp(share, [0, 1], np.log(budget[[place - 1, place]]))))


TABLES = (tables.Table("forecasts", HEADER, rows),)


if __name__ == "__main__":
    sys.exit(main())
