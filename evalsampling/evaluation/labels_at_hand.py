"""The first round of an evaluation whose pool has labels already: the rows that have one.

How they were drawn is what the spec says (`spec.labels_at_hand`). Whether the pool contradicts it
is tested: by the share of each prediction, and by the mean rank of the scores.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
import scipy

from evalsampling.errors import InputError
from evalsampling.evaluation.analysis import Analysis, Pool
from evalsampling.evaluation.missing_labels import more_than_a_few
from evalsampling.inference.evidence import FEWEST_EVIDENCE
from evalsampling.inference.own_chances import go_with_scores
from evalsampling.pool.row_ids import as_text
from evalsampling.pool.stored_columns import CELL, GIVEN, GIVEN_NUMBER, ID, RANK, SLICE_PREFIX
from evalsampling.preparation.slices import Slices
from evalsampling.report.numbers import percent
from evalsampling.spec.labels_at_hand import (
    CHANCE,
    CLUSTERS,
    DESIGN,
    PICKED,
    RANDOM,
    WEIGHT,
    WITHIN,
    LabelsAtHand,
)
from evalsampling.stats.arrays import BoolArray, FloatArray, IntArray
from evalsampling.stats.cells import CellTable
from evalsampling.stats.clusters import SharedClusters
from evalsampling.stats.history import ELSEWHERE, PEOPLE, SAMPLER, Round

FILE = "labels-at-hand.jsonl"
"""What the delivery of these labels to a workspace is called."""

Elsewhere = Callable[[str, int, Sequence[str]], Mapping[str, float]]
"""Reads chances by ids from the path of a design, for so many rows and ids that have a label."""

_RARE = 1e-3
"""Chance below which the labelled rows contradict how the spec says they were drawn."""


def with_given(
    analysis: Analysis, pool: Pool, rows: pa.Table, elsewhere: Elsewhere
) -> tuple[Analysis, dict[int, int]]:
    """Return the analysis with the rows that have a label as its first round, and their labels.

    ``rows`` are the first of their cells, and have the columns of the reserve. The analysis has no
    labels yet.
    """
    table, at_hand = analysis.table, analysis.reading.labels.at_hand
    assert at_hand is not None
    if not len(rows):
        raise InputError(f"labels.column: no row of the pool has a label in {at_hand.column}")
    cell = np.searchsorted(table.code, rows[CELL].to_numpy())
    drawn = _drawn(pool, at_hand, rows, cell, elsewhere)
    outputs, rank = table.kinds.of_cells(cell), rows[RANK].to_numpy()
    history = analysis.history.with_round(drawn, cell, rank, outputs)
    return analysis.with_history(history), dict(enumerate(rows[GIVEN].to_pylist()))


def _drawn(
    pool: Pool, at_hand: LabelsAtHand, rows: pa.Table, cell: IntArray, elsewhere: Elsewhere
) -> Round:
    """Return a round of the given rows, with the chance of each row and of every cell.

    Where chances are known of the labelled rows alone, that of the other rows of a cell is taken to
    be the share of its rows that have a label.
    """
    table, wanted = pool.table, len(rows)
    number, by_cell, stratum = wanted, np.bincount(cell, minlength=len(table)) / table.count, None
    clusters = pool.clusters if at_hand.drawn == CLUSTERS else None
    origin = {PICKED: PEOPLE, RANDOM: SAMPLER, CLUSTERS: SAMPLER}.get(at_hand.drawn, ELSEWHERE)
    if at_hand.drawn == PICKED:
        own, by_cell = np.ones(number), np.zeros(len(table))
    elif at_hand.drawn in (RANDOM, CLUSTERS):
        own, by_cell = (np.full(size, number / table.rows) for size in (number, len(table)))
    elif at_hand.drawn == WITHIN:
        own, by_cell, stratum = _within(pool.slices, table, str(at_hand.source), rows)
    elif at_hand.drawn == CHANCE:
        own = rows[GIVEN_NUMBER].to_numpy()
    elif at_hand.drawn == WEIGHT:
        weight = rows[GIVEN_NUMBER].to_numpy()
        own = np.minimum(weight.sum() / (weight * table.rows), 1.0)
    else:
        ids = [as_text(id, pool.stratification.plan.pool.id) for id in rows[ID].to_pylist()]
        chances = elsewhere(str(at_hand.source), table.rows, ids)
        own, wanted = _elsewhere(ids, chances), len(chances)
    return Round(
        question=np.arange(number),
        probability=own,
        new=np.ones(number, dtype=np.bool_),
        cell_probability=by_cell,
        wanted=wanted,
        origin=origin,
        stratum=stratum,
        together=None if clusters is None else clusters.rows_together,
    )


def _within(
    slices: Slices, table: CellTable, column: str, rows: pa.Table
) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return the chance of each row, its mean in each cell, and the group of each row."""
    place = slices.names.index(column)
    in_cells, groups = slices.counts[place], len(slices.values[place])
    only = Slices((column,), (slices.values[place],), (in_cells,))
    group = only.codes([rows[SLICE_PREFIX + column]], len(rows))[:, 0]
    share = np.bincount(group, minlength=groups) / np.maximum(in_cells.sum(axis=1), 1)
    return share[group], share @ in_cells / table.count, group


def _elsewhere(ids: Sequence[str], chances: Mapping[str, float]) -> FloatArray:
    """Return the chance of each row by another workspace's design; its rows may lack labels."""
    for id in ids:
        if id not in chances:
            raise InputError(f"labels.drawn.design: id {id!r} has a label and was not drawn by it")
    return np.array([chances[id] for id in ids]) * (len(ids) / len(chances))


def scope_of_labels(analysis: Analysis) -> list[str]:
    """Return a sentence on the rows that numbers hold for, or on drawn rows without a label."""
    at_hand, rounds = analysis.reading.labels.at_hand, analysis.history.rounds
    if at_hand is None or not rounds:
        return []
    number, drawn = len(rounds[0].question), rounds[0].wanted or 0
    if number == analysis.table.rows:
        told = f"all {number:,} rows of the table have a label: numbers are of these rows alone. Of"
        others = "the rows that they were taken from they tell nothing"
        return [f"{told} {others}: give the table of all of these"]
    if at_hand.drawn == PICKED:
        told = f"{number:,} of the labels are of rows that people picked. Rounds are drawn by what"
        rests = "no number rests on them but for these rows themselves"
        return [f"{told} they show, and {rests}"]
    if more_than_a_few(drawn - number, drawn):
        told = f"{drawn - number:,} of {drawn:,} rows drawn {at_hand.words} have no label, which is"
        gone = "If they are gone, rows that came since had no chance: pool.where leaves them out"
        return [f"{told} seldom at random; others stand for them. {gone}"]
    if len(rounds) == 1 and not go_with_scores(analysis.table, analysis.history):
        predicted = analysis.history.outputs.prediction[rounds[0].question, 0]
        weights = [1 / rounds[0].probability[predicted == code] for code in np.unique(predicted)]
        heavy = min(np.count_nonzero(one > one.mean()) for one in weights)
        if at_hand.drawn == DESIGN or heavy < FEWEST_EVIDENCE:
            mend = "until a round or two is drawn here, intervals may be too narrow"
            return [f"rows that score alike were not drawn alike, but {at_hand.words}: {mend}"]
    return []


def contradictions(analysis: Analysis) -> list[str]:
    """Return sentences on labels at hand that contradict how they were said to be drawn."""
    history, at_hand = analysis.history, analysis.reading.labels.at_hand
    if at_hand is None or not history.rounds or at_hand.drawn == PICKED:
        return []
    if len(history.rounds[0].question) == analysis.table.rows:
        return []
    if history.outputs.cluster is not None and analysis.clusters is not None:
        clusters = history.outputs.cluster[history.rounds[0].question]
        labelled = np.unique(clusters, return_counts=True)[1]
        told = about_clusters(at_hand.drawn, labelled, analysis.clusters)
        if told is not None:
            return [told]
    return _against_the_pool(analysis, at_hand)


def _against_the_pool(analysis: Analysis, at_hand: LabelsAtHand) -> list[str]:
    """Return a sentence on the least likely difference from the pool, if rarer than `_RARE`."""
    history, table, kinds = analysis.history, analysis.table, analysis.table.kinds
    first, space = history.rounds[0], analysis.reading.labels.space
    weight = 1 / first.probability
    told, total = f"the labelled rows are said to be drawn {at_hand.words}", float(weight.sum())
    if at_hand.drawn == WITHIN and round(total) < table.rows:
        return [
            f"{told}, but {table.rows - round(total):,} of {table.rows:,} rows have a value of "
            "which no row has a label. Numbers know nothing of these rows; `pool.where` leaves "
            "them out"
        ]
    # Rows drawn at random that would tell as much: of clusters as if all their rows were the same.
    square = float((1 - first.probability) @ weight**2) * (first.together or 1.0)
    effective = max(total**2 / square if square else math.inf, 1.0)

    def mean(values: FloatArray | BoolArray) -> float:
        return float(weight @ values) / total

    everywhere, rows = kinds.prediction[:, 0], table.count[kinds.cell] * kinds.share
    predicted = history.outputs.prediction[first.question, 0]
    shares = [
        (f"are predicted {space.text(code)}", predicted == code, rows[everywhere == code])
        for code in np.unique(everywhere).tolist()
    ]
    shares += [
        (f"have {domain.title}", domain.holds(history, first.question), domain.rows(table))
        for domain in analysis.scope.domains
        if domain.count is not None
    ]
    found = []
    for words, inside, of_pool in shares:
        seen, expected = mean(inside), float(of_pool.sum() / table.rows)
        said = f"{percent(seen)} of them {words}, and {percent(expected)} of the pool"
        found.append((_chance_of_share(seen, expected, effective), said))
    if not table.leaves.exchangeable:
        middle = np.cumsum(table.leaf_count) - table.leaf_count / 2
        rank = mean((middle / table.rows)[table.leaf[history.cell[first.question]]])
        said = f"the mean rank of their scores is {rank:.2f}, and 0.50 in the pool"
        found.append((_two_sided(rank - 0.5, math.sqrt(1 / 12 / effective)), said))
    if at_hand.drawn in (CHANCE, DESIGN):
        spread = math.sqrt(max(float(weight @ (weight - 1)), 1.0))  # Chances of 1 have none.
        said = f"their chances are those of a pool of {total:,.0f} rows, and it has {table.rows:,}"
        found.append((_two_sided(total - table.rows, spread), said))
    chance, said = min(found)
    if chance * len(found) > _RARE:
        return []
    rare = "below 1 in a million" if chance < 1e-6 else f"{chance:.1g}"
    return [
        f"{told}, but {said}: the chance of that is {rare}. If people picked them, say `picked`: "
        "as they are said to be drawn they make false numbers"
    ]


def _chance_of_share(seen: float, expected: float, rows: float) -> float:
    """Return twice the binomial chance of a share at least as far out, of rows in any number."""
    if math.isinf(rows):
        return 1.0
    found = seen * rows
    above = scipy.special.betainc(found, rows - found + 1, expected) if found else 1.0
    below = scipy.special.betaincc(found + 1, rows - found, expected) if seen < 1 else 1.0
    return min(2 * float(min(above, below)), 1.0)


def about_clusters(drawn: str, rows: IntArray, pool: SharedClusters) -> str | None:
    """Return a sentence if labelled rows share clusters more or less than their design says.

    Of n rows drawn by themselves the number of pairs that share a cluster has the mean c per pair,
    the chance of two rows of the pool, and at most the variance of independent pairs and n^3 c^1.5;
    its law is taken to be the gamma one with these. Of whole clusters drawn at random the sum of
    s (s - m) over their sizes s has the mean 0, for m rows in the cluster of a row of the pool. It
    is compared with the root of its sum of squares by Student. Sketches know m to 3 in 100.

    `rows`: shape (k,): labelled rows of each cluster that has one.
    """
    number = float(rows.sum())
    pairs, expected = float(rows @ (rows - 1)) / 2, number * (number - 1) / 2 * pool.chance
    words = f"{float(rows @ rows) / number:.3g} of them are in the cluster of each, and"
    if drawn == RANDOM and expected:
        scale = (expected + number**3 * pool.chance**1.5) / expected  # variance over mean
        if scipy.special.gammaincc(expected / scale, pairs / scale) < _RARE:
            return (
                f"the labelled rows are said to be drawn at random, but {words} "
                f"{pool.drawn_together(number):.3g} would be. If whole clusters were labelled, say "
                "`clusters`: intervals may be too narrow"
            )
    if drawn == CLUSTERS and len(rows) > 1:
        larger = (rows * (rows - 1.03 * pool.rows_together)).astype(np.float64)
        root = math.sqrt(float(larger @ larger))
        above = larger.sum() / root if root else 0.0
        if scipy.special.stdtr(len(rows) - 1, -above) < _RARE:
            return (
                f"the labelled rows are said to be whole clusters drawn at random, but {words} "
                f"{pool.rows_together:.3g} would be. If people picked large clusters, say "
                "`picked`: as they are said to be drawn they make false numbers"
            )
    return None


def _two_sided(difference: float, spread: float) -> float:
    return float(2 * scipy.stats.norm.sf(abs(difference) / spread)) if spread else 1.0
