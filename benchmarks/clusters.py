"""Measures intervals where rows come in clusters whose labels are alike.

    python benchmarks/clusters.py run --pools=DIR      # continues
    python benchmarks/clusters.py report               # writes docs/studies/clusters.csv

The rows of some pools of a folder (see corpus.py) are put into made clusters: of 20 rows, or of
sizes with a heavy tail. Rows of a cluster have errors that correlate, given the score. Labels are
drawn row by row, or in whole clusters; intervals are made with `pool.cluster` and without.
"""

import argparse
import dataclasses
import itertools
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

from evalsampling.evaluation.analysis import Analysis
from evalsampling.inference.intervals import covers
from evalsampling.inference.results import Estimate
from evalsampling.simulation.truth import KnownPool, Urns
from evalsampling.stats.distinct import numbered_within
from evalsampling.stats.history import History, Round

POOLS = ("cardio-small-hgb", "clinc-bill-mnb", "compas-decile", "creditdefault-shift-svm",
         "lawschool-lr")  # fmt: skip
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
    yield from itertools.product(options.only or POOLS, SIZES, CORRELATIONS, DRAWN)


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
    oracle, cluster = Urns(known, seed), known.outputs.cluster
    for budget in PLAN.budgets:
        while drawn == "rows" and (left := int(budget) - len(now.history)) > 0:
            size = PLAN.round_size.after(len(now.history.rounds))
            now = now.with_history(oracle.answer(now.with_round(size, left).history))
        if drawn == "clusters":
            names = np.arange(cluster.max() + 1)
            number = max(round(budget / len(cluster) * len(names)), 2)
            taken = np.flatnonzero(np.isin(cluster, rng.choice(names, number, replace=False)))
            now = now.with_history(_of_one_round(known, taken, number / len(names)))
        yield int(budget), now


def _of_one_round(known: KnownPool, taken: npt.NDArray[np.int64], chance: float) -> History:
    """Return the history of labelled rows, each drawn with the same chance."""
    rows, cells = len(taken), np.full(len(known.table), chance)
    one = Round(
        np.arange(rows), np.full(rows, chance), np.ones(rows, dtype=bool), None, cells, rows
    )
    cell = known.cell[taken]
    start = History.start(1, known.table.classes)
    drawn = start.with_round(one, cell, numbered_within(cell), known.outputs.take(taken))
    return drawn.with_labels(known.label[taken])


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
