"""Measures intervals where rows come in clusters whose labels are alike.

The rows of some pools of a folder (see corpus.py) are put into made clusters: of 20 rows, or of
sizes with a heavy tail. Errors in a cluster correlate, given the score. Labels are drawn row by row
by `calibrated`, or in whole clusters by `clusters`; intervals are with `pool.cluster` and without.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import corpus
import numpy as np
import pools
import runner
from runner import Names, Options, Result

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.intervals import covers
from evalsampling.samplers import Clusters
from evalsampling.simulation.truth import KnownPool, Urns
from evalsampling.stats.arrays import FloatArray
from evalsampling.stats.clusters import SharedClusters
from evalsampling.stats.history import History
from evalsampling.stats.permanent import PermanentNumbers

POOLS = ("cardio-small-hgb", "clinc-bill-mnb", "compas-decile", "creditdefault-shift-svm",
         "lawschool-lr")  # fmt: skip
MORE = ("amazongp-cosine", "coil2000-gnb", "diamonds-fair-knn", "elec-shift-gnb", "gmsc-hgb",
        "letter-Q-rf", "nasa-jm1-rf", "shoppers-shift-knn")  # fmt: skip
"""Pools of which whole clusters are drawn too: a round of these takes little time."""

MEASURES = ("f1", "precision", "recall", "accuracy")
SIZES = ("equal", "heavy")
CORRELATIONS = ("0", ".05", ".3")
DRAWN = ("rows", "clusters")
PLAN = dataclasses.replace(corpus.PLAN, budgets=(300, 1000), seed=53)


def names(_: Options) -> Iterator[Names]:
    """Yield the names of the trials: pool, sizes, correlation, what is drawn."""
    for drawn in DRAWN:
        pools_of = POOLS if drawn == "rows" else (*POOLS, *MORE)
        yield from itertools.product(pools_of, SIZES, CORRELATIONS, [drawn])


def trial(options: Options, pool: str, *_: str) -> runner.Trial:
    """Return a trial of a pool whose rows are not in clusters yet."""
    return corpus.trial(MEASURES, PLAN, options, pool, "calibrated")


class _Study(runner.Study):
    """Evaluations of one pool, with and without the key, on the same labels."""

    def repeat(self, trial: runner.Trial, names: Names, repeat: int) -> Iterator[Result]:
        """Yield the rows of one repeat: for each budget, with clusters and without."""
        _, sizes, correlation, drawn = names
        rng = np.random.default_rng([PLAN.seed, repeat])
        known = in_clusters(trial.known, sizes, float(correlation), rng)
        seed = int(rng.integers(1 << 30))
        now = pools.begin(known, trial.sampler, trial.measures, seed)
        answer = Urns(known, seed).answer
        if drawn == "clusters":
            now, answer = _by_clusters(now, known, rng)
        for budget in PLAN.budgets:
            *_, now = pools.rounds(now, answer, PLAN.round_size, budget)
            outputs = dataclasses.replace(now.history.outputs, cluster=None)
            without = now.with_history(dataclasses.replace(now.history, outputs=outputs))
            for is_known, analysis in ((True, now), (False, without)):
                for one, truth in zip(analysis.estimate(), trial.truths, strict=True):
                    yield {
                        "budget": budget,
                        "known": is_known,
                        "claims": one.claims,
                        "holds": covers(one.intervals[0], float(truth[0])),
                        "half": one.half_width,
                    }


def in_clusters(
    known: KnownPool, sizes: str, correlation: float, rng: np.random.Generator
) -> KnownPool:
    """Return a pool whose rows are in clusters, their labels correlated given the cell."""
    kind = np.repeat(np.arange(len(known.count)), known.count)
    cell, label = known.cell[kind], known.label[kind]
    rows = np.bincount(cell, minlength=len(known.table))
    rate = ((np.bincount(cell, label, len(rows)) + 0.5) / (rows + 1))[cell]
    error = (label - rate) / np.sqrt(rate * (1 - rate))
    # A normal number of which the label is the sign, but for the rate of the cell.
    place = np.where(label, 1 - rate * rng.random(len(kind)), (1 - rate) * rng.random(len(kind)))
    latent, noise = _normal(place), rng.standard_normal(len(kind))
    size = np.full(len(kind) // 20 + 1, 20)
    if sizes == "heavy":
        size = np.minimum(5 * (1 + rng.pareto(1.2, len(kind))), 500).astype(int)
    number = np.repeat(np.arange(len(size)), size)[: len(kind)]
    low, high = 0.0, 1.0
    for _ in range(12 * (correlation > 0)):  # until the correlation of errors is as wanted
        share = (low + high) / 2
        cluster = _sorted_into(number, share, latent, noise)
        sums, count = np.bincount(cluster, error), np.bincount(cluster)
        found = float((sums @ sums - error @ error) / (count @ (count - 1)) / np.mean(error**2))
        low, high = (share, high) if found < correlation else (low, share)
    cluster = _sorted_into(number, low, latent, noise)
    outputs = dataclasses.replace(known.outputs.take(kind), cluster=cluster)
    ones = np.ones_like(kind)
    return dataclasses.replace(known, cell=cell, label=label, count=ones, outputs=outputs)


def _normal(place: FloatArray) -> FloatArray:
    """Return normal numbers in the order of some places in [0, 1]."""
    order = np.argsort(np.argsort(place))
    return np.sort(np.random.default_rng(0).standard_normal(len(place)))[order]


def _sorted_into(number: Any, share: float, latent: Any, noise: Any) -> Any:
    """Return the cluster of each row, those being alike whose mixed numbers are."""
    cluster = np.empty_like(number)
    cluster[np.argsort(np.sqrt(share) * latent + np.sqrt(1 - share) * noise)] = number
    return cluster


def _by_clusters(
    rows: Analysis, known: KnownPool, rng: np.random.Generator
) -> tuple[Analysis, Callable[[History], History]]:
    """Return an evaluation that draws whole clusters, and what answers its questions."""
    cluster = known.outputs.cluster
    number = rng.random(cluster.max() + 1)[cluster]
    order = np.lexsort((number, known.cell))
    cell, table = known.cell[order], known.table
    numbers = PermanentNumbers(cell, number[order], table.count)
    first = np.searchsorted(cell, np.arange(len(table)))
    sizes = np.bincount(cluster).astype(float)
    pairs = float(sizes @ (sizes - 1)) / (len(cluster) * (len(cluster) - 1))

    def answer(history: History) -> History:
        asked = order[first[history.cell] + history.rank]
        known_rows = dataclasses.replace(history, outputs=known.outputs.take(asked))
        return known_rows.with_labels(known.label[asked])

    analysis = dataclasses.replace(
        rows,
        sampler=Clusters(rows.sampler.measure, hidden=rows.sampler.hidden),
        numbers=lambda: numbers,
        clusters=SharedClusters(len(cluster), pairs),
    )
    return analysis, answer


def rows(options: Options) -> Iterator[runner.Row]:
    """Yield, over all pools and measures, coverage and half-width with clusters and without."""
    held = STUDY.read(options)
    for key, found in held.groupby(["drawn", "sizes", "correlation", "budget"], sort=False):
        with_key, without = found[found["known"]], found[~found["known"]]
        both = with_key["claims"].to_numpy() & without["claims"].to_numpy()
        numbers = (
            (runs["holds"][runs["claims"]].mean(), runs["half"][both].median())
            for runs in (with_key, without)
        )
        yield *key, len(both), with_key["claims"].mean(), *itertools.chain(*numbers)


STUDY = _Study("clusters", PLAN, names, trial, titles=("pool", "sizes", "correlation", "drawn"))
HEADER = (
    "drawn,sizes,correlation,labels,runs,claims:.2f,coverage:.3f,half_width:.3f,without:.3f,"
    "half_without:.3f"
)
TABLES = (runner.Table("clusters", HEADER, rows),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES, STUDY)
