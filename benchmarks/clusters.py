"""Measures intervals where rows come in clusters whose labels are alike.

    python benchmarks/clusters.py run --pools=DIR      # continues
    python benchmarks/clusters.py report               # writes docs/studies/clusters.csv

The rows of some pools of a folder (see corpus.py) are put into made clusters: of 20 rows, or of
sizes with a heavy tail. Rows of a cluster have errors that correlate, given the score. Labels are
drawn row by row by the sampler `calibrated`, or in whole clusters by `clusters`; intervals are made
with `pool.cluster` and without.
"""

import argparse
import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any

import corpus
import numpy as np
import numpy.typing as npt
import pools
import pyarrow as pa
import tables
import trials

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.intervals import covers
from evalsampling.inference.results import Estimate
from evalsampling.samplers import Clusters
from evalsampling.simulation.truth import KnownPool, Urns
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
SCHEMA = pa.schema(
    {
        "repeat": pa.int64(),
        "budget": pa.int64(),
        "measure": pa.string(),
        "known": pa.bool_(),
        "claims": pa.bool_(),
        "holds": pa.bool_(),
        "half": pa.float64(),
    }
)
"""A row for each repeat, budget, measure, and whether the clusters were known."""


def main(argv: list[str] | None = None) -> int:
    """Simulate or report; return the exit status."""
    parser = trials.parser(__doc__, "clusters", repeats=20, block=5)
    parser.set_defaults(pools=pools.CORPUS, output=tables.FOLDER)
    options = parser.parse_args(argv)
    if options.action == "run":
        todo = trials.blocks([*_names(options)], options.repeats, options.block)
        trials.run(options, _Study(options.pools), todo, PLAN)
    else:
        for table in TABLES:
            table.make(options)
    return 0


def _names(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Yield the names of the trials: pool, sizes, correlation, what is drawn."""
    for drawn in DRAWN:
        pools_of = POOLS if drawn == "rows" else (*POOLS, *MORE)
        yield from itertools.product(options.only or pools_of, SIZES, CORRELATIONS, [drawn])


class _Study(trials.Study):
    """Evaluations of one pool, with and without the key, on the same labels."""

    def __init__(self, folder: Any) -> None:
        """Take the pools of a folder."""
        super().__init__(corpus.study_of(folder, MEASURES, PLAN).trial, corpus.rows_of, SCHEMA)

    def simulate(self, block: trials.Block, results: Any) -> None:
        """Simulate a block and write its file."""
        pool, sizes, correlation, drawn = block.names
        trial, found = self.trial(pool, "calibrated"), []
        for repeat in range(block.first, block.end):
            rng = np.random.default_rng([PLAN.seed, repeat])
            known = in_clusters(trial.known, sizes, float(correlation), rng)
            clustered = dataclasses.replace(trial, known=known)
            for budget, analysis in _labelled(clustered, drawn, rng):
                for is_known, estimates in _estimates(analysis):
                    for one, truth in zip(estimates, trial.truths, strict=True):
                        at = {"repeat": repeat, "budget": budget, "known": is_known}
                        found.append({**at, **_found(one, float(truth[0]))})
        trials.write(found, SCHEMA, block.path(results))


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


def _normal(place: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return normal numbers in the order of some places in [0, 1]."""
    order = np.argsort(np.argsort(place))
    return np.sort(np.random.default_rng(0).standard_normal(len(place)))[order]


def _sorted_into(number: Any, share: float, latent: Any, noise: Any) -> Any:
    """Return the cluster of each row, those being alike whose mixed numbers are."""
    cluster = np.empty_like(number)
    cluster[np.argsort(np.sqrt(share) * latent + np.sqrt(1 - share) * noise)] = number
    return cluster


def _labelled(
    trial: trials.Trial, drawn: str, rng: np.random.Generator
) -> Iterator[tuple[int, Analysis]]:
    """Yield, by budget, an evaluation with labels of rows that rounds drew, or whole clusters."""
    known, table = trial.known, trial.known.table
    empty = table.outputs.take(np.zeros(0, dtype=np.int64))
    start = dataclasses.replace(History.start(1, table.classes), outputs=empty)
    seed = int(rng.integers(1 << 30))
    now = Analysis(
        table, trial.sampler, trial.measures, seed, PLAN.confidence, start, hidden=PLAN.hidden
    )
    answer = Urns(known, seed).answer
    if drawn == "clusters":
        now, answer = _by_clusters(now, known, rng)
    for budget in PLAN.budgets:
        while (left := int(budget) - len(now.history)) > 0:
            size = PLAN.round_size.after(len(now.history.rounds))
            now = now.with_history(answer(now.with_round(size, left).history))
        yield int(budget), now


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


def _estimates(analysis: Analysis) -> Iterator[tuple[bool, list[Estimate]]]:
    """Yield the estimates with the clusters, and those without."""
    yield True, [*analysis.estimate()]
    outputs = dataclasses.replace(analysis.history.outputs, cluster=None)
    without = dataclasses.replace(analysis.history, outputs=outputs)
    yield False, [*analysis.with_history(without).estimate()]


def _found(one: Estimate, truth: float) -> trials.Result:
    """Return what an estimate comes to."""
    holds = covers(one.intervals[0], truth)
    return {"measure": one.measure, "claims": one.claims, "holds": holds, "half": one.half_width}


HEADER = "drawn,sizes,correlation,labels,runs,claims,coverage,half_width,without,half_without"


def rows(options: argparse.Namespace) -> Iterator[list[str]]:
    """Yield, over all pools and measures, coverage and half-width with clusters and without."""
    for drawn, sizes, correlation in itertools.product(DRAWN, SIZES, CORRELATIONS):
        names = [each for each in _names(options) if each[1:] == (sizes, correlation, drawn)]
        read = (trials.read(options.results, *each) for each in names)
        found = trials.columns(pa.concat_tables([made for made in read if made is not None]))
        for budget in PLAN.budgets:
            kept = {
                known: {name: values[(found["budget"] == budget) & (found["known"] == known)]
                        for name, values in found.items()}
                for known in (True, False)
            }  # fmt: skip
            claims = kept[True]["claims"]
            numbers = []
            for each in kept.values():
                told = each["claims"]
                numbers += [f"{each['holds'][told].mean():.3f}"]
                numbers += [f"{np.median(each['half'][claims & kept[False]['claims']]):.3f}"]
            runs = [str(len(claims)), f"{claims.mean():.2f}"]
            yield [drawn, sizes, correlation, str(budget), *runs, *numbers]


TABLES = (tables.Table("clusters", HEADER, rows),)


if __name__ == "__main__":
    sys.exit(main())
