"""Times a round (model, proposal, draws) and the estimate after it on pools of growing size.

    python benchmarks/rounds.py
    python benchmarks/rounds.py --sampler calibrated --rounds 10
    python benchmarks/rounds.py --sampler calibrated --rounds 10 --classes 4
    python benchmarks/rounds.py --json

The estimate is that of F1, of more than two classes of macro F1, with all its intervals. A round
reads the cell table and the labels so far, never the pool, so tables of 512 cells, or of 640 with
more classes, are made up for pools of 10^5 to 10^9 rows.
"""

import argparse
import json
import sys
import time
from typing import Any

import numpy as np
from scipy import special

from evalsampling.evaluation.analysis import Analysis
from evalsampling.measures import FBeta, MacroF, Measure
from evalsampling.samplers import AdaptiveImportance, CalibratedDesign, Sampler
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.stats.cells import CellGrid, CellTable
from evalsampling.stats.history import History
from evalsampling.stats.signatures import Signatures

SIZES = tuple(10**exponent for exponent in range(5, 10))
CELLS, CELLS_OF_SEVERAL = 512, 640
"""Cells of a table, about: of two classes, and of more."""

LIMITS = {"ais": 20.0, "calibrated": 500.0}
"""Most milliseconds of processor time of a median round, whatever the size; that of `calibrated`
with the estimate after it."""


def main(argv: list[str] | None = None) -> int:
    """Measure and print; return the exit status."""
    options = _parse(argv)
    given = options.sampler, options.rounds, options.draws, options.classes
    results = [measure_rounds(rows, *given) for rows in SIZES]
    for result in results:
        result["ratio"] = result["cpu_ms"] / results[0]["cpu_ms"]
    if options.json:
        print(json.dumps(results, indent=1))
    else:
        print(
            f"{'rows':>14}{'cells':>7}{'labels':>8}{'median ms':>11}{'CPU ms':>9}"
            f"{'90 % CPU ms':>13}{'ratio':>7}{'estimate CPU ms':>17}"
        )
        for result in results:
            print(
                f"{result['rows']:>14,}{result['cells']:>7}{result['labels']:>8,}"
                f"{result['median_ms']:>11.2f}{result['cpu_ms']:>9.2f}"
                f"{result['high_cpu_ms']:>13.2f}{result['ratio']:>7.2f}"
                f"{result['estimate_cpu_ms']:>17.2f}"
            )
    both = options.sampler == "calibrated"
    cost = [result["cpu_ms"] + both * result["estimate_cpu_ms"] for result in results]
    slow = [one for one in cost if one > LIMITS[options.sampler]]
    return 1 if options.check and slow else 0


def _parse(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=60, metavar="N", help="default: 60")
    parser.add_argument("--draws", type=int, default=100, metavar="N", help="of a round")
    parser.add_argument("--sampler", choices=sorted(LIMITS), default="ais")
    parser.add_argument("--classes", type=int, default=2, metavar="K", help="default: 2")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit with 1 if a median exceeds so many ms of processor time: "
        + ", ".join(f"{limit:g} of {name}" for name, limit in LIMITS.items()),
    )
    return parser.parse_args(argv)


def measure_rounds(
    rows: int, sampler_name: str, rounds: int, draws: int, classes: int = 2
) -> dict[str, Any]:
    """Make rounds on a made-up pool; return what the median round and estimate took.

    Args:
        rows: of the pool.
        sampler_name: one of `LIMITS`.
        rounds: how many.
        draws: of each round.
        classes: of the pool.
    """
    table, rate = make_table(rows, classes)
    measure: Measure = FBeta(beta=1.0) if classes == 2 else MacroF(classes)
    sampler: Sampler = CalibratedDesign(measure)
    if sampler_name == "ais":
        sampler = AdaptiveImportance(measure, draws=draws)
    analysis = Analysis(
        table,
        sampler,
        [measure],
        seed=1,
        confidence=0.95,
        history=History.start(classes=classes),
        hidden=HiddenPrior(),
    )
    rng = np.random.Generator(np.random.PCG64(2))
    wall, cpu, estimate = [], [], []
    for _ in range(rounds):
        started = time.perf_counter(), time.process_time()
        analysis, before = analysis.with_round(draws), len(analysis.history)
        wall.append(1000 * (time.perf_counter() - started[0]))
        cpu.append(1000 * (time.process_time() - started[1]))
        new = np.arange(before, len(analysis.history))
        label = analysis.history.label.copy()
        at_least = np.cumsum(rate[analysis.history.cell[new], ::-1], axis=1)[:, ::-1]
        label[new] = (rng.random((len(new), 1)) < at_least[:, 1:]).sum(axis=1)
        analysis = analysis.with_history(analysis.history.with_labels(label))
        begun = time.process_time()
        analysis.estimate()
        estimate.append(1000 * (time.process_time() - begun))
    return {
        "rows": table.rows,
        "cells": len(table),
        "labels": len(analysis.history),
        "median_ms": float(np.median(wall)),
        "cpu_ms": float(np.median(cpu)),
        "high_cpu_ms": float(np.percentile(cpu, 90)),
        "estimate_cpu_ms": float(np.median(estimate)),
    }


def make_table(rows: int, classes: int = 2) -> tuple[CellTable, np.ndarray]:
    """Make up the cells of a pool in which one row in a thousand is not of the first class.

    Each leaf tells the first class from one other; the others are next to never there.

    Returns:
        The cells, and the true rate of each class in each, shape (cells, classes).
    """
    leaves = (CELLS if classes == 2 else CELLS_OF_SEVERAL) // classes
    score = np.linspace(-12, 4, leaves)
    own = 1 + np.arange(leaves) % (classes - 1)
    grid = CellGrid(np.arange(leaves), score, leaves, Signatures.every((classes,)))
    # Every leaf holds all predictions, more of its own class the higher the score.
    share = np.maximum(_by_class(own, special.expit(4 * score), classes), 1e-3)
    share *= np.exp(-0.8 * (score - score[0]))[:, None]
    count = np.maximum(np.rint(rows * share / share.sum()), 1).astype(np.int64).ravel()
    count[0] += rows - count.sum()
    prior = np.repeat(_by_class(own, special.expit(score / 2), classes), classes, axis=0)
    table = grid.table(np.arange(classes * leaves), count, prior, classes)
    return table, np.repeat(_by_class(own, special.expit(score), classes), classes, axis=0)


def _by_class(own: np.ndarray, rate: np.ndarray, classes: int) -> np.ndarray:
    """Return rates of all classes, given that of one beside the first in each leaf."""
    rates = np.full((len(own), classes), 1e-6)
    rates[np.arange(len(own)), own] = rate
    rates[:, 0] = 1 - rates[:, 1:].sum(axis=1)
    return rates


if __name__ == "__main__":
    sys.exit(main())
