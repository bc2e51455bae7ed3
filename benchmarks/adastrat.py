"""AdaStrat and LogStrat on a simulated list of 35,615 items and enlargements, beside the paper.

The list is built as in section 5 of [SX] (Sabharwal and Xue, UAI 2018): labels of a falling
precision, from .95 at the head to .3 or .5; the enlarged ones draw s labels for each item from the
running average over 100 items. The paper's own list (allenai.org) was not at hand. e = .03,
delta = .05, beta = 1.05; p_min is that of the end, as the paper takes domain knowledge. Plain
random sampling is the least of r + s N / r over r: all up to rank r, then at the density s / r.
"""

import dataclasses
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import runner
from runner import Options, Row, Table

from evalsampling.measures import PRCurve
from evalsampling.samplers import AdaStrat, LogStrat, RankedSampler
from evalsampling.simulation.truth import KnownPool
from evalsampling.stats.arrays import FloatArray, IntArray
from evalsampling.stats.cells import CellTable, Kinds, Leaves
from evalsampling.stats.history import History
from evalsampling.stats.precision_queries import QueryBound

ITEMS, BINS, WINDOW, FIRST = 35_615, 1500, 100, 3550
ENDS, SCALES = (0.3, 0.5), (1, 10, 100, 1000)
SHOWN = 4  # of so many bins one is drawn in the picture
PAPER = {
    ("adastrat", 1): ("18", ""), ("adastrat", 100): ("18", "24 K"),
    ("adastrat", 1000): ("18 or 21", "28 K"),
    ("logstrat", 1): ("78", "18 K"), ("logstrat", 100): ("234", "54 K"),
    ("logstrat", 1000): ("312", "73 K"),
    ("plain random", 100): ("", "284 K"), ("plain random", 1000): ("", "close to 1 M"),
}  # fmt: skip
"""Queries and labels that the paper tells, of its own list."""


@dataclasses.dataclass(frozen=True)
class List:
    """A ranked list in bins, the best first: rows and positives of each."""

    rows: IntArray
    hits: IntArray

    @classmethod
    def enlarged(cls, scale: int, end: float) -> "List":
        """Build a list ``scale`` times as long as the base list."""
        rng = np.random.default_rng(0)
        share = (np.arange(ITEMS) + 0.5) / ITEMS
        label = (rng.random(ITEMS) < 0.95 * (1 - share) ** (0.95 / end - 1)).astype(np.int64)
        ends = np.unique(np.round(np.geomspace(500, ITEMS * scale, BINS)).astype(np.int64))
        ends = np.append(0, ends)
        cuts, hits = np.arange(ITEMS + 1), label
        if scale > 1:
            cuts = np.union1d(ends, np.arange(ITEMS + 1) * scale)
            rate = _running_average(label)[cuts[:-1] // scale]
            hits = rng.binomial(np.diff(cuts), rate)
        found = np.append(0, np.cumsum(hits))[np.searchsorted(cuts, ends)]
        return cls(np.diff(ends), np.diff(found))

    @property
    def known(self) -> KnownPool:
        """The pool as simulations see it."""
        rows, hits, bins = self.rows[::-1], self.hits[::-1], len(self.rows)
        number = np.arange(bins)
        kinds = Kinds(
            np.zeros((bins, 1), dtype=np.int64), number.astype(float)[:, None],
            np.full((bins, 1, 2), 0.5), cell=number, share=np.ones(bins),
        )  # fmt: skip
        table = CellTable(number, number, rows, np.full((bins, 2), 0.5), Leaves(bins), kinds)
        cell, label = np.repeat(number, 2), np.tile([0, 1], bins)
        count = np.stack([rows - hits, hits], axis=1).ravel()
        return KnownPool(table, cell, label, count, kinds.take(cell))


def _running_average(label: IntArray) -> FloatArray:
    """Return the mean of `WINDOW` items around each, of fewer near the ends."""
    hits, place = np.append(0, np.cumsum(label)), np.arange(ITEMS)
    reach = np.minimum(WINDOW // 2, np.minimum(place, ITEMS - 1 - place))
    return (hits[place + reach + 1] - hits[place - reach]) / (2 * reach + 1)


def _ended(sampler: RankedSampler, one: List) -> tuple[KnownPool, History]:
    """Return the pool and the history of an evaluation that ran to its end, with true labels."""
    known, history = one.known, History.start()
    while not sampler.exhausted(known.table, history):
        rng = np.random.default_rng([0, len(history.rounds)])
        history = sampler.design(known.table, history, 1, rng)
        label = np.zeros(len(history), dtype=np.int64)
        for cell in np.unique(history.cell).tolist():  # Its rows come in one random order.
            asked, answers = history.cell == cell, np.repeat([0, 1], known.labels[cell])
            order = np.random.default_rng([0, cell]).permutation(answers)
            label[asked] = order[history.rank[asked]]
        history = history.with_labels(label)
    return known, history


def _row(sampler: RankedSampler, one: List) -> Row:
    """Run an evaluation to its end and return its cells of the table, from the queries on."""
    known, history = _ended(sampler, one)
    curve = sampler.curve(known.table, history)
    assert curve is not None
    truth = np.cumsum(one.hits) / np.cumsum(one.rows)
    off = np.exp(np.max(np.abs(np.log(curve.precision.value / truth))))
    low, high = curve.precision.low - 1e-12, curve.precision.high + 1e-12
    inside = "yes" if np.all((low <= truth) & (truth <= high)) else "no"
    promised, rounds = curve.guarantee, len(history.rounds)
    return promised.queries, rounds, len(history), promised.factor, off, inside


def rows(options: Options) -> Iterator[Row]:
    """Yield both samplers and plain random sampling on all lists."""
    for end in ENDS:
        for scale in SCALES:
            one, items, p_min = List.enlarged(scale, end), ITEMS * scale, end - 0.01
            at = f"{end:g}".lstrip("0"), items
            for kind in (AdaStrat, LogStrat):
                sampler = kind(PRCurve((0.0,)), p_min=p_min, first=FIRST, m=100)
                paper = PAPER.get((kind.name, scale), ("", ""))
                yield *at, kind.name, *_row(sampler, one), *paper
            s = QueryBound(1.05, 0.0, 0.05).draws(p_min, 1)
            plain = min(items, round(2 * math.sqrt(s * items) - s))
            paper = PAPER.get(("plain random", scale), ("", ""))
            yield *at, "plain random", "", "", plain, None, None, "", *paper
    draw(options.output / "figures" / "adastrat.svg")


def draw(path: Path, scale: int = 100, end: float = 0.5) -> None:
    """Draw curve, bounds and queries of both samplers on one list, like figure 4 of [SX]."""
    one = List.enlarged(scale, end)
    figure = runner.new_figure(7.2, 5.4)
    panels = figure.subplots(2, 1, sharex=True, sharey=True)
    for kind, axes in zip((AdaStrat, LogStrat), panels, strict=True):
        _panel(axes, kind(PRCurve((0.0,)), p_min=end - 0.01, first=FIRST, m=100), one)
    panels[0].legend(frameon=False, loc="lower left")
    panels[1].set_xlabel(f"rank, of {one.rows.sum():,} items")
    runner.save_figure(figure, path)


def _panel(axes: Any, sampler: RankedSampler, one: List) -> None:
    """Draw one sampler's curve with its bounds, its queries and the truth."""
    known, history = _ended(sampler, one)
    curve = sampler.curve(known.table, history)
    assert curve is not None
    precision, rank = curve.precision, np.cumsum(one.rows)
    truth = np.cumsum(one.hits) / rank
    *_, wave = sampler._waves(known.table, history)  # The public curve has their number alone.
    low, high, some = precision.low, precision.high, np.arange(0, len(rank), SHOWN)
    axes.fill_between(rank[some], low[some], high[some], color="#cfe0ee", label="bounds")
    axes.plot(rank[some], precision.value[some], color="#2ca02c", label="curve")
    axes.plot(rank[some], truth[some], color="black", lw=0.8, ls=(0, (4, 2)), label="truth")
    queried = rank[wave.queried], precision.value[wave.queried]
    axes.plot(*queried, "s", color="#d62728", ms=3, label="queries")
    axes.set(xscale="log", xlim=(rank[0], rank[-1]), ylabel="precision")
    told = f"{sampler.name}: {curve.guarantee.queries} queries, {len(history):,} labels"
    axes.set_title(told, loc="left", fontsize=8)


HEADER = (
    "precision_at_the_end,items,sampler,queries,rounds,labels,guaranteed,worst,bounds_hold,"
    "queries_published,labels_published"
)
TABLES = (Table("adastrat/lists", HEADER, rows, form=".4f"),)

if __name__ == "__main__":
    runner.main(__doc__, TABLES)
