"""Judges forecasts of labels: does an interval come to a half-width with the labels that were said?

On each pool of a folder (see corpus.py) the default evaluation goes on to 4,500 labels. What it
says at 100 and at 300 labels ("for ± 0.05 expect 400 to 800 labels") is compared with the number at
which its interval was first so narrow.
"""

import dataclasses
import itertools
from collections.abc import Iterator

import corpus
import numpy as np
import pandas as pd
import runner
from runner import Options

from evalsampling.evaluation.statement import is_due_to_unmet
from evalsampling.inference.intervals import MODEL_BASED
from evalsampling.inference.outlook import OF_DESIGN, OF_MODEL, SPREAD, outlook
from evalsampling.measures.base import Measure
from evalsampling.simulation.summary import Point
from evalsampling.stats.arrays import FloatArray

MEASURES = ("f1", "precision", "recall", "accuracy")
ASKED = (100, 300)
FACTOR = 1.5
PLAN = dataclasses.replace(
    corpus.PLAN,
    budgets=(100, 130, 170, 220, 300, 390, 500, 660, 860, 1100, 1500, 2000, 2600, 3400, 4500),
    seed=61,
)


def rows_of(
    measure: Measure, truth: FloatArray, point: Point, _: runner.Result
) -> Iterator[runner.Result]:
    """Yield the half-width of a measure, infinite without a claim, and if a forecast is told."""
    (one,) = point.estimates
    yield {
        "measure": measure.name,
        "half": one.half_width if one.claims else np.inf,
        "by_model": one.intervals[0].kind == MODEL_BASED,
        "told": one.claims and one.reliable and one.half_width > 0 and not is_due_to_unmet(one),
    }


STUDY = corpus.study("forecasts", PLAN, MEASURES, ["calibrated"], rows=rows_of, repeats=8, block=2)


def rows(options: Options) -> Iterator[runner.Row]:
    """Yield what became of the forecasts at each number of labels, by measure.

    How often one was asked for, how many were told and could be judged, and the shares of those
    whose range is within a factor of 1.5 of the labels needed, below and above that.
    """
    held = STUDY.read(options)
    for asked, measure in itertools.product(ASKED, MEASURES):
        runs = held[held["measure"] == measure].groupby(["pool", "repeat"], sort=False)
        each = [ratio_of(run, asked) for _, run in runs]
        told = np.array([ratio for ratio in each if ratio is not None])
        few, many = told < 1 / (FACTOR * SPREAD), told > FACTOR
        shares = [np.mean(share) for share in (~few & ~many, few, many)]
        yield asked, measure, len(each), len(told), *shares


def ratio_of(run: pd.DataFrame, asked: int) -> float | None:
    """Return the fewest labels said by those needed in one run; None where nothing is judged."""
    budget, half = run["budget"].to_numpy(), run["half"].to_numpy()
    (at,) = run[run["budget"] == asked].itertuples()
    power = OF_MODEL if at.by_model else OF_DESIGN
    said = outlook(at.half, asked, None, None, power) if at.told else None
    if said is None or said.labels is None or said.labels > budget[-1] / FACTOR:
        return None
    reached = np.flatnonzero((budget > asked) & (half <= said.half_width))
    needs = needed(budget, half, reached[0], said.half_width) if len(reached) else np.inf
    return said.labels / needs


def needed(budget: FloatArray, half: FloatArray, place: int, aim: float) -> float:
    """Return about how many labels made an interval so narrow, between two budgets."""
    ends = np.log(np.maximum(half[[place, place - 1]], 1e-9))
    share = np.interp(np.log(aim), ends, [1.0, 0.0]) if np.isfinite(ends).all() else 1.0
    return float(np.exp(np.interp(share, [0, 1], np.log(budget[[place - 1, place]]))))


HEADER = "asked_at,measure,asked,told,within:.2f,too_few:.2f,too_many:.2f"
TABLES = (runner.Table("forecasts", HEADER, rows),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, STUDY)
