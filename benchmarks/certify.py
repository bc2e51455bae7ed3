"""Judges certificates: promises that are broken, rows given away, widths of bounds, time.

Pools are made, with promises just below the goal, or real ones with truth. A rival is BARGAIN
0.1.3, where it is installed. Promises are looked at after every round. *broken* is a share of all
repeats, whether a promise was proved in them or not; *rows* is a mean that counts repeats without a
proof as 0.
"""

import concurrent.futures
import dataclasses
import functools
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pools
import pyarrow.parquet as pq
import runner
from runner import Options, Result, Row, Table
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
from evalsampling.spec.promise import Promise

ROUNDS = RoundSize(50, 1.3)
CONFIDENCE = 0.95


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


def on_made_pool(task: tuple[str, float, str, int]) -> list[Result]:
    """Return what became of 25 runs on a made pool: its kind, the goal, sampler, first seed."""
    kind, goal, name, first = task
    known, budget = made(kind, goal), 200 if kind == "tiny" else 400
    return [
        {"pool": kind, **row}
        for seed in range(first, first + RUNS)
        for row in outcomes(known, name, f"precision >= {goal}", [budget], seed)
    ]


RUNS = 25
MADE = itertools.product(
    ("flat", "rising", "tiny"), (0.8, 0.95), ("certify", "calibrated", "importance"),
    range(0, 200, RUNS),
)  # fmt: skip


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
    columns = pool_columns(level.astype(float), 0.3 + 0.03 * level, level >= levels // 2, label)
    return pools.Ground.of(columns, measure=["f1"], seed=1).known


def pool_columns(score: Any, probability: Any, predicted: Any, label: Any) -> dict[str, Any]:
    """Return the columns of a pool."""
    prediction = predicted.astype(np.int8)
    return {
        "score": score, "probability": probability, "prediction": prediction, "label": label
    }  # fmt: skip


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


# --- widths of bounds


def bounds(task: tuple[str, str]) -> list[Result]:
    """Return distances of bounds from estimates in units of 1.96 standard errors by the design."""
    pool, name = task
    known, promise = read(pool), Promise.read("precision >= 0.8")
    table, found = known.table, []
    score = table.kinds.score[table.kinds.first, 0]
    predicted = table.kinds.prediction[table.kinds.first, 0] == 1
    threshold = score[predicted].min() if predicted.any() else np.inf
    sides = (("lower", 1), ("upper", -1))
    for budget in (300, 1000):
        for analysis in looks(known, name, promise, budget, seed=0):
            labels = len(analysis.history)
            for measure, (side, sign) in itertools.product(("precision", "accuracy"), sides):
                ratio = distance(analysis, measure, score, threshold, sign, budget)
                if ratio is not None:
                    at = {"pool": pool, "sampler": name, "measure": measure, "side": side}
                    told = {"labels": labels, "last": labels >= budget, "ratio": ratio}
                    found.append({**at, "budget": budget, **told})
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
    end = max(value - 5 * error, 0) if side > 0 else min(value + 5 * error, 1)
    goals = np.linspace(value, end, 100)[1:]
    terms = side * terms_of_cells(measure, score, np.full(99, threshold), goals)
    blocks = blocks_of(table, history, budget, 1, analysis.sampler.with_replacement)
    level = math.log(40)
    proved = log_wealth(blocks, Hypotheses(terms), history, 1, level) >= level
    bound = goals[np.argmax(proved)] if proved.any() else goals[-1]
    return abs(value - float(bound)) / error


# --- a rival

BETAS = ["beta-0.5-0.5", "beta-1-1", "beta-0.05-1", "beta-0.01-1"]
"""Pools with scores of these distributions, and labels as they say."""


def rival(task: tuple[str, float, int]) -> list[Result]:
    """Return the rows that a promise of precision is proved for, ours and those of BARGAIN.

    Of pools that have enough rows that keep it.
    """
    import BARGAIN  # development only: its own package needs others for calls of models

    pool, goal, seed = task
    if pool in BETAS:
        rng = np.random.default_rng(seed)
        score = rng.beta(*map(float, pool.split("-")[1:]), 50_000)
        label = (rng.random(len(score)) < score).astype(int)
        known = pools.Ground.of(
            pool_columns(score, score, score > 0.5, label), measure=["f1"], seed=1
        ).known
        y = label[np.argsort(-score, kind="stable")]
    else:
        known = read(pool)
        rows = pq.read_table(pools.CORPUS / f"{pool}.parquet", columns=["id", "score"])
        truth = pq.read_table(pools.CORPUS / f"{pool}-truth.parquet")
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
    *_, analysis = looks(known, "certify", promise, 400, seed)
    found = certify(analysis, promise, planned=400)
    above, history, table = found.rows or 0, analysis.history, known.table
    score_of_row = table.kinds.score[table.kinds.first, 0][history.cell]
    below = score_of_row < (np.inf if found.threshold is None else found.threshold)
    ours = above + int(np.sum(below & (history.label == 1)))  # It calls labelled positives too.

    def is_kept(labels: Any) -> bool:
        return len(labels) == 0 or labels.mean() >= goal

    told = {"best": int(kept[-1]) + 1, "ours": ours, "above": above, "kept": is_kept(y[:above])}
    told |= {"bargain": len(called), "bargain_kept": is_kept(y[called])}
    return [{"pool": pool, "goal": goal, **told}]


# --- time


def scale(cells: int) -> list[Result]:
    """Return the time of a certificate of 10^9 rows in so many cells, after 1,000 labels."""
    rng = np.random.default_rng(1)
    level = np.arange(cells)
    rate = 1 / (1 + np.exp(-8 * (level / cells - 0.7)))
    label = (rng.random(cells * 8) < np.repeat(rate, 8)).astype(int)
    score, probability = np.repeat(level, 8).astype(float), np.repeat(rate, 8)
    spec = {"measure": ["f1"], "seed": 1, "strata": {"leaves": min(cells, 2000)}}
    columns = pool_columns(score, probability, probability > 0.5, label)
    known = pools.Ground.of(columns, **spec).known
    times = 10**9 // known.table.rows + 1
    table = dataclasses.replace(known.table, count=known.table.count * times)
    known = dataclasses.replace(known, table=table, count=known.count * times)
    promise = Promise.read("precision >= 0.9")
    *_, analysis = looks(known, "certify", promise, 1000, seed=1)
    started = time.perf_counter()
    found = certify(analysis, promise, planned=1000)
    seconds = time.perf_counter() - started
    told = {"labels": 1000, "proved": found.holds, "seconds": seconds}
    return [{"rows": table.rows, "cells": len(table), **told}]


# --- tables


def table(
    name: str, header: str, work: Callable[[Any], list[Result]], tasks: Callable[[], Iterable[Any]]
) -> Table:
    """Return a table of what work makes of tasks: settings, how many runs each had, and means."""
    setting, means = (part.split(",") for part in header.split(",runs,"))

    def rows(options: Options) -> Iterator[Row]:
        by_setting: dict[tuple[str, ...], list[Result]] = {}
        with (
            threadpool_limits(1),
            concurrent.futures.ProcessPoolExecutor(options.workers) as executor,
        ):
            for row in itertools.chain.from_iterable(executor.map(work, tasks())):
                by_setting.setdefault(tuple(str(row[one]) for one in setting), []).append(row)
        for key, runs in by_setting.items():
            yield [*key, str(len(runs)), *(mean(runs, one) for one in means)]

    return Table(f"certificates-{name}", header, rows)


def mean(runs: list[Result], name: str) -> str:
    """Return the mean of a number over runs; nothing where none has it."""
    values = [float(run[name]) for run in runs if run[name] is not None]
    return str(round(float(np.mean(values)), 4)) if values else ""


def on_corpus(*others: Iterable[Any]) -> Callable[[], Iterable[Any]]:
    """Return what returns the product of the real pools and others."""
    return lambda: itertools.product(pools.find(pools.CORPUS), *others)


_OF_PROMISES = "pool,sampler,promise,budget,runs,proved,broken,rows,seconds"

TABLES = (
    table("broken", _OF_PROMISES, on_made_pool, lambda: MADE),
    table("corpus", _OF_PROMISES, on_real_pool, on_corpus(PROMISES, range(2))),
    table(
        "bounds",
        "pool,sampler,measure,side,budget,last,runs,labels,ratio",
        bounds,
        on_corpus(("calibrated", "certify")),
    ),
    table(
        "rival",
        "pool,goal,runs,best,ours,above,kept,bargain,bargain_kept",
        rival,
        lambda: itertools.product([*BETAS, *pools.find(pools.CORPUS)], (0.8, 0.9), range(3)),
    ),
    table("scale", "cells,runs,rows,labels,proved,seconds", scale, lambda: (200, 2000)),
)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, workers=2)
