"""Judges certificates: promises that are broken, and rows given away.

Pools are made, with promises just below the goal, or real ones with truth. Promises are looked at
after every round. *broken* is a share of all repeats, whether a promise was proved in them or not;
*rows* is a mean that counts repeats without a proof as 0.
"""

import concurrent.futures
import functools
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pools
import runner
from runner import Options, Result, Row, Table
from threadpoolctl import threadpool_limits

from evalsampling.evaluation.analysis import Analysis
from evalsampling.measures import FBeta, Precision
from evalsampling.samplers import CalibratedDesign, Importance, Sampler
from evalsampling.samplers.certified import CertifyingDesign
from evalsampling.simulation.summary import promise_outcome
from evalsampling.simulation.truth import KnownPool, Urns
from evalsampling.spec import RoundSize
from evalsampling.spec.promise import Promise

ROUNDS = RoundSize(50, 1.3)


def looks(
    known: KnownPool, name: str, promise: Promise, budget: int, seed: int
) -> Iterator[Analysis]:
    """Yield the analysis after each round of a sampler, all of whose rows have labels."""
    sampler: Sampler = CalibratedDesign(FBeta())
    if name == "certify":
        sampler = CertifyingDesign(Precision(), goals=promise.goals, planned=budget)
    elif name == "importance":
        sampler = Importance(FBeta())
    analysis, urns = pools.begin(known, sampler, [FBeta()], seed), Urns(known, seed + 1)
    while (left := budget - len(analysis.history)) > 0:
        before = len(analysis.history)
        drawn = analysis.with_round(ROUNDS.after(len(analysis.history.rounds)), budget=left)
        analysis = drawn.with_history(urns.answer(drawn.history))
        if len(analysis.history) == before:
            return
        yield analysis


def outcomes(
    known: KnownPool, name: str, text: str, budgets: Iterable[int], seed: int
) -> Iterator[Result]:
    """Yield for each budget whether a promise was proved, what it gave, and if it ever broke."""
    promise = Promise.read(text)
    for budget in budgets:
        ever, last, seconds = False, None, 0.0
        for analysis in looks(known, name, promise, budget, seed):
            started = time.perf_counter()
            last = promise_outcome(known, analysis, promise, budget)
            seconds = time.perf_counter() - started
            ever = ever or last.broken
        if last is not None:
            told = {"proved": last.proved, "broken": ever, "rows": last.rows, "seconds": seconds}
            yield {"sampler": name, "promise": text, "budget": budget, **told}


# --- made pools

RUNS = 25
"""Of a task."""

MADE = itertools.product(
    ("flat", "rising", "tiny"), (0.8, 0.95), ("certify", "calibrated", "importance"),
    range(0, 200, RUNS),
)  # fmt: skip


def on_made_pool(task: tuple[str, float, str, int]) -> list[Result]:
    """Return what became of some runs on a made pool: its kind, the goal, sampler, first seed."""
    kind, goal, name, first = task
    known, budget = made(kind, goal), 200 if kind == "tiny" else 400
    return [
        {"pool": kind, **row}
        for seed in range(first, first + RUNS)
        for row in outcomes(known, name, f"precision >= {goal}", [budget], seed)
    ]


def made(kind: str, goal: float) -> KnownPool:
    """Return a pool in which the promise of a precision is false at every threshold, but hardly."""
    rows, levels = (300, 6) if kind == "tiny" else (20_000, 20)
    each = rows // levels
    level = np.repeat(np.arange(levels)[::-1], each)
    share = np.full(levels, goal)
    if kind == "rising":  # The top is all negative, what is below makes up for nearly all of it.
        share = np.append([0.0] * (levels // 10), np.full(levels - levels // 10, 1.0))
    hits, label = 0, np.zeros(rows, dtype=np.int64)
    for place in range(levels):
        most = math.ceil(goal * each * (place + 1)) - 1 - hits  # still below the goal
        own = min(int(share[place] * each), max(most, 0))
        label[place * each : place * each + own] = 1
        hits += own
    columns = {
        "score": level.astype(float),
        "probability": 0.3 + 0.03 * level,
        "prediction": (level >= levels // 2).astype(np.int8),
        "label": label,
    }
    return pools.Ground.of(columns, measure=["f1"], seed=1).known


# --- real pools

PROMISES = (
    ("certify", "precision >= 0.8"),
    ("certify", "precision >= 0.9"),
    ("calibrated", "precision >= 0.8"),
    ("calibrated", "recall >= 0.8 by model"),
    ("calibrated", "precision >= 0.7 and recall >= 0.6 by model"),
    ("calibrated", "f1 >= 0.6 by model"),
)


@functools.lru_cache(maxsize=2)
def read(name: str) -> KnownPool:
    """Return a real pool."""
    return pools.Ground.read(pools.CORPUS, name, measure=["f1"], seed=1).known


def on_real_pool(task: tuple[str, tuple[str, str], int]) -> list[Result]:
    """Return what became of a promise in one run on a real pool."""
    pool, (name, promise), seed = task
    found = outcomes(read(pool), name, promise, [300, 1000], seed)
    return [{"pool": pool, **row} for row in found]


# --- tables

SETTING, MEANS = ["pool", "sampler", "promise", "budget"], ["proved", "broken", "rows", "seconds"]


def table(
    name: str, work: Callable[[Any], list[Result]], tasks: Callable[[], Iterable[Any]]
) -> Table:
    """Return a table of what work makes of tasks: settings, how many runs each had, and means."""

    def rows(options: Options) -> Iterator[Row]:
        with (
            threadpool_limits(1),
            concurrent.futures.ProcessPoolExecutor(options.workers) as executor,
        ):
            results = itertools.chain.from_iterable(executor.map(work, tasks()))
            held = pd.DataFrame(results, columns=[*SETTING, *MEANS])
        for key, runs in held.groupby(SETTING, sort=False):
            yield *key, len(runs), *runs[MEANS].astype(float).mean().round(4)

    return Table(f"certificates-{name}", ",".join([*SETTING, "runs", *MEANS]), rows)


TABLES = (
    table("broken", on_made_pool, lambda: MADE),
    table(
        "corpus",
        on_real_pool,
        lambda: itertools.product(pools.find(pools.CORPUS), PROMISES, range(2)),
    ),
)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, workers=2)
