"""Judges certificates: promises that are broken, rows given away, widths of bounds, time.

    python benchmarks/certify.py --only certificates-broken  # made pools just below the goal
    python benchmarks/certify.py --only certificates-corpus  # real pools with truth
    python benchmarks/certify.py --only certificates-bounds  # beside 1.96 standard errors
    python benchmarks/certify.py --only certificates-rival   # BARGAIN 0.1.3, where it is installed
    python benchmarks/certify.py --only certificates-scale   # time of a certificate of 10^9 rows

Promises are looked at after every round.
"""

import argparse
import concurrent.futures
import dataclasses
import functools
import math
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pools
import pyarrow.parquet as pq
import tables
from threadpoolctl import threadpool_limits

from evalsampling.evaluation.analysis import Analysis
from evalsampling.evaluation.certificate import certify
from evalsampling.inference.bets import Hypotheses, blocks_of, log_wealth, term, terms_of_cells
from evalsampling.measures import FBeta, Precision
from evalsampling.samplers import CalibratedDesign, Importance, Sampler
from evalsampling.samplers.certified import CertifyingDesign
from evalsampling.simulation.summary import promise_outcome
from evalsampling.simulation.truth import KnownPool, Urns
from evalsampling.spec import RoundSize
from evalsampling.spec.hidden import HiddenPrior
from evalsampling.spec.promise import Promise
from evalsampling.stats.history import History

ROUNDS = RoundSize(50, 1.3)
CONFIDENCE = 0.95
Row = dict[str, Any]


def begin(known: KnownPool, sampler: Sampler, seed: int) -> Analysis:
    """Return the analysis of a pool before the first round."""
    outputs = known.table.outputs.take(np.zeros(0, dtype=np.int64))
    history = dataclasses.replace(History.start(1, 2), outputs=outputs)
    return Analysis(
        known.table, sampler, [FBeta()], seed, CONFIDENCE, history, hidden=HiddenPrior()
    )


def looks(known: KnownPool, sampler: Sampler, budget: int, seed: int) -> Iterator[Analysis]:
    """Yield the analysis after each round, all of whose rows have labels."""
    analysis, urns = begin(known, sampler, seed), Urns(known, seed + 1)
    while (left := budget - len(analysis.history)) > 0:
        before = len(analysis.history)
        drawn = analysis.with_round(ROUNDS.after(len(analysis.history.rounds)), budget=left)
        analysis = drawn.with_history(urns.answer(drawn.history))
        if len(analysis.history) == before:
            return
        yield analysis


def sampler_of(name: str, promise: Promise, budget: int) -> Sampler:
    """Return the sampler of a setting."""
    if name == "certify":
        return CertifyingDesign(Precision(), goals=promise.goals, planned=budget)
    return Importance(FBeta()) if name == "importance" else CalibratedDesign(FBeta())


def outcome(known: KnownPool, name: str, text: str, budgets: list[int], seed: int) -> list[Row]:
    """Return for each budget whether a promise was proved, what it gave, and if it ever broke."""
    promise, found = Promise.read(text), []
    for budget in budgets:
        ever, last, seconds = False, None, 0.0
        for analysis in looks(known, sampler_of(name, promise, budget), budget, seed):
            started = time.perf_counter()
            last = promise_outcome(known, analysis, promise, budget)
            seconds = time.perf_counter() - started
            ever = ever or last.broken
        if last is not None:
            found.append({"sampler": name, "promise": text, "budget": budget, "seed": seed,
                          "proved": last.proved, "broken": ever, "rows": last.rows,
                          "seconds": seconds})  # fmt: skip
    return found


# --- made pools


def made(kind: str, goal: float, folder: str) -> KnownPool:
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
    columns = {"score": level.astype(float), "probability": 0.3 + 0.03 * level,
               "prediction": (level >= levels // 2).astype(np.int8), "label": label}  # fmt: skip
    pools.write(Path(folder), "made", columns)
    return pools.Ground.read(Path(folder), "made", measure=["f1"], seed=1).known


def broken(task: tuple[str, float, str, int]) -> list[Row]:
    """Return what became of some runs on a made pool."""
    kind, goal, name, first = task
    budget = 200 if kind == "tiny" else 400
    with tempfile.TemporaryDirectory() as folder:
        known = made(kind, goal, folder)
    runs = [outcome(known, name, f"precision >= {goal}", [budget], first + i) for i in range(25)]
    return [{"pool": kind, **row} for run in runs for row in run]


def all_broken() -> Iterable[tuple[str, float, str, int]]:
    """Yield kind of pool, goal, sampler and first seed: 200 runs of each setting."""
    for kind in ("flat", "rising", "tiny"):
        for goal in (0.8, 0.95):
            for name in ("certify", "calibrated", "importance"):
                yield from ((kind, goal, name, 25 * block) for block in range(8))


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


def on_corpus(task: tuple[str, str, str, int]) -> list[Row]:
    """Return what became of a promise in one run on a real pool."""
    pool, name, promise, seed = task
    found = outcome(read(pool), name, promise, [300, 1000], seed)
    return [{"pool": pool, **row} for row in found]


def all_on_corpus() -> Iterable[tuple[str, str, str, int]]:
    """Yield pool, sampler, promise and seed: two runs of each setting."""
    for pool in pools.find(pools.CORPUS):
        yield from ((pool, *each, seed) for each in PROMISES for seed in range(2))


# --- widths of bounds


def bounds(task: tuple[str, str, int]) -> list[Row]:
    """Return distances of bounds from estimates in units of 1.96 standard errors by the design."""
    pool, name, seed = task
    known = read(pool)
    table, found = known.table, []
    score = table.outputs.score[table.first_kind, 0]
    predicted = table.outputs.prediction[table.first_kind, 0] == 1
    threshold = score[predicted].min() if predicted.any() else np.inf
    for budget in (300, 1000):
        sampler = sampler_of(name, Promise.read("precision >= 0.8"), budget)
        for analysis in looks(known, sampler, budget, seed):
            for measure in ("precision", "accuracy"):
                for side in (1, -1):
                    ratio = distance(analysis, measure, score, threshold, side, budget)
                    if ratio is not None:
                        last = len(analysis.history) >= budget
                        found.append({"pool": pool, "sampler": name, "measure": measure,
                                      "side": "lower" if side > 0 else "upper", "budget": budget,
                                      "labels": len(analysis.history), "last": last,
                                      "ratio": ratio})  # fmt: skip
    return found


def distance(
    analysis: Analysis, measure: str, score: Any, threshold: float, side: int, budget: int
) -> float | None:
    """Return how far a bound at .975 is from the estimate; None without a standard error."""
    table, history = analysis.table, analysis.history
    sample = analysis.sampler.weigh(table, history)
    above = (score[history.cell[sample.question]] >= threshold) * 1.0
    y = (history.label[sample.question] == 1) * 1.0
    zero, one = (sample.weight @ term(measure, above, y, goal) for goal in (0.0, 1.0))
    if zero == one:
        return None
    value = float(zero / (zero - one))
    residual = term(measure, above, y, value) / (zero - one)
    error = 1.96 * math.sqrt(max(float(sample.variance(residual[:, None])[0]), 0.0))
    hits = min(int(np.sum(above * y)), int(np.sum(above * (1 - y))))
    if hits < 10 or error < 1e-4:  # The normal interval means nothing.
        return None
    goals = np.linspace(value, max(value - 5 * error, 0) if side > 0 else min(value + 5 * error, 1),
                        100)[1:]  # fmt: skip
    terms = side * terms_of_cells(measure, score, np.full(99, threshold), goals)
    blocks = blocks_of(table, history, budget, 1, analysis.sampler.with_replacement)
    level = math.log(40)
    proved = log_wealth(blocks, Hypotheses(terms), history, 1, level) >= level
    bound = goals[np.argmax(proved)] if proved.any() else goals[-1]
    return abs(value - float(bound)) / error


def all_bounds() -> Iterable[tuple[str, str, int]]:
    """Yield pool, sampler and seed."""
    for pool in pools.find(pools.CORPUS):
        yield from ((pool, name, 0) for name in ("calibrated", "certify"))


# --- a rival


def rival(task: tuple[str, float, int]) -> list[Row]:
    """Return the rows that a promise of precision is proved for, ours and those of BARGAIN."""
    import BARGAIN  # development only: its own package needs others for calls of models

    pool, goal, seed = task
    with tempfile.TemporaryDirectory() as folder:
        directory = pools.CORPUS
        if pool.startswith("beta"):
            directory = Path(folder)
            rng = np.random.default_rng(seed)
            score = rng.beta(*map(float, pool.split("-")[1:]), 50_000)
            label = (rng.random(len(score)) < score).astype(int)
            prediction = (score > 0.5).astype(np.int8)
            columns = {"score": score, "probability": score}
            columns |= {"prediction": prediction, "label": label}
            pools.write(directory, pool, columns)
        known = pools.Ground.read(directory, pool, measure=["f1"], seed=1).known
        rows = pq.read_table(directory / f"{pool}.parquet", columns=["id", "score"])
        truth = pq.read_table(directory / f"{pool}-truth.parquet")
    by_id = rows.join(truth, "id").sort_by([("score", "descending")])
    y = by_id["label"].to_numpy().astype(int)
    kept = np.flatnonzero(np.cumsum(y) / np.arange(1, len(y) + 1) >= goal)
    if len(kept) == 0 or kept[-1] < 100:
        return []

    class Ranks(BARGAIN.Proxy):  # type: ignore[misc, name-defined]
        def get_preds_and_scores(self, places: Any, records: Any) -> Any:
            return np.ones(len(places)), 1 - np.asarray(places) / len(y)

    class Truth(BARGAIN.Oracle):  # type: ignore[misc, name-defined]
        def get_pred(self, records: Any, places: Any = None) -> Any:
            return y[np.asarray(places, dtype=np.int64)]

    theirs = BARGAIN.BARGAIN_P(Ranks(), Truth(), 1 - CONFIDENCE, goal, 400, seed=seed)
    called = np.array(theirs.process([str(i) for i in range(len(y))]), dtype=np.int64)
    promise = Promise.read(f"precision >= {goal}")
    *_, analysis = looks(known, sampler_of("certify", promise, 400), 400, seed)
    found = certify(analysis, promise, planned=400)
    above, history, table = found.rows or 0, analysis.history, known.table
    score_of_row = table.outputs.score[table.first_kind, 0][history.cell]
    below = score_of_row < (np.inf if found.threshold is None else found.threshold)
    ours = above + int(np.sum(below & (history.label == 1)))  # It calls labelled positives too.
    return [{"pool": pool, "goal": goal, "seed": seed, "best": int(kept[-1]) + 1, "ours": ours,
             "above": above,
             "kept": bool(above == 0 or y[:above].mean() >= goal), "bargain": len(called),
             "bargain_kept": bool(len(called) == 0 or y[called].mean() >= goal)}]  # fmt: skip


def all_rivals() -> Iterable[tuple[str, float, int]]:
    """Yield pool, goal and seed, of pools that have enough rows and not too many."""
    made = ["beta-0.5-0.5", "beta-1-1", "beta-0.05-1", "beta-0.01-1"]
    for pool in [*made, *pools.find(pools.CORPUS)]:
        yield from ((pool, goal, seed) for goal in (0.8, 0.9) for seed in range(3))


# --- time


def scale(cells: int) -> list[Row]:
    """Return the time of a certificate of 10^9 rows in so many cells, after 1,000 labels."""
    rng = np.random.default_rng(1)
    level = np.arange(cells)
    rate = 1 / (1 + np.exp(-8 * (level / cells - 0.7)))
    label = (rng.random(cells * 8) < np.repeat(rate, 8)).astype(int)
    columns = {"score": np.repeat(level, 8).astype(float), "probability": np.repeat(rate, 8),
               "prediction": np.repeat(rate > 0.5, 8).astype(np.int8), "label": label}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        pools.write(Path(folder), "made", columns)
        spec = {"measure": ["f1"], "seed": 1, "strata": {"leaves": min(cells, 2000)}}
        known = pools.Ground.read(Path(folder), "made", **spec).known
    times = 10**9 // known.table.rows + 1
    table = dataclasses.replace(known.table, count=known.table.count * times)
    known = dataclasses.replace(known, table=table, count=known.count * times)
    promise = Promise.read("precision >= 0.9")
    *_, analysis = looks(known, sampler_of("certify", promise, 1000), 1000, 1)
    started = time.perf_counter()
    found = certify(analysis, promise, planned=1000)
    return [{"rows": table.rows, "cells": len(table), "labels": 1000, "proved": found.holds,
             "seconds": time.perf_counter() - started}]  # fmt: skip


# --- running

RUNS = ("seed", "labels", "seconds", "ratio", "proved", "broken", "rows", "best", "ours", "above",
        "kept", "bargain", "bargain_kept")  # fmt: skip
"""Columns that differ from run to run; the others are those of a setting."""


def by_setting(rows: list[Row]) -> list[Row]:
    """Return a row for each setting: how many runs it had, and the mean of each number."""
    settings: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        own = tuple(item for item in row.items() if item[0] not in RUNS)
        settings.setdefault(own, []).append(row)
    means = [name for name in rows[0] if name in RUNS and name != "seed"]
    return [
        {**dict(own), "runs": len(runs), **{name: mean(runs, name) for name in means}}
        for own, runs in settings.items()
    ]


def mean(runs: list[Row], name: str) -> float | None:
    """Return the mean of a number over runs, rounded; None where none has it."""
    values = [float(run[name]) for run in runs if run[name] is not None]
    return round(float(np.mean(values)), 4) if values else None


def table(
    name: str, header: str, work: Callable[[Any], list[Row]], tasks: Iterable[Any]
) -> tables.Table:
    """Return a table of what work makes of tasks, a row for each setting."""

    def rows(options: argparse.Namespace) -> Iterator[list[str]]:
        with (
            threadpool_limits(1),
            concurrent.futures.ProcessPoolExecutor(options.workers) as executor,
        ):
            found = [row for rows in executor.map(work, tasks) for row in rows]
        for row in by_setting(found):
            values = (row[column] for column in header.split(","))
            yield ["" if value is None else str(value) for value in values]

    return tables.Table(f"certificates-{name}", header, rows)


_OF_PROMISES = "pool,sampler,promise,budget,runs,proved,broken,rows,seconds"

TABLES = (
    table("broken", _OF_PROMISES, broken, all_broken()),
    table("corpus", _OF_PROMISES, on_corpus, all_on_corpus()),
    table(
        "bounds", "pool,sampler,measure,side,budget,last,runs,labels,ratio", bounds, all_bounds()
    ),
    table("rival", "pool,goal,runs,best,ours,above,kept,bargain,bargain_kept", rival, all_rivals()),
    table("scale", "cells,runs,rows,labels,proved,seconds", scale, (200, 2000)),
)

if __name__ == "__main__":
    tables.main(__doc__, TABLES, workers=2)
