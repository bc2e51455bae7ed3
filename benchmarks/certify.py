"""Judges certificates on real pools: promises that are proved or broken, and rows given away.

Promises are looked at after every round. *broken* is a share of all repeats, whether a promise was
proved in them or not; *rows* is a mean that counts repeats without a proof as 0.
"""

import dataclasses
import itertools
import time
from collections.abc import Iterator

import corpus
import pools
import runner
from runner import Names, Options, Result

from evalsampling.measures import FBeta, Precision
from evalsampling.samplers import CalibratedDesign, Sampler
from evalsampling.samplers.certified import CertifyingDesign
from evalsampling.simulation.summary import promise_outcome
from evalsampling.simulation.truth import Urns
from evalsampling.spec.promise import Promise

PLAN = dataclasses.replace(corpus.PLAN, budgets=(300, 1000))

PROMISES = (
    ("precision >= 0.8", "certify"),
    ("precision >= 0.9", "certify"),
    ("precision >= 0.8", "calibrated"),
    ("recall >= 0.8 by model", "calibrated"),
    ("precision >= 0.7 and recall >= 0.6 by model", "calibrated"),
    ("f1 >= 0.6 by model", "calibrated"),
)
"""What is promised, and what draws: rounds of `certify` are for the promise, others for F1."""


def names(options: Options) -> Iterator[Names]:
    """Yield the names of all trials: pool, promise, sampler."""
    for pool, promise in itertools.product(pools.find(options.pools), PROMISES):
        yield pool, *promise


def trial(options: Options, pool: str, *_: str) -> runner.Trial:
    """Return a trial of a pool, whose rounds are drawn for F1."""
    return corpus.trial(["f1"], PLAN, options, pool, "calibrated")


class _Study(runner.Study):
    """Evaluations whose promise is looked at after each round."""

    def repeat(self, trial: runner.Trial, names: Names, repeat: int) -> Iterator[Result]:
        """Yield for each budget whether a promise was proved, what it gave, if it ever broke."""
        (_, text, name), known = names, trial.known
        promise = Promise.read(text)
        for budget in PLAN.budgets:
            sampler: Sampler = CalibratedDesign(FBeta())
            if name == "certify":
                sampler = CertifyingDesign(Precision(), goals=promise.goals, planned=budget)
            start, urns = pools.begin(known, sampler, [FBeta()], repeat), Urns(known, repeat + 1)
            broken = False
            for analysis in pools.rounds(start, urns.answer, PLAN.round_size, budget):
                started = time.perf_counter()
                found = promise_outcome(known, analysis, promise, budget)
                seconds = time.perf_counter() - started
                broken = broken or found.broken
            told = {"proved": found.proved, "broken": broken, "rows": found.rows}
            yield {"budget": budget, "seconds": seconds, **told}


def rows(options: Options) -> Iterator[runner.Row]:
    """Yield settings, how many runs each had, and means."""
    held = STUDY.read(options)
    for key, runs in held.groupby(["pool", "sampler", "promise", "budget"], sort=False):
        means = runs[["proved", "broken", "rows", "seconds"]].astype(float).mean().round(4)
        yield *key, len(runs), *means


STUDY = _Study("certificates", PLAN, names, trial, repeats=2, titles=("pool", "promise", "sampler"))
HEADER = "pool,sampler,promise,budget,runs,proved,broken,rows,seconds"
TABLES = (runner.Table("certificates-corpus", HEADER, rows),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, STUDY)
